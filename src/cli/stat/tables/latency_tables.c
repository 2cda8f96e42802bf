/* Launch latency: from the start of a call to the start of its work on the GPU. */
#include "cli/stat/stat.h"

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

#define BUCKETS 32 /* by powers of two, from 1 us on */

static void add_spreads(struct stat_table *table, const struct samples *samples)
{
    struct spread s;
    for (size_t at = 0; samples_next(samples, &at, &s);) {
        struct stat_value *row = stat_table_add(table);
        row[LATENCY_WORK] = stat_text(trace_class_name(s.group));
        row[LATENCY_COUNT] = stat_int(s.count);
        stat_fill_spread(&row[LATENCY_AVG_NS], &s);
    }
}

static void add_histogram(struct stat_table *table, const struct samples *samples)
{
    uint64_t counts[BUCKETS] = {0}, all = 0;
    for (size_t i = 0; i < samples->count; i++) {
        if (samples->items[i].group != CLASS_KERNEL)
            continue;
        size_t bucket = 0;
        for (uint64_t us = samples->items[i].value / 1000; us && bucket + 1 < BUCKETS; us /= 2)
            bucket++;
        counts[bucket]++;
        all++;
    }
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        if (!counts[bucket])
            continue;
        struct stat_value *row = stat_table_add(table);
        row[BIN_FROM_NS] = stat_int(bucket ? 1000ull << (bucket - 1) : 0);
        row[BIN_BELOW_NS] = stat_int(1000ull << bucket);
        row[BIN_COUNT] = stat_int(counts[bucket]);
        row[BIN_SHARE] = stat_ratio((double)counts[bucket], (double)all);
    }
}

void stat_latency(const struct stat *stat, struct stat_report *report)
{
    struct samples samples = {0};
    uint64_t negative = 0;
    for (size_t i = 0; i < stat->trace->span_count; i++) {
        const struct trace_span *span = &stat->trace->spans[i];
        const char *delay = trace_class_is_gpu(span->class) ? stat_attr(stat, span, KEY_START_DELAY) : NULL;
        if (delay && *delay == '-')
            negative++; /* nothing starts before its call; CUPTI's clock conversion is inexact */
        if (delay)
            samples_add(&samples, span->class, *delay == '-' ? 0 : strtoull(delay, NULL, 10));
    }
    samples_sort(&samples);
    add_spreads(
        STAT_ADD_TABLE(
            report, "latency", "Launch latency: start of the call to start on the GPU",
            negative ? "Work that starts before its call, according to CUPTI's clocks, counts as 0." : NULL,
            latency_columns),
        &samples);
    add_histogram(STAT_ADD_TABLE(report, "latency_histogram", "Launch latency of kernels: histogram", NULL,
                                 histogram_columns),
                  &samples);
    samples_deinit(&samples);
}
