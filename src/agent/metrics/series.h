/* From the points of a metric to those of its streams (model/views.h): under other names, in other forms,
 * with fewer attributes. Where attributes are left out, series that are the same without them are added up;
 * where there are more series than there may be, the first ones stay, and the others together have
 * otel.metric.overflow. For the pipeline's thread. */
#ifndef CUSPAN_AGENT_SERIES_H
#define CUSPAN_AGENT_SERIES_H

#include "agent/pipeline/outputs.h"
#include "model/metrics/views.h"

#define SERIES_POINTS_AT_ONCE 32

extern const struct attr_key key_metric_overflow;

struct series;

/* `streams` must stay. */
enum status series_create(const struct streams *streams, struct series **series) MUST_CHECK;
/* NULL is fine. */
void series_destroy(struct series *series);

/* Points of one metric, of one export: at most SERIES_POINTS_AT_ONCE, as many times as need be. What they
 * point at must stay until series_end, but for histograms, which are looked at now. */
void series_add(struct series *series, struct outputs *outputs, enum metric metric, bool is_delta,
                const struct metric_point *points, uint32_t count);
/* That were all of this metric. */
void series_end(struct series *series, struct outputs *outputs, enum metric metric, bool is_delta);

#endif
