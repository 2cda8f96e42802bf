/* Metrics: once an interval what correlate has added up, what the outputs and counters say of cuspan itself,
 * and what NVML says of the hardware become data points (model/metrics.h) and leave by the metrics' output.
 * For the pipeline's thread. */
#ifndef CUSPAN_AGENT_METRICS_H
#define CUSPAN_AGENT_METRICS_H

#include "agent/pipeline/outputs.h"
#include "correlate/correlate.h"

struct metrics;

/* Where settings.metrics.is_on. */
enum status metrics_export_create(const struct settings *settings, struct metrics **metrics) MUST_CHECK;
/* NULL is fine, as in the calls below. */
void metrics_export_destroy(struct metrics *metrics);

/* Exports where the interval is over. */
void metrics_export_tick(struct metrics *metrics, struct correlate *correlate, struct outputs *outputs,
                         uint64_t now_ns);
/* Exports now: at a flush, and at the end. */
void metrics_export(struct metrics *metrics, struct correlate *correlate, struct outputs *outputs);

#endif
