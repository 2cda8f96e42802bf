#include "agent/capture/plugin/nccl_plugin.h"

#include "agent/capture/context/range.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/mode.h"
#include "model/span.h"

#include <stdatomic.h>
#include <string.h>

#define ATTRS_MAX 6

/* One collective, as NCCL describes it. Texts are NCCL's constants; NULL: unknown. */
struct event {
    uint64_t communicator;
    const char *function; /* such as "AllReduce" */
    const char *datatype, *algorithm, *protocol;
    bool is_p2p;
    int peer;         /* only with is_p2p */
    uint64_t ordinal; /* only without is_p2p */
};

/* The plugin's context of a communicator is an entry with its ID. In versions 1 to 3, each event has the ID.
 */
static _Atomic uint64_t contexts[NCCL_COMMUNICATORS_MAX]; /* 0: free */
static char no_context, group_handle;

static void add_text(struct range_text *mark, struct range_attr *attrs, const char *key, const char *text)
{
    if (text)
        attrs[mark->attr_count++] = (struct range_attr){.key = key,
                                                        .key_bytes = (uint32_t)strlen(key),
                                                        .bytes = (uint32_t)strnlen(text, RANGE_TEXT_BYTES),
                                                        .type = ATTR_STRING,
                                                        .s = text};
}

static void add_int(struct range_text *mark, struct range_attr *attrs, const char *key, uint64_t value)
{
    attrs[mark->attr_count++] = (struct range_attr){
        .key = key, .key_bytes = (uint32_t)strlen(key), .type = ATTR_INT, .i = (int64_t)value};
}

/* Writes a collective as a mark of 150 bytes to the thread's ring. */
static void write_event(const struct event *event)
{
    struct range_attr attrs[ATTRS_MAX];
    struct range_text mark = {.name = NCCL_MARK, .name_bytes = sizeof NCCL_MARK - 1, .attrs = attrs};
    if (!event->communicator || !event->function || !range_is_captured())
        return;
    add_text(&mark, attrs, NCCL_MARK, event->function);
    add_int(&mark, attrs, NCCL_MARK_COMMUNICATOR, event->communicator);
    if (event->is_p2p)
        add_int(&mark, attrs, NCCL_MARK_PEER, (uint64_t)event->peer);
    else
        add_int(&mark, attrs, NCCL_MARK_ORDINAL, event->ordinal);
    add_text(&mark, attrs, NCCL_MARK_DATATYPE, event->datatype);
    add_text(&mark, attrs, NCCL_MARK_ALGORITHM, event->algorithm);
    add_text(&mark, attrs, NCCL_MARK_PROTOCOL, event->protocol);
    range_mark(&mark);
}

static const char *name_at(const char *const *names, size_t count, uint8_t number)
{
    return number < count ? names[number] : NULL;
}
#define NAME_AT(names, number) name_at(names, sizeof(names) / sizeof *(names), number)

/* Functions and datatypes by their numbers in NCCL 2.23 and 2.24. */
static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const datatypes[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                        "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                        "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
static const char *const algorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                         "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

/* Sets the event's handle and returns the event's type. Up to NCCL 2.27, collectives without a group's handle
 * are not reported. */
static uint8_t start_of(void **handle, const struct nccl_event_head *head)
{
    *handle = head->type_v1 == NCCL_PROFILE_GROUP ? &group_handle : NULL;
    return head->type_v1;
}

static int start_v1(void *context, void **handle, void *descriptor)
{
    uint8_t type = start_of(handle, descriptor);
    const struct nccl_coll_v1 *coll = descriptor;
    const struct nccl_p2p_v1 *p2p = descriptor;
    if (type == NCCL_PROFILE_COLL)
        write_event(&(struct event){.communicator = coll->commHash,
                                    .function = NAME_AT(functions, coll->func),
                                    .datatype = NAME_AT(datatypes, coll->datatype),
                                    .algorithm = NAME_AT(algorithms, coll->algo),
                                    .protocol = NAME_AT(protocols, coll->proto),
                                    .ordinal = coll->seqNumber});
    else if (type == NCCL_PROFILE_P2P)
        write_event(&(struct event){.communicator = p2p->commHash,
                                    .function = NAME_AT(functions, p2p->func),
                                    .datatype = NAME_AT(datatypes, p2p->datatype),
                                    .is_p2p = true,
                                    .peer = p2p->peer});
    return 0;
}

#define EVENT_OF_COLL(id, coll)                                                                              \
    &(struct event)                                                                                          \
    {                                                                                                        \
        .communicator = (id), .function = (coll)->func, .datatype = (coll)->datatype,                        \
        .algorithm = (coll)->algo, .protocol = (coll)->proto, .ordinal = (coll)->seqNumber                   \
    }
#define EVENT_OF_P2P(id, p2p)                                                                                \
    &(struct event)                                                                                          \
    {                                                                                                        \
        .communicator = (id), .function = (p2p)->func, .datatype = (p2p)->datatype, .is_p2p = true,          \
        .peer = (p2p)->peer                                                                                  \
    }

/* Returns the communicator's ID; 0: the context has none. */
static uint64_t communicator_of(const void *context)
{
    const _Atomic uint64_t *own = context;
    return own >= contexts && own < contexts + NCCL_COMMUNICATORS_MAX
               ? atomic_load_explicit(own, memory_order_relaxed)
               : 0;
}

#define START(version, coll_type, p2p_type, id_of)                                                           \
    static int start_v##version(void *context, void **handle, void *descriptor)                              \
    {                                                                                                        \
        uint8_t type = start_of(handle, descriptor);                                                         \
        const struct coll_type *coll = descriptor;                                                           \
        const struct p2p_type *p2p = descriptor;                                                             \
        (void)context;                                                                                       \
        if (type == NCCL_PROFILE_COLL)                                                                       \
            write_event(EVENT_OF_COLL(id_of(context, coll), coll));                                          \
        else if (type == NCCL_PROFILE_P2P)                                                                   \
            write_event(EVENT_OF_P2P(id_of(context, p2p), p2p));                                             \
        return 0;                                                                                            \
    }
#define ID_OF_EVENT(context, event)   (event)->commHash
#define ID_OF_CONTEXT(context, event) communicator_of(context)
START(2, nccl_coll_v2, nccl_p2p_v2, ID_OF_EVENT)
START(3, nccl_coll_v3, nccl_p2p_v2, ID_OF_EVENT)
START(4, nccl_coll_v4, nccl_p2p_v4, ID_OF_CONTEXT)

/* Handles the start of an event. NCCL passes some types beyond a byte, although the plugin does not request
 * them; they are ignored. */
static int start_v5(void *context, void **handle, void *descriptor)
{
    *handle = NULL;
    return ((const struct nccl_event_head *)descriptor)->type_v5 > UINT8_MAX
               ? 0
               : start_v4(context, handle, descriptor);
}

static void set_mask(int *mask)
{
    bool is_traced = atomic_load_explicit(&mode_now, memory_order_relaxed) != MODE_OFF;
    *mask = is_traced ? NCCL_PROFILE_GROUP | NCCL_PROFILE_COLL | NCCL_PROFILE_P2P : 0;
}

static int init_v1(void **context, int *mask)
{
    *context = &no_context;
    set_mask(mask);
    return 0;
}

static void init_communicator(void **context, int *mask, uint64_t id, int ranks, int rank)
{
    uint64_t start = collective_mix(id, (uint64_t)rank);
    *context = &no_context;
    set_mask(mask);
    for (uint64_t i = start; id && i - start < NCCL_COMMUNICATORS_MAX; i++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&contexts[i % NCCL_COMMUNICATORS_MAX], &none, id))
            continue;
        *context = &contexts[i % NCCL_COMMUNICATORS_MAX];
        break;
    }
    if (ranks > 0 && rank >= 0)
        nccl_note_communicator(id, (uint32_t)ranks, (uint32_t)rank);
}

static int init_v4(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks, int rank,
                   nccl_logger *logger)
{
    (void)name, (void)nodes, (void)logger;
    init_communicator(context, mask, id, ranks, rank);
    return 0;
}

static int init_v5(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
                   nccl_logger *logger)
{
    (void)name, (void)nodes, (void)logger;
    init_communicator(context, mask, id, ranks, rank);
    return 0;
}

static int stop(void *handle)
{
    return 0;
}

static int record_state(void *handle, int state, void *args)
{
    (void)handle, (void)state, (void)args;
    return 0;
}

static int finalize(void *context)
{
    if (communicator_of(context))
        atomic_store((_Atomic uint64_t *)context, 0);
    return 0;
}

#define PLUGIN(version, struct_version, init_function, start_function)                                       \
    const struct nccl_profiler_v##struct_version ncclProfiler_v##version = {                                 \
        "cuspan", init_function, start_function, stop, record_state, finalize}
PLUGIN(1, 1, init_v1, start_v1);
PLUGIN(2, 1, init_v1, start_v2);
PLUGIN(3, 1, init_v1, start_v3);
PLUGIN(4, 4, init_v4, start_v4);
PLUGIN(5, 5, init_v5, start_v5);
PLUGIN(6, 5, init_v5, start_v5);
