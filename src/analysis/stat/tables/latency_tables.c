/* Tables of launch latency: the time from the start of a call to the start of its work on the GPU. */
#include "analysis/stat/base/stat.h"

#include <stdlib.h>

#define LATENCY_COLUMNS(X)                                                                                   \
    X(LATENCY_WORK, "work", "work", STAT_TEXT)                                                               \
    X(LATENCY_COUNT, "count", "runs", STAT_COUNT)                                                            \
    X(LATENCY_AVG_NS, "avg_ns", "average", STAT_NS)                                                          \
    X(LATENCY_MEDIAN_NS, "median_ns", "median", STAT_NS)                                                     \
    X(LATENCY_P99_NS, "p99_ns", "p99", STAT_NS)                                                              \
    X(LATENCY_MIN_NS, "min_ns", "min", STAT_NS)                                                              \
    X(LATENCY_MAX_NS, "max_ns", "max", STAT_NS)
STAT_COLUMNS_OF(latency_columns, LATENCY_COLUMNS);

#define HISTOGRAM_COLUMNS(X)                                                                                 \
    X(BIN_FROM_NS, "from_ns", "from", STAT_NS)                                                               \
    X(BIN_BELOW_NS, "below_ns", "below", STAT_NS)                                                            \
    X(BIN_COUNT, "count", "kernels", STAT_COUNT)                                                             \
    X(BIN_SHARE, "share", "share", STAT_SHARE)
STAT_COLUMNS_OF(histogram_columns, HISTOGRAM_COLUMNS);

#define BUCKETS 32 /* classes of latency, by powers of two, from 1 us on */

static void add_spreads(struct stat_table *table, const struct samples *samples)
{
    struct spread s;
    stat_table_rounds(table, samples_error(samples));
    for (size_t at = 0; samples_next(samples, &at, &s);) {
        struct stat_value *row = stat_table_add(table);
        row[LATENCY_WORK] = stat_text(trace_class_name(s.group));
        row[LATENCY_COUNT] = stat_int(s.count);
        stat_fill_spread(&row[LATENCY_AVG_NS], &s);
    }
}

struct latency {
    struct samples samples;   /* by class */
    uint64_t counts[BUCKETS]; /* kernels by class of latency */
    uint64_t kernels, negative;
};

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct latency *latency = state;
    const struct trace_attr *delay =
        trace_class_is_gpu(span->class) ? stat_find(stat, span, KEY_START_DELAY) : NULL;
    if (!delay)
        return;
    int64_t told_ns = (int64_t)trace_attr_int(stat->trace, delay);
    bool is_negative = told_ns < 0; /* nothing starts before its call; CUPTI's clock conversion is inexact */
    uint64_t delay_ns = is_negative ? 0 : (uint64_t)told_ns;
    latency->negative += is_negative;
    samples_add(&latency->samples, span->class, delay_ns);
    if (span->class != CLASS_KERNEL)
        return;
    size_t bucket = 0;
    for (uint64_t us = delay_ns / 1000; us && bucket + 1 < BUCKETS; us /= 2)
        bucket++;
    latency->counts[bucket]++;
    latency->kernels++;
}

static void add_histogram(struct stat_table *table, const struct latency *latency)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        if (!latency->counts[bucket])
            continue;
        struct stat_value *row = stat_table_add(table);
        row[BIN_FROM_NS] = stat_int(bucket ? 1000ull << (bucket - 1) : 0);
        row[BIN_BELOW_NS] = stat_int(1000ull << bucket);
        row[BIN_COUNT] = stat_int(latency->counts[bucket]);
        row[BIN_SHARE] = stat_ratio((double)latency->counts[bucket], (double)latency->kernels);
    }
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct latency *latency = state;
    if (report) {
        samples_sort(&latency->samples);
        add_spreads(
            STAT_ADD_TABLE(report, "latency", "Launch latency: start of the call to start on the GPU",
                           latency->negative
                               ? "Work that starts before its call, according to CUPTI's clocks, counts as 0."
                               : NULL,
                           latency_columns),
            &latency->samples);
        add_histogram(STAT_ADD_TABLE(report, "latency_histogram", "Launch latency of kernels: histogram",
                                     NULL, histogram_columns),
                      latency);
    }
    samples_deinit(&latency->samples);
}

const struct stat_section stat_latency = {sizeof(struct latency), take, NULL, finish};
