#include "agent/core/metrics/series.h"

#include "base/accounting/counters.h"
#include "model/metrics/histogram.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

const struct attr_key key_metric_overflow = ATTR_KEY(SEMCONV_OTEL_METRIC_OVERFLOW);

/* The longest key, of a GPU: five texts, one of at most 47 and two of at most 95 bytes, plus 17 bytes each.
 */
#define SERIES_KEY_BYTES 384

/* The attributes of a series, as bytes that differ where the attributes do. */
struct series_key {
    uint32_t used;
    uint8_t bytes[SERIES_KEY_BYTES];
};

/* One series of a stream that a view limits. It keeps its place, so that a cumulative one continues. */
struct one_series {
    struct series_key key;
    bool is_here; /* in this export */
    struct metric_point point;
    struct histogram *histogram; /* its sum; NULL: none yet */
};
static_assert(sizeof(struct one_series) <= STREAM_SERIES_BYTES, "what streams_bytes counts on");

struct bounded {
    uint32_t count;           /* in use, not counting the last place */
    uint32_t places;          /* series_max of the stream; 0: no view limits it */
    struct one_series *items; /* the last is for all other series: otel.metric.overflow */
};

struct series {
    const struct streams *streams;
    struct bounded of[METRIC_COUNT][STREAMS_MAX];
    struct metric_point points[SERIES_POINTS_AT_ONCE];
};

enum status series_create(const struct streams *streams, struct series **series)
{
    struct series *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->streams = streams;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
        for (uint8_t i = 0; i < streams->of[metric].count; i++) {
            const struct stream *stream = &streams->of[metric].streams[i];
            struct bounded *bounded = &made->of[metric][i];
            if (!stream->is_merged)
                continue;
            bounded->items = calloc(stream->series_max, sizeof *bounded->items);
            if (!bounded->items) {
                series_destroy(made);
                return STATUS_NO_MEMORY;
            }
            bounded->places = stream->series_max;
        }
    *series = made;
    return STATUS_OK;
}

void series_destroy(struct series *series)
{
    for (unsigned i = 0; series && i < METRIC_COUNT * STREAMS_MAX; i++) {
        struct bounded *bounded = &series->of[i / STREAMS_MAX][i % STREAMS_MAX];
        for (uint32_t at = 0; at < bounded->places; at++)
            histogram_destroy(bounded->items[at].histogram);
        free(bounded->items);
    }
    free(series);
}

static void send(const struct stream *stream, bool is_delta, struct outputs *outputs,
                 const struct metric_point *points, uint32_t count)
{
    struct metric_points sent = {&stream->info, is_delta, count, points};
    if (count)
        outputs_add_metrics(outputs, &sent);
}

/* For a histogram: selects the shape of the stream, or its sum. */
static void take_form(const struct stream *stream, enum metric metric, struct metric_point *point)
{
    if (metric_table[metric].type != METRIC_HISTOGRAM)
        return;
    const struct histogram *histogram = point->histogram;
    for (uint8_t i = 0; i < stream->shape; i++)
        histogram = histogram->next;
    if (stream->info.type == METRIC_HISTOGRAM)
        point->histogram = histogram;
    else
        point->i = histogram->sum_ns;
}

/* Series of streams that views limit. */

static void drop_keys(const struct stream *stream, struct metric_point *point)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < point->attr_count; i++)
        if (filter_passes(&stream->view->keys, point->attrs[i].key->name, NULL))
            point->attrs[kept++] = point->attrs[i];
    point->attr_count = kept;
}

/* False: no room. */
static bool append(struct series_key *key, const void *bytes, size_t count)
{
    if (count > sizeof key->bytes - key->used)
        return false;
    if (count > 0) /* an empty string may be NULL */
        memcpy(key->bytes + key->used, bytes, count);
    key->used += (uint32_t)count;
    return true;
}

static bool describe(const struct metric_point *point, struct series_key *key)
{
    bool fits = true;
    key->used = 0;
    for (uint32_t i = 0; i < point->attr_count && fits; i++) {
        const struct span_attr *attr = &point->attrs[i];
        bool is_text = attr->type == ATTR_STRING;
        uint64_t head = is_text ? attr->len : (uint64_t)attr->i;
        fits = append(key, &attr->key, sizeof attr->key) && /* keys are constants */
               append(key, &attr->type, sizeof attr->type) && append(key, &head, sizeof head) &&
               append(key, attr->s, is_text ? attr->len : 0);
    }
    return fits;
}

static bool is_same(const struct series_key *a, const struct series_key *b)
{
    return a->used == b->used && memcmp(a->bytes, b->bytes, a->used) == 0;
}

static struct one_series *find(struct bounded *bounded, struct metric_point *point)
{
    struct series_key key;
    bool fits = describe(point, &key);
    for (uint32_t i = 0; fits && i < bounded->count; i++)
        if (is_same(&bounded->items[i].key, &key))
            return &bounded->items[i];
    if (fits && bounded->count < bounded->places - 1) {
        bounded->items[bounded->count].key = key;
        return &bounded->items[bounded->count++];
    }
    point->attrs[0] = (struct span_attr){.key = &key_metric_overflow, .type = ATTR_BOOL, .i = 1};
    point->attr_count = 1;
    return &bounded->items[bounded->places - 1];
}

/* False: no memory. */
static bool begin_histogram(struct one_series *one)
{
    const struct histogram *from = one->point.histogram;
    if (one->histogram)
        histogram_reset(one->histogram);
    else if (histogram_create(&from->shape, 1, &one->histogram) != STATUS_OK)
        return false;
    histogram_merge(one->histogram, from);
    one->point.histogram = one->histogram;
    return true;
}

static void add_up(const struct stream *stream, struct one_series *one, const struct metric_point *point)
{
    struct metric_point *sum = &one->point;
    if (stream->info.type == METRIC_HISTOGRAM)
        histogram_merge(one->histogram, point->histogram);
    else if (stream->info.type == METRIC_GAUGE) /* keeps the last value */
        *sum = *point;
    else if (stream->info.value == METRIC_DOUBLE)
        sum->d += point->d;
    else
        sum->i += point->i;
}

static void add_bounded(const struct stream *stream, struct bounded *bounded, struct metric_point *point)
{
    drop_keys(stream, point);
    struct one_series *one = find(bounded, point);
    if (one->is_here) {
        add_up(stream, one, point);
        return;
    }
    one->point = *point;
    one->is_here = stream->info.type != METRIC_HISTOGRAM || begin_histogram(one);
    if (one->is_here)
        return;
    counter_add_alone(COUNTER_points_made, 1);
    counter_output_lost(METRICS_OUTPUT, COUNTER_lost_points, 1);
}

static void send_bounded(struct series *series, const struct stream *stream, struct bounded *bounded,
                         bool is_delta, struct outputs *outputs)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < bounded->places; i++) {
        if (!bounded->items[i].is_here)
            continue;
        bounded->items[i].is_here = false;
        series->points[count++] = bounded->items[i].point;
        if (count == SERIES_POINTS_AT_ONCE) {
            send(stream, is_delta, outputs, series->points, count);
            count = 0;
        }
    }
    send(stream, is_delta, outputs, series->points, count);
}

/* All streams. */

void series_add(struct series *series, struct outputs *outputs, enum metric metric, bool is_delta,
                const struct metric_point *points, uint32_t count)
{
    for (uint8_t i = 0; i < series->streams->of[metric].count; i++) {
        const struct stream *stream = &series->streams->of[metric].streams[i];
        struct bounded *bounded = &series->of[metric][i];
        for (uint32_t at = 0; at < count; at++) {
            series->points[at] = points[at];
            take_form(stream, metric, &series->points[at]);
            if (bounded->items)
                add_bounded(stream, bounded, &series->points[at]);
        }
        if (!bounded->items)
            send(stream, is_delta, outputs, series->points, count);
    }
}

void series_end(struct series *series, struct outputs *outputs, enum metric metric, bool is_delta)
{
    for (uint8_t i = 0; i < series->streams->of[metric].count; i++)
        if (series->of[metric][i].items)
            send_bounded(series, &series->streams->of[metric].streams[i], &series->of[metric][i], is_delta,
                         outputs);
}
