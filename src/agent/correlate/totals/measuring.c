#include "agent/correlate/totals/measuring.h"

#include "model/metrics/histogram.h"

#include <string.h>

void measure(const struct settings *settings, enum metric metric, struct histogram **histogram,
             uint64_t duration_ns, uint64_t time_ns, const struct measured_span *span)
{
    static const struct measured_span none;
    const struct metric_streams *streams =
        settings->metrics.is_on ? &settings->metrics.streams->of[metric] : NULL;
    enum exemplar_filter filter = settings->metrics.exemplar_filter;
    if (streams && !*histogram &&
        histogram_create(streams->shapes, streams->shape_count, histogram) != STATUS_OK)
        return;
    bool is_sampled = memcmp(span, &none, sizeof none) != 0;
    for (struct histogram *each = *histogram; each; each = each->next) {
        struct exemplar *exemplar = histogram_add(each, duration_ns);
        if (filter == EXEMPLAR_ALWAYS_OFF)
            continue;
        if (is_sampled) {
            *exemplar = (struct exemplar){.time_ns = time_ns, .value_ns = duration_ns};
            memcpy(exemplar->trace_id, span->trace_id, sizeof exemplar->trace_id);
            memcpy(exemplar->span_id, span->span_id, sizeof exemplar->span_id);
        } else if (filter == EXEMPLAR_ALWAYS_ON) {
            histogram_exemplify(exemplar, duration_ns, time_ns);
        }
    }
}
