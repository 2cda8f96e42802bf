#include "model/metrics/views.h"

#include "model/metrics/histogram.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool view_selects(const struct view *view, enum metric metric)
{
    const struct metric_info *info = &metric_table[metric];
    return !view->selects_nothing &&
           (view->instrument_type == ANY_METRIC_TYPE || view->instrument_type == info->type) &&
           (!view->unit || strcmp(view->unit, info->unit) == 0) &&
           (!view->instrument_name || fnmatch(view->instrument_name, info->name, 0) == 0);
}

const char *view_obstacle(const struct view *view, enum metric metric)
{
    uint8_t type = metric_table[metric].type;
    switch (view->aggregation) {
    case AGGREGATION_DEFAULT:
    case AGGREGATION_DROP:
        return NULL;
    case AGGREGATION_SHAPE:
        return type == METRIC_HISTOGRAM ? NULL : "is not a histogram, so it has no buckets";
    case AGGREGATION_LAST_VALUE:
        return type == METRIC_GAUGE ? NULL : "is not a gauge, so it has no last value";
    case AGGREGATION_SUM:
        return type == METRIC_GAUGE ? "is a gauge, so it has no sum" : NULL;
    }
    return NULL;
}

void view_deinit(struct view *view)
{
    free(view->instrument_name);
    free(view->unit);
    free(view->name);
    free(view->description);
    filter_deinit(&view->keys);
}

static const struct histogram_shape *default_shape(enum metric metric, enum histogram_form form)
{
    static const struct histogram_shape *const own[METRIC_COUNT] = {
        [METRIC_REQUEST_DURATION] = &histogram_of_requests,
        [METRIC_REQUEST_FIRST_TOKEN] = &histogram_of_first_tokens,
        [METRIC_REQUEST_PER_TOKEN] = &histogram_per_token,
        [METRIC_REQUEST_QUEUE] = &histogram_of_first_tokens};
    if (form == HISTOGRAM_EXPONENTIAL)
        return &histogram_default_exponential;
    return own[metric] ? own[metric] : &histogram_default_explicit;
}

/* The index of the metric's shape for the stream. A sum can use any. */
static uint8_t shape_for(struct metric_streams *streams, const struct histogram_shape *shape, bool takes_any)
{
    for (uint8_t i = 0; i < streams->shape_count; i++)
        if (takes_any || streams->shapes[i] == shape)
            return i;
    streams->shapes[streams->shape_count] = shape;
    return streams->shape_count++;
}

static void add_stream(struct metric_streams *streams, enum metric metric, const struct view *view,
                       enum histogram_form form)
{
    struct stream *stream = &streams->streams[streams->count++];
    bool is_sum = view && view->aggregation == AGGREGATION_SUM;
    *stream = (struct stream){.info = metric_table[metric], .view = view};
    if (view && view->name)
        stream->info.name = view->name;
    if (view && view->description)
        stream->info.description = view->description;
    if (view)
        stream->is_merged = view->keys.allow.count || view->keys.deny.count || view->series_max;
    stream->series_max = metric == METRIC_KERNEL_DURATION ? STREAM_SERIES_MAX : STREAM_OTHERS_MAX;
    if (view && view->series_max && view->series_max < stream->series_max)
        stream->series_max = view->series_max;
    if (stream->info.type != METRIC_HISTOGRAM)
        return;
    bool has_shape = view && view->aggregation == AGGREGATION_SHAPE;
    stream->shape = shape_for(streams, has_shape ? &view->shape : default_shape(metric, form), is_sum);
    if (is_sum)
        stream->info.type = METRIC_SUM;
}

enum status streams_create(const struct view *views, size_t count, enum histogram_form form,
                           struct streams **streams)
{
    struct streams *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        struct metric_streams *of = &made->of[metric];
        bool is_selected = false;
        for (size_t i = 0; i < count; i++) {
            if (!view_selects(&views[i], metric) || view_obstacle(&views[i], metric))
                continue;
            is_selected = true;
            if (views[i].aggregation != AGGREGATION_DROP && of->count < STREAMS_MAX)
                add_stream(of, metric, &views[i], form);
        }
        if (!is_selected)
            add_stream(of, metric, NULL, form);
    }
    *streams = made;
    return STATUS_OK;
}

/* Maximum number of histograms of a metric in one shape. */
static uint64_t histograms_of(enum metric metric)
{
    return metric == METRIC_KERNEL_DURATION ? LIVE_STATS_KERNELS_MAX + 8 : 32;
}

uint64_t streams_bytes(const struct streams *streams)
{
    uint64_t bytes = 0;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        const struct metric_streams *of = &streams->of[metric];
        if (of->shape_count > 1)
            bytes += (of->shape_count - 1u) * histograms_of(metric) * sizeof(struct histogram);
        for (uint8_t i = 0; i < of->count; i++) {
            const struct stream *stream = &of->streams[i];
            uint64_t histogram = stream->info.type == METRIC_HISTOGRAM ? sizeof(struct histogram) : 0;
            bytes += stream->is_merged ? stream->series_max * (STREAM_SERIES_BYTES + histogram) : 0;
        }
    }
    return bytes;
}
