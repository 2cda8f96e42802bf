/* All counters in one table: throughput and losses, with the reason for each loss.
 *
 * Counters are relaxed atomics for cuspan's own threads. Host threads count in their ring instead, and
 * capture adds those counts when it drains the ring, so no two host threads share a cache line. Reports, logs
 * and tests show the identifiers. */
#pragma once

#include "base/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* X(identifier, is_loss, what it counts). A loss counts spans (or records that would have become spans), or
 * data points of metrics, or samples of profiles. */
#define COUNTERS(X)                                                                                          \
    X(calls_captured, false, "calls read from the rings")                                                    \
    X(activities_captured, false, "decoded activity records")                                                \
    X(ranges_captured, false, "ranges that the program started and cuspan had space for")                    \
    X(marks_captured, false, "marks of the program")                                                         \
    X(summaries, false, "request summaries, sent as spans")                                                  \
    X(collectives, false, "collectives of NCCL and others, sent as spans around their kernels")              \
    X(collectives_forgotten, false,                                                                          \
      "collectives known by their kernels only: too many calls came after theirs")                           \
    X(roots, false, "root spans of commands and of steps")                                                   \
    X(spans_created, false, "spans created, before any output")                                              \
    X(spans_delivered, false, "spans that an output accepted")                                               \
    X(spans_filtered, false, "records that the configuration excludes")                                      \
    X(spans_unsampled, false, "records that the sampler dropped")                                            \
    X(spans_summed, false, "calls and GPU work that count in summaries and have no span")                    \
    X(spans_left_out, false,                                                                                 \
      "calls, ranges and GPU work beyond a rank's share of a step, counted in its totals")                   \
    X(step_copies, false, "spans of a rank in full detail that are also in the trace of all ranks")          \
    X(marks_as_events, false, "marks recorded as events of the enclosing range")                             \
    X(facts, false, "activity records that describe something and become no span")                           \
    X(sessions_unsampled, false, "sessions without a span, because the sampler dropped it")                  \
    X(sessions, false, "sessions started")                                                                   \
    X(steps, false, "beginnings and ends of steps of a training job")                                        \
    X(steps_missed, false, "beginnings and ends of steps that came too fast; their work has another step")   \
    X(iterations, false, "iterations of a serving engine")                                                   \
    X(engine_requests, false, "requests of a serving engine")                                                \
    X(engine_request_spans, false, "requests of a serving engine, sent as spans")                            \
    X(engine_requests_untraced, false, "sampled requests of a serving engine without a span: too many")      \
    X(engine_requests_unfinished, false, "requests of a serving engine given up, because no end came")       \
    X(engine_headers_lost, false, "sampled requests of a serving engine without their headers: too many")    \
    X(iteration_summaries, false,                                                                            \
      "iterations of a serving engine that were slow, sent afterwards as summaries")                         \
    X(iteration_summaries_gone, false, "summaries of iterations that were wanted too late")                  \
    X(engine_events_lost, false, "iterations and requests of serving engines that came too fast")            \
    X(steps_unmeasured, false, "sampled steps without parts in metrics, because GPU records were missing")   \
    X(sleeps, false, "times that capture went to sleep, because nothing sampled was in flight")              \
    X(asleep_ns, false, "ns spent asleep, up to the last wakeup")                                            \
    X(asleep_records, false, "activity records of work done while asleep, dropped")                          \
    X(calls_cut, false, "calls in progress when tracing stopped that did not return in time")                \
    X(range_ends_lost, false, "ends of ranges that were not recorded, or whose range was not known")         \
    X(notes_lost, false, "contexts, ends of ranges, names and modules that found a ring full")               \
    X(releases, false, "times that CUPTI was handed to another tool")                                        \
    X(released_ns, false, "ns for which another tool had CUPTI, up to the last return")                      \
    X(pauses, false, "times that records paused while another tool's clock was set")                         \
    X(silences, false, "times that CUPTI delivered no buffers while GPU work was launched")                  \
    X(threads_seen, false, "host threads that made a traced call")                                           \
    X(orphans, false, "GPU spans of an unknown call, sent as marked children of the session")                \
    X(pending_evicted, false, "calls evicted while still waiting for their GPU record")                      \
    X(device_graphs, false,                                                                                  \
      "executable graphs that kernels can launch; CUPTI has no records of these executions")                 \
    X(graph_nodes_unlinked, false, "spans of graph nodes without a link to the call that captured them")     \
    X(summaries_early, false, "summaries sent before their requests ended, for lack of space")               \
    X(totals_incomplete, false,                                                                              \
      "ranges and sessions sent before all their GPU work was known, for lack of space")                     \
    X(kernels_nameless, false,                                                                               \
      "kernels whose name was freed with their module, and could not be taken before")                       \
    X(kernels_unnamed, false, "kernels that metrics count together, for lack of space for their names")      \
    X(allocations_untracked, false, "allocations missing from the metrics, for lack of space")               \
    X(gpu_counts, false, "kernels and ranges whose hardware counters were read")                             \
    X(gpu_counts_lost, false, "kernels and ranges whose counts were lost to concurrent kernels or an error") \
    X(gpu_samples, false, "samples of GPU hardware counters that were read")                                 \
    X(gpu_samples_lost, false, "samples lost because the GPU's buffer was full")                             \
    X(zero_length, false, "GPU spans without a duration, sent as 1 ns and marked")                           \
    X(graph_times_unknown, false,                                                                            \
      "executions of graphs without times, sent as 1 ns and marked: several threads launch the same graph")  \
    X(clock_skew, false, "GPU spans that start before their call, sent unchanged")                           \
    X(clock_skew_max_ns, false, "the largest such difference, in ns")                                        \
    X(cupti_flush_ns, false, "ns in which CUPTI flushed its buffers, from its overhead records")             \
    X(cupti_instrumentation_ns, false, "ns of CUPTI's instrumentation, from its overhead records")           \
    X(cupti_resource_ns, false, "ns in which CUPTI created and freed resources, from its overhead records")  \
    X(cupti_request_ns, false, "ns of requests for activity buffers, from CUPTI's overhead records")         \
    X(cupti_other_ns, false, "ns of other CUPTI overhead, from its overhead records")                        \
    X(context_errors, false, "CUDA contexts that a fatal error ended")                                       \
    X(contexts, false, "CUDA contexts created; each has CUPTI buffers in GPU memory")                        \
    X(buffers_lent, false, "activity buffers handed to CUPTI")                                               \
    X(buffers_refused, false, "CUPTI's requests for an activity buffer when none was left")                  \
    X(code_stacks, false, "distinct stacks of code that made calls")                                         \
    X(code_unknown, false, "calls whose stack of code could not be read, or was forgotten")                  \
    X(code_forgotten, false, "times that all stacks of code were forgotten, because their memory was full")  \
    X(points_made, false, "data points of metrics created")                                                  \
    X(points_delivered, false, "data points that the metrics output accepted")                               \
    X(profile_samples_made, false, "samples of profiles created")                                            \
    X(profile_samples_delivered, false, "samples of profiles that their output accepted")                    \
    X(hang_reports_made, false, "reports of hangs, for each output that gets them")                          \
    X(hang_reports_delivered, false, "reports of hangs that an output accepted")                             \
    X(profile_unplaced, false, "GPU work without its stack or span in profiles, for lack of space")          \
    X(batches_sent, false, "requests that an output accepted")                                               \
    X(batches_resent, false, "requests sent again after a retryable failure")                                \
    X(bytes_encoded, false, "bytes of encoded spans, before compression")                                    \
    X(bytes_sent, false, "bytes of request bodies on the wire")                                              \
    X(spans_spooled, false, "spans written to the spool for later delivery")                                 \
    X(spans_spooled_left, false, "spans still in the spool")                                                 \
    X(recovered_spans, false, "spans of earlier processes, delivered from the spool")                        \
    X(recovered_lost, false, "lost spans of earlier processes: never spooled, damaged or rejected")          \
    X(points_spooled, false, "data points of metrics written to the spool for later delivery")               \
    X(points_spooled_left, false, "data points still in the spool")                                          \
    X(recovered_points, false, "data points of earlier processes, delivered from the spool")                 \
    X(recovered_points_lost, false, "lost data points of earlier processes")                                 \
    X(broken_invariants, false, "internal errors of the agent; the first one ends tracing")                  \
    X(records_written, false, "events written to a recording")                                               \
    X(lost_cupti_dropped, true, "records that CUPTI dropped")                                                \
    X(lost_zero_timestamps, true, "records without timestamps: no device buffer, or unfinished at exit")     \
    X(lost_context_error, true, "GPU work without timestamps, stopped by a fatal error of its context")      \
    X(lost_after_error, true, "records that CUPTI dropped after a fatal error of a CUDA context")            \
    X(lost_no_buffer, true, "records discarded because CUPTI had no activity buffer left")                   \
    X(lost_late, true, "records that CUPTI delivered after tracing ended")                                   \
    X(lost_graph_record, true, "executions of graphs created before graph records were enabled")             \
    X(lost_range, true, "ranges without space: too many were open at once")                                  \
    X(lost_malformed, true, "activity records that do not match their layout")                               \
    X(lost_backwards, true, "activity records that end before they start")                                   \
    X(lost_ring_full, true, "calls, ranges and marks that found their thread's ring full")                   \
    X(lost_no_ring, true, "calls on threads without a ring")                                                 \
    X(lost_in_flight, true, "calls that had not returned when the process ended")                            \
    X(lost_queue_full, true, "spans that found the queue of an output full")                                 \
    X(lost_spool_full, true, "spans that found the spool full (spool.bytes_max)")                            \
    X(lost_spool_damaged, true, "spans in damaged spool files")                                              \
    X(lost_too_large, true, "spans too large for a chunk")                                                   \
    X(lost_rejected, true, "spans that a collector rejected in a partial success")                           \
    X(lost_refused, true, "spans in requests that a collector rejected permanently")                         \
    X(lost_unreachable, true, "spans in requests given up after retries")                                    \
    X(lost_broken, true, "calls and records after an internal error of the agent ended tracing")             \
    X(lost_deadline, true, "spans not delivered before the deadline at exit")                                \
    X(lost_unmade, true, "captured events that were not spans yet at the deadline at exit")                  \
    X(lost_output, true, "spans that could not be written to a file or stream")                              \
    X(lost_recording, true, "events that could not be written to a recording")                               \
    X(lost_points, true, "data points of metrics that were not delivered")                                   \
    X(lost_profile_samples, true, "samples of profiles that were not delivered")                             \
    X(lost_hang_reports, true, "reports of hangs that were not delivered")

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

/* For a counter that only one thread adds to: no locked instruction. */
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

/* Per output: every created span is delivered, lost or spooled there. The counters above are the sums over
 * outputs. Only cuspan's own threads call these. The output METRICS_OUTPUT counts data points, and
 * PROFILES_OUTPUT samples, and LOGS_OUTPUT reports of hangs; they count every loss as lost_points,
 * lost_profile_samples and lost_hang_reports, whatever the reason. */
void counter_output_delivered(unsigned output, uint64_t spans);
void counter_output_lost(unsigned output, enum counter reason, uint64_t spans);

/* Spooled spans are neither delivered nor lost yet. Negative: spans that left the spool. */
void counter_output_spooled(unsigned output, int64_t spans);

struct output_fates {
    uint64_t delivered;
    uint64_t lost;
    uint64_t spooled; /* in the spool at present */
};
struct output_fates counter_output_get(unsigned output);

/* Calls and GPU records of the program that were lost so far. The step that one belongs to is unknown. Any
 * thread; a few ns. */
static inline uint64_t counters_lost_work(void)
{
    return counter_get(COUNTER_lost_cupti_dropped) + counter_get(COUNTER_lost_no_buffer) +
           counter_get(COUNTER_lost_ring_full) + counter_get(COUNTER_lost_no_ring);
}

/* For tests and for a process that forked. */
void counters_reset(void);
