/* Tables of calls: durations, errors and waits. */
#include "cli/util/xalloc.h"
#include "cli/stat/stat.h"

#include <stdlib.h>

#define CALL_COLUMNS(X)                                                                                      \
    X(CALL_NAME, "name", "call", STAT_TEXT)                                                                  \
    X(CALL_API, "api", "API", STAT_TEXT)                                                                     \
    X(CALL_COUNT, "count", "calls", STAT_COUNT)                                                              \
    X(CALL_ERRORS, "errors", "errors", STAT_COUNT)                                                           \
    X(CALL_TOTAL_NS, "total_ns", "total", STAT_NS)                                                           \
    X(CALL_SHARE, "share", "share", STAT_SHARE)                                                              \
    X(CALL_AVG_NS, "avg_ns", "average", STAT_NS)                                                             \
    X(CALL_MEDIAN_NS, "median_ns", "median", STAT_NS)                                                        \
    X(CALL_P99_NS, "p99_ns", "p99", STAT_NS)                                                                 \
    X(CALL_MIN_NS, "min_ns", "min", STAT_NS)                                                                 \
    X(CALL_MAX_NS, "max_ns", "max", STAT_NS)
STAT_COLUMNS_OF(call_columns, CALL_COLUMNS);

#define ERROR_COLUMNS(X)                                                                                     \
    X(ERROR_NAME, "name", "call", STAT_TEXT)                                                                 \
    X(ERROR_ERROR, "error", "error", STAT_TEXT)                                                              \
    X(ERROR_COUNT, "count", "calls", STAT_COUNT)
STAT_COLUMNS_OF(error_columns, ERROR_COLUMNS);

/* All calls of one name and API. */
struct kind {
    const struct trace_span *first;
    uint64_t errors;
};

static uint64_t key_of(const struct stat *stat, const struct trace_span *span)
{
    const char *api = stat_attr(stat, span, KEY_API);
    return (uint64_t)span->name << 8 | (api ? (unsigned char)*api : 0);
}

static void add_rows(const struct stat *stat, struct stat_table *table, const struct samples *samples,
                     const struct kind *kinds)
{
    struct spread s;
    uint64_t all = 0;
    for (size_t i = 0; i < samples->count; i++)
        all += samples->items[i].value;
    for (size_t at = 0; samples_next(samples, &at, &s);) {
        const struct kind *kind = &kinds[s.group];
        struct stat_value *row = stat_table_add(table);
        row[CALL_NAME] = stat_text(trace_string(stat->trace, kind->first->name));
        row[CALL_API] = stat_text(stat_attr(stat, kind->first, KEY_API));
        row[CALL_COUNT] = stat_int(s.count);
        row[CALL_ERRORS] = stat_int(kind->errors);
        row[CALL_TOTAL_NS] = stat_int(s.total);
        row[CALL_SHARE] = stat_ratio((double)s.total, (double)all);
        stat_fill_spread(&row[CALL_AVG_NS], &s);
    }
    stat_table_sort(table, CALL_TOTAL_NS);
}

/* The calls that `wanted` selects, or all. */
static void add_calls(const struct stat *stat, struct stat_table *table, const enum call_group *wanted)
{
    const struct trace *trace = stat->trace;
    struct int_map numbers = {0};
    struct samples samples = {0};
    struct kind *kinds = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->class != CLASS_CALL || (wanted && stat_call_group(stat, span) != *wanted))
            continue;
        size_t known = numbers.count;
        uint32_t number = stat_number(&numbers, key_of(stat, span));
        if (number == known) {
            kinds = xgrow(kinds, &capacity, known + 1, sizeof *kinds);
            kinds[number] = (struct kind){span, 0};
        }
        kinds[number].errors += span->error != 0;
        samples_add(&samples, number, stat_duration(span));
    }
    samples_sort(&samples);
    add_rows(stat, table, &samples, kinds);
    samples_deinit(&samples);
    int_map_deinit(&numbers);
    free(kinds);
}

static void add_errors(const struct stat *stat, struct stat_table *table)
{
    const struct trace *trace = stat->trace;
    struct int_map numbers = {0};
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->class != CLASS_CALL || !span->error)
            continue;
        size_t known = numbers.count;
        uint32_t number = stat_number(&numbers, (uint64_t)span->name << 32 | span->error);
        if (number == known) {
            struct stat_value *row = stat_table_add(table);
            row[ERROR_NAME] = stat_text(trace_string(trace, span->name));
            row[ERROR_ERROR] = stat_text(trace_string(trace, span->error));
            row[ERROR_COUNT] = stat_int(0);
        }
        table->values[number * table->column_count + ERROR_COUNT].i++;
    }
    stat_table_sort(table, ERROR_COUNT);
    int_map_deinit(&numbers);
}

void stat_calls(const struct stat *stat, struct stat_report *report)
{
    static const enum call_group sync = CALL_GROUP_SYNC;
    add_calls(stat, STAT_ADD_TABLE(report, "calls", "Calls", "Host time, summed over threads.", call_columns),
              NULL);
    add_errors(stat, STAT_ADD_TABLE(report, "errors", "Failed calls", NULL, error_columns));
    add_calls(stat,
              STAT_ADD_TABLE(report, "synchronization", "Waiting for the GPU",
                             "Calls that wait for the GPU, a stream or an event. The "
                             "table of calls has the synchronous copies.",
                             call_columns),
              &sync);
}
