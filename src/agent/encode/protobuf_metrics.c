#include "agent/encode/protobuf.h"

/* Metrics, written once per interval and not optimized: each function checks its room, and NULL passes
 * through. */

/* Tags: number << 3 | type. */
enum {
    SCOPE_METRICS_METRIC = 0x12,
    METRIC_NAME = 0x0a,
    METRIC_DESCRIPTION = 0x12,
    METRIC_UNIT = 0x1a,
    METRIC_DATA_GAUGE = 0x2a,
    METRIC_DATA_SUM = 0x3a,
    METRIC_DATA_HISTOGRAM = 0x4a,
    METRIC_DATA_EXPONENTIAL = 0x52,
    DATA_POINT = 0x0a, /* the same for all four */
    DATA_TEMPORALITY = 0x10,
    DATA_MONOTONIC = 0x18,
    POINT_START = 0x11, /* the same for all three */
    POINT_TIME = 0x19,
    NUMBER_DOUBLE = 0x21,
    NUMBER_INT = 0x31,
    NUMBER_ATTRIBUTE = 0x3a,
    HISTOGRAM_COUNT = 0x21,
    HISTOGRAM_SUM = 0x29,
    HISTOGRAM_BUCKET_COUNTS = 0x32,
    HISTOGRAM_EXPLICIT_BOUNDS = 0x3a,
    HISTOGRAM_EXEMPLAR = 0x42,
    HISTOGRAM_ATTRIBUTE = 0x4a,
    HISTOGRAM_MIN = 0x59,
    HISTOGRAM_MAX = 0x61,
    EXPONENTIAL_ATTRIBUTE = 0x0a,
    EXPONENTIAL_COUNT = 0x21,
    EXPONENTIAL_SUM = 0x29,
    EXPONENTIAL_SCALE = 0x30,
    EXPONENTIAL_ZERO_COUNT = 0x39,
    EXPONENTIAL_POSITIVE = 0x42,
    EXPONENTIAL_EXEMPLAR = 0x5a,
    EXPONENTIAL_MIN = 0x61,
    EXPONENTIAL_MAX = 0x69,
    BUCKETS_OFFSET = 0x08,
    BUCKETS_COUNTS = 0x12,
    EXEMPLAR_TIME = 0x11,
    EXEMPLAR_DOUBLE = 0x19,
    EXEMPLAR_SPAN_ID = 0x22,
    EXEMPLAR_TRACE_ID = 0x2a
};

#define DELTA      1
#define CUMULATIVE 2

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static uint8_t *put_double(uint8_t *p, uint8_t tag, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return protobuf_put_fixed64(p, tag, bits);
}

static uint32_t zigzag(int32_t value)
{
    return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
}

/* Strings, integers and booleans: the values that metrics have. */
static uint8_t *put_attr(uint8_t *p, uint8_t *end, uint8_t tag, const struct span_attr *attr)
{
    uint8_t *pair = protobuf_open_checked(p, end, tag);
    if (!pair)
        return NULL;
    p = protobuf_put_text(pair, end, PAIR_KEY, attr->key->name, attr->key->len, ATTR_KEY_BYTES_MAX);
    uint8_t *value = protobuf_open_checked(p, end, PAIR_VALUE);
    if (!value)
        return NULL;
    if (attr->type == ATTR_STRING) {
        p = protobuf_put_text(value, end, VALUE_STRING, attr->s, attr->len, SPAN_STRING_MAX);
    } else {
        *value = attr->type == ATTR_BOOL ? VALUE_BOOL : VALUE_INT;
        p = protobuf_put_varint(value + 1, (uint64_t)attr->i);
    }
    p = protobuf_close_checked(value, p, end);
    return protobuf_close_checked(pair, p, end);
}

static uint8_t *put_attrs(uint8_t *p, uint8_t *end, uint8_t tag, const struct metric_point *point)
{
    for (uint32_t i = 0; p && i < point->attr_count; i++)
        p = put_attr(p, end, tag, &point->attrs[i]);
    return p;
}

static uint8_t *put_times(uint8_t *p, const struct metric_point *point)
{
    if (point->start_ns)
        p = protobuf_put_fixed64(p, POINT_START, point->start_ns);
    return protobuf_put_fixed64(p, POINT_TIME, point->time_ns);
}

static uint8_t *put_number(uint8_t *p, uint8_t *end, const struct metric_info *info,
                           const struct metric_point *point)
{
    p = put_times(p, point);
    if (info->value == METRIC_INT)
        p = protobuf_put_fixed64(p, NUMBER_INT, point->i);
    else
        p = put_double(p, NUMBER_DOUBLE, info->value == METRIC_SECONDS ? seconds(point->i) : point->d);
    return put_attrs(p, end, NUMBER_ATTRIBUTE, point);
}

static uint8_t *put_exemplars(uint8_t *p, uint8_t *end, uint8_t tag, const struct histogram *histogram)
{
    for (unsigned i = 0; p && i < HISTOGRAM_EXEMPLARS; i++) {
        const struct exemplar *exemplar = &histogram->exemplars[i];
        if (!exemplar->time_ns)
            continue;
        uint8_t *body = protobuf_open_checked(p, end, tag);
        if (!body)
            return NULL;
        p = protobuf_put_fixed64(body, EXEMPLAR_TIME, exemplar->time_ns);
        p = put_double(p, EXEMPLAR_DOUBLE, seconds(exemplar->value_ns));
        if (exemplar_has_span(exemplar)) {
            memcpy(p, (uint8_t[]){EXEMPLAR_SPAN_ID, 8}, 2);
            memcpy(p + 2, exemplar->span_id, 8);
            memcpy(p + 10, (uint8_t[]){EXEMPLAR_TRACE_ID, 16}, 2);
            memcpy(p + 12, exemplar->trace_id, 16);
            p += 28;
        }
        p = protobuf_close_checked(body, p, end);
    }
    return p;
}

static uint8_t *put_min_max(uint8_t *p, const uint8_t *end, const struct histogram *h, uint8_t min_tag,
                            uint8_t max_tag)
{
    if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
        return NULL;
    if (!h->shape->records_min_max)
        return p;
    p = put_double(p, min_tag, seconds(h->min_ns));
    return put_double(p, max_tag, seconds(h->max_ns));
}

static uint8_t *put_explicit(uint8_t *p, uint8_t *end, const struct metric_point *point)
{
    const struct histogram *h = point->histogram;
    const struct histogram_shape *shape = h->shape;
    unsigned bounds = shape->bound_count;
    if (!protobuf_has_room(p, end, PROTOBUF_ROOM + 8 * (2 * (size_t)bounds + 1)))
        return NULL;
    p = put_times(p, point);
    p = protobuf_put_fixed64(p, HISTOGRAM_COUNT, h->count);
    p = put_double(p, HISTOGRAM_SUM, seconds(h->sum_ns));
    *p = HISTOGRAM_BUCKET_COUNTS;
    p = protobuf_put_varint(p + 1, 8 * (bounds + 1));
    memcpy(p, h->buckets, 8 * (bounds + 1));
    p += 8 * (bounds + 1);
    if (bounds) {
        *p = HISTOGRAM_EXPLICIT_BOUNDS;
        p = protobuf_put_varint(p + 1, 8 * bounds);
        memcpy(p, shape->bounds, 8 * bounds);
        p += 8 * bounds;
    }
    p = put_exemplars(p, end, HISTOGRAM_EXEMPLAR, h);
    p = put_attrs(p, end, HISTOGRAM_ATTRIBUTE, point);
    return put_min_max(p, end, h, HISTOGRAM_MIN, HISTOGRAM_MAX);
}

static uint8_t *put_buckets(uint8_t *p, uint8_t *end, const struct histogram *h)
{
    uint8_t *body = protobuf_open_checked(p, end, EXPONENTIAL_POSITIVE);
    if (!body)
        return NULL;
    p = body;
    if (h->offset)
        p = protobuf_put_count(p, BUCKETS_OFFSET, zigzag(h->offset));
    if (!h->used) /* all values are zero */
        return protobuf_close_checked(body, p, end);
    uint8_t *counts = protobuf_open_checked(p, end, BUCKETS_COUNTS);
    if (!counts || !protobuf_has_room(counts, end, PROTOBUF_ROOM + (size_t)h->used * PROTOBUF_VARINT_MAX))
        return NULL;
    p = counts;
    for (unsigned i = 0; i < h->used; i++)
        p = protobuf_put_varint(p, h->buckets[i]);
    return protobuf_close_checked(body, protobuf_close_checked(counts, p, end), end);
}

static uint8_t *put_exponential(uint8_t *p, uint8_t *end, const struct metric_point *point)
{
    const struct histogram *h = point->histogram;
    p = put_attrs(p, end, EXPONENTIAL_ATTRIBUTE, point);
    if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
        return NULL;
    p = put_times(p, point);
    p = protobuf_put_fixed64(p, EXPONENTIAL_COUNT, h->count);
    p = put_double(p, EXPONENTIAL_SUM, seconds(h->sum_ns));
    if (h->scale)
        p = protobuf_put_count(p, EXPONENTIAL_SCALE, zigzag(h->scale));
    if (h->zeros)
        p = protobuf_put_fixed64(p, EXPONENTIAL_ZERO_COUNT, h->zeros);
    p = put_buckets(p, end, h);
    p = put_exemplars(p, end, EXPONENTIAL_EXEMPLAR, h);
    return put_min_max(p, end, h, EXPONENTIAL_MIN, EXPONENTIAL_MAX);
}

static uint8_t *put_point(uint8_t *p, uint8_t *end, const struct metric_info *info,
                          const struct metric_point *point)
{
    uint8_t *body = protobuf_open_checked(p, end, DATA_POINT);
    if (!body)
        return NULL;
    if (info->type != METRIC_HISTOGRAM)
        p = put_number(body, end, info, point);
    else if (point->histogram->shape->form == HISTOGRAM_EXPLICIT)
        p = put_explicit(body, end, point);
    else
        p = put_exponential(body, end, point);
    return protobuf_close_checked(body, p, end);
}

static uint8_t data_tag(const struct metric_info *info, const struct metric_points *points)
{
    if (info->type == METRIC_GAUGE)
        return METRIC_DATA_GAUGE;
    if (info->type != METRIC_HISTOGRAM)
        return METRIC_DATA_SUM;
    return points->points[0].histogram->shape->form == HISTOGRAM_EXPLICIT ? METRIC_DATA_HISTOGRAM
                                                                          : METRIC_DATA_EXPONENTIAL;
}

static uint8_t *put_data(uint8_t *p, uint8_t *end, const struct metric_info *info,
                         const struct metric_points *points)
{
    uint8_t *body = protobuf_open_checked(p, end, data_tag(info, points));
    p = body;
    for (uint32_t i = 0; p && i < points->count; i++)
        p = put_point(p, end, info, &points->points[i]);
    if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
        return NULL;
    if (info->type != METRIC_GAUGE) {
        *p = DATA_TEMPORALITY;
        p = protobuf_put_varint(p + 1, points->is_delta ? DELTA : CUMULATIVE);
    }
    if (info->type == METRIC_SUM) {
        p[0] = DATA_MONOTONIC;
        p[1] = 1;
        p += 2;
    }
    return protobuf_close_checked(body, p, end);
}

uint8_t *protobuf_put_metric(uint8_t *to, uint8_t *end, const struct metric_points *points)
{
    const struct metric_info *info = points->info;
    uint8_t *body = protobuf_open_checked(to, end, SCOPE_METRICS_METRIC);
    uint8_t *p = protobuf_put_string(body, end, METRIC_NAME, info->name, SPAN_STRING_MAX);
    p = protobuf_put_string(p, end, METRIC_DESCRIPTION, info->description, SPAN_STRING_MAX);
    p = protobuf_put_string(p, end, METRIC_UNIT, info->unit, SPAN_STRING_MAX);
    p = put_data(p, end, info, points);
    return protobuf_close_checked(body, p, end);
}
