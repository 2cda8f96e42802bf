#include "agent/capture/callbacks/callbacks.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "agent/capture/callbacks/callback_time.h"
#include "agent/capture/hardware/gpu_counters.h"
#include "agent/capture/callbacks/graph_nodes.h"
#include "agent/capture/callbacks/launch_names.h"
#include "agent/abi/params.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/threads/thread_context.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/stacks/launch_stacks.h"

#include <stdlib.h>
#include <string.h>

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Out of line, so that the hot path saves no registers for these functions. */
#define RARE __attribute__((noinline, cold))

#define NO_RING_MARK UINT64_MAX /* stored in CUPTI's 64 bits: the call started on a thread without a ring */

/* A call that seems longer, one day at 10 GHz, has a start that another tool left in CUPTI's 64 bits. */
#define CALL_TICKS_MAX (10 * 86400 * NS_PER_SECOND)

static_assert((int)RESOURCE_CONTEXT_CREATED == (int)CUPTI_RESOURCE_CONTEXT_CREATED &&
                  (int)RESOURCE_CONTEXT_ENDS == (int)CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING &&
                  (int)RESOURCE_MODULE_LOADED == (int)CUPTI_RESOURCE_MODULE_LOADED &&
                  (int)RESOURCE_NODE_CREATED == (int)CUPTI_RESOURCE_GRAPHNODE_CREATED &&
                  (int)RESOURCE_EXEC_CREATED == (int)CUPTI_RESOURCE_GRAPHEXEC_CREATED &&
                  (int)RESOURCE_NODE_CLONED == (int)CUPTI_RESOURCE_GRAPHNODE_CLONED,
              "resource records have CUPTI's numbers");

struct callbacks_signals callbacks_signals;
void (*callbacks_on_graph)(void);
void (*callbacks_on_bound)(bool begins);

static struct {
    struct call_plan *plans; /* by callback ID */
    uint32_t count;
} domains[CALL_RUNTIME + 1];

static uint16_t param_words_max(const struct call_param *param)
{
    if (param->type == PARAM_STRING)
        return 1 + CALL_STRING_BYTES / 8;
    return param->type == PARAM_DIM3 ? 2 : 1;
}

static bool begins_with_one_of(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

static uint8_t graph_flags(const char *name)
{
    static const char *const making[] = {"cudaStreamBeginCapture", "cudaGraphCreate", "cuStreamBeginCapture",
                                         "cuGraphCreate", NULL};
    static const char *const instantiating[] = {"cudaGraphInstantiate", "cuGraphInstantiate", NULL};
    if (begins_with_one_of(name, instantiating))
        return PLAN_MAKES_GRAPH | PLAN_INSTANTIATES_GRAPH;
    return begins_with_one_of(name, making) ? PLAN_MAKES_GRAPH : 0;
}

static bool is_plain(const struct call_plan *plan)
{
    uint8_t how = 0;
    for (uint8_t i = 0; i < plan->param_count; i++)
        how |= param_sources[plan->param + i].how;
    return plan->param_count > 0 && !(how & (PARAM_DEREF | PARAM_TEXT | PARAM_REAL));
}

static struct call_plan make_plan(const struct call_info *info, bool parameters)
{
    uint32_t words = 0;
    struct call_plan plan = {.param = info->param};
    for (uint8_t i = 0; parameters && i < info->param_count; i++) {
        uint16_t more = param_words_max(&call_params[info->param + i]);
        if (words + more > CALL_VALUES_MAX || i == CALL_PARAMS_MAX)
            break; /* ignore the rest of an exceptionally long list */
        words += more;
        plan.param_count++;
    }
    plan.is_plain = is_plain(&plan);
    plan.record_bytes_max = (uint16_t)(sizeof(struct call_record) + 8 * words);
    plan.flags = graph_flags(call_name(info));
    if (info->group == CALL_GROUP_SYNC || info->group == CALL_GROUP_COPY)
        plan.flags |= PLAN_WAITS;
    return plan;
}

enum status callbacks_init(bool parameters)
{
    mode_set_on_since(0);
    callback_time_init();
    domains[CALL_RUNTIME].count = call_count_runtime;
    domains[CALL_DRIVER].count = call_count_driver;
    for (enum call_domain domain = CALL_DRIVER; domain <= CALL_RUNTIME; domain++) {
        free(domains[domain].plans);
        domains[domain].plans = calloc(domains[domain].count, sizeof *domains[domain].plans);
        if (!domains[domain].plans)
            return STATUS_NO_MEMORY;
        for (uint32_t cbid = 0; cbid < domains[domain].count; cbid++) {
            const struct call_info *info = call_info(domain, cbid);
            if (info)
                domains[domain].plans[cbid] = make_plan(info, parameters);
        }
    }
    return STATUS_OK;
}

void callbacks_add_flags(enum call_domain domain, uint32_t cbid, uint16_t flags)
{
    domains[domain].plans[cbid].flags |= flags;
}

uint16_t callbacks_flags(enum call_domain domain, uint32_t cbid)
{
    return domains[domain].plans[cbid].flags;
}

const char *callbacks_name_of(const struct call_plan *plan, uint32_t *cbid)
{
    for (enum call_domain domain = CALL_DRIVER; domain <= CALL_RUNTIME; domain++) {
        *cbid = (uint32_t)(plan - domains[domain].plans);
        if (plan >= domains[domain].plans && plan < domains[domain].plans + domains[domain].count)
            return call_name(call_info(domain, *cbid));
    }
    return "";
}

void callbacks_flush_soon(void)
{
    atomic_store_explicit(&callbacks_signals.flush_soon, true, memory_order_relaxed);
}

bool callbacks_take_flush_soon(void)
{
    return atomic_exchange_explicit(&callbacks_signals.flush_soon, false, memory_order_relaxed);
}

uint8_t callbacks_bound_flags(enum call_domain domain, uint32_t cbid)
{
    const struct call_info *info = call_info(domain, cbid);
    const char *name = info ? call_name(info) : "";
    if (strcmp(name, "cudaProfilerStart") == 0 || strcmp(name, "cuProfilerStart") == 0)
        return PLAN_BEGINS_TRACING;
    if (strcmp(name, "cudaProfilerStop") == 0 || strcmp(name, "cuProfilerStop") == 0)
        return PLAN_ENDS_TRACING;
    return 0;
}

/* Copies a string: one word for the length, then the bytes padded to whole words. Returns the number of
 * words. */
static uint32_t copy_text(uint64_t *to, const char *text)
{
    size_t length = strnlen(text, CALL_STRING_BYTES);
    uint32_t words = (uint32_t)(length + 7) / 8;
    to[0] = length;
    if (words) {
        to[words] = 0; /* zero the padding */
        memcpy(&to[1], text, length);
    }
    return 1 + words;
}

static uint64_t read_integer(const uint8_t *at, uint8_t size, bool is_signed)
{
    switch (size) {
    case 8: {
        uint64_t value;
        memcpy(&value, at, 8);
        return value;
    }
    case 4: {
        uint32_t value;
        memcpy(&value, at, 4);
        return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
    }
    case 2: {
        uint16_t value;
        memcpy(&value, at, 2);
        return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
    }
    default:
        return is_signed ? (uint64_t)(int64_t)(int8_t)*at : *at;
    }
}

static uint64_t read_real(const uint8_t *at, uint8_t size)
{
    double real;
    uint64_t bits;
    if (size == 4) {
        float single;
        memcpy(&single, at, 4);
        real = (double)single;
    } else {
        memcpy(&real, at, 8);
    }
    memcpy(&bits, &real, 8);
    return bits;
}

/* Copies one parameter from `at`, which is in CUPTI's struct or the target of a pointer in it. Returns the
 * number of words, 0 if there is nothing to read. */
static inline uint32_t copy_param(uint64_t *to, const uint8_t *at, const struct param_source *source)
{
    uint8_t how = source->how;
    if (UNLIKELY(how & (PARAM_TEXT | PARAM_REAL))) {
        if (how & PARAM_REAL) {
            to[0] = read_real(at, source->size);
            return 1;
        }
        const char *text;
        memcpy(&text, at, sizeof text);
        return text ? copy_text(to, text) : 0;
    }
    if (how & PARAM_THREE) {
        memcpy(to, at, 12);
        to[1] &= 0xffffffffu; /* keep z only; the upper half was not written */
        return 2;
    }
    to[0] = read_integer(at, source->size, how & PARAM_SIGNED);
    return 1;
}

/* Copies parameters that are all integers or triples of integers in CUPTI's struct itself: the common case,
 * including all launches. */
static inline uint32_t copy_plain_params(struct call_record *record, const struct call_plan *plan,
                                         const uint8_t *params)
{
    const struct param_source *source = &param_sources[plan->param], *end = source + plan->param_count;
    uint64_t *to = record->values;
    for (; source < end; source++, to++) {
        const uint8_t *at = params + source->offset;
        if (LIKELY(source->size == sizeof *to)) {
            memcpy(to, at, sizeof *to);
        } else if (source->size == 3 * sizeof(uint32_t)) {
            uint32_t third;
            memcpy(to++, at, sizeof *to);
            memcpy(&third, at + 8, sizeof third);
            *to = third;
        } else {
            *to = read_integer(at, source->size, source->how & PARAM_SIGNED);
        }
    }
    record->present = (uint32_t)((1ull << plan->param_count) - 1);
    return (uint32_t)((uint8_t *)to - (uint8_t *)record);
}

static uint32_t copy_params(struct call_record *record, const struct call_plan *plan, const uint8_t *params,
                            bool succeeded)
{
    const struct param_source *source = &param_sources[plan->param];
    uint64_t *to = record->values;
    uint32_t present = 0;
    for (uint32_t i = 0; i < plan->param_count; i++, source++) {
        const uint8_t *at = params + source->offset;
        if (source->how & PARAM_DEREF) {
            if (!succeeded && source->how & PARAM_OUT)
                continue;
            memcpy((void *)&at, (const void *)at, sizeof at);
            if (!at)
                continue;
            at += source->member;
        }
        uint32_t words = copy_param(to, at, source);
        present |= (uint32_t)(words != 0) << i;
        to += words;
    }
    record->present = present;
    return (uint32_t)((uint8_t *)to - (uint8_t *)record);
}

/* A callback of a call. Passed only to functions that are inlined or rare: the hot path keeps its members in
 * registers. */
struct call_site {
    enum call_domain domain;
    uint32_t cbid;
    const struct call_plan *plan;
    const struct cupti_callback_data *data;
};

/* Fills the call's record and returns its size in bytes. */
static inline __attribute__((always_inline)) uint32_t
fill_call(struct call_record *record, const struct call_site *site, uint64_t start, uint64_t end)
{
    const struct call_plan *plan = site->plan;
    const struct cupti_callback_data *data = site->data;
    int32_t result = data->functionReturnValue ? *(const int32_t *)data->functionReturnValue : 0;
    record->start_ns = start; /* ticks; the pipeline thread converts them */
    record->end_ns = end;
    record->correlation_id = data->correlationId;
    record->context_id = data->contextUid;
    record->result = result;
    record->present = 0;
    uint32_t bytes = sizeof *record;
    if (LIKELY(data->functionParams && plan->is_plain))
        bytes = copy_plain_params(record, plan, data->functionParams);
    else if (data->functionParams && plan->param_count)
        bytes = copy_params(record, plan, data->functionParams, result == 0);
    bool is_asleep = atomic_load_explicit(&mode_now, memory_order_relaxed) == MODE_ASLEEP;
    record->head = (struct record_head){bytes, is_asleep ? RECORD_CALL_ASLEEP : RECORD_CALL,
                                        (uint8_t)site->domain, (uint16_t)site->cbid};
    return bytes;
}

/* Writes the thread's context if it is new. False: the ring is full, and the call would get another context's
 * parent. */
static inline __attribute__((always_inline)) bool
write_new_context(struct host_thread *thread, const struct cupti_callback_data *data, uint64_t start)
{
    if (UNLIKELY(thread_context_is_new(thread, thread_context_self)) &&
        !thread_context_write(thread, thread_context_self))
        return false;
    if (UNLIKELY(atomic_load_explicit(&sdk_context_is_there, memory_order_acquire)) &&
        !thread_context_follow_sdk(thread, start))
        return false;
    if (UNLIKELY(atomic_load_explicit(&thread_context_has_names, memory_order_relaxed)))
        thread_context_write_handle(thread, data->contextUid, data->context, start);
    return true;
}

static inline __attribute__((always_inline)) void
write_call(struct host_thread *thread, const struct call_site *site, uint64_t start, uint64_t end)
{
    struct call_record *record = NULL;
    if (write_new_context(thread, site->data, start))
        record = ring_reserve(&thread->ring, site->plan->record_bytes_max);
    if (UNLIKELY(!record)) {
        thread_count_lost(thread);
        return;
    }
    ring_commit(&thread->ring, fill_call(record, site, start, end));
}

/* Commits the stack and the call together, so that the consumer sees both or neither. If the stack does not
 * fit, the call is written alone. */
__attribute__((noinline)) static void
write_call_with_code(struct host_thread *thread, const struct call_site *site, uint64_t start, uint64_t end)
{
    struct launch_stack stack;
    if (!launch_stacks_take(thread, site->plan->flags & PLAN_TAKES_EACH, &stack)) {
        write_call(thread, site, start, end);
        return;
    }
    uint8_t *room = NULL;
    if (write_new_context(thread, site->data, start))
        room = ring_reserve(&thread->ring, stack.bytes_max + site->plan->record_bytes_max);
    if (UNLIKELY(!room)) {
        thread_count_note_lost(thread);
        write_call(thread, site, start, end);
        return;
    }
    uint32_t bytes = launch_stacks_write(&stack, (struct code_record *)(void *)room);
    struct call_record *record = (struct call_record *)(void *)(room + bytes);
    ring_commit(&thread->ring, bytes + fill_call(record, site, start, end));
}

static void announce_graph(const struct call_plan *plan)
{
    if (plan->flags & PLAN_MAKES_GRAPH && callbacks_on_graph)
        callbacks_on_graph();
}

/* Handles calls that concern graphs, hardware counters or the tracing itself, and calls that follow unwritten
 * graph nodes. */
RARE static void enter_special_call(struct host_thread *thread, enum call_domain domain,
                                    const struct call_plan *plan, const struct cupti_callback_data *data)
{
    graph_nodes_flush(thread);
    if (plan->flags & PLAN_TAKES_NAME)
        launch_names_take(thread, data);
    announce_graph(plan);
    if (plan->flags & PLAN_INSTANTIATES_GRAPH)
        graph_nodes_begin(thread);
    if (plan->flags & PLAN_ENDS_TRACING)
        callbacks_on_bound(false);
    if (plan->flags & PLAN_COUNTS)
        gpu_counters_enter(thread, domain, (uint32_t)(plan - domains[domain].plans), data);
    bool has_span = !(plan->flags & PLAN_NO_SPAN);
    if (!has_span && domain == CALL_DRIVER)
        atomic_store_explicit(&thread->is_in_driver_call, false, memory_order_relaxed);
    bool is_followed = has_span || plan->flags & PLAN_COUNTS; /* gpu_counters_exit() follows */
    *data->correlationData = is_followed ? clock_ticks() : 0;
}

static void enter_call(struct host_thread *thread, enum call_domain domain, const struct call_plan *plan,
                       const struct cupti_callback_data *data)
{
    if (domain == CALL_RUNTIME) {
        atomic_store_explicit(&thread->runtime_correlation, data->correlationId, memory_order_relaxed);
    } else {
        uint32_t runtime = atomic_load_explicit(&thread->runtime_correlation, memory_order_relaxed);
        if (runtime && runtime == data->correlationId) {
            *data->correlationData = 0; /* a driver call, nested in the runtime call with its ID: no span */
            return;
        }
        atomic_store_explicit(&thread->is_in_driver_call, true, memory_order_relaxed);
    }
    atomic_store_explicit(&thread->call, plan, memory_order_relaxed);
    if (LIKELY(!(plan->flags & ~(unsigned)(PLAN_TAKES_CODE | PLAN_TAKES_EACH | PLAN_WAITS)) &&
               !thread->graphs.has_runs && clock_has_counter))
        *data->correlationData = clock_read_counter();
    else
        enter_special_call(thread, domain, plan, data);
}

static inline uint64_t end_of_call(uint64_t start)
{
    uint64_t end = clock_ticks();
    if (UNLIKELY(end < start && start - end < CALL_TICKS_MAX))
        end = start; /* the clock was set back; keep the call */
    return end;
}

RARE static void note_no_record(uint64_t start)
{
    if (start == NO_RING_MARK) /* the thread got a ring during the call */
        counter_add(COUNTER_lost_no_ring, 1);
}

/* Finishes a call that concerns graphs, hardware counters or tracing itself. It gets no record if it stops
 * tracing, started before tracing did, or has no span. The time spent reading counters does not count as the
 * call's. */
RARE static void finish_special_call(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                                     const struct call_plan *plan, const struct cupti_callback_data *data,
                                     uint64_t start)
{
    uint64_t end = end_of_call(start);
    if (plan->flags & PLAN_COUNTS)
        gpu_counters_exit(thread, data);
    if (start < atomic_load_explicit(&mode_on_since, memory_order_relaxed) ||
        plan->flags & (PLAN_ENDS_TRACING | PLAN_NO_SPAN))
        return;
    graph_nodes_flush(thread);
    struct call_site site = {domain, cbid, plan, data};
    bool is_sound = start <= end && end - start < CALL_TICKS_MAX;
    if (is_sound && plan->flags & PLAN_TAKES_CODE)
        write_call_with_code(thread, &site, start, end);
    else if (is_sound)
        write_call(thread, &site, start, end);
    else
        note_no_record(start);
    if (--thread->calls_until_turn == 0)
        callback_time_turn(thread);
}

/* Notes that no call is in progress. Called after the call's record is in the ring: a stop of tracing waits
 * for calls in progress, and ignores later records. */
static inline void note_end_of_call(struct host_thread *thread, enum call_domain domain)
{
    if (domain == CALL_RUNTIME)
        atomic_store_explicit(&thread->runtime_correlation, 0, memory_order_release);
    else
        atomic_store_explicit(&thread->is_in_driver_call, false, memory_order_release);
}

__attribute__((noinline)) static void finish_call(struct host_thread *thread, enum call_domain domain,
                                                  uint32_t cbid, const struct call_plan *plan,
                                                  const struct cupti_callback_data *data, uint64_t start)
{
    *data->correlationData = 0;
    if (UNLIKELY(start < atomic_load_explicit(&mode_on_since, memory_order_relaxed) ||
                 plan->flags & (PLAN_ENDS_TRACING | PLAN_TAKES_CODE | PLAN_COUNTS))) {
        finish_special_call(thread, domain, cbid, plan, data, start);
        note_end_of_call(thread, domain);
        return;
    }
    graph_nodes_flush(thread);
    uint64_t end = end_of_call(start);
    if (LIKELY(start <= end && end - start < CALL_TICKS_MAX))
        write_call(thread, &(struct call_site){domain, cbid, plan, data}, start, end);
    else
        note_no_record(start);
    note_end_of_call(thread, domain);
    if (UNLIKELY(--thread->calls_until_turn == 0))
        callback_time_turn(thread);
}

/* Writes the record of a call that ends. `start`: 0 if the call is nested in a runtime call, has no span, or
 * started before the callback was enabled. */
static inline void end_call(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                            const struct call_plan *plan, const struct cupti_callback_data *data,
                            uint64_t start)
{
    if (start)
        finish_call(thread, domain, cbid, plan, data, start);
    else if (domain == CALL_RUNTIME)
        note_end_of_call(thread, domain);
}

RARE static void begin_tracing(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                               const struct call_plan *plan, const struct cupti_callback_data *data,
                               uint64_t start)
{
    callbacks_on_bound(true);
    end_call(thread, domain, cbid, plan, data, start);
}

static void exit_call(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                      const struct call_plan *plan, const struct cupti_callback_data *data)
{
    uint64_t start = *data->correlationData;
    if (UNLIKELY(plan->flags & PLAN_BEGINS_TRACING))
        begin_tracing(thread, domain, cbid, plan, data, start);
    else
        end_call(thread, domain, cbid, plan, data, start);
}

/* Counts a lost call once, at its end, but not the driver calls nested in a runtime call. */
static void handle_call_without_ring(enum call_domain domain, uint32_t cbid,
                                     const struct cupti_callback_data *data)
{
    bool is_enter = data->callbackSite == CUPTI_SITE_ENTER;
    bool is_known = cbid < domains[domain].count && domains[domain].plans[cbid].record_bytes_max;
    if (!is_known)
        return;
    if (domain == CALL_RUNTIME)
        thread_runtime_without_ring = is_enter ? data->correlationId : 0;
    bool is_nested = domain == CALL_DRIVER && thread_runtime_without_ring == data->correlationId;
    if (is_enter && !is_nested)
        announce_graph(&domains[domain].plans[cbid]);
    if (is_nested || domains[domain].plans[cbid].flags & PLAN_NO_SPAN)
        return;
    if (is_enter)
        *data->correlationData = NO_RING_MARK;
    else
        counter_add(COUNTER_lost_no_ring, 1);
}

static inline void handle_call_on(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                                  const struct cupti_callback_data *data)
{
    if (UNLIKELY(cbid >= domains[domain].count))
        return;
    const struct call_plan *plan = &domains[domain].plans[cbid];
    if (UNLIKELY(!plan->record_bytes_max))
        return;
    if (data->callbackSite == CUPTI_SITE_ENTER)
        enter_call(thread, domain, plan, data);
    else
        exit_call(thread, domain, cbid, plan, data);
}

/* Handles and times a callback. It times the common code itself, because a copy of it would not be in the
 * caches. */
static void time_call(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                      const struct cupti_callback_data *data)
{
    thread_self = thread;
    uint64_t begin = clock_read_counter_settled();
    callbacks_handle(NULL, domain, cbid, data);
    callback_time_add(thread, clock_read_counter() - begin);
}

/* Also handles calls on a thread that is being timed. */
RARE static void handle_call_on_new_thread(enum call_domain domain, uint32_t cbid,
                                           const struct cupti_callback_data *data)
{
    if (thread_timed) {
        time_call(thread_timed, domain, cbid, data);
        return;
    }
    struct host_thread *thread = thread_register();
    if (thread)
        handle_call_on(thread, domain, cbid, data);
    else
        handle_call_without_ring(domain, cbid, data);
}

/* The start of the hot path. This and the functions below make only tail calls, so that the path saves no
 * registers. */
static void handle_call(enum call_domain domain, uint32_t cbid, const struct cupti_callback_data *data)
{
    struct host_thread *thread = thread_self;
    if (LIKELY(thread != NULL))
        handle_call_on(thread, domain, cbid, data);
    else
        handle_call_on_new_thread(domain, cbid, data);
}

/* Handles events of CUDA contexts, modules and graphs, all rare. An event's record precedes that of the
 * enclosing call in the ring. */
RARE static void handle_resource(uint32_t cbid, const struct cupti_resource_data *data)
{
    if (launch_names_concern(cbid))
        launch_names_unload();
    if (cbid == CUPTI_RESOURCE_MODULE_UNLOAD_STARTING)
        return;
    if (cbid == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING) {
        gpu_counters_end_context(data->context);
        callbacks_flush_soon();
    }
    if (atomic_load_explicit(&mode_now, memory_order_relaxed) == MODE_ASLEEP && !graph_nodes_concern(cbid))
        return;
    struct host_thread *thread = thread_current();
    if (graph_nodes_concern(cbid)) {
        if (thread)
            graph_nodes_handle(thread, cbid, data->resourceDescriptor);
        return;
    }
    struct resource_record *record = thread ? ring_reserve(&thread->ring, sizeof *record) : NULL;
    if (!record) {
        if (thread)
            thread_count_note_lost(thread);
        else
            counter_add(COUNTER_notes_lost, 1);
        return;
    }
    *record = (struct resource_record){
        .head = {sizeof *record, RECORD_RESOURCE, CUPTI_DOMAIN_RESOURCE, (uint16_t)cbid},
        .time_ns = clock_ticks(),
        .device_id = UINT32_MAX,
        .handle = (uint64_t)(uintptr_t)data->context,
    };
    if (cbid == CUPTI_RESOURCE_MODULE_LOADED && data->resourceDescriptor) {
        const struct cupti_module_data *module = data->resourceDescriptor;
        record->id = module->moduleId;
        record->bytes = module->cubinSize > UINT32_MAX ? UINT32_MAX : (uint32_t)module->cubinSize;
    }
    ring_commit(&thread->ring, sizeof *record);
}

RARE static void handle_state(uint32_t cbid, const struct cupti_state_data *data)
{
    if (cbid != CUPTI_STATE_FATAL_ERROR || atomic_exchange(&callbacks_signals.is_failing, true))
        return;
    mode_off();
    const char *message = data && data->message ? data->message : "no reason given";
    size_t length = strnlen(message, sizeof callbacks_signals.fatal_message - 1);
    memcpy(callbacks_signals.fatal_message, message, length);
    atomic_store_explicit(&callbacks_signals.fatal, true, memory_order_release);
}

/* Forgets the thread's call in progress. A thread that starts a call is in no other: an older one ended while
 * capture was asleep. */
static void forget_call(struct host_thread *thread, uint32_t domain, uint32_t correlation_id)
{
    if (domain == CUPTI_DOMAIN_RUNTIME)
        atomic_store_explicit(&thread->runtime_correlation, 0, memory_order_relaxed);
    else if (atomic_load_explicit(&thread->runtime_correlation, memory_order_relaxed) != correlation_id)
        atomic_store_explicit(&thread->is_in_driver_call, false, memory_order_relaxed);
}

/* Whether this is the end of a call that was in progress when tracing was stopped. */
RARE static bool ends_call(uint32_t domain, const struct cupti_callback_data *data)
{
    struct host_thread *thread = thread_known();
    if (!thread)
        return false;
    if (data->callbackSite != CUPTI_SITE_EXIT) {
        forget_call(thread, domain, data->correlationId);
        return false;
    }
    return domain == CUPTI_DOMAIN_RUNTIME
               ? atomic_load_explicit(&thread->runtime_correlation, memory_order_relaxed) ==
                     data->correlationId
               : atomic_load_explicit(&thread->is_in_driver_call, memory_order_relaxed);
}

/* Notes a call that waits for the GPU, for the hang watch. Those of unknown threads are not noted. */
RARE static void note_wait(const struct call_plan *plan, bool is_enter)
{
    struct host_thread *thread = thread_known();
    if (thread)
        atomic_store_explicit(&thread->call_asleep, is_enter ? plan : NULL, memory_order_release);
}

/* Needed while asleep: graphs are created once and launched later, contexts are destroyed, CUPTI fails, or
 * the program starts tracing. */
RARE static bool concerns_sleeper(uint8_t mode, uint32_t domain, uint32_t cbid, const void *data)
{
    if (domain == CUPTI_DOMAIN_RESOURCE)
        return cbid == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING || launch_names_concern(cbid) ||
               graph_nodes_concern(cbid);
    if (domain == CUPTI_DOMAIN_STATE)
        return true;
    const struct cupti_callback_data *call = data;
    if (call->callbackSite == CUPTI_SITE_EXIT && thread_known())
        gpu_counters_exit(thread_known(), call); /* of a launch that started while awake */
    const struct call_plan *plan = cbid < domains[domain].count ? &domains[domain].plans[cbid] : NULL;
    if (plan && plan->flags & PLAN_WAITS)
        note_wait(plan, call->callbackSite == CUPTI_SITE_ENTER);
    if (plan && plan->flags & ~(unsigned)(PLAN_NO_SPAN | PLAN_COUNTS | PLAN_TAKES_CODE | PLAN_TAKES_EACH |
                                          PLAN_TAKES_NAME | PLAN_WAITS))
        return true;
    return mode == MODE_ENDING && ends_call(domain, data);
}

static inline void handle(uint32_t domain, uint32_t cbid, const void *data)
{
    if (LIKELY(domain == CUPTI_DOMAIN_RUNTIME || domain == CUPTI_DOMAIN_DRIVER))
        handle_call((enum call_domain)domain, cbid, data);
    else if (domain == CUPTI_DOMAIN_RESOURCE)
        handle_resource(cbid, data);
    else if (domain == CUPTI_DOMAIN_STATE)
        handle_state(cbid, data);
}

RARE static void handle_asleep(uint8_t mode, uint32_t domain, uint32_t cbid, const void *data)
{
    if (concerns_sleeper(mode, domain, cbid, data))
        handle(domain, cbid, data);
}

__attribute__((noinline)) void callbacks_handle(void *userdata, uint32_t domain, uint32_t cbid,
                                                const void *data)
{
    uint8_t mode = atomic_load_explicit(&mode_now, memory_order_relaxed);
    if (UNLIKELY(mode == MODE_OFF || thread_is_ours))
        return;
    if (LIKELY(mode == MODE_ON))
        handle(domain, cbid, data);
    else
        handle_asleep(mode, domain, cbid, data);
}
