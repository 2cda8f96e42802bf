/* Views (meter_provider.views): which metrics are exported, with which name, aggregation and attributes. A
 * view selects instruments, which are cuspan's metrics, and makes a stream of each. An instrument without a
 * view has one stream, as in model/metrics/metrics.h.
 *
 * A histogram has one set of buckets for each shape that its streams have. */
#pragma once

#include "base/status.h"
#include "model/filter.h"
#include "model/metrics/metrics.h"

#define VIEWS_MAX         64
#define STREAMS_MAX       4   /* of one metric */
#define STREAM_SERIES_MAX 320 /* of kernels, in a stream with attributes or series limited by a view */
#define STREAM_OTHERS_MAX 64  /* of other metrics in such a stream */
#define STREAM_SERIES_BYTES                                                                                  \
    672 /* of one, without its histogram; tests/integration/agent/bounds_test.py has such a view */
#define METRIC_NAME_MAX 255
#define ANY_METRIC_TYPE UINT8_MAX

enum aggregation {
    AGGREGATION_DEFAULT,
    AGGREGATION_DROP,
    AGGREGATION_SHAPE, /* explicit or exponential buckets, see `shape` */
    AGGREGATION_LAST_VALUE,
    AGGREGATION_SUM
};

/* As in the file. Strings are owned; NULL: not set. */
struct view {
    char *instrument_name;   /* with * and ? */
    uint8_t instrument_type; /* enum metric_type, or ANY_METRIC_TYPE */
    bool selects_nothing;    /* a type or a meter that cuspan does not have */
    char *unit;

    char *name, *description;
    enum aggregation aggregation;
    struct histogram_shape shape;
    uint32_t series_max;   /* 0: not set */
    struct filter keys;    /* attributes to keep; allow empty: all */
    uint32_t line, column; /* of the file */
};

/* An exported stream of a metric. */
struct stream {
    struct metric_info info;
    const struct view *view; /* NULL: none */
    uint8_t shape;           /* index of the metric's histogram shape */
    bool is_merged;          /* the view limits attributes or the number of series */
    uint32_t series_max;     /* if is_merged; at most STREAM_SERIES_MAX */
};

struct metric_streams {
    uint8_t count; /* 0: the metric is dropped */
    uint8_t shape_count;
    struct stream streams[STREAMS_MAX];
    const struct histogram_shape *shapes[STREAMS_MAX];
};

/* Constant; refers to the views. */
struct streams {
    struct metric_streams of[METRIC_COUNT];
};

bool view_selects(const struct view *view, enum metric metric);
/* Why the view's aggregation is impossible for a metric that it selects; NULL: it is possible. */
const char *view_obstacle(const struct view *view, enum metric metric);
void view_deinit(struct view *view);

/* A view is not applied to a metric that has an obstacle, nor beyond STREAMS_MAX streams of one metric.
 * `form` is that of histograms without a view's aggregation. The caller owns the result: free(). */
enum status streams_create(const struct view *views, size_t count, enum histogram_form form,
                           struct streams **streams) MUST_CHECK;
/* The maximum memory that they need in addition to metrics without views. */
uint64_t streams_bytes(const struct streams *streams);
