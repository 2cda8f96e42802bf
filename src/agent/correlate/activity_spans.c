#include "agent/correlate/activity_spans.h"

#include "base/accounting/counters.h"
#include "agent/correlate/activity_times.h"
#include "agent/correlate/collective_spans.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/facts.h"
#include "agent/correlate/join/gpu_counted.h"
#include "agent/correlate/join/graphs.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/observers.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/step_spans.h"
#include "agent/correlate/totals/program_stats.h"
#include "model/semconv.h"

#include <string.h>

/* Names the span so that names have few distinct values: a kernel by its short name, other work by its kind.
 */
static void name_activity(struct correlate *c, const struct activity_record *record)
{
    struct span *span = &c->span;
    if (record->kind == ACTIVITY_KERNEL && record->name) {
        const struct kernel_name *name = kernel_names_resolve(c->names, record->name);
        span->name = name->text;
        span->name_len = name->text_len;
        c->activities.operation = name->operation;
        span_attr_bytes(span, ATTR(SEMCONV_CUDA_KERNEL_NAME), name->full, name->full_len);
        return;
    }
    struct profile_string name = attributes_name(&c->plan, record);
    span->name = name.text;
    span->name_len = name.bytes;
}

/* Adds the time from the call to the work's start. It can be negative, because CUPTI converts the GPU's
 * clock; this is counted as skew. */
static void note_delay(struct span *span, uint64_t call_start_ns)
{
    int64_t delay_ns = (int64_t)(span->start_ns - call_start_ns);
    if (delay_ns < 0) {
        counter_add(COUNTER_clock_skew, 1);
        counter_max(COUNTER_clock_skew_max_ns, (uint64_t)-delay_ns);
    }
    span_attr_int(span, ATTR(SEMCONV_CUDA_START_DELAY), delay_ns);
}

/* Adds the code that captured a graph's node. If the stack's text was forgotten, an earlier span has it. */
__attribute__((noinline)) static void put_code(struct correlate *c, uint64_t id)
{
    struct span *span = &c->span;
    struct code_stack *code = code_stacks_of_nodes(c->code, id);
    if (code) {
        c->activities.new_code = code->is_sent ? NULL : code;
        spans_put_code(c->options.settings, span, code);
        return;
    }
    code_id_text(id, c->activities.stack_id);
    span_attr_string(span, ATTR(SEMCONV_CUSPAN_STACK_ID), c->activities.stack_id);
}

/* Adds the number of nodes to a graph's execution. To a node's span, adds a link to the call that captured
 * the node, and the code that made that call. */
static void describe_graph(struct correlate *c, const struct activity_record *record)
{
    struct span *span = &c->span;
    uint32_t nodes =
        record->kind == ACTIVITY_GRAPH_TRACE ? graphs_nodes_launched(c->graphs, record->correlation_id) : 0;
    if (nodes)
        span_attr_int(span, ATTR(SEMCONV_CUDA_GRAPH_NODES), nodes);
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
        .key = ATTR(SEMCONV_CUDA_LINK), .type = ATTR_STRING, .len = strlen("capture"), .s = "capture"};
    span->links = &c->activities.link;
    span->link_count = 1;
}

/* Adds the name and attributes that repeated work has in common: its kind, name and launch parameters. */
static void put_lasting(struct correlate *c, const struct activity_record *record, bool is_null_stream)
{
    struct span *span = &c->span;
    span_attr_string(span, ATTR(SEMCONV_CUDA_ACTIVITY), activity_table[record->kind].name);
    name_activity(c, record);
    attributes_of_activity(span, &c->plan.lasting[record->kind], record);
    if (is_null_stream)
        span_attr_bool(span, ATTR(SEMCONV_CUDA_STREAM_DEFAULT), true);
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

static void put_error(struct span *span, const struct context_error *error)
{
    if (error->result) { /* otherwise it goes on */
        spans_put_error(span, error->domain, error->result);
        span_attr_int(span, ATTR(SEMCONV_CUDA_ERROR_CODE), error->result);
    }
    span_attr_bool(span, ATTR(SEMCONV_CUDA_UNFINISHED), true);
}

/* Makes the span a child of its call, or of the session if the call is unknown. */
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

/* Fills the span with everything but IDs and times. */
static void describe(struct correlate *c, const struct gpu_work *work)
{
    const struct pending_call *call = work->call;
    const struct activity_record *record = work->record;
    struct span *span = &c->span;
    bool is_null_stream =
        record->stream_id && devices_is_null_stream(&c->devices, record->context_id, record->stream_id);
    (c->plan.is_shared[record->kind] ? put_lasting_shared : put_lasting)(c, record, is_null_stream);
    attributes_of_activity(span, &c->plan.own[record->kind], record);
    spans_put_context_name(c, span, record->context_id);
    const char *stream = call ? named_objects_text(&c->objects, call->flags >> PENDING_STREAM_SHIFT) : NULL;
    if (stream)
        span_attr_string(span, ATTR(SEMCONV_CUDA_STREAM_NAME), stream);
    if (work->is_on_gpu && work->call_start_ns)
        note_delay(span, work->call_start_ns);
    else if (work->is_on_gpu && !call)
        span_attr_bool(span, ATTR(SEMCONV_CUDA_ORPHAN), true);
    devices_add_ends(&c->devices, record, span);
    if (c->join.gpu_counted && record->kind == ACTIVITY_KERNEL)
        gpu_counted_put(c->join.gpu_counted, record->correlation_id, span);
    describe_graph(c, record);
    if (record->end_ns <= record->start_ns)
        activity_times_mark(span, record, work->is_time_unknown);
    if (work->error)
        put_error(span, work->error);
}

/* Sends the span unless the step's limit leaves it out. A kernel of a collective is left out while selecting,
 * because the collective's span represents it. Returns whether the span was sent. */
__attribute__((noinline)) static bool emit_work_of_step(struct correlate *c, struct step *step,
                                                        bool is_on_gpu, bool is_of_collective,
                                                        uint32_t account)
{
    struct span *span = &c->span;
    bool is_represented = is_of_collective && step_spans_is_selecting(c, step);
    bool wanted =
        !is_represented && (is_on_gpu ? step_spans_wants_work(c, step, span->end_ns - span->start_ns)
                                      : step_spans_wants_extra(c, step));
    bool is_sent = step_spans_emit_work(c, step, span, wanted, account);
    if (is_sent)
        return true;
    counting_leave_out(c, account);
    if (c->activities.new_code)
        c->activities.new_code->is_sent = false;
    return false;
}

void activity_spans_add(struct correlate *c, const struct gpu_work *work)
{
    const struct activity_record *record = work->record;
    const struct pending_call *call = work->call;
    struct span *span = &c->span;
    bool is_in_stats = c->stats_are_on && work->is_on_gpu;
    uint16_t resource = facts_resource(c, record);
    /* the call has decided the trace, so its work starts or ends no session; NULL: the trace is not an open
     * session's */
    struct session *session = call ? session_spans_of_trace(c, call->trace_id)
                                   : session_spans_at(c, record->start_ns, record->start_ns);
    bool is_sampled = call ? !(call->flags & PENDING_UNSAMPLED) : session->is_sampled;
    uint32_t account = call ? call->account : session->account;
    observers_add_work(c, work, is_sampled, account);
    if (!is_sampled) {
        collective_spans_note_end(c, record, call);
        counter_add(COUNTER_spans_unsampled, 1);
        if (session)
            session->spans += !session->is_sampled;
        return;
    }
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
    describe(c, work);
    struct step *step = NULL; /* the step whose limit of spans applies; NULL: none */
    if (__builtin_expect(c->sessions.steps.count != 0, 0))
        step = step_spans_limit(c, span->trace_id, call ? call->start_ns : record->start_ns);
    bool is_of_collective = false;
    if (__builtin_expect(c->activities.operation || (call && call->flags & PENDING_COLLECTIVE), 0))
        is_of_collective =
            collective_spans_wrap(c, record, call, (enum collective_operation)c->activities.operation, step);
    if (step && !emit_work_of_step(c, step, work->is_on_gpu, is_of_collective, account))
        return;
    if (is_in_stats)
        program_stats_exemplify(c->stats, span->trace_id, span->span_id);
    if (session && (account || !session->account)) /* not of a late call of a step */
        session_cover(session, span->start_ns, span->end_ns);
    if (!step)
        spans_emit(c, span);
}
