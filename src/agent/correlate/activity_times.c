#include "agent/correlate/activity_times.h"

#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/correlate/state.h"
#include "model/semconv.h"

bool activity_times_capture_slept(void)
{
    return counter_get(COUNTER_sleeps) || counter_get(COUNTER_releases);
}

/* Whether no span is expected of this work: its call is not sampled, or is unknown after a sleep, when CUPTI
 * before 13.3 sometimes gives no times. */
static bool is_unwanted(const struct pending_call *call)
{
    return call ? call->flags & PENDING_UNSAMPLED : activity_times_capture_slept();
}

static void lose_stopped(const struct activity_record *record, const struct context_error *error)
{
    const char *name = call_result_name(error->domain, error->result);
    counter_add(COUNTER_lost_context_error, 1);
    log_once(
        log_warn,
        "%s (%d) has ended CUDA context %u; CUPTI gives no times for the GPU work that it stopped, which "
        "is counted as lost_context_error",
        name ? name : "an error", error->result, record->context_id);
}

static void lose(const struct activity_record *record)
{
    if (!record->start_ns || !record->end_ns) {
        counter_add(COUNTER_lost_zero_timestamps, 1);
        return;
    }
    counter_add(COUNTER_lost_backwards, 1);
    log_once(log_warn,
             "CUPTI gives activity that ends before it starts; such records are left out and counted");
}

/* Returns the time in the record that can be the execution's own, or else the start of its call; 0: unknown.
 */
static uint64_t time_of_graph(const struct activity_record *record, const struct pending_call *call)
{
    uint64_t earliest_ns = call ? call->start_ns : 1;
    if (record->end_ns >= earliest_ns)
        return record->end_ns;
    if (record->start_ns >= earliest_ns)
        return record->start_ns;
    return call ? call->start_ns : 0;
}

static bool complete_graph(const struct activity_record *record, const struct pending_call *call,
                           struct activity_record *completed)
{
    uint64_t time_ns = record->kind == ACTIVITY_GRAPH_TRACE ? time_of_graph(record, call) : 0;
    if (!time_ns) {
        lose(record);
        return false;
    }
    log_once(log_warn, "CUPTI gives no times for some executions of CUDA graphs, probably because several "
                       "threads launch the same executable graph; their spans have cuda.time_unknown");
    *completed = *record;
    completed->start_ns = completed->end_ns = time_ns;
    return true;
}

__attribute__((cold)) bool activity_times_complete(struct correlate *c, const struct activity_record *record,
                                                   const struct pending_call *call,
                                                   struct activity_record *completed,
                                                   const struct context_error **error)
{
    bool is_zero = !record->start_ns || !record->end_ns;
    uint64_t launch_ns = call ? call->start_ns : record->start_ns;
    *error = is_zero ? context_errors_find(&c->context_errors, record->context_id, launch_ns) : NULL;
    if (is_zero && is_unwanted(call)) {
        counter_add(COUNTER_spans_unsampled, 1);
        return false;
    }
    if (!*error && is_zero && call && c->join.goes_on.reported_ns &&
        activity_table[record->kind].is_gpu_work) {
        *error = &c->join.goes_on;
        *completed = *record;
        completed->start_ns = record->start_ns ? record->start_ns : call->start_ns;
        completed->end_ns = clock_now_ns(); /* after its launch, which may be later than the flush's start */
        return true;
    }
    if (!*error)
        return complete_graph(record, call, completed);
    if (!call || !record->start_ns || record->start_ns >= (*error)->reported_ns) {
        lose_stopped(record, *error);
        return false;
    }
    *completed = *record;
    completed->end_ns = (*error)->reported_ns;
    return true;
}

void activity_times_mark(struct span *span, const struct activity_record *record, bool are_unknown)
{
    span->end_ns = record->start_ns + 1;
    if (are_unknown) {
        span_attr_bool(span, ATTR(SEMCONV_CUDA_TIME_UNKNOWN), true);
        counter_add(COUNTER_graph_times_unknown, 1);
    } else if (activity_is_instant(record)) {
        span_attr_bool(span, ATTR(SEMCONV_CUDA_INSTANT), true);
    } else {
        span_attr_bool(span, ATTR(SEMCONV_CUDA_ZERO_LENGTH), true);
        counter_add(COUNTER_zero_length, 1);
    }
}
