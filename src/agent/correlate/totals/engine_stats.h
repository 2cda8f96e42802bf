/* Measures serving engines for metrics (model/metrics/live_stats.h): all iterations and requests that the
 * program reports, sampled or not. Only the GPU's time is missing while capture sleeps.
 *
 * The times of a request are in a table beside that of engine_requests.h, and have the same place there. */
#pragma once

#include "agent/correlate/totals/measuring.h"
#include "agent/correlate/trace/engine_requests.h"

struct engine_stats;

/* Neither is owned. `requests` may get and lose entries between two calls. */
enum status engine_stats_create(const struct settings *settings, struct engine_requests *requests,
                                struct engine_stats **stats) MUST_CHECK;
/* `stats` may be NULL, here and below: nothing is measured. */
void engine_stats_destroy(struct engine_stats *stats);

/* The engine got a new request at `arrived_ns`; 0: unknown, as all times below. */
void engine_stats_admit(struct engine_stats *stats, const struct request *request, uint64_t arrived_ns);
/* A request has ended. `span` is for exemplars. Only the first call counts. */
void engine_stats_end(struct engine_stats *stats, const struct request *request,
                      const struct engine_request_end *end, uint64_t time_ns,
                      const struct measured_span *span);

void engine_stats_begin_iteration(struct engine_stats *stats, const struct engine_event *event,
                                  uint64_t begin_ns);
void engine_stats_end_iteration(struct engine_stats *stats, const struct engine_event *event,
                                uint64_t begin_ns, uint64_t end_ns, bool is_sampled);
void engine_stats_add_gpu(struct engine_stats *stats, const struct iteration *iteration, uint64_t gpu_ns);

/* Returns LIVE_STATS_ENGINES_MAX engines and one for all others, not owned, valid until the next call; NULL
 * if `stats` is NULL. */
const struct engine_figures *engine_stats_read(const struct engine_stats *stats);
/* Starts an interval of metrics, as program_stats_begin_interval(). */
void engine_stats_begin_interval(struct engine_stats *stats, bool is_delta);
