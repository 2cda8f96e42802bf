/* Turns records into spans. Joins the host's calls with the GPU's activity by correlation ID, in either
 * order; gives each span its trace and parent; keeps the sessions. One thread calls all functions.
 *
 * A GPU record whose call is not known yet waits for it in a bounded queue. After that it becomes a child
 * of the session, is marked `cuda.orphan` and counted. */
#ifndef CUSPAN_AGENT_CORRELATE_CORRELATE_H
#define CUSPAN_AGENT_CORRELATE_CORRELATE_H

#include "agent/correlate/options.h"
#include "model/metrics/live_stats.h"
#include "model/profile.h"
#include "model/record.h"

struct correlate;

enum status correlate_create(const struct correlate_options *options,
                             struct correlate **correlate) MUST_CHECK;
void correlate_destroy(struct correlate *correlate);

/* The code that makes the next call: the attributes of its stack. */
void correlate_code(struct correlate *correlate, const struct code_record *record);
void correlate_call(struct correlate *correlate, const struct thread_info *thread,
                    const struct call_record *call);
/* A call made or changed a graph while capture slept. Only the graph is noted. */
void correlate_call_asleep(struct correlate *correlate, const struct thread_info *thread,
                           const struct call_record *call);
void correlate_resource(struct correlate *correlate, const struct thread_info *thread,
                        const struct resource_record *resource);
/* A thread's contexts, ranges and marks come in order between its calls. */
void correlate_context(struct correlate *correlate, const struct thread_info *thread,
                       const struct context_record *attached);
void correlate_range(struct correlate *correlate, const struct thread_info *thread,
                     const struct range_record *range);
/* A step begins or ends: before the calls that started after it. */
void correlate_step(struct correlate *correlate, const struct step_boundary *boundary);
void correlate_name(struct correlate *correlate, const struct name_record *name);
/* The hardware counters of a launch, or the announcement that their values follow. */
void correlate_gpu_counters(struct correlate *correlate, const struct gpu_counters_record *counters);
void correlate_activity(struct correlate *correlate, const struct activity_record *activity);

/* Returns how many calls wait for their GPU records. */
uint32_t correlate_waiting(const struct correlate *correlate);

/* Returns how many records and spans are still held: they wait for a call, a device or an end. */
uint64_t correlate_held(const struct correlate *correlate);

/* Between rounds: retries or gives up waiting records, and ends a session that is due. */
void correlate_tick(struct correlate *correlate, uint64_t now_monotonic_ns);

/* The same, with waiting records and spans checked at once instead of every 10 ms. */
void correlate_settle(struct correlate *correlate, uint64_t now_monotonic_ns);

/* Whether CUPTI should be flushed now: a device has work but no description yet, or many summaries wait
 * for records. */
bool correlate_wants_records(struct correlate *correlate);

/* Ends the open session with this reason. The next one starts with the next work. Waiting records and spans
 * are kept. */
void correlate_end_session(struct correlate *correlate, const char *reason);

/* At exit: gives up what waits, and emits the session's span. */
void correlate_finish(struct correlate *correlate);

/* The statistics of the program so far. Counting starts with the first request and ends 10 s after the last
 * one, unless metrics need it. */
void correlate_snapshot(struct correlate *correlate, uint64_t now_monotonic_ns, struct live_stats_view *view);

/* The same for metrics, complete, valid until the next record. correlate_begin_interval() starts an
 * interval: exemplars belong to one interval, and so do histograms with delta temporality. */
struct live_stats *correlate_live_stats(struct correlate *correlate);
void correlate_begin_interval(struct correlate *correlate, bool is_delta);
/* Profiles, if they are enabled: whether the interval should end because a table fills, the profile of the
 * interval, which ends now (valid until the next record), and the start of the next one. */
bool correlate_profile_is_full(const struct correlate *correlate);
const struct profile *correlate_end_profile(struct correlate *correlate);
void correlate_begin_profile(struct correlate *correlate);
/* hw.id of a device below DEVICES_MAX; "": unknown. */
const char *correlate_device_id(const struct correlate *correlate, uint32_t device);

/* The traces so far, for the report. `total` is their number; the first ones, as many as returned, are in
 * `traces`. */
uint32_t correlate_traces(const struct correlate *correlate, uint8_t (*traces)[16], uint32_t max,
                          uint32_t *total);

#endif
