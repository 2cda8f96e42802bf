#include "agent/capture/nccl/nccl_calls.h"

#include "base/log/log.h"
#include "model/span.h"
#include "model/semconv.h"

#include <string.h>

#define PROBES  32
#define BIT(of) (1u << (of))

struct communicator {
    _Atomic uint64_t id; /* 0: free */
    _Atomic uint32_t ranks, rank;
    _Atomic uint64_t local_ranks; /* a bit for each rank of this process, modulo 64 */
};

struct count {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t calls;
};

static struct communicator communicators[NCCL_COMMUNICATORS_MAX];
static struct count counts[NCCL_COUNTS_MAX];
static nccl_communicator_hook *_Atomic communicator_hook;
nccl_collective_hook *_Atomic nccl_on_collective;

/* Whether the place has `key`, which takes the place if it is free. */
static bool claim(_Atomic uint64_t *place, uint64_t key)
{
    uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
    return found == key || (!found && (atomic_compare_exchange_strong(place, &found, key) || found == key));
}

static struct communicator *communicator_of(uint64_t id, bool may_add)
{
    uint64_t hash = collective_mix(0, id);
    for (uint64_t i = hash; i < hash + PROBES; i++) {
        struct communicator *at = &communicators[i % NCCL_COMMUNICATORS_MAX];
        if (may_add ? claim(&at->id, id) : atomic_load_explicit(&at->id, memory_order_relaxed) == id)
            return at;
        if (!atomic_load_explicit(&at->id, memory_order_relaxed))
            return NULL;
    }
    return NULL;
}

static struct count *count_of(uint64_t key)
{
    key += key == 0;
    for (uint64_t i = key; i - key < PROBES; i++)
        if (claim(&counts[i % NCCL_COUNTS_MAX].key, key))
            return &counts[i % NCCL_COUNTS_MAX];
    return NULL;
}

enum nccl_value nccl_value_of(const char *entry_name)
{
    static const char *const names[NCCL_VALUES] = {[NCCL_COMMUNICATOR] = "NCCL communicator ID",
                                                   [NCCL_RANKS] = "No. of ranks",
                                                   [NCCL_RANK] = "Rank",
                                                   [NCCL_DEVICES] = "No. of devices",
                                                   [NCCL_PEER] = "Peer rank",
                                                   [NCCL_BYTES] = "Message size [bytes]"};
    if (!entry_name)
        return NCCL_NOTHING;
    for (unsigned i = 0; i < NCCL_VALUES; i++)
        if (names[i] && strcmp(names[i], entry_name) == 0)
            return (enum nccl_value)i;
    bool of_parent = strcmp(entry_name, "Parent NCCL communicator ID") == 0 ||
                     strcmp(entry_name, "num_exclude") == 0; /* of ncclCommShrink */
    return of_parent ? NCCL_OF_PARENT : NCCL_NOTHING;
}

static void set_int(struct range_attr *attr, const char *key, size_t key_bytes, uint64_t value)
{
    *attr = (struct range_attr){
        .key = key, .key_bytes = (uint32_t)key_bytes, .type = ATTR_INT, .i = (int64_t)value};
}
#define SET_INT(attr, key, value) set_int(attr, key, sizeof(key) - 1, value)

static uint32_t local_ranks_of(const struct communicator *communicator)
{
    return (uint32_t)__builtin_popcountll(
        atomic_load_explicit(&communicator->local_ranks, memory_order_relaxed));
}

/* Counts a call and sets its ordinal. NCCL serializes the calls of one communicator, so the order of counting
 * is that of all ranks. Several ranks of a communicator in one process make the same calls. */
static bool count_call(const struct communicator *communicator, enum collective_operation operation,
                       const struct nccl_values *values, uint64_t *ordinal)
{
    uint64_t key = collective_mix(values->value[NCCL_COMMUNICATOR], operation);
    if (collective_is_p2p(operation))
        key = collective_mix(key, values->value[NCCL_PEER]);
    struct count *count = count_of(key);
    if (!count) {
        log_once(log_warn,
                 "the program uses NCCL with more than %d communicators and operations; further ones "
                 "have no collective.ordinal",
                 NCCL_COUNTS_MAX);
        return false;
    }
    uint32_t local = communicator ? local_ranks_of(communicator) : 1;
    *ordinal = atomic_fetch_add_explicit(&count->calls, 1, memory_order_relaxed) / (local > 1 ? local : 1);
    return true;
}

static void tell(nccl_collective_hook *hook, const struct communicator *communicator,
                 enum collective_operation operation, const struct nccl_values *values)
{
    uint64_t local = 0;
    if (collective_is_p2p(operation) || !(values->present & BIT(NCCL_BYTES)))
        return;
    struct nccl_collective collective = {.communicator = values->value[NCCL_COMMUNICATOR],
                                         .operation = operation,
                                         .bytes = values->value[NCCL_BYTES]};
    if (communicator) {
        collective.ranks = atomic_load_explicit(&communicator->ranks, memory_order_acquire);
        local = atomic_load_explicit(&communicator->local_ranks, memory_order_relaxed);
    }
    collective.is_shared = (local & (local - 1)) != 0;
    hook(&collective);
}

static struct live_start start_of(const char *name, uint32_t name_bytes, const struct nccl_values *values)
{
    bool has_bytes = values->present & BIT(NCCL_BYTES), has_peer = values->present & BIT(NCCL_PEER);
    return (struct live_start){
        .name = name,
        .name_bytes = name_bytes,
        .communicator = values->present & BIT(NCCL_COMMUNICATOR) ? values->value[NCCL_COMMUNICATOR] : 0,
        .bytes = has_bytes ? values->value[NCCL_BYTES] : UINT64_MAX,
        .peer = has_peer ? (int32_t)values->value[NCCL_PEER] : LIVE_NO_PEER};
}

uint32_t nccl_note_call(const char *name, uint32_t name_bytes, const struct nccl_values *values,
                        struct range_attr attrs[NCCL_CALL_ATTRS_MAX], struct live_start *start)
{
    uint32_t used = 0;
    uint64_t ordinal = 0, id = values->value[NCCL_COMMUNICATOR];
    if (start)
        *start = start_of(name, name_bytes, values);
    if (!(values->present & BIT(NCCL_COMMUNICATOR)) || !id || name_bytes <= 4 || memcmp(name, "nccl", 4) != 0)
        return 0;
    enum collective_operation operation = collective_of_function(name + 4, name_bytes - 4);
    if (!operation)
        return 0;
    const struct communicator *communicator = communicator_of(id, false);
    if (count_call(communicator, operation, values, &ordinal))
        SET_INT(&attrs[used++], SEMCONV_COLLECTIVE_ORDINAL, ordinal);
    if (start) {
        start->operation = operation;
        start->ordinal = ordinal;
    }
    nccl_collective_hook *hook = atomic_load_explicit(&nccl_on_collective, memory_order_relaxed);
    if (hook)
        tell(hook, communicator, operation, values);
    uint32_t ranks = communicator ? atomic_load_explicit(&communicator->ranks, memory_order_acquire) : 0;
    if (!ranks)
        return used;
    SET_INT(&attrs[used++], SEMCONV_COLLECTIVE_RANKS, ranks);
    uint64_t local = atomic_load_explicit(&communicator->local_ranks, memory_order_relaxed);
    if ((local & (local - 1)) == 0) /* one rank in this process, which is the caller's */
        SET_INT(&attrs[used++], SEMCONV_COLLECTIVE_RANK,
                atomic_load_explicit(&communicator->rank, memory_order_relaxed));
    return used;
}

static void tell_live_state(const struct communicator *communicator)
{
    uint32_t ranks = atomic_load_explicit(&communicator->ranks, memory_order_acquire);
    if (ranks)
        live_note_communicator(atomic_load_explicit(&communicator->id, memory_order_relaxed), ranks,
                               atomic_load_explicit(&communicator->rank, memory_order_relaxed),
                               local_ranks_of(communicator));
}

void nccl_tell_live_state(void)
{
    for (uint32_t i = 0; i < NCCL_COMMUNICATORS_MAX; i++)
        tell_live_state(&communicators[i]);
}

static void note(uint64_t id, uint32_t ranks, uint32_t rank, uint64_t local_ranks)
{
    struct communicator *communicator = id ? communicator_of(id, true) : NULL;
    if (id && !communicator)
        log_once(log_warn,
                 "the program uses more than %d communicators of NCCL; the collectives of further ones have "
                 "no collective.ranks and rank",
                 NCCL_COMMUNICATORS_MAX);
    if (!communicator || !ranks)
        return;
    atomic_store_explicit(&communicator->rank, rank, memory_order_relaxed);
    atomic_fetch_or_explicit(&communicator->local_ranks, local_ranks, memory_order_relaxed);
    atomic_store_explicit(&communicator->ranks, ranks, memory_order_release);
    tell_live_state(communicator);
    nccl_communicator_hook *hook = atomic_load_explicit(&communicator_hook, memory_order_relaxed);
    if (hook)
        hook(id, ranks, rank);
}

void nccl_note_communicator(uint64_t communicator, uint32_t ranks, uint32_t rank)
{
    note(communicator, ranks, rank, 1ull << rank % 64);
}

void nccl_note_values(const struct nccl_values *values)
{
    const uint64_t *value = values->value;
    const uint32_t of_rank = BIT(NCCL_COMMUNICATOR) | BIT(NCCL_RANKS) | BIT(NCCL_RANK);
    const uint32_t of_all = BIT(NCCL_COMMUNICATOR) | BIT(NCCL_DEVICES);
    if (values->present & BIT(NCCL_OF_PARENT))
        return;
    if ((values->present & of_rank) == of_rank)
        nccl_note_communicator(value[NCCL_COMMUNICATOR], (uint32_t)value[NCCL_RANKS],
                               (uint32_t)value[NCCL_RANK]);
    else if ((values->present & of_all) == of_all && value[NCCL_DEVICES])
        note(value[NCCL_COMMUNICATOR], (uint32_t)value[NCCL_DEVICES], 0,
             value[NCCL_DEVICES] < 64 ? (1ull << value[NCCL_DEVICES]) - 1 : UINT64_MAX);
}

void nccl_set_communicator_hook(nccl_communicator_hook *hook)
{
    atomic_store_explicit(&communicator_hook, hook, memory_order_relaxed);
}

void nccl_set_collective_hook(nccl_collective_hook *hook)
{
    atomic_store_explicit(&nccl_on_collective, hook, memory_order_relaxed);
}
