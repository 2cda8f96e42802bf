#include "cli/diff/runs.h"

#include "cli/util/xalloc.h"
#include "cli/stat/stat.h"

#include <stdlib.h>
#include <string.h>

const char *measure_kind_name(enum measure_kind kind)
{
    static const char *const names[MEASURE_KIND_COUNT] = {"kernel", "copy", "call", "total"};
    return names[kind];
}

int measure_compare(const struct measure *a, const struct measure *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->name, b->name);
}

void run_set_deinit(struct run_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].name);
        free(set->items[i].runs);
    }
    free(set->items);
    free(set->gpus);
    *set = (struct run_set){0};
}

struct measure *run_set_measure(struct run_set *set, enum measure_kind kind, const char *name,
                                enum stat_unit unit)
{
    for (size_t i = set->count; i-- > 0;) {
        struct measure *item = &set->items[i];
        if (item->kind == kind && strcmp(item->name, name) == 0)
            return item;
    }
    set->items = xgrow(set->items, &set->capacity, set->count + 1, sizeof *set->items);
    set->items[set->count] = (struct measure){.kind = kind,
                                              .name = xstrdup(name),
                                              .unit = unit,
                                              .runs = xcalloc(set->run_count + 1, sizeof(struct run_item))};
    return &set->items[set->count++];
}

void run_set_grow(struct run_set *set, size_t runs)
{
    for (size_t i = 0; i < set->count; i++) {
        struct measure *item = &set->items[i];
        size_t capacity = set->run_count;
        item->runs = xgrow(item->runs, &capacity, set->run_count + runs, sizeof *item->runs);
        memset(item->runs + set->run_count, 0, runs * sizeof *item->runs);
    }
    set->run_count += runs;
}

static bool has_gpu(const char *gpus, const char *name, size_t len)
{
    for (const char *at = gpus; at && *at;) {
        size_t of_this = strcspn(at, ",");
        if (of_this == len && strncmp(at, name, len) == 0)
            return true;
        at += of_this;
        at += strspn(at, ", ");
    }
    return false;
}

void run_set_add_gpus(struct run_set *set, const char *gpus)
{
    for (const char *at = gpus; *at;) {
        size_t len = strcspn(at, ",");
        if (len && !has_gpu(set->gpus, at, len)) {
            char *all =
                xasprintf("%s%s%.*s", set->gpus ? set->gpus : "", set->gpus ? ", " : "", (int)len, at);
            free(set->gpus);
            set->gpus = all;
        }
        at += len;
        at += strspn(at, ", ");
    }
}

/* --- from a trace --- */

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

/* The name shared by all executions that are compared with each other. The caller frees it. */
static char *name_of(const struct stat *stat, const struct trace_span *span)
{
    switch (span->class) {
    case CLASS_KERNEL:
        return xstrdup(stat_kernel_name(stat, span));
    case CLASS_COPY:
        return xasprintf("%s %s to %s", or_unknown(stat_attr(stat, span, KEY_COPY_KIND)),
                         or_unknown(stat_attr(stat, span, KEY_COPY_FROM)),
                         or_unknown(stat_attr(stat, span, KEY_COPY_TO)));
    case CLASS_FILL:
        return xasprintf("fill of %s", or_unknown(stat_attr(stat, span, KEY_FILL_KIND)));
    default:
        return xstrdup(trace_string(stat->trace, span->name));
    }
}

static bool kind_of(const struct trace_span *span, enum measure_kind *kind)
{
    *kind = span->class == CLASS_KERNEL ? MEASURE_KERNEL
            : span->class == CLASS_CALL ? MEASURE_CALL
                                        : MEASURE_COPY;
    return *kind != MEASURE_COPY || span->class == CLASS_COPY || span->class == CLASS_FILL;
}

/* Looks names up by a hash: a run has millions of spans and hundreds of names. */
static void take_spans(const struct stat *stat, struct trace *names, struct int_map *numbers,
                       struct samples *samples)
{
    for (size_t i = 0; i < stat->trace->span_count; i++) {
        const struct trace_span *span = &stat->trace->spans[i];
        enum measure_kind kind;
        if (!kind_of(span, &kind))
            continue;
        char *name = name_of(stat, span);
        uint32_t string = trace_intern(names, name);
        free(name);
        samples_add(samples, stat_number(numbers, (uint64_t)string << 4 | kind), stat_duration(span));
    }
}

/* The name and kind of each number. */
static uint64_t *keys_of(const struct int_map *numbers)
{
    uint64_t *keys = xcalloc(numbers->count + 1, sizeof *keys);
    for (size_t slot = 0; slot < numbers->slots; slot++) {
        if (numbers->values[slot] != MAP_NONE)
            keys[numbers->values[slot]] = numbers->keys[slot];
    }
    return keys;
}

static void add_samples(struct run_set *set, const struct trace *names, const uint64_t *keys,
                        struct samples *samples)
{
    samples_sort(samples);
    uint64_t *values = xcalloc(samples->count + 1, sizeof *values);
    for (size_t i = 0; i < samples->count; i++)
        values[i] = samples->items[i].value;
    struct spread spread;
    for (size_t at = 0, begin = 0; samples_next(samples, &at, &spread); begin = at) {
        uint64_t key = keys[spread.group];
        struct measure *item = run_set_measure(set, (enum measure_kind)(key & 15),
                                               trace_string(names, (uint32_t)(key >> 4)), STAT_NS);
        run_item_of(&item->runs[set->run_count - 1], values + begin, spread.count, spread.total);
    }
    free(values);
}

static void add_total(struct run_set *set, const char *name, enum stat_unit unit, uint64_t value)
{
    struct measure *item = run_set_measure(set, MEASURE_TOTAL, name, unit);
    run_item_of(&item->runs[set->run_count - 1], &value, 1, value);
}

/* The integers of `stat`'s headline, and the busy time of GPUs. */
static void add_totals(struct run_set *set, const struct stat *stat)
{
    struct stat_report report = {.count = 0};
    uint64_t busy_ns = 0;
    stat_headline(stat, &report);
    const struct stat_table *headline = &report.tables[0];
    for (size_t c = 0; c < headline->column_count; c++) {
        enum stat_unit unit = headline->columns[c].unit;
        if (unit == STAT_COUNT || unit == STAT_NS || unit == STAT_BYTES)
            add_total(set, headline->columns[c].key, unit, (uint64_t)headline->values[c].i);
    }
    size_t devices_at = report.count;
    stat_devices(stat, &report);
    const struct stat_table *devices = &report.tables[devices_at];
    for (size_t c = 0; c < devices->column_count; c++) {
        for (size_t r = 0; strcmp(devices->columns[c].key, "busy_ns") == 0 && r < devices->row_count; r++)
            busy_ns += (uint64_t)devices->values[r * devices->column_count + c].i;
    }
    add_total(set, "busy_ns", STAT_NS, busy_ns);
    stat_report_deinit(&report);
}

void run_set_add_trace(struct run_set *set, struct trace *trace)
{
    struct stat stat;
    struct samples samples = {0};
    struct int_map numbers = {0};
    struct trace names;
    run_set_grow(set, 1);
    stat_init(&stat, trace);
    trace_init(&names);
    take_spans(&stat, &names, &numbers, &samples);
    uint64_t *keys = keys_of(&numbers);
    add_samples(set, &names, keys, &samples);
    add_totals(set, &stat);
    for (size_t i = 0; i < trace->resource_count; i++)
        run_set_add_gpus(set, trace_string(trace, trace->resources[i].device_name));
    free(keys);
    trace_deinit(&names);
    int_map_deinit(&numbers);
    samples_deinit(&samples);
    stat_deinit(&stat);
}

static int compare_items(const void *a, const void *b)
{
    return measure_compare(a, b);
}

void run_set_sort(struct run_set *set)
{
    if (set->count > 1)
        qsort(set->items, set->count, sizeof *set->items, compare_items);
}
