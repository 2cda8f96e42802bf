/* The table of hardware counters by kernel and range, for the counted runs. */
#include "cli/util/xalloc.h"
#include "analysis/stat/base/stat.h"
#include "model/gpu_counter_names.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(X)                                                                                           \
    X(COL_NAME, "name", "kernel or range", STAT_TEXT)                                                        \
    X(COL_COUNTER, "counter", "counter", STAT_TEXT)                                                          \
    X(COL_UNIT, "unit", "unit", STAT_TEXT)                                                                   \
    X(COL_COUNT, "count", "counted", STAT_COUNT)                                                             \
    X(COL_AVG, "avg", "average", STAT_REAL)                                                                  \
    X(COL_MIN, "min", "min", STAT_REAL)                                                                      \
    X(COL_MAX, "max", "max", STAT_REAL)                                                                      \
    X(COL_TOTAL, "total", "total", STAT_REAL)                                                                \
    X(COL_RATE, "rate", "rate", STAT_RATE)                                                                   \
    X(COL_TIME_NS, "time_ns", "in", STAT_NS)
STAT_COLUMNS_OF(columns, COLUMNS);

#define KEYS 128

/* One counter of all spans of a name. */
struct counted {
    uint32_t name, key;
    uint64_t runs, time_ns;
    double total, least, most;
};

struct counts {
    struct counted *list;
    size_t count, capacity;
    struct int_map index; /* name << 32 | key → place in the list */
    /* A cache of which keys are counters, because every attribute of every span is examined. A string's
     * number is never 0. */
    struct known_key {
        uint32_t key;
        bool is_counter;
    } keys[KEYS];
};

static struct counted *place_of(struct counts *counts, uint32_t name, uint32_t key)
{
    uint32_t place = int_map_number(&counts->index, (uint64_t)name << 32 | key);
    if (place == counts->count)
        *XADD(counts->list, counts->count, counts->capacity) = (struct counted){.name = name, .key = key};
    return &counts->list[place];
}

static void add(struct counts *counts, const struct trace_span *span, uint32_t key, double value)
{
    struct counted *counted = place_of(counts, span->name, key);
    counted->least = counted->runs == 0 || value < counted->least ? value : counted->least;
    counted->most = counted->runs == 0 || value > counted->most ? value : counted->most;
    counted->total += value;
    counted->time_ns += stat_duration(span);
    counted->runs++;
}

static bool is_counter(const struct trace *trace, uint32_t key)
{
    return strncmp(trace_string(trace, key), GPU_COUNTER_PREFIX, strlen(GPU_COUNTER_PREFIX)) == 0;
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct counts *counts = state;
    const struct trace *trace = stat->trace;
    for (uint32_t a = 0; a < span->attr_count; a++) {
        const struct trace_attr *attr = &trace->attrs[span->attr_first + a];
        struct known_key *known = &counts->keys[attr->key % KEYS];
        if (known->key != attr->key)
            *known = (struct known_key){attr->key, is_counter(trace, attr->key)};
        if (known->is_counter)
            add(counts, span, attr->key, trace_attr_double(trace, attr));
    }
}

/* Whether the counter's values can be added up: bytes and events can, ratios cannot. */
static bool adds_up(const char *counter, const struct gpu_counter_name *plain)
{
    if (plain)
        return strcmp(plain->unit, "%") != 0;
    const char *rollup = strchr(counter, '.');
    return rollup && strcmp(rollup, ".sum") == 0;
}

static void add_row(const struct trace *trace, const struct counted *counted, struct stat_table *table)
{
    const char *counter = trace_string(trace, counted->key) + strlen(GPU_COUNTER_PREFIX);
    const struct gpu_counter_name *plain = gpu_counter_find(counter);
    struct stat_value *row = stat_table_add(table);
    row[COL_NAME] = stat_text(trace_string(trace, counted->name));
    row[COL_COUNTER] = stat_text(counter);
    if (plain)
        row[COL_UNIT] = stat_text(plain->unit);
    row[COL_COUNT] = stat_int(counted->runs);
    row[COL_AVG] = stat_real(counted->total / (double)counted->runs);
    row[COL_MIN] = stat_real(counted->least);
    row[COL_MAX] = stat_real(counted->most);
    if (adds_up(counter, plain))
        row[COL_TOTAL] = stat_real(counted->total);
    if (plain && strcmp(plain->unit, "By") == 0 && counted->time_ns > 0)
        row[COL_RATE] = stat_real(counted->total * 1e9 / (double)counted->time_ns);
    row[COL_TIME_NS] = stat_int(counted->time_ns);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct counts *counts = state;
    if (report) {
        struct stat_table *table = STAT_ADD_TABLE(report, "counters", "Hardware counters",
                                                  "Values of the counted runs (counters.period). Rate: bytes "
                                                  "moved divided by the duration of those runs.",
                                                  columns);
        for (size_t i = 0; i < counts->count; i++)
            add_row(stat->trace, &counts->list[i], table);
        stat_table_sort(table, COL_TIME_NS);
    }
    int_map_deinit(&counts->index);
    free(counts->list);
}

const struct stat_section stat_counters = {sizeof(struct counts), take, NULL, finish};
