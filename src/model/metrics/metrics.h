/* The metrics that cuspan exports (metrics_list.h), and their data points on the way from agent to encode.
 * docs/metrics.md has the table. */
#pragma once

#include "model/metrics/live_stats.h"
#include "model/metrics/metrics_list.h"
#include "model/span.h"

#include <stdio.h>

enum metric_type {
    METRIC_SUM,     /* monotonic */
    METRIC_UP_DOWN, /* a sum that can decrease: always cumulative */
    METRIC_GAUGE,
    METRIC_HISTOGRAM /* of durations, in seconds */
};

enum metric_value {
    METRIC_INT,
    METRIC_SECONDS, /* measured in ns, exported as a double */
    METRIC_DOUBLE
};

enum metric {
#define METRIC_ID(id, name, unit, type, value, attributes, text) METRIC_##id,
    METRICS(METRIC_ID)
#undef METRIC_ID
        METRIC_COUNT
};

struct metric_info {
    const char *name, *unit, *description, *attributes;
    uint8_t type;  /* enum metric_type */
    uint8_t value; /* enum metric_value */
};
extern const struct metric_info metric_table[METRIC_COUNT];

#define METRIC_ATTRS_MAX 7

/* The only meter: the scope of spans and metrics. */
#define METER_NAME       "cuspan"
#define METER_SCHEMA_URL "https://opentelemetry.io/schemas/1.44.0"

/* One measurement; its pointers are borrowed. */
struct metric_point {
    uint64_t start_ns, time_ns;
    uint32_t attr_count;
    struct span_attr attrs[METRIC_ATTRS_MAX];
    union {
        uint64_t i; /* INT; SECONDS: ns */
        double d;
        const struct histogram *histogram;
    };
};

struct metric_points {
    const struct metric_info *info; /* as exported: the table's, or a view's */
    bool is_delta;
    uint32_t count;
    const struct metric_point *points;
};

/* The table of docs/metrics.md. */
void metrics_print(FILE *out);
