/* What the host asked of CUDA, how long it took, what failed, and what the host waited for. */
#include "cli/util/xalloc.h"
#include "cli/stat/stat.h"

#include <stdlib.h>

static const struct stat_column call_columns[] = {
    {"name", "call", STAT_TEXT},      {"api", "API", STAT_TEXT},        {"count", "calls", STAT_COUNT},
    {"errors", "errors", STAT_COUNT}, {"total_ns", "total", STAT_NS},   {"share", "share", STAT_SHARE},
    {"avg_ns", "average", STAT_NS},   {"median_ns", "median", STAT_NS}, {"p99_ns", "p99", STAT_NS},
    {"min_ns", "least", STAT_NS},     {"max_ns", "most", STAT_NS}};

static const struct stat_column error_columns[] = {
    {"name", "call", STAT_TEXT}, {"error", "error", STAT_TEXT}, {"count", "calls", STAT_COUNT}};

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
        row[0] = stat_text(trace_string(stat->trace, kind->first->name));
        row[1] = stat_text(stat_attr(stat, kind->first, KEY_API));
        row[2] = stat_int(s.count);
        row[3] = stat_int(kind->errors);
        row[4] = stat_int(s.total);
        row[5] = stat_ratio((double)s.total, (double)all);
        row[6] = stat_int(s.total / s.count);
        row[7] = stat_int(s.median);
        row[8] = stat_int(s.p99);
        row[9] = stat_int(s.min);
        row[10] = stat_int(s.max);
    }
    stat_table_sort(table, 4);
}

/* The calls that `wanted` takes, or all. */
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
            row[0] = stat_text(trace_string(trace, span->name));
            row[1] = stat_text(trace_string(trace, span->error));
            row[2] = stat_int(0);
        }
        table->values[number * table->column_count + 2].i++;
    }
    stat_table_sort(table, 2);
    int_map_deinit(&numbers);
}

void stat_calls(const struct stat *stat, struct stat_report *report)
{
    static const enum call_group sync = CALL_GROUP_SYNC;
    add_calls(stat,
              stat_report_add(report, stat_table_of("calls", "Calls", "Time on the host; threads add up.",
                                                    call_columns, STAT_COLUMNS(call_columns))),
              NULL);
    add_errors(stat, stat_report_add(report, stat_table_of("errors", "Calls that failed", NULL, error_columns,
                                                           STAT_COLUMNS(error_columns))));
    add_calls(stat,
              stat_report_add(report, stat_table_of("synchronization", "Waiting for the GPU",
                                                    "Calls that wait until the GPU, a stream or an event is "
                                                    "done. Copies that wait are among the calls.",
                                                    call_columns, STAT_COLUMNS(call_columns))),
              &sync);
}
