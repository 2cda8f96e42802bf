/* Tables of copies and fills: bytes, rates, kinds of memory, and sizes. */
#include "cli/util/xalloc.h"
#include "cli/stat/tables/peak.h"
#include "cli/stat/stat.h"

#include <stdlib.h>
#include <string.h>

#define MOVE_COLUMNS(X)                                                                                      \
    X(MOVE_KIND, "kind", "kind", STAT_TEXT)                                                                  \
    X(MOVE_FROM, "from", "from", STAT_TEXT)                                                                  \
    X(MOVE_TO, "to", "to", STAT_TEXT)                                                                        \
    X(MOVE_COUNT, "count", "runs", STAT_COUNT)                                                               \
    X(MOVE_BYTES, "bytes", "bytes", STAT_BYTES)                                                              \
    X(MOVE_TOTAL_NS, "total_ns", "total", STAT_NS)                                                           \
    X(MOVE_BYTES_PER_S, "bytes_per_s", "rate", STAT_RATE)                                                    \
    X(MOVE_PEAK_SHARE, "peak_share", "of the peak", STAT_SHARE)                                              \
    X(MOVE_PEAK_OF, "peak_of", "of", STAT_TEXT)                                                              \
    X(MOVE_PEAK_BYTES_PER_S, "peak_bytes_per_s", "peak", STAT_RATE)                                          \
    X(MOVE_AVG_BYTES, "avg_bytes", "average", STAT_BYTES)                                                    \
    X(MOVE_MEDIAN_BYTES, "median_bytes", "median", STAT_BYTES)                                               \
    X(MOVE_MIN_BYTES, "min_bytes", "min", STAT_BYTES)                                                        \
    X(MOVE_MAX_BYTES, "max_bytes", "max", STAT_BYTES)                                                        \
    X(MOVE_MEDIAN_NS, "median_ns", "median time", STAT_NS)
STAT_COLUMNS_OF(move_columns, MOVE_COLUMNS);

#define SIZE_COLUMNS(X)                                                                                      \
    X(SIZE_FROM_BYTES, "from_bytes", "from", STAT_BYTES)                                                     \
    X(SIZE_BELOW_BYTES, "below_bytes", "below", STAT_BYTES)                                                  \
    X(SIZE_COPIES, "copies", "copies", STAT_COUNT)                                                           \
    X(SIZE_FILLS, "fills", "fills", STAT_COUNT)                                                              \
    X(SIZE_ALLOCATIONS, "allocations", "allocations", STAT_COUNT)
STAT_COLUMNS_OF(size_columns, SIZE_COLUMNS);

#define SIZES 24 /* by powers of four: up to 64 TiB */

struct kind {
    const struct trace_span *first;
    uint64_t total_ns;
    struct peak peak;
    bool has_other_peaks; /* its copies took different links */
};

/* The offset of the text in the trace's strings, as half of a key. */
static uint64_t string_key(const struct stat *stat, const char *text)
{
    return text ? (uint64_t)(text - stat->trace->strings) : 0;
}

static uint64_t key_of(const struct stat *stat, const struct trace_span *span)
{
    if (span->class == CLASS_FILL)
        return int_map_mix(string_key(stat, stat_attr(stat, span, KEY_FILL_KIND)) + 1);
    uint64_t key = string_key(stat, stat_attr(stat, span, KEY_COPY_KIND));
    key = int_map_mix(key) ^ string_key(stat, stat_attr(stat, span, KEY_COPY_FROM));
    return int_map_mix(key) ^ string_key(stat, stat_attr(stat, span, KEY_COPY_TO));
}

static uint64_t bytes_of(const struct stat *stat, const struct trace_span *span)
{
    return stat_attr_int(stat, span, span->class == CLASS_FILL ? KEY_FILL_BYTES : KEY_COPY_BYTES, 0);
}

static struct stat_value text_or_missing(const char *text)
{
    return text ? stat_text(text) : (struct stat_value){.is_missing = true};
}

static void fill_peak(struct stat_table *table, struct stat_value *row, const struct kind *kind, double rate)
{
    const struct peak *peak = &kind->peak;
    double share = peak->bytes_per_s > 0 ? rate / peak->bytes_per_s : 0;
    /* A rate above the peak means that the copy took an unknown link. */
    if (kind->has_other_peaks || share <= 0 || share > 1) {
        row[MOVE_PEAK_OF] = text_or_missing(peak->is_link ? "unknown" : NULL);
        return;
    }
    row[MOVE_PEAK_SHARE] = stat_real(share);
    row[MOVE_PEAK_OF] = stat_table_own(table, xstrdup(peak->name));
    row[MOVE_PEAK_BYTES_PER_S] = stat_real(peak->bytes_per_s);
}

static void fill_row(const struct stat *stat, struct stat_table *table, const struct kind *kind,
                     const struct spread *sizes, const struct spread *times)
{
    struct stat_value *row = stat_table_add(table);
    bool is_fill = kind->first->class == CLASS_FILL;
    double rate = kind->total_ns ? (double)sizes->total * 1e9 / (double)kind->total_ns : 0;
    const char *word = is_fill ? "fill" : stat_attr(stat, kind->first, KEY_COPY_KIND);
    row[MOVE_KIND] = stat_text(word ? word : trace_string(stat->trace, kind->first->name));
    if (!is_fill)
        row[MOVE_FROM] = text_or_missing(stat_attr(stat, kind->first, KEY_COPY_FROM));
    row[MOVE_TO] = text_or_missing(stat_attr(stat, kind->first, is_fill ? KEY_FILL_KIND : KEY_COPY_TO));
    row[MOVE_COUNT] = stat_int(sizes->count);
    row[MOVE_BYTES] = stat_int(sizes->total);
    row[MOVE_TOTAL_NS] = stat_int(kind->total_ns);
    if (rate > 0) {
        row[MOVE_BYTES_PER_S] = stat_real(rate);
        fill_peak(table, row, kind, rate);
    }
    row[MOVE_AVG_BYTES] = stat_int(sizes->total / sizes->count);
    row[MOVE_MEDIAN_BYTES] = stat_int(sizes->median);
    row[MOVE_MIN_BYTES] = stat_int(sizes->min);
    row[MOVE_MAX_BYTES] = stat_int(sizes->max);
    row[MOVE_MEDIAN_NS] = stat_int(times->median);
}

static void add_moves(const struct stat *stat, struct stat_table *table)
{
    const struct trace *trace = stat->trace;
    struct int_map numbers = {0};
    struct samples sizes = {0}, times = {0};
    struct kind *kinds = NULL;
    size_t capacity = 0;
    struct peaks peaks = {.stat = stat};
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->class != CLASS_COPY && span->class != CLASS_FILL)
            continue;
        size_t known = numbers.count;
        uint32_t number = stat_number(&numbers, key_of(stat, span));
        if (number == known) {
            kinds = xgrow(kinds, &capacity, known + 1, sizeof *kinds);
            kinds[number] = (struct kind){.first = span, .peak = peak_of(&peaks, span)};
        } else if (!kinds[number].has_other_peaks) {
            struct peak peak = peak_of(&peaks, span);
            kinds[number].has_other_peaks = !peak_is(&peak, &kinds[number].peak);
        }
        kinds[number].total_ns += stat_duration(span);
        samples_add(&sizes, number, bytes_of(stat, span));
        samples_add(&times, number, stat_duration(span));
    }
    samples_sort(&sizes);
    samples_sort(&times);
    struct spread spread;
    for (size_t at = 0; samples_next(&sizes, &at, &spread);) {
        struct spread time = samples_spread(&times, spread.group);
        fill_row(stat, table, &kinds[spread.group], &spread, &time);
    }
    stat_table_sort(table, MOVE_TOTAL_NS);
    samples_deinit(&sizes);
    samples_deinit(&times);
    int_map_deinit(&numbers);
    free(kinds);
}

static size_t size_class(uint64_t bytes)
{
    size_t class = 0;
    for (; bytes >= 4 && class + 1 < SIZES; bytes /= 4)
        class ++;
    return class;
}

static void add_sizes(const struct stat *stat, struct stat_table *table)
{
    const struct trace *trace = stat->trace;
    uint64_t counts[SIZES][3] = {{0}};
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        bool is_allocation = span->class == CLASS_CALL && stat_call_group(stat, span) == CALL_GROUP_ALLOC;
        uint64_t bytes = is_allocation ? stat_attr_int(stat, span, KEY_ARG_BYTES, UINT64_MAX) : 0;
        if (span->class == CLASS_COPY || span->class == CLASS_FILL)
            counts[size_class(bytes_of(stat, span))][span->class == CLASS_FILL]++;
        else if (is_allocation && bytes != UINT64_MAX)
            counts[size_class(bytes)][2]++;
    }
    for (size_t class = 0; class < SIZES; class ++) {
        if (!counts[class][0] && !counts[class][1] && !counts[class][2])
            continue;
        struct stat_value *row = stat_table_add(table);
        row[SIZE_FROM_BYTES] = stat_int(class ? 1ull << 2 * class : 0);
        row[SIZE_BELOW_BYTES] = stat_int(1ull << 2 * (class + 1));
        for (size_t i = 0; i < 3; i++)
            row[SIZE_COPIES + i] = stat_int(counts[class][i]);
    }
}

void stat_copies(const struct stat *stat, struct stat_report *report)
{
    add_moves(stat, STAT_ADD_TABLE(
                        report, "copies", "Copies and fills",
                        "By direction and kind of memory. Peak: that of the GPU's memory (half of it for "
                        "copies within the GPU) or of the link in one direction, including packet headers.",
                        move_columns));
    add_sizes(stat, STAT_ADD_TABLE(report, "sizes", "Sizes", NULL, size_columns));
}
