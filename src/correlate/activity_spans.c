#include "correlate/activity_spans.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/log.h"
#include "correlate/activity_times.h"
#include "correlate/collective_spans.h"
#include "correlate/counting.h"
#include "correlate/join/gpu_counted.h"
#include "correlate/join/graphs.h"
#include "correlate/join/waiting.h"
#include "correlate/names/kernel_names.h"
#include "correlate/session_spans.h"
#include "correlate/spans.h"
#include "correlate/spans/code_attributes.h"
#include "correlate/stacks/code_profile.h"
#include "correlate/state.h"
#include "correlate/step_spans.h"
#include "correlate/totals/allocations.h"
#include "correlate/totals/program_stats.h"
#include "correlate/totals/step_stats.h"

#include <stdio.h>
#include <string.h>

#define WAITING_BYTES     (2 * 1024 * 1024)
#define COPY_PEER_TO_PEER 10                  /* of CUpti_ActivityMemcpyKind */
#define COUNTS_WAIT_NS    (5 * NS_PER_SECOND) /* values are read within a second */

enum status activity_spans_init(struct activity_spans *activities, const struct settings *settings)
{
    for (unsigned kind = 1; kind < ACTIVITY_KINDS_MAX; kind++)
        activities->is_kind_filtered[kind] =
            activity_table[kind].name &&
            !filter_passes(&settings->capture.activities, activity_table[kind].name, NULL);
    enum status status = entry_queue_create(WAITING_BYTES, &activities->waiting);
    return status == STATUS_OK ? gpu_counted_create(settings, &activities->gpu_counted) : status;
}

void activity_spans_deinit(struct activity_spans *activities)
{
    entry_queue_destroy(activities->waiting);
    gpu_counted_destroy(activities->gpu_counted);
}

/* With the device's NVTX name, if it has one. */
static void tell_of_device(struct correlate *c, uint32_t device)
{
    const char *label = named_objects_text_of(&c->objects, NAMED_DEVICE, device);
    const struct resource *resource = devices_label(&c->devices, device, label);
    if (resource)
        c->options.sink.on_device(c->options.sink.context, (uint16_t)RESOURCE_DEVICE(device), resource);
}

void activity_spans_name_device(struct correlate *c, uint64_t device)
{
    if (device < DEVICES_MAX && c->devices.is_known[device])
        tell_of_device(c, (uint32_t)device);
}

static void learn_device(struct correlate *c, const struct activity_record *record)
{
    struct resource resource = {0};
    uint32_t device = record->device_id;
    enum status status = record->kind == ACTIVITY_DEVICE ? devices_describe(record, &device, &resource)
                                                         : devices_describe_unknown(device, &resource);
    if (status == STATUS_OK && device < DEVICES_MAX) {
        c->devices.is_known[device] = true;
        devices_note(&c->devices, device, &resource);
        tell_of_device(c, device);
    }
    resource_deinit(&resource);
}

static uint16_t resource_of(struct correlate *c, const struct activity_record *record)
{
    if (record->device_id >= DEVICES_MAX || !activity_table[record->kind].is_gpu_work)
        return RESOURCE_PROCESS;
    if (!c->devices.is_known[record->device_id])
        learn_device(c, record);
    return (uint16_t)RESOURCE_DEVICE(record->device_id);
}

/* Copies are named by direction, the rest by kind. Valid until the next call. */
static struct profile_string name_by_kind(struct correlate *c, const struct activity_record *record)
{
    static char text[64];
    const char *kind = activity_table[record->kind].name, *detail = attributes_detail(&c->plan, record);
    int bytes = snprintf(text, sizeof text, detail ? "%s %s" : "%s", kind, detail);
    return (struct profile_string){text, (uint32_t)bytes};
}

/* Span names have few distinct values: kernels by short name, the others as above. */
static void name_activity(struct correlate *c, const struct activity_record *record)
{
    struct span *span = &c->span;
    if (record->kind == ACTIVITY_KERNEL && record->name) {
        const struct kernel_name *name = kernel_names_resolve(c->names, record->name);
        span->name = name->text;
        span->name_len = name->text_len;
        c->activities.operation = name->operation;
        span_attr_bytes(span, ATTR("cuda.kernel.name"), name->full, name->full_len);
        return;
    }
    struct profile_string name = name_by_kind(c, record);
    span->name = name.text;
    span->name_len = name.bytes;
}

/* In profiles, a graph's node belongs to the code that captured it, and to the span that its launch worked
 * for. */
__attribute__((noinline)) static uint32_t place_of_node(struct correlate *c,
                                                        const struct activity_record *record, uint32_t place)
{
    uint64_t code = 0;
    struct span_link unused;
    if (c->code && graphs_link_nodes(c->graphs))
        (void)graphs_capture_of(c->graphs, record->graph_node_id, &unused, &code);
    if (!code)
        return place;
    const struct code_stack *stack = code_stacks_of_nodes(c->code, code);
    counter_add(COUNTER_profile_unplaced, !stack);
    return code_profile_place_with(c->profile, place, stack);
}

/* For profiles, whether sampled or not. */
static void add_to_profile(struct correlate *c, const struct activity_record *record,
                           const struct pending_call *call)
{
    const struct kernel_name *kernel =
        record->kind == ACTIVITY_KERNEL && record->name ? kernel_names_resolve(c->names, record->name) : NULL;
    bool is_copy = c->plan.bytes[record->kind] != 0;
    struct profile_string name =
        kernel ? (struct profile_string){kernel->text, kernel->text_len} : name_by_kind(c, record);
    uint32_t place = call ? call->place : 0;
    if (record->graph_node_id)
        place = place_of_node(c, record, place);
    code_profile_add(c->profile, place, is_copy ? PROFILE_COPIES : PROFILE_KERNELS, name,
                     kernel ? kernel->number : 0, record->end_ns - record->start_ns);
}

/* CUPTI converts the GPU's clock. A start before the call is kept, and counted as skew. */
static void note_delay(struct span *span, uint64_t call_start_ns)
{
    int64_t delay_ns = (int64_t)(span->start_ns - call_start_ns);
    if (delay_ns < 0) {
        counter_add(COUNTER_clock_skew, 1);
        counter_max(COUNTER_clock_skew_max_ns, (uint64_t)-delay_ns);
    }
    span_attr_int(span, ATTR("cuda.start_delay"), delay_ns);
}

/* The code that captured a graph's node. If its text was forgotten, an earlier span has it. */
__attribute__((noinline)) static void put_code(struct correlate *c, uint64_t id)
{
    struct span *span = &c->span;
    struct code_stack *code = code_stacks_of_nodes(c->code, id);
    if (code) {
        c->activities.new_code = code->is_sent ? NULL : code;
        code_attributes_put(c->options.settings, span, code);
        return;
    }
    code_id_text(id, c->activities.stack_id);
    span_attr_string(span, ATTR("cuspan.stack.id"), c->activities.stack_id);
}

/* A graph execution says how many nodes it has. A node links to the call that captured it, and has the
 * code that made this call. */
static void describe_graph(struct correlate *c, const struct activity_record *record)
{
    struct span *span = &c->span;
    uint32_t nodes =
        record->kind == ACTIVITY_GRAPH_TRACE ? graphs_nodes_launched(c->graphs, record->correlation_id) : 0;
    if (nodes)
        span_attr_int(span, ATTR("cuda.graph.nodes"), nodes);
    if (!record->graph_node_id || !graphs_link_nodes(c->graphs))
        return;
    uint64_t code;
    bool has_link = graphs_capture_of(c->graphs, record->graph_node_id, &c->activities.link, &code);
    if (code)
        put_code(c, code);
    if (!has_link) {
        counter_add(COUNTER_graph_nodes_unlinked, 1);
        return;
    }
    c->activities.link.attr = (struct span_attr){
        .key = ATTR("cuda.link"), .type = ATTR_STRING, .len = strlen("capture"), .s = "capture"};
    span->links = &c->activities.link;
    span->link_count = 1;
}

/* Name and attributes that repeated work has in common: its kind, name and launch parameters. */
static void put_lasting(struct correlate *c, const struct activity_record *record, bool is_null_stream)
{
    struct span *span = &c->span;
    span_attr_string(span, ATTR("cuda.activity"), activity_table[record->kind].name);
    name_activity(c, record);
    attributes_of_activity(span, &c->plan.lasting[record->kind], record);
    if (is_null_stream)
        span_attr_bool(span, ATTR("cuda.stream.default"), true);
}

static void put_lasting_shared(struct correlate *c, const struct activity_record *record, bool is_null_stream)
{
    const struct fields *fields = &c->plan.key[record->kind];
    uint64_t key[SHARED_KEY_WORDS];
    bool is_named = record->kind == ACTIVITY_KERNEL && record->name;
    uint64_t name = 0;
    if (is_named) {
        const struct kernel_name *resolved = kernel_names_resolve(c->names, record->name);
        name = resolved->number;
        c->activities.operation = resolved->operation;
    }
    if (fields->count + 2u > SHARED_KEY_WORDS || (is_named && !name)) {
        put_lasting(c, record, is_null_stream);
        return;
    }
    key[0] = record->kind | (uint64_t)is_null_stream << 16 | name << 17;
    key[1] = record->present;
    for (uint8_t i = 0; i < fields->count; i++)
        key[i + 2u] = record->values[fields->ids[i]];
    if (span_shared_take(&c->shared, key, fields->count + 2u, &c->span))
        return;
    put_lasting(c, record, is_null_stream);
    span_shared_offer(&c->shared, &c->span);
}

/* Few programs have steps: not inlined. */
__attribute__((noinline)) static bool communicates(struct correlate *c, const struct activity_record *record,
                                                   const struct pending_call *call,
                                                   const struct kernel_name *name)
{
    enum collective_operation kernel = name ? (enum collective_operation)name->operation : COLLECTIVE_NONE;
    return collective_spans_communicates(c, record, call, kernel);
}

static struct gpu_work work_of(struct correlate *c, const struct activity_record *record,
                               const struct pending_call *call)
{
    struct gpu_work work = {.record = record,
                            .call_start_ns = call && !c->activities.is_time_unknown ? call->start_ns : 0,
                            .bytes = attributes_value(record, c->plan.bytes[record->kind])};
    if (record->kind == ACTIVITY_MEMCPY_PEER)
        work.copy_kind = COPY_PEER_TO_PEER;
    else if (record->kind == ACTIVITY_MEMCPY)
        work.copy_kind = (uint32_t)attributes_value(record, c->plan.detail[ACTIVITY_MEMCPY]);
    if ((c->stats_are_on || c->step_stats) && record->kind == ACTIVITY_KERNEL && record->name)
        work.name = kernel_names_resolve(c->names, record->name);
    if (__builtin_expect(c->step_stats != NULL, 0))
        work.communicates = communicates(c, record, call, work.name);
    return work;
}

static void put_error(struct span *span, const struct context_error *error)
{
    spans_put_error(span, error->domain, error->result);
    span_attr_int(span, ATTR("cuda.error.code"), error->result);
    span_attr_bool(span, ATTR("cuda.unfinished"), true);
}

/* Whether the work belongs to the open session's trace. */
static void put_below_call_or_session(const struct correlate *c, const struct pending_call *call,
                                      const struct session *session, struct span *span)
{
    if (call)
        spans_put_below(c, span, call->trace_id, call->span_id,
                        (call->flags & PENDING_TRACE_FLAGS) | SPAN_FLAG_REMOTE_KNOWN, call->trace_state);
    else
        spans_put_below(c, span, session->trace_id, session->span_id, session->flags | SPAN_FLAG_REMOTE_KNOWN,
                        session->trace_state);
}

/* Everything but IDs and times. */
static void describe(struct correlate *c, const struct gpu_work *work, const struct pending_call *call,
                     const struct context_error *error)
{
    const struct activity_record *record = work->record;
    struct span *span = &c->span;
    bool is_gpu_work = activity_table[record->kind].is_gpu_work;
    bool is_null_stream =
        record->stream_id && devices_is_null_stream(&c->devices, record->context_id, record->stream_id);
    (c->plan.is_shared[record->kind] ? put_lasting_shared : put_lasting)(c, record, is_null_stream);
    attributes_of_activity(span, &c->plan.own[record->kind], record);
    spans_put_context_name(c, span, record->context_id);
    const char *stream = call ? named_objects_text(&c->objects, call->flags >> PENDING_STREAM_SHIFT) : NULL;
    if (stream)
        span_attr_string(span, ATTR("cuda.stream.name"), stream);
    if (is_gpu_work && work->call_start_ns)
        note_delay(span, work->call_start_ns);
    else if (is_gpu_work && !call)
        span_attr_bool(span, ATTR("cuda.orphan"), true);
    devices_add_ends(&c->devices, record, span);
    if (c->activities.gpu_counted && record->kind == ACTIVITY_KERNEL)
        gpu_counted_put(c->activities.gpu_counted, record->correlation_id, span);
    describe_graph(c, record);
    if (record->end_ns <= record->start_ns)
        activity_times_mark(span, record, c->activities.is_time_unknown);
    if (error)
        put_error(span, error);
}

/* Of sampled and other steps. Few programs have steps: not inlined, like the next one. */
__attribute__((noinline)) static void
note_step_work(struct correlate *c, const struct activity_record *record, const struct pending_call *call)
{
    steps_note_work(&c->sessions.steps, call->start_ns, record->end_ns);
    if (!(call->flags & PENDING_COLLECTIVE))
        step_spans_note_work(c, record->end_ns - record->start_ns);
}

/* Sends the span, if it is among those of its step. A collective stands for its kernel. */
__attribute__((noinline)) static bool emit_work_of_step(struct correlate *c, struct step *step,
                                                        bool is_gpu_work, bool is_of_collective,
                                                        uint32_t account)
{
    struct span *span = &c->span;
    bool is_represented = is_of_collective && step_spans_is_selecting(c, step);
    bool wanted =
        !is_represented && (is_gpu_work ? step_spans_wants_work(c, step, span->end_ns - span->start_ns)
                                        : step_spans_wants_extra(c, step));
    bool is_sent = step_spans_emit_work(c, step, span, wanted, account);
    if (is_sent)
        return true;
    counting_leave_out(c, account);
    if (c->activities.new_code)
        c->activities.new_code->is_sent = false;
    return false;
}

/* `call` NULL: unknown; the session becomes the parent. `error`: what stopped the work, or NULL. */
static void emit_activity(struct correlate *c, const struct activity_record *record,
                          struct pending_call *call, const struct context_error *error)
{
    struct span *span = &c->span;
    bool is_gpu_work = activity_table[record->kind].is_gpu_work;
    bool is_in_stats = c->stats_are_on && is_gpu_work;
    uint16_t resource = resource_of(c, record);
    /* the call has settled the trace: no session starts or ends for its work; NULL: not of an open one */
    struct session *session =
        call ? session_spans_of_trace(c, call->trace_id) : session_spans_at(c, record->start_ns);
    struct gpu_work work = work_of(c, record, call);
    if (is_in_stats)
        program_stats_add_work(c->stats, &work);
    if (__builtin_expect(c->profile != NULL, 0) && is_gpu_work)
        add_to_profile(c, record, call);
    if (__builtin_expect(c->sessions.steps.count != 0, 0) && call && is_gpu_work)
        note_step_work(c, record, call);
    if (call ? (call->flags & PENDING_UNSAMPLED) != 0 : !session->is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        if (session)
            session->spans += !session->is_sampled;
        return;
    }
    if (is_gpu_work)
        counting_add_work(c, call ? call->account : session->account, &work, call);
    if (c->is_summary) {
        if (c->stats_are_on && call)
            program_stats_exemplify(c->stats, call->trace_id, call->span_id);
        counter_add_alone(COUNTER_spans_summed, 1);
        return;
    }
    span_begin(span, record->start_ns, record->end_ns);
    session_next_span_id(&c->sessions.current, span->span_id);
    span->resource = resource;
    put_below_call_or_session(c, call, session, span);
    c->activities.operation = COLLECTIVE_NONE;
    c->activities.new_code = NULL;
    describe(c, &work, call, error);
    struct step *step = NULL; /* whose spans are limited */
    if (__builtin_expect(c->sessions.steps.count != 0, 0))
        step = step_spans_limit(c, span->trace_id, call ? call->start_ns : record->start_ns);
    bool is_of_collective = false;
    if (__builtin_expect(c->activities.operation || (call && call->flags & PENDING_COLLECTIVE), 0))
        is_of_collective =
            collective_spans_wrap(c, record, call, (enum collective_operation)c->activities.operation, step);
    if (step &&
        !emit_work_of_step(c, step, is_gpu_work, is_of_collective, call ? call->account : session->account))
        return;
    if (is_in_stats)
        program_stats_exemplify(c->stats, span->trace_id, span->span_id);
    if (session)
        session_cover(session, span->start_ns, span->end_ns);
    if (!step)
        spans_emit(c, span);
}

/* Work that started while capture slept is wanted only if its call is known. */
static bool is_of_sleep(const struct correlate *c, const struct activity_record *record)
{
    return c->options.slept_between && c->options.slept_between(record->start_ns, record->start_ns);
}

/* Whether the record should have a call. After a sleep, one without a call was probably launched in the
 * sleep. */
static bool has_a_call(const struct correlate *c, const struct activity_record *record)
{
    return c->options.expects_calls && (record->correlation_id || graphs_lack_launch(record)) &&
           activity_table[record->kind].is_gpu_work;
}

static void give_up(struct correlate *c, const struct activity_record *record)
{
    if (has_a_call(c, record) && activity_times_have_sleep()) {
        counter_add(COUNTER_asleep_records, 1);
        return;
    }
    if (activity_table[record->kind].is_gpu_work)
        counter_add(COUNTER_orphans, 1);
    emit_activity(c, record, NULL, NULL);
}

/* CUPTI's own work on the host, such as loading a module, has the correlation ID of the calls that it makes:
 * it contains them, if it started before them. */
static bool contains_call(const struct activity_record *work, const struct pending_call *call)
{
    return work->start_ns < call->start_ns && !(call->flags & PENDING_UNSAMPLED);
}

static inline struct pending_call *answer_call(struct correlate *c, const struct activity_record *record)
{
    struct pending_call *call =
        record->correlation_id ? pending_find(c->pending, record->correlation_id, record->start_ns) : NULL;
    if (!call)
        return NULL;
    if (!activity_table[record->kind].is_gpu_work)
        return contains_call(record, call) ? NULL : call;
    if (pending_answer(c->pending, call))
        counting_answer(c, call->account);
    return call;
}

/* The launch of work in the body of a conditional node is known a little later. */
__attribute__((noinline)) static struct pending_call *
find_call_of_node(struct correlate *c, const struct activity_record *record, bool is_late)
{
    graphs_node_ran(c->graphs, record);
    if (!graphs_lack_launch(record))
        return answer_call(c, record);
    uint32_t launch = graphs_execution_of(c->graphs, record, is_late);
    return launch ? pending_find(c->pending, launch, record->start_ns) : NULL;
}

static inline __attribute__((always_inline)) struct pending_call *
find_call(struct correlate *c, const struct activity_record *record, bool is_late)
{
    return __builtin_expect(record->graph_node_id != 0, 0) ? find_call_of_node(c, record, is_late)
                                                           : answer_call(c, record);
}

static void emit_without_times(struct correlate *c, const struct activity_record *record,
                               struct pending_call *call)
{
    static struct activity_record completed;
    const struct context_error *error;
    if (!activity_times_complete(c, record, call, &completed, &error))
        return;
    c->activities.is_time_unknown = !error;
    emit_activity(c, &completed, call, error);
    c->activities.is_time_unknown = false;
}

static bool is_filtered(struct correlate *c, const struct activity_record *record)
{
    const struct filter *kernels = &c->options.settings->capture.kernels;
    if (c->activities.is_kind_filtered[record->kind])
        return true; /* CUPTI enabled it together with another kind */
    if (record->kind != ACTIVITY_KERNEL || (!kernels->allow.count && !kernels->deny.count) || !record->name)
        return false;
    const struct kernel_name *name = kernel_names_resolve(c->names, record->name);
    return !filter_passes(kernels, name->text, name->full);
}

/* Whether the device's description is still missing. Buffers arrive in any order, so it can be in one that
 * is not full yet. Without it the span's resource has no name and UUID. */
static bool lacks_device(struct correlate *c, const struct activity_record *record)
{
    bool lacks = c->options.expects_devices && activity_table[record->kind].is_gpu_work &&
                 record->device_id < DEVICES_MAX && !c->devices.is_known[record->device_id];
    c->activities.lacks_device |= lacks;
    return lacks;
}

/* Records that describe something and become no span. */
static void note_fact(struct correlate *c, const struct activity_record *record)
{
    if (record->kind == ACTIVITY_DEVICE)
        learn_device(c, record);
    else if (record->kind == ACTIVITY_CONTEXT) {
        devices_note_context(&c->devices, record);
        allocations_learn(c->allocations, record->context_id, record->device_id);
    }
    counter_add_alone(COUNTER_facts, 1);
}

/* CUPTI's own kernel around a counted kernel. */
static bool is_profilers(const struct correlate *c, const struct activity_record *record)
{
    return c->activities.gpu_counted && record->kind == ACTIVITY_KERNEL && record->name &&
           strcmp(record->name, GPU_COUNTERS_OWN_KERNEL) == 0;
}

/* Whether its counter values are still missing: they are read in batches. */
static bool lacks_counts(const struct correlate *c, const struct activity_record *record)
{
    return c->activities.gpu_counted && record->kind == ACTIVITY_KERNEL &&
           gpu_counted_awaits(c->activities.gpu_counted, record->correlation_id);
}

void activity_spans_add(struct correlate *c, const struct activity_record *record)
{
    if (record->kind == ACTIVITY_DEVICE || record->kind == ACTIVITY_CONTEXT ||
        !c->plan.has_start[record->kind]) {
        note_fact(c, record);
        return;
    }
    if (is_filtered(c, record) || is_profilers(c, record)) {
        counter_add(COUNTER_spans_filtered, 1);
        return;
    }
    if ((lacks_device(c, record) || lacks_counts(c, record)) &&
        waiting_push(c->activities.waiting, record, c->now_ns))
        return;
    struct pending_call *call = find_call(c, record, false);
    if (!activity_times_are_sound(record)) {
        bool may_wait = !call && record->kind == ACTIVITY_GRAPH_TRACE && has_a_call(c, record);
        if (!may_wait || !waiting_push(c->activities.waiting, record, c->now_ns))
            emit_without_times(c, record, call);
        return;
    }
    if (call)
        emit_activity(c, record, call, NULL);
    else if (is_of_sleep(c, record))
        counter_add(COUNTER_asleep_records, 1);
    else if (!has_a_call(c, record) || !waiting_push(c->activities.waiting, record, c->now_ns))
        give_up(c, record);
    if (record->kind == ACTIVITY_OVERHEAD) /* after its span, which may have ended the previous session */
        session_overhead_add(record, attributes_value(record, c->plan.detail[ACTIVITY_OVERHEAD]));
}

/* False: the record continues to wait. */
static bool sweep_one(void *context, const void *entry, uint64_t since_ns)
{
    static struct activity_record record;
    struct correlate *c = context;
    bool is_late =
        c->is_finishing || c->now_ns >= since_ns + c->options.settings->correlation.wait_ms * NS_PER_MS;
    bool may_await_counts = !c->is_finishing && c->now_ns < since_ns + COUNTS_WAIT_NS;
    waiting_unpack(entry, &record);
    if ((!is_late && lacks_device(c, &record)) || (may_await_counts && lacks_counts(c, &record)))
        return false;
    struct pending_call *call = find_call(c, &record, is_late);
    if (!is_late && !call && has_a_call(c, &record))
        return false;
    if (!activity_times_are_sound(&record))
        emit_without_times(c, &record, call);
    else if (call)
        emit_activity(c, &record, call, NULL);
    else
        give_up(c, &record);
    return true;
}

void activity_spans_sweep(struct correlate *c)
{
    entry_queue_sweep(c->activities.waiting, sweep_one, c);
}
