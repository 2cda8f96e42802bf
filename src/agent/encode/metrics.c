#include "agent/encode/message.h"

/* Metrics, written once per interval. */

static const struct wire_limits no_limits = {
    .value_chars_max = UINT32_MAX, .string_bytes_max = SPAN_STRING_MAX, .attrs_max = METRIC_ATTRS_MAX};

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* The fields that all kinds of points have. Their attributes have different numbers. */
static void put_common(struct message *m, const struct metric_point *point, unsigned attributes)
{
    message_number(m, 3, "timeUnixNano", MESSAGE_FIXED64, (int64_t)point->time_ns);
    if (point->start_ns)
        message_number(m, 2, "startTimeUnixNano", MESSAGE_FIXED64, (int64_t)point->start_ns);
    message_attrs(m, attributes, point->attrs, point->attr_count, &no_limits);
}

static void put_number(struct message *m, const struct metric_info *info, const struct metric_point *point)
{
    put_common(m, point, 7);
    if (info->value == METRIC_INT)
        message_number(m, 6, "asInt", MESSAGE_SFIXED64, (int64_t)point->i);
    else
        message_double(m, 4, "asDouble", info->value == METRIC_SECONDS ? seconds(point->i) : point->d);
}

static void put_exemplar(struct message *m, unsigned number, const struct exemplar *exemplar)
{
    uint8_t *body = message_open(m, number, NULL);
    message_number(m, 2, "timeUnixNano", MESSAGE_FIXED64, (int64_t)exemplar->time_ns);
    message_double(m, 3, "asDouble", seconds(exemplar->value_ns));
    if (exemplar_has_span(exemplar)) {
        message_id(m, 4, "spanId", exemplar->span_id, sizeof exemplar->span_id);
        message_id(m, 5, "traceId", exemplar->trace_id, sizeof exemplar->trace_id);
    }
    message_close(m, body);
}

static void put_exemplars(struct message *m, unsigned number, const struct histogram *h)
{
    bool is_open = false;
    for (unsigned i = 0; i < HISTOGRAM_EXEMPLARS; i++) {
        if (!h->exemplars[i].time_ns)
            continue;
        if (!is_open)
            message_open_list(m, "exemplars");
        is_open = true;
        put_exemplar(m, number, &h->exemplars[i]);
    }
    if (is_open)
        message_close_list(m);
}

static void put_totals(struct message *m, const struct histogram *h, unsigned min, unsigned max)
{
    message_number(m, 4, "count", MESSAGE_FIXED64, (int64_t)h->count);
    message_double(m, 5, "sum", seconds(h->sum_ns));
    if (!h->shape->records_min_max)
        return;
    message_double(m, min, "min", seconds(h->min_ns));
    message_double(m, max, "max", seconds(h->max_ns));
}

static void put_counts(struct message *m, unsigned number, enum message_number type, const uint64_t *counts,
                       unsigned count)
{
    uint8_t *body = message_open_packed(m, number, "bucketCounts");
    for (unsigned i = 0; i < count; i++)
        message_number(m, 0, NULL, type, (int64_t)counts[i]);
    message_close_packed(m, body);
}

static void put_explicit(struct message *m, const struct metric_point *point)
{
    const struct histogram *h = point->histogram;
    put_common(m, point, 9);
    put_totals(m, h, 11, 12);
    put_counts(m, 6, MESSAGE_FIXED64, h->buckets, h->shape->bound_count + 1u);
    uint8_t *bounds = message_open_packed(m, 7, "explicitBounds");
    for (unsigned i = 0; i < h->shape->bound_count; i++)
        message_double(m, 0, NULL, h->shape->bounds[i]);
    message_close_packed(m, bounds);
    put_exemplars(m, 8, h);
}

static void put_exponential(struct message *m, const struct metric_point *point)
{
    const struct histogram *h = point->histogram;
    put_common(m, point, 1);
    put_totals(m, h, 12, 13);
    message_number(m, 6, "scale", MESSAGE_SINT32, h->scale);
    message_number(m, 7, "zeroCount", MESSAGE_FIXED64, (int64_t)h->zeros);
    uint8_t *positive = message_open(m, 8, "positive");
    message_number(m, 1, "offset", MESSAGE_SINT32, h->offset);
    put_counts(m, 2, MESSAGE_INT64, h->buckets, h->used);
    message_close(m, positive);
    put_exemplars(m, 11, h);
}

static void put_point(struct message *m, const struct metric_info *info, const struct metric_point *point)
{
    uint8_t *body = message_open(m, 1, NULL);
    if (info->type != METRIC_HISTOGRAM)
        put_number(m, info, point);
    else if (point->histogram->shape->form == HISTOGRAM_EXPLICIT)
        put_explicit(m, point);
    else
        put_exponential(m, point);
    message_close(m, body);
}

static uint8_t *open_data(struct message *m, const struct metric_points *points)
{
    if (points->info->type == METRIC_GAUGE)
        return message_open(m, 5, "gauge");
    if (points->info->type != METRIC_HISTOGRAM)
        return message_open(m, 7, "sum");
    if (points->points[0].histogram->shape->form == HISTOGRAM_EXPLICIT)
        return message_open(m, 9, "histogram");
    return message_open(m, 10, "exponentialHistogram");
}

static void put_data(struct message *m, const struct metric_points *points)
{
    enum { DELTA = 1, CUMULATIVE = 2 };
    const struct metric_info *info = points->info;
    uint8_t *data = open_data(m, points);
    message_open_list(m, "dataPoints");
    for (uint32_t i = 0; i < points->count && !m->out.full; i++)
        put_point(m, info, &points->points[i]);
    message_close_list(m);
    if (info->type != METRIC_GAUGE)
        message_number(m, 2, "aggregationTemporality", MESSAGE_INT32, points->is_delta ? DELTA : CUMULATIVE);
    if (info->type == METRIC_SUM)
        message_number(m, 3, "isMonotonic", MESSAGE_BOOL, true);
    message_close(m, data);
}

uint8_t *wire_put_metric(const struct wire *wire, uint8_t *to, uint8_t *end,
                         const struct metric_points *points)
{
    const struct metric_info *info = points->info;
    struct message m = {{to, end, false}, wire->is_json, .needs_comma = true}; /* like a span */
    uint8_t *body = message_open(&m, 2, NULL);
    message_string(&m, 1, "name", info->name, SPAN_STRING_MAX);
    message_string(&m, 2, "description", info->description, SPAN_STRING_MAX);
    message_string(&m, 3, "unit", info->unit, SPAN_STRING_MAX);
    put_data(&m, points);
    message_close(&m, body);
    return m.out.full ? NULL : m.out.p;
}
