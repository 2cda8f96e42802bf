#include "agent/encode/json_text.h"

/* Metrics in OTLP JSON; see json_text.h. */

static const struct wire_limits no_limits = {
    .value_chars_max = UINT32_MAX, .string_bytes_max = SPAN_STRING_MAX, .attrs_max = METRIC_ATTRS_MAX};

static void put_seconds(struct json_text *text, uint64_t ns)
{
    json_put_double(text, (double)ns / 1e9);
}

static void put_quoted(struct json_text *text, uint64_t value)
{
    JSON_PUT(text, "\"");
    json_put_unsigned(text, value);
    JSON_PUT(text, "\"");
}

static void put_times(struct json_text *text, const struct metric_point *point)
{
    JSON_PUT(text, "{\"timeUnixNano\":");
    put_quoted(text, point->time_ns);
    if (point->start_ns) {
        JSON_PUT(text, ",\"startTimeUnixNano\":");
        put_quoted(text, point->start_ns);
    }
    json_put_attrs(text, point->attrs, point->attr_count, &no_limits);
}

static void put_number(struct json_text *text, const struct metric_info *info,
                       const struct metric_point *point)
{
    if (info->value == METRIC_INT) {
        JSON_PUT(text, ",\"asInt\":\"");
        json_put_signed(text, (int64_t)point->i);
        JSON_PUT(text, "\"");
        return;
    }
    JSON_PUT(text, ",\"asDouble\":");
    if (info->value == METRIC_SECONDS)
        put_seconds(text, point->i);
    else
        json_put_double(text, point->d);
}

static void put_exemplars(struct json_text *text, const struct histogram *histogram)
{
    bool is_first = true;
    for (unsigned i = 0; i < HISTOGRAM_EXEMPLARS && !text->full; i++) {
        const struct exemplar *exemplar = &histogram->exemplars[i];
        if (!exemplar->time_ns)
            continue;
        is_first ? JSON_PUT(text, ",\"exemplars\":[{\"timeUnixNano\":")
                 : JSON_PUT(text, ",{\"timeUnixNano\":");
        put_quoted(text, exemplar->time_ns);
        JSON_PUT(text, ",\"asDouble\":");
        put_seconds(text, exemplar->value_ns);
        if (exemplar_has_span(exemplar)) {
            JSON_PUT(text, ",\"spanId\":\"");
            json_put_hex(text, exemplar->span_id, sizeof exemplar->span_id);
            JSON_PUT(text, "\",\"traceId\":\"");
            json_put_hex(text, exemplar->trace_id, sizeof exemplar->trace_id);
            JSON_PUT(text, "\"");
        }
        JSON_PUT(text, "}");
        is_first = false;
    }
    if (!is_first)
        JSON_PUT(text, "]");
}

/* "NUMBER","NUMBER",... */
static void put_counts(struct json_text *text, const uint64_t *counts, unsigned count)
{
    for (unsigned i = 0; i < count && !text->full; i++) {
        if (i)
            JSON_PUT(text, ",");
        put_quoted(text, counts[i]);
    }
}

static void put_explicit(struct json_text *text, const struct histogram *h)
{
    JSON_PUT(text, ",\"bucketCounts\":[");
    put_counts(text, h->buckets, h->shape->bound_count + 1u);
    JSON_PUT(text, "],\"explicitBounds\":[");
    for (unsigned i = 0; i < h->shape->bound_count && !text->full; i++) {
        if (i)
            JSON_PUT(text, ",");
        json_put_double(text, h->shape->bounds[i]);
    }
    JSON_PUT(text, "]");
}

static void put_exponential(struct json_text *text, const struct histogram *h)
{
    JSON_PUT(text, ",\"scale\":");
    json_put_signed(text, h->scale);
    JSON_PUT(text, ",\"zeroCount\":");
    put_quoted(text, h->zeros);
    JSON_PUT(text, ",\"positive\":{\"offset\":");
    json_put_signed(text, h->offset);
    JSON_PUT(text, ",\"bucketCounts\":[");
    put_counts(text, h->buckets, h->used);
    JSON_PUT(text, "]}");
}

static void put_histogram(struct json_text *text, const struct histogram *h)
{
    JSON_PUT(text, ",\"count\":");
    put_quoted(text, h->count);
    JSON_PUT(text, ",\"sum\":");
    put_seconds(text, h->sum_ns);
    if (h->shape->records_min_max) {
        JSON_PUT(text, ",\"min\":");
        put_seconds(text, h->min_ns);
        JSON_PUT(text, ",\"max\":");
        put_seconds(text, h->max_ns);
    }
    (h->shape->form == HISTOGRAM_EXPLICIT ? put_explicit : put_exponential)(text, h);
    put_exemplars(text, h);
}

static void put_points(struct json_text *text, const struct metric_info *info,
                       const struct metric_points *points)
{
    JSON_PUT(text, "{\"dataPoints\":[");
    for (uint32_t i = 0; i < points->count && !text->full; i++) {
        if (i)
            JSON_PUT(text, ",");
        put_times(text, &points->points[i]);
        if (info->type == METRIC_HISTOGRAM)
            put_histogram(text, points->points[i].histogram);
        else
            put_number(text, info, &points->points[i]);
        JSON_PUT(text, "}");
    }
    JSON_PUT(text, "]");
    if (info->type != METRIC_GAUGE)
        points->is_delta ? JSON_PUT(text, ",\"aggregationTemporality\":1")
                         : JSON_PUT(text, ",\"aggregationTemporality\":2");
    if (info->type == METRIC_SUM)
        JSON_PUT(text, ",\"isMonotonic\":true");
    JSON_PUT(text, "}}");
}

/* ,{...}: starts with a comma, like a span. */
uint8_t *json_put_metric(uint8_t *to, uint8_t *end, const struct metric_points *points)
{
    const struct metric_info *info = points->info;
    struct json_text text = {to, end, false};
    JSON_PUT(&text, ",{\"name\":");
    json_put_text(&text, info->name, SPAN_STRING_MAX);
    JSON_PUT(&text, ",\"description\":");
    json_put_text(&text, info->description, SPAN_STRING_MAX);
    JSON_PUT(&text, ",\"unit\":");
    json_put_text(&text, info->unit, SPAN_STRING_MAX);
    if (info->type == METRIC_GAUGE)
        JSON_PUT(&text, ",\"gauge\":");
    else if (info->type != METRIC_HISTOGRAM)
        JSON_PUT(&text, ",\"sum\":");
    else if (points->points[0].histogram->shape->form == HISTOGRAM_EXPLICIT)
        JSON_PUT(&text, ",\"histogram\":");
    else
        JSON_PUT(&text, ",\"exponentialHistogram\":");
    put_points(&text, info, points);
    return text.full ? NULL : text.p;
}
