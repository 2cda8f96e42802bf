/* Views (meter_provider.views): which metrics leave, under what name, in what form, with which attributes. A
 * view selects instruments, which are cuspan's metrics, and makes a stream of each. An instrument that none
 * selects has one stream, as model/metrics.h describes it. */
#ifndef CUSPAN_MODEL_METRICS_VIEWS_H
#define CUSPAN_MODEL_METRICS_VIEWS_H

#include "base/status.h"
#include "model/metrics/metrics.h"
#include "model/settings.h"

#define VIEWS_MAX   64
#define STREAMS_MAX 4 /* of one metric */
#define STREAM_SERIES_MAX                                                                                    \
    320                      /* of kernels, in a stream whose attributes or number of series a view bounds   \
                              */
#define STREAM_OTHERS_MAX 64 /* of another metric in such a stream */
#define STREAM_SERIES_BYTES                                                                                  \
    672 /* of one, without its histogram; tests/integration/agent/bounds_test.py has such a view */
#define METRIC_NAME_MAX 255
#define ANY_METRIC_TYPE UINT8_MAX

enum aggregation {
    AGGREGATION_DEFAULT,
    AGGREGATION_DROP,
    AGGREGATION_SHAPE, /* explicit or exponential buckets, as `shape` has them */
    AGGREGATION_LAST_VALUE,
    AGGREGATION_SUM
};

/* As the file has it. Strings are owned; NULL: not given. */
struct view {
    char *instrument_name;   /* with * and ? */
    uint8_t instrument_type; /* enum metric_type, or ANY_METRIC_TYPE */
    bool selects_nothing;    /* by a type or a meter that cuspan doesn't have */
    char *unit;

    char *name, *description;
    enum aggregation aggregation;
    struct histogram_shape shape;
    uint32_t series_max;   /* 0: not given */
    struct filter keys;    /* attributes that stay; allow empty: all */
    uint32_t line, column; /* of the file */
};

/* What leaves of a metric. */
struct stream {
    struct metric_info info;
    const struct view *view; /* NULL: none */
    uint8_t shape;           /* of a histogram: which of those that are kept of the metric */
    bool is_merged;          /* attributes or the number of series are bounded by the view */
    uint32_t series_max;     /* then: so many; at most STREAM_SERIES_MAX */
};

struct metric_streams {
    uint8_t count; /* 0: the metric is dropped */
    uint8_t shape_count;
    struct stream streams[STREAMS_MAX];
    const struct histogram_shape *shapes[STREAMS_MAX];
};

/* Frozen; refers to the views that it was made of. */
struct streams {
    struct metric_streams of[METRIC_COUNT];
};

bool view_selects(const struct view *view, enum metric metric);
/* What keeps the view's aggregation from being done of a metric that it selects; NULL: nothing does. */
const char *view_obstacle(const struct view *view, enum metric metric);
void view_deinit(struct view *view);

/* A view is not applied to a metric that has an obstacle, nor beyond STREAMS_MAX streams of one metric.
 * `form` is that of histograms without a view's aggregation. The caller owns the result: free(). */
enum status streams_create(const struct view *views, size_t count, enum histogram_form form,
                           struct streams **streams) MUST_CHECK;
/* The memory that they need at most beyond that of metrics without views. */
uint64_t streams_bytes(const struct streams *streams);

#endif
