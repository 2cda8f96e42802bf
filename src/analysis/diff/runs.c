#include "analysis/diff/runs.h"

#include "base/hash.h"
#include "analysis/stat/sections.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"
#include "analysis/stat/base/stat.h"

#include <stdlib.h>
#include <string.h>

const char *measure_kind_name(enum measure_kind kind)
{
    static const char *const names[MEASURE_KIND_COUNT] = {"kernel", "copy", "call", "total", "code"};
    return names[kind];
}

int measure_compare(const void *a, const void *b)
{
    const struct measure *x = a, *y = b;
    int order = ORDER(x->kind, y->kind);
    return order ? order : strcmp(x->name, y->name);
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
    struct measure *item = XADD(set->items, set->count, set->capacity);
    *item = (struct measure){.kind = kind,
                             .name = xstrdup(name),
                             .unit = unit,
                             .runs = xcalloc(set->run_count + 1, sizeof(struct run_item))};
    return item;
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

/* Adds a name that the list "A, B" lacks. */
static void add_gpu(struct run_set *set, const char *name)
{
    char *old = set->gpus;
    char *list = xasprintf(", %s,", old ? old : ""), *item = xasprintf(", %s,", name);
    if (!strstr(list, item)) {
        set->gpus = old ? xasprintf("%s, %s", old, name) : xstrdup(name);
        free(old);
    }
    free(list);
    free(item);
}

void run_set_add_gpus(struct run_set *set, const char *gpus)
{
    char *names = xstrdup(gpus), *rest = names;
    for (const char *name; (name = strsep(&rest, ","));) {
        name += strspn(name, " ");
        if (*name)
            add_gpu(set, name);
    }
    free(names);
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

/* The sections of `stat` that a run needs; the headline's and devices' tables come first in the report. */
enum { HEADLINE, DEVICES, CODE, SECTIONS };
static const struct stat_section *const sections[SECTIONS] = {&stat_headline, &stat_devices, &stat_code};

struct run_reader {
    struct stat stat;
    void *states[SECTIONS];
    struct samples samples;
    struct int_map numbers; /* name and kind → number */
    struct int_map fast;    /* what the name is made of → number: a run has millions of spans */
    struct run_name {
        const char *name;
        enum measure_kind kind;
    } * names;
    size_t count, capacity;
};

struct run_reader *run_set_begin(void)
{
    struct run_reader *run = xcalloc(1, sizeof *run);
    stat_init(&run->stat);
    for (size_t s = 0; s < SECTIONS; s++)
        run->states[s] = xcalloc(1, sections[s]->bytes);
    return run;
}

/* Equal for spans of the same name, as far as it is quick to say. */
static uint64_t fast_key(const struct stat *stat, const struct trace_span *span)
{
    static const enum stat_key texts[] = {KEY_COPY_KIND, KEY_COPY_FROM, KEY_COPY_TO, KEY_FILL_KIND};
    uint64_t key = span->class;
    if (span->class == CLASS_CALL)
        return int_map_mix((uint64_t)span->name << 8 | key);
    if (span->class == CLASS_KERNEL)
        return int_map_mix(stat_kernel_key(stat, span) << 8 | key);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        key = int_map_mix(key) ^ hash_text(HASH_START, or_unknown(stat_attr(stat, span, texts[i])));
    return int_map_mix(key);
}

static uint32_t number_of(struct run_reader *run, const struct trace_span *span, enum measure_kind kind)
{
    uint64_t key = fast_key(&run->stat, span);
    uint32_t number = int_map_get(&run->fast, key);
    if (number != MAP_NONE)
        return number;
    char *text = name_of(&run->stat, span);
    const char *name = stat_keep(&run->stat, text); /* equal names are the same pointer */
    free(text);
    number = int_map_number(&run->numbers, int_map_mix((uint64_t)(uintptr_t)name) ^ kind);
    if (number == run->count)
        *XADD(run->names, run->count, run->capacity) = (struct run_name){name, kind};
    int_map_set(&run->fast, key, number);
    return number;
}

void run_set_take(struct run_reader *run, const struct trace *segment)
{
    struct stat *stat = &run->stat;
    stat_learn(stat, segment);
    stat_take(stat, segment);
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        enum measure_kind kind;
        if (span->is_margin)
            continue;
        for (size_t s = 0; s < SECTIONS; s++)
            if (s != CODE || !stat_has(stat, span, KEY_STEP_COPIED))
                sections[s]->take(run->states[s], stat, span);
        if (kind_of(span, &kind))
            samples_add(&run->samples, number_of(run, span, kind), stat_duration(span));
    }
    stat_devices.end_segment(run->states[DEVICES], stat);
}

static void add_samples(struct run_set *set, struct run_reader *run)
{
    struct spread spread;
    samples_sort(&run->samples);
    for (size_t at = 0, first = 0; samples_next(&run->samples, &at, &spread); first = at) {
        const struct run_name *name = &run->names[spread.group];
        struct measure *item = run_set_measure(set, name->kind, name->name, STAT_NS);
        run_item_of(&item->runs[set->run_count - 1], run->samples.items + first, &spread);
    }
}

static void add_value(struct run_set *set, enum measure_kind kind, const char *name, enum stat_unit unit,
                      uint64_t value)
{
    struct measure *item = run_set_measure(set, kind, name, unit);
    struct sample sample = {value, 0, 1};
    struct spread spread = {0, 1, value, value, value, value, value};
    run_item_of(&item->runs[set->run_count - 1], &sample, &spread);
}

/* The integers of `stat`'s headline, and the busy time of GPUs. */
static void add_totals(struct run_set *set, const struct stat_report *report)
{
    uint64_t busy_ns = 0;
    const struct stat_table *headline = &report->tables[0], *devices = &report->tables[1];
    size_t busy = stat_table_column(devices, "busy_ns");
    for (size_t c = 0; c < headline->column_count; c++) {
        enum stat_unit unit = headline->columns[c].unit;
        if (stat_unit_is_int(unit))
            add_value(set, MEASURE_TOTAL, headline->columns[c].key, unit, (uint64_t)headline->values[c].i);
    }
    for (size_t r = 0; r < devices->row_count; r++)
        busy_ns += (uint64_t)stat_table_row(devices, r)[busy].i;
    add_value(set, MEASURE_TOTAL, "busy_ns", STAT_NS, busy_ns);
}

/* From the table of code, whose rows are in order of GPU time. */
static void add_code(struct run_set *set, const struct stat_table *code)
{
    size_t place = stat_table_column(code, "place"), function = stat_table_column(code, "function");
    size_t self_ns = stat_table_column(code, "self_ns");
    uint64_t others_ns = 0;
    for (size_t r = 0; r < code->row_count; r++) {
        const struct stat_value *row = stat_table_row(code, r);
        uint64_t ns = (uint64_t)row[self_ns].i;
        if (r >= RUN_CODE_LINES_MAX)
            others_ns += ns;
        if (r >= RUN_CODE_LINES_MAX || !ns)
            continue;
        bool has_function = !row[function].is_missing;
        char *name = xasprintf("%s%s%s", row[place].text, has_function ? RUN_CODE_SEPARATOR : "",
                               has_function ? row[function].text : "");
        add_value(set, MEASURE_CODE, name, STAT_NS, ns);
        free(name);
    }
    if (others_ns)
        add_value(set, MEASURE_CODE, "(other lines)", STAT_NS, others_ns);
}

static void add_run(struct run_set *set, struct run_reader *run, struct stat_report *report)
{
    const struct trace *trace = run->stat.trace;
    const struct stat_table *code = stat_report_find(report, "code"); /* there is none without stacks */
    run_set_grow(set, 1);
    add_samples(set, run);
    add_totals(set, report);
    if (code)
        add_code(set, code);
    for (size_t i = 0; i < trace->resource_count; i++)
        run_set_add_gpus(set, trace_string(trace, trace->resources[i].device_name));
}

void run_set_end(struct run_reader *run, struct run_set *set)
{
    struct stat_report report = {.count = 0};
    for (size_t s = 0; s < SECTIONS; s++)
        sections[s]->finish(run->states[s], &run->stat, set ? &report : NULL);
    if (set)
        add_run(set, run, &report);
    stat_report_deinit(&report);
    for (size_t s = 0; s < SECTIONS; s++)
        free(run->states[s]);
    free(run->names);
    int_map_deinit(&run->numbers);
    int_map_deinit(&run->fast);
    samples_deinit(&run->samples);
    stat_deinit(&run->stat);
    free(run);
}

void run_set_sort(struct run_set *set)
{
    sort_array(set->items, set->count, sizeof *set->items, measure_compare);
}
