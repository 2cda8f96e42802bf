/* Adds durations to the histograms of metrics. */
#pragma once

#include "model/metrics/live_stats.h"
#include "model/metrics/views.h"
#include "model/settings/settings.h"

/* A span that exemplars lead to; all zero: none is sent. */
struct measured_span {
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

/* Adds to the metric's histogram, which is created if it is missing. Without metrics, or without memory for
 * it, this does nothing. */
void measure(const struct settings *settings, enum metric metric, struct histogram **histogram,
             uint64_t duration_ns, uint64_t time_ns, const struct measured_span *span);
