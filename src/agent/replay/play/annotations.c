#include "agent/replay/play/annotations.h"

#include "cuspan/cuspan.h"
#include "agent/abi/nvtx_abi.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/state/replay_state.h"
#include "base/clock.h"
#include "model/collective.h"
#include "model/iteration.h"
#include "model/renamed.h"
#include "model/semconv.h"
#include "model/span.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define AGENT        "libcuspan.so"
#define REQUESTS_MAX 16384
#define HANG_MS      600000 /* of the fault nccl-hangs */
#define RANGES_MAX   65536  /* open at the same time; further ones are never ended */

/* Maps recorded range IDs to those of this run. Few are open at once; the latest is last. */
static struct {
    uint64_t recorded, played;
    bool is_nccl;
} ranges[RANGES_MAX];
static size_t range_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local uint64_t attached; /* this thread's attach token */

REPLAY_EXPORT extern cuspan_replay_nccl_fn *cuspan_replay_nccl;
cuspan_replay_nccl_fn *cuspan_replay_nccl;

static void note_range(uint64_t recorded, uint64_t played, bool is_nccl)
{
    pthread_mutex_lock(&lock);
    if (range_count < RANGES_MAX) {
        ranges[range_count].recorded = recorded;
        ranges[range_count].is_nccl = is_nccl;
        ranges[range_count++].played = played;
    }
    pthread_mutex_unlock(&lock);
}

static uint64_t take_range(uint64_t recorded, bool *is_nccl)
{
    uint64_t played = 0;
    *is_nccl = false;
    pthread_mutex_lock(&lock);
    for (size_t i = range_count; i > 0 && !played; i--) {
        if (ranges[i - 1].recorded != recorded)
            continue;
        played = ranges[i - 1].played;
        *is_nccl = ranges[i - 1].is_nccl;
        ranges[i - 1] = ranges[--range_count];
    }
    pthread_mutex_unlock(&lock);
    return played;
}

/* The same for requests of serving engines, of which the latest are kept. One thread plays them. */
static struct {
    uint64_t recorded, played;
} requests[REQUESTS_MAX];

static void note_request(uint64_t recorded, uint64_t played)
{
    requests[recorded % REQUESTS_MAX].recorded = recorded;
    requests[recorded % REQUESTS_MAX].played = played;
}

static uint64_t find_request(uint64_t recorded)
{
    return requests[recorded % REQUESTS_MAX].recorded == recorded ? requests[recorded % REQUESTS_MAX].played
                                                                  : 0;
}

static void play_context(const struct context_record *record)
{
    char state[TRACE_STATE_MAX + 1] = "";
    cuspan_context context = {.flags = record->flags, .tracestate = state};
    memcpy(context.trace_id, record->trace_id, 16);
    memcpy(context.span_id, record->span_id, 8);
    memcpy(state, record->state, record->state_bytes < TRACE_STATE_MAX ? record->state_bytes : 0);
    if (attached)
        cuspan_detach(attached);
    attached = cuspan_attach(&context); /* 0: failed */
}

struct text {
    char name[RANGE_TEXT_BYTES + 1];
    char keys[SPAN_ATTRS_MAX][ATTR_KEY_BYTES_MAX + 1];
    cuspan_attribute attributes[SPAN_ATTRS_MAX];
    uint32_t count;
};

static void read_text(const struct range_record *record, struct text *text)
{
    const char *at = record->text + record->name_bytes, *end = record->text + record->text_bytes;
    struct range_attr_head head;
    text->count = 0;
    snprintf(text->name, sizeof text->name, "%.*s", record->name_bytes, record->text);
    while (text->count < record->attr_count && text->count < SPAN_ATTRS_MAX &&
           (size_t)(end - at) >= sizeof head) {
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        if ((size_t)(end - at) < (size_t)head.key_bytes + head.value_bytes ||
            head.key_bytes > ATTR_KEY_BYTES_MAX || (head.type != ATTR_STRING && head.value_bytes != 8))
            return;
        char *key = text->keys[text->count];
        cuspan_attribute *attribute = &text->attributes[text->count++];
        memcpy(key, at, head.key_bytes);
        key[head.key_bytes] = 0;
        /* Only those of NCCL's ranges are ours. */
        bool is_ours = strncmp(key, "cuda.", strlen("cuda.")) == 0;
        *attribute = (cuspan_attribute){
            .key = is_ours ? renamed_attribute(key) : key, .type = head.type, .bytes = head.value_bytes};
        if (head.type == ATTR_STRING)
            attribute->value.s = at + head.key_bytes;
        else
            memcpy(&attribute->value.i, at + head.key_bytes, 8);
        at += head.key_bytes + head.value_bytes;
    }
}

static bool is_nccl(const struct text *text)
{
    for (uint32_t i = 0; i < text->count; i++)
        if (strcmp(text->attributes[i].key, SEMCONV_NVTX_DOMAIN) == 0)
            return text->attributes[i].type == ATTR_STRING &&
                   text->attributes[i].bytes == strlen(NCCL_DOMAIN) &&
                   memcmp(text->attributes[i].value.s, NCCL_DOMAIN, strlen(NCCL_DOMAIN)) == 0;
    return false;
}

static void enter_nccl(const struct text *text)
{
    struct range_attr attrs[SPAN_ATTRS_MAX];
    for (uint32_t i = 0; i < text->count; i++) {
        const cuspan_attribute *from = &text->attributes[i];
        attrs[i] = (struct range_attr){.key = from->key,
                                       .key_bytes = (uint32_t)strlen(from->key),
                                       .bytes = from->bytes,
                                       .type = (uint8_t)from->type};
        if (from->type == ATTR_STRING)
            attrs[i].s = from->value.s;
        else
            attrs[i].i = from->value.i;
    }
    if (cuspan_replay_nccl)
        cuspan_replay_nccl(text->name, attrs, text->count);
}

/* The fault nccl-hangs: this call is the one that does not return. */
static void hang_in_nccl(const struct text *text)
{
    static _Atomic uint64_t count;
    bool is_collective = strlen(text->name) > 4 &&
                         collective_of_function(text->name + 4, strlen(text->name) - 4) != COLLECTIVE_NONE;
    if (fault(FAULT_NCCL_HANGS) && is_collective &&
        atomic_fetch_add(&count, 1) + 1 == fault(FAULT_NCCL_HANGS))
        replay_sleep_ns((fault(FAULT_NCCL_HANGS_MS) ? fault(FAULT_NCCL_HANGS_MS) : HANG_MS) * NS_PER_MS);
}

static void push_range(const struct range_record *record, const struct text *text)
{
    bool is_nccls = is_nccl(text);
    if (is_nccls)
        enter_nccl(text);
    note_range(record->id, cuspan_range(text->name, text->attributes, text->count), is_nccls);
    if (is_nccls)
        hang_in_nccl(text);
}

static void end_range(const struct range_record *record, const struct text *text)
{
    bool is_nccls;
    uint64_t played = take_range(record->id, &is_nccls);
    if (is_nccls && cuspan_replay_nccl)
        cuspan_replay_nccl(NULL, NULL, 0);
    cuspan_end_with(played, record->status, text->name, text->attributes, text->count);
}

static void play_range(const struct range_record *record)
{
    struct text text;
    read_text(record, &text);
    if (record->head.type == RECORD_MARK)
        cuspan_mark(text.name, text.attributes, text.count);
    else if (record->head.type == RECORD_RANGE_END)
        end_range(record, &text);
    else if (record->flags & RANGE_ON_THREAD)
        push_range(record, &text);
    else
        note_range(record->id, cuspan_span(text.name, text.attributes, text.count), false);
}

typedef void name_number_fn(uint32_t number, const char *name);
typedef void name_handle_fn(const void *handle, const char *name);

/* A minimal copy of NVTX, as each module of a program has one. The agent fills in the functions. */
static nvtx_function *core_functions[NVTX_CORE_COUNT], *cuda_functions[NVTX_CUDA_COUNT];
static nvtx_function **core_table[NVTX_CORE_COUNT + 1], **cuda_table[NVTX_CUDA_COUNT + 1];

static int get_table(uint32_t module, nvtx_function ****table, unsigned int *size)
{
    *table = module == NVTX_MODULE_CORE ? core_table : cuda_table;
    *size = module == NVTX_MODULE_CORE ? NVTX_CORE_COUNT : NVTX_CUDA_COUNT;
    return module == NVTX_MODULE_CORE || module == NVTX_MODULE_CUDA;
}

static const void *export_table(uint32_t id)
{
    static const struct nvtx_callbacks_table callbacks = {sizeof callbacks, get_table};
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void attach(void)
{
    for (int i = 1; i < NVTX_CORE_COUNT; i++)
        core_table[i] = &core_functions[i];
    for (int i = 1; i < NVTX_CUDA_COUNT; i++)
        cuda_table[i] = &cuda_functions[i];
    void *agent = dlopen(AGENT, RTLD_LAZY | RTLD_NOLOAD);
    int (*initialize)(const void *(*)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))(agent ? dlsym(agent, "InitializeInjectionNvtx2") : NULL);
    if (initialize)
        initialize(export_table);
}

/* The functions that name objects; they take the object's number or handle. */
static nvtx_function **const namers[] = {
    [NAMED_STREAM] = &cuda_functions[NVTX_CALL_NameCuStreamA],
    [NAMED_CONTEXT] = &cuda_functions[NVTX_CALL_NameCuContextA],
    [NAMED_DEVICE] = &cuda_functions[NVTX_CALL_NameCuDeviceA],
    [NAMED_EVENT] = &cuda_functions[NVTX_CALL_NameCuEventA],
    [NAMED_THREAD] = &core_functions[NVTX_CALL_NameOsThreadA],
    [NAMED_CONTEXT_ID] = NULL, /* the agent sees these names again in the calls */
};

static void play_name(const struct name_record *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[RANGE_TEXT_BYTES + 1];
    pthread_once(&once, attach);
    snprintf(text, sizeof text, "%.*s", (int)name->name_bytes, name->name);
    uint16_t object = name->head.cbid;
    nvtx_function **place = object < sizeof namers / sizeof *namers ? namers[object] : NULL;
    if (!place || !*place)
        return;
    if (object == NAMED_DEVICE || object == NAMED_THREAD)
        ((name_number_fn *)*place)((uint32_t)name->handle, text);
    else
        ((name_handle_fn *)*place)((const void *)(uintptr_t)name->handle, text);
}

void annotations_play(const struct record_head *annotation)
{
    if (annotation->type == RECORD_CONTEXT)
        play_context((const struct context_record *)annotation);
    else if (annotation->type == RECORD_NAME)
        play_name((const struct name_record *)annotation);
    else
        play_range((const struct range_record *)annotation);
}

static uint64_t play_request(const cuspan_api *agent, const struct engine_event *event)
{
    const struct engine_request *request = &event->request;
    const char *text = (const char *)event->parts, *end = text + request->header_bytes;
    cuspan_header headers[REQUEST_HEADERS_MAX];
    cuspan_context context = {.flags = request->flags, .tracestate = request->trace_state};
    cuspan_request_info info = {.context = &context,
                                .id = request->id,
                                .arrived_unix_ns = (int64_t)replay_time(request->arrived_ns),
                                .prompt_tokens = request->prompt_tokens,
                                .cached_tokens = request->cached_tokens,
                                .headers = headers};
    while (text < end && info.header_count < REQUEST_HEADERS_MAX) {
        cuspan_header *header = &headers[info.header_count++];
        header->name = text;
        header->value = text + strlen(text) + 1;
        text = header->value + strlen(header->value) + 1;
    }
    memcpy(context.trace_id, request->context, 16);
    memcpy(context.span_id, request->context + 16, 8);
    return agent->request(&info);
}

static void play_iteration(const cuspan_api *agent, const struct engine_event *event)
{
    static cuspan_part parts[ITERATION_PARTS_MAX];
    const struct iteration *iteration = &event->iteration;
    cuspan_iteration_info info = {.engine = iteration->engine,
                                  .seed = iteration->seed,
                                  .number = iteration->number,
                                  .kind = iteration->kind,
                                  .recorded = iteration->is_recorded,
                                  .rank = iteration->rank,
                                  .ranks = iteration->ranks,
                                  .parts = parts,
                                  .count = iteration->part_count};
    for (uint32_t i = 0; i < info.count; i++) {
        memcpy(&parts[i], &event->parts[i], sizeof *parts);
        parts[i].request = find_request(event->parts[i].request);
    }
    if (event->type == ENGINE_ITERATION)
        (void)agent->iteration(&info);
    else if (CUSPAN_OFFERS(agent, iteration_summary))
        (void)agent->iteration_summary(&info);
}

static void play_engine(const cuspan_api *agent, const struct engine_event *event)
{
    if (event->type == ENGINE_REQUEST)
        note_request(event->request.number, play_request(agent, event));
    else if (event->type == ENGINE_REQUEST_END)
        (void)agent->request_end(find_request(event->end.number), event->end.reason, event->end.tokens);
    else
        play_iteration(agent, event);
}

void annotations_step(const struct step_boundary *step)
{
    const cuspan_api *agent = cuspan_agent();
    if (agent && step->event && CUSPAN_OFFERS(agent, iteration_here))
        play_engine(agent, step->event);
    else if (agent && !step->event && CUSPAN_OFFERS(agent, step))
        (void)agent->step(step->number, step->kind, step->source);
    for (uint64_t i = 0; agent && i < fault(FAULT_ROUNDS); i++)
        (void)agent->flush(UINT32_MAX);
}
