/* Metrics: in each interval, the sums of correlate, the state of outputs and counters, and the data of NVML
 * become data points (model/metrics/metrics.h) for the output of metrics. Only for the pipeline thread. */
#pragma once

#include "agent/core/outputs/outputs.h"
#include "agent/correlate/correlate.h"

struct metrics;

/* Requires settings.metrics.is_on. */
enum status metrics_export_create(const struct settings *settings, struct metrics **metrics) MUST_CHECK;
/* NULL is allowed here and below. */
void metrics_export_destroy(struct metrics *metrics);

/* Exports if the interval is over. */
void metrics_export_tick(struct metrics *metrics, struct correlate *correlate, struct outputs *outputs,
                         uint64_t now_ns);
/* Requests NVML's data of the GPUs that the program uses. False: none is known yet. Also without metrics. */
bool metrics_ask_hardware(const struct correlate *correlate);
/* Exports now, at a flush and at exit. */
void metrics_export(struct metrics *metrics, struct correlate *correlate, struct outputs *outputs);
