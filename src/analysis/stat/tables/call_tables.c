/* Tables of calls: durations, errors and waits. */
#include "cli/util/xalloc.h"
#include "analysis/stat/base/stat.h"

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
    uint32_t name;
    const char *api;
    uint64_t errors;
};

struct calls {
    struct int_map numbers;
    struct samples samples;
    struct kind *kinds;
    size_t count, capacity;
};

struct call_tables {
    struct calls all, waiting;
    struct int_map error_numbers;
    struct error_count {
        uint32_t name, error;
        uint64_t count;
    } * errors;
    size_t error_count, error_capacity;
};

static void take_call(struct calls *calls, const struct stat *stat, const struct trace_span *span)
{
    const char *api = stat_attr(stat, span, KEY_API);
    uint32_t number =
        int_map_number(&calls->numbers, (uint64_t)span->name << 8 | (api ? (unsigned char)*api : 0));
    if (number == calls->count)
        *XADD(calls->kinds, calls->count, calls->capacity) =
            (struct kind){span->name, stat_keep(stat, api), 0};
    calls->kinds[number].errors += span->error != 0;
    samples_add(&calls->samples, number, stat_duration(span));
}

static void take_error(struct call_tables *tables, const struct trace_span *span)
{
    uint32_t number = int_map_number(&tables->error_numbers, (uint64_t)span->name << 32 | span->error);
    if (number == tables->error_count)
        *XADD(tables->errors, tables->error_count, tables->error_capacity) =
            (struct error_count){span->name, span->error, 0};
    tables->errors[number].count++;
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct call_tables *tables = state;
    if (span->class != CLASS_CALL)
        return;
    take_call(&tables->all, stat, span);
    if (stat_call_of(stat, span).group == CALL_GROUP_SYNC)
        take_call(&tables->waiting, stat, span);
    if (span->error)
        take_error(tables, span);
}

static void add_calls(const struct stat *stat, struct stat_table *table, struct calls *calls)
{
    struct spread s;
    uint64_t all = samples_total(&calls->samples);
    samples_sort(&calls->samples);
    stat_table_rounds(table, samples_error(&calls->samples));
    for (size_t at = 0; samples_next(&calls->samples, &at, &s);) {
        const struct kind *kind = &calls->kinds[s.group];
        struct stat_value *row = stat_table_add(table);
        row[CALL_NAME] = stat_text(trace_string(stat->trace, kind->name));
        if (kind->api)
            row[CALL_API] = stat_text(kind->api);
        row[CALL_COUNT] = stat_int(s.count);
        row[CALL_ERRORS] = stat_int(kind->errors);
        row[CALL_TOTAL_NS] = stat_int(s.total);
        row[CALL_SHARE] = stat_ratio((double)s.total, (double)all);
        stat_fill_spread(&row[CALL_AVG_NS], &s);
    }
    stat_table_sort(table, CALL_TOTAL_NS);
}

static void add_errors(const struct stat *stat, struct stat_table *table, const struct call_tables *tables)
{
    for (size_t i = 0; i < tables->error_count; i++) {
        const struct error_count *error = &tables->errors[i];
        struct stat_value *row = stat_table_add(table);
        row[ERROR_NAME] = stat_text(trace_string(stat->trace, error->name));
        row[ERROR_ERROR] = stat_text(trace_string(stat->trace, error->error));
        row[ERROR_COUNT] = stat_int(error->count);
    }
    stat_table_sort(table, ERROR_COUNT);
}

static void calls_deinit(struct calls *calls)
{
    samples_deinit(&calls->samples);
    int_map_deinit(&calls->numbers);
    free(calls->kinds);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct call_tables *tables = state;
    if (report) {
        add_calls(stat,
                  STAT_ADD_TABLE(report, "calls", "Calls", "Host time, summed over threads.", call_columns),
                  &tables->all);
        add_errors(stat, STAT_ADD_TABLE(report, "errors", "Failed calls", NULL, error_columns), tables);
        add_calls(stat,
                  STAT_ADD_TABLE(report, "synchronization", "Waiting for the GPU",
                                 "Calls that wait for the GPU, a stream or an event. The "
                                 "table of calls has the synchronous copies.",
                                 call_columns),
                  &tables->waiting);
    }
    calls_deinit(&tables->all);
    calls_deinit(&tables->waiting);
    int_map_deinit(&tables->error_numbers);
    free(tables->errors);
}

const struct stat_section stat_calls = {sizeof(struct call_tables), take, NULL, finish};
