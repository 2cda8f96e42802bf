/* Everything that is counted, in one table: what went through, and what was lost and why.
 *
 * A counter is a relaxed atomic on our own threads. The host's threads count into their own ring (capture
 * adds those up when it drains), so that no two host threads share a line. The names are what reports, logs
 * and tests show. */
#ifndef CUSPAN_BASE_COUNTERS_H
#define CUSPAN_BASE_COUNTERS_H

#include "base/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* X(identifier, is_loss, what it counts). A loss counts spans (or records that would have become spans), or
 * data points of metrics. */
#define COUNTERS(X)                                                                                          \
    X(calls_captured, false, "calls taken from the rings")                                                   \
    X(activities_captured, false, "activity records decoded")                                                \
    X(ranges_captured, false, "ranges that were begun, and for which there was a place")                     \
    X(marks_captured, false, "marks of the program")                                                         \
    X(summaries, false, "summaries of requests, sent as spans")                                              \
    X(roots, false, "root spans of commands")                                                                \
    X(spans_created, false, "spans made, before any output")                                                 \
    X(spans_delivered, false, "spans that an output accepted")                                               \
    X(spans_filtered, false, "records left out because the configuration asks for it")                       \
    X(spans_unsampled, false, "records left out by the sampler")                                             \
    X(spans_summed, false, "calls and GPU work that count in summaries, and have no span of their own")      \
    X(marks_as_events, false, "marks that are events of the range that they lie in")                         \
    X(facts, false, "activity records that describe something, and make no span")                            \
    X(sessions_unsampled, false, "sessions that the sampler left out, so that they have no span")            \
    X(sessions, false, "sessions begun")                                                                     \
    X(sleeps, false, "times that capture fell asleep, as nothing sampled was in flight")                     \
    X(asleep_ns, false, "ns that it has slept, up to the last time that it woke")                            \
    X(asleep_records, false, "activity records of what was done in sleep, left out")                         \
    X(calls_cut, false, "calls that were under way when tracing was stopped, and had not returned in time")  \
    X(notes_lost, false, "contexts, ends of ranges, names and modules that found a ring full")               \
    X(releases, false, "times that CUPTI was given to another tool")                                         \
    X(released_ns, false, "ns for which it was given away, up to the last time that it came back")           \
    X(pauses, false, "times that records stopped for a moment, while another tool's clock was set")          \
    X(silences, false, "times that CUPTI's buffers stopped to come while GPU work was launched")             \
    X(threads_seen, false, "host threads that made a traced call")                                           \
    X(orphans, false, "GPU spans whose call is unknown, sent below the session and marked")                  \
    X(pending_evicted, false, "calls given up while still waiting for their GPU record")                     \
    X(graph_nodes_unlinked, false, "spans of graph nodes without a link to the call that captured them")     \
    X(summaries_early, false, "summaries sent while their requests went on, for want of room")               \
    X(totals_incomplete, false,                                                                              \
      "ranges and sessions sent before all their GPU work was known, for want of room")                      \
    X(kernels_unnamed, false, "kernels that the figures count together, for want of room for their names")   \
    X(allocations_untracked, false, "allocations that the figures leave out, for want of room")              \
    X(gpu_counts, false, "kernels and ranges whose hardware counters were read")                             \
    X(gpu_counts_lost, false, "of those to be counted, that other kernels ran into, or a fault")             \
    X(gpu_samples, false, "samples of GPUs' hardware counters that were read")                               \
    X(gpu_samples_lost, false, "samples that are missing between those: the GPU's buffer was full")          \
    X(zero_length, false, "GPU spans of no length, sent as 1 ns and marked")                                 \
    X(clock_skew, false, "GPU spans that start before their call, sent as they are")                         \
    X(clock_skew_max_ns, false, "the largest such lead, in ns")                                              \
    X(cupti_flush_ns, false, "ns that CUPTI took to flush its buffers, by its overhead records")             \
    X(cupti_instrumentation_ns, false, "ns that CUPTI took to instrument, by the same")                      \
    X(cupti_resource_ns, false, "ns that CUPTI took to make and free what it needs, by the same")            \
    X(cupti_request_ns, false, "ns that requests for activity buffers took, by the same")                    \
    X(cupti_other_ns, false, "ns that CUPTI took for anything else, by the same")                            \
    X(contexts, false, "CUDA contexts made: each has CUPTI's buffers in GPU memory")                         \
    X(buffers_lent, false, "activity buffers handed to CUPTI")                                               \
    X(buffers_refused, false, "requests of CUPTI's for an activity buffer when none was left")               \
    X(points_made, false, "data points of metrics made")                                                     \
    X(points_delivered, false, "data points that the metrics' output accepted")                              \
    X(batches_sent, false, "requests that an output accepted")                                               \
    X(batches_resent, false, "requests sent again after a retryable failure")                                \
    X(bytes_encoded, false, "bytes of encoded spans, before compression")                                    \
    X(bytes_sent, false, "bytes of request bodies on the wire")                                              \
    X(spans_spooled, false, "spans written to the spool, to be delivered from there")                        \
    X(spans_spooled_left, false, "of them, those that lie there still")                                      \
    X(recovered_spans, false, "spans of earlier processes, delivered from the spool")                        \
    X(recovered_lost, false, "spans of earlier processes that are lost: never spooled, damaged or refused")  \
    X(points_spooled, false, "data points of metrics written to the spool, to be delivered from there")      \
    X(points_spooled_left, false, "of them, those that lie there still")                                     \
    X(recovered_points, false, "data points of earlier processes, delivered from the spool")                 \
    X(recovered_points_lost, false, "data points of earlier processes that are lost, as spans are")          \
    X(broken_invariants, false, "faults of the agent's own: the first one ends the tracing")                 \
    X(records_written, false, "events written to a recording")                                               \
    X(lost_cupti_dropped, true, "records that CUPTI itself dropped")                                         \
    X(lost_zero_timestamps, true, "records without times: no device buffer, or not finished at the exit")    \
    X(lost_context_error, true, "GPU work without times, stopped by a fatal error of its context")           \
    X(lost_no_buffer, true, "records discarded, as no activity buffer was left for CUPTI")                   \
    X(lost_late, true, "records that CUPTI handed over after the end")                                       \
    X(lost_graph_record, true, "executions of graphs that were made before graph records were on")           \
    X(lost_range, true, "ranges for which no place was left: too many were open at once")                    \
    X(lost_malformed, true, "activity records that don't fit their layout")                                  \
    X(lost_backwards, true, "activity records that end before they start")                                   \
    X(lost_ring_full, true, "calls, ranges and marks that found their thread's ring full")                   \
    X(lost_no_ring, true, "calls on threads for which no ring was left")                                     \
    X(lost_in_flight, true, "calls that had not returned when the process ended")                            \
    X(lost_queue_full, true, "spans that found the queue of an output full")                                 \
    X(lost_spool_full, true, "spans that found the spool full (spool.bytes_max)")                            \
    X(lost_spool_damaged, true, "spans that the spool's files didn't give back as they were")                \
    X(lost_too_large, true, "spans too large for a chunk")                                                   \
    X(lost_rejected, true, "spans that a collector rejected in a partial success")                           \
    X(lost_refused, true, "spans in requests that a collector refused for good")                             \
    X(lost_unreachable, true, "spans in requests given up after retries")                                    \
    X(lost_broken, true,                                                                                     \
      "calls and records that came when the tracing had ended by a fault of the agent's own")                \
    X(lost_deadline, true, "spans not delivered when the deadline at exit passed")                           \
    X(lost_unmade, true, "what was captured, and no span yet when the deadline at exit passed")              \
    X(lost_output, true, "spans that a file or stream could not take")                                       \
    X(lost_recording, true, "events that a recording could not take")                                        \
    X(lost_points, true, "data points of metrics that were not delivered")

enum counter {
#define COUNTER_ID(id, is_loss, text) COUNTER_##id,
    COUNTERS(COUNTER_ID)
#undef COUNTER_ID
        COUNTER_COUNT
};

extern _Atomic uint64_t counter_values[COUNTER_COUNT];

static inline void counter_add(enum counter counter, uint64_t n)
{
    atomic_fetch_add_explicit(&counter_values[counter], n, memory_order_relaxed);
}

/* The same for a counter that no other thread adds to, without a locked instruction. */
static inline void counter_add_alone(enum counter counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(&counter_values[counter], memory_order_relaxed);
    atomic_store_explicit(&counter_values[counter], now + n, memory_order_relaxed);
}

static inline uint64_t counter_get(enum counter counter)
{
    return atomic_load_explicit(&counter_values[counter], memory_order_relaxed);
}

/* Raises the counter to `value` if that is larger. */
void counter_max(enum counter counter, uint64_t value);

const char *counter_name(enum counter counter);
const char *counter_help(enum counter counter);
bool counter_is_loss(enum counter counter);

/* The sum of all losses. */
uint64_t counters_lost(void);

/* What became of the spans in each output: every span that is made meets one fate in every one of them. The
 * counters above have the sums. Counted by our own threads alone. The output METRICS_OUTPUT counts data
 * points: whatever the reason, a lost one is lost_points. */
void counter_output_delivered(unsigned output, uint64_t spans);
void counter_output_lost(unsigned output, enum counter reason, uint64_t spans);

/* What waits in the spool has met no fate yet, but needs no deadline. Negative: it left it. */
void counter_output_spooled(unsigned output, int64_t spans);

struct output_fates {
    uint64_t delivered;
    uint64_t lost;
    uint64_t spooled; /* in the spool at present */
};
struct output_fates counter_output_get(unsigned output);

/* For tests and for a process that forked. */
void counters_reset(void);

#endif
