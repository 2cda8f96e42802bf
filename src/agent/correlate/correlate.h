/* Turns records into spans. Joins the host's calls with the GPU's activity by correlation ID, in either
 * order; gives each span its trace and parent; keeps the sessions. One thread calls all functions.
 *
 * A GPU record whose call is not known yet waits for it in a bounded queue. After that it becomes a child
 * of the session, is marked `cuda.orphan` and counted. */
#pragma once

#include "agent/correlate/options.h"
#include "model/metrics/live_stats.h"
#include "model/profile.h"
#include "model/record.h"

struct correlate;

enum status correlate_create(const struct correlate_options *options,
                             struct correlate **correlate) MUST_CHECK;
void correlate_destroy(struct correlate *correlate);

/* Keeps the stack of the code that makes the next call, for that call's span. */
void correlate_code(struct correlate *correlate, const struct code_record *record);
void correlate_call(struct correlate *correlate, const struct thread_info *thread,
                    const struct call_record *call);
/* Notes the graph that a call made or changed while capture slept. The call gets no span. */
void correlate_call_asleep(struct correlate *correlate, const struct thread_info *thread,
                           const struct call_record *call);
void correlate_resource(struct correlate *correlate, const struct thread_info *thread,
                        const struct resource_record *resource);
/* The caller passes a thread's contexts, ranges and marks in the order of the thread's calls. */
void correlate_context(struct correlate *correlate, const struct thread_info *thread,
                       const struct context_record *attached);
void correlate_range(struct correlate *correlate, const struct thread_info *thread,
                     const struct range_record *range);
/* Notes that a step starts or ends. Call it before the calls that started after this boundary. */
void correlate_step(struct correlate *correlate, const struct step_boundary *boundary);
void correlate_name(struct correlate *correlate, const struct name_record *name);
/* Keeps the hardware counter values of a launch, or the announcement that they follow. */
void correlate_gpu_counters(struct correlate *correlate, const struct gpu_counters_record *counters);
void correlate_activity(struct correlate *correlate, const struct activity_record *activity);

/* Returns how many calls wait for their GPU records. */
uint32_t correlate_waiting(const struct correlate *correlate);

/* Returns how many records and spans are still held: they wait for a call, a device or an end. */
uint64_t correlate_held(const struct correlate *correlate);

/* Call it between rounds: retries or gives up waiting records, and ends a session that is due. */
void correlate_tick(struct correlate *correlate, uint64_t now_monotonic_ns);

/* Like correlate_tick(), but checks waiting records and spans now. correlate_tick() checks every 10 ms. */
void correlate_settle(struct correlate *correlate, uint64_t now_monotonic_ns);

/* Whether the caller should flush CUPTI now: a device has work but no description yet, or many summaries wait
 * for records. */
bool correlate_wants_records(struct correlate *correlate);

/* Ends the open sessions with this reason. The next session starts with the next work. Waiting records and
 * spans are kept. */
void correlate_end_session(struct correlate *correlate, const char *reason);

/* Call it at exit: gives up waiting records, and emits all spans that are held, also those of sessions. */
void correlate_finish(struct correlate *correlate);

/* Fills `view` with the program's statistics so far. Counting starts with the first snapshot and ends 10 s
 * after the last one, unless metrics need it. */
void correlate_snapshot(struct correlate *correlate, uint64_t now_monotonic_ns, struct live_stats_view *view);

/* Returns all statistics for metrics, not owned, valid until the next record. correlate_begin_interval()
 * starts an interval of metrics: exemplars belong to one interval, and so do histograms with delta
 * temporality. */
struct live_stats *correlate_live_stats(struct correlate *correlate);
void correlate_begin_interval(struct correlate *correlate, bool is_delta);
/* Only if profiles are enabled. The first function returns whether the interval should end because a table is
 * nearly full. The second ends the interval and returns its profile, not owned, valid until the next record.
 * The third starts the next interval. */
bool correlate_profile_is_full(const struct correlate *correlate);
const struct profile *correlate_end_profile(struct correlate *correlate);
void correlate_begin_profile(struct correlate *correlate);
/* Returns the hw.id of a device below DEVICES_MAX; "": unknown. */
const char *correlate_device_id(const struct correlate *correlate, uint32_t device);

/* Copies the trace IDs of the first sessions, at most `max`, to `traces`, for the report. `*total` becomes
 * the number of sessions so far. Returns the number of copied IDs. */
uint32_t correlate_traces(const struct correlate *correlate, uint8_t (*traces)[16], uint32_t max,
                          uint32_t *total);
