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

/* Calls and what happens around them go to call_spans.h, contexts, ranges and marks to thread_events.h,
 * boundaries of steps to session_spans.h, and records of GPU work to gpu_join.h. */
void correlate_name(struct correlate *correlate, const struct name_record *name);
/* Keeps the hardware counter values of a launch, or the announcement that they follow. */
void correlate_gpu_counters(struct correlate *correlate, const struct gpu_counters_record *counters);

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
/* Only if profiles are enabled. The first function ends the interval and returns its profile, not owned,
 * valid until the next record. The second starts the next interval. */
const struct profile *correlate_end_profile(struct correlate *correlate);
void correlate_begin_profile(struct correlate *correlate);
/* Returns the hw.id of a device below DEVICES_MAX; "": unknown. */
const char *correlate_device_id(const struct correlate *correlate, uint32_t device);

/* Copies the trace IDs of the first sessions, at most `max`, to `traces`, for the report. `*total` becomes
 * the number of sessions so far. Returns the number of copied IDs. */
uint32_t correlate_traces(const struct correlate *correlate, uint8_t (*traces)[16], uint32_t max,
                          uint32_t *total);
