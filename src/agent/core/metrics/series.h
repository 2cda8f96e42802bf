/* Converts points of a metric to points of its streams (model/metrics/views.h), which may have another name,
 * another form and fewer attributes. Series that become equal without an attribute are added up. Beyond the
 * limit of a stream, the first series stay and the others together are otel.metric.overflow. Only for the
 * pipeline thread. */
#pragma once

#include "agent/core/outputs/outputs.h"
#include "model/metrics/views.h"

#define SERIES_POINTS_AT_ONCE 32

extern const struct attr_key key_metric_overflow;

struct series;

/* `streams` must stay valid. */
enum status series_create(const struct streams *streams, struct series **series) MUST_CHECK;
/* NULL is allowed. */
void series_destroy(struct series *series);

/* Adds points of one metric in one export, at most SERIES_POINTS_AT_ONCE per call. Their attributes must
 * stay valid until series_end; histograms are read now. */
void series_add(struct series *series, struct outputs *outputs, enum metric metric, bool is_delta,
                const struct metric_point *points, uint32_t count);
/* Ends the points of this metric. */
void series_end(struct series *series, struct outputs *outputs, enum metric metric, bool is_delta);
