/* Tables of copies and fills: bytes, rates, kinds of memory, and sizes. */
#include "cli/util/xalloc.h"
#include "analysis/stat/base/stat.h"
#include "model/semconv.h"

#include <stdio.h>
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

#define SIZES 24 /* classes of sizes, by powers of four: up to 64 TiB */

/* The peak rate of a copy or fill: that of the GPU's memory, or of the link in one direction, from the
 * device's attributes (cuda.device.pcie.*, cuda.device.nvlink.*). */
struct peak {
    char name[32];      /* "memory", "PCIe 5.0 x16", "NVLink x18"; "": unknown path */
    double bytes_per_s; /* 0: unknown */
    bool is_link;       /* the copy leaves the GPU's memory, over a link */
};

/* All copies of one kind, or fills of one kind of memory. */
struct kind {
    const char *word, *from, *to; /* NULL: unknown */
    uint64_t total_ns;
    struct peak peak;
    bool has_other_peaks; /* copies of the kind took different links */
};

struct copies {
    struct int_map numbers;
    struct samples sizes, times;
    struct kind *kinds;
    size_t count, capacity;
    uint64_t counts[SIZES][3]; /* copies, fills and allocations by size */
};

/* --- peaks --- */

#define KB_PER_S       1000.0
#define DEVICE_TO_SELF 2 /* a copy within memory reads and writes each byte */

static struct peak of_memory(const struct stat *stat, const struct trace_span *span)
{
    double all = KB_PER_S * stat_device_number(stat, span->resource, SEMCONV_CUDA_DEVICE_MEMORY_BANDWIDTH);
    return (struct peak){"memory", span->class == CLASS_FILL ? all : all / DEVICE_TO_SELF, false};
}

static struct peak of_pcie(const struct stat *stat, uint32_t device)
{
    struct peak peak = {.is_link = true,
                        .bytes_per_s = stat_device_number(stat, device, SEMCONV_CUDA_DEVICE_PCIE_BANDWIDTH)};
    if (peak.bytes_per_s > 0)
        snprintf(peak.name, sizeof peak.name, "PCIe %.0f.0 x%.0f",
                 stat_device_number(stat, device, SEMCONV_CUDA_DEVICE_PCIE_GENERATION),
                 stat_device_number(stat, device, SEMCONV_CUDA_DEVICE_PCIE_WIDTH));
    return peak;
}

/* Returns the first resource of the device; TRACE_NONE: there is none. */
static uint32_t device_by_id(const struct stat *stat, const char *id)
{
    const struct trace *trace = stat->trace;
    for (uint32_t i = 0; i < trace->resource_count; i++)
        if (stat_is(trace_resource_attr(trace, &trace->resources[i], SEMCONV_HW_ID), id))
            return i;
    return TRACE_NONE;
}

/* Counts the ends that are `wanted`. `ends` is a JSON array of texts. */
static unsigned count_ends(const char *ends, const char *wanted)
{
    char quoted[64];
    unsigned count = 0;
    int length = snprintf(quoted, sizeof quoted, "\"%s\"", wanted);
    for (const char *at = ends; (at = strstr(at, quoted)) != NULL; at += length)
        count++;
    return count;
}

/* The NVLinks to the other GPU, direct or through a switch. Without NVLink the copy uses PCIe at the peak of
 * the slower GPU. If only one GPU is known, the peak is unknown. */
static struct peak of_peers(const struct stat *stat, const char *from_id, const char *to_id)
{
    const struct trace *trace = stat->trace;
    uint32_t from = device_by_id(stat, from_id), to = device_by_id(stat, to_id);
    struct peak unknown = {.is_link = true};
    const struct trace_resource *device = from == TRACE_NONE ? NULL : &trace->resources[from];
    const char *links = device ? trace_resource_attr(trace, device, SEMCONV_CUDA_DEVICE_NVLINK_LINKS) : NULL;
    if (!links)
        return unknown;
    double count = strtod(links, NULL),
           all = stat_device_number(stat, from, SEMCONV_CUDA_DEVICE_NVLINK_BANDWIDTH);
    if (count < 1) {
        struct peak slower = of_pcie(stat, from), other = to == TRACE_NONE ? unknown : of_pcie(stat, to);
        return other.bytes_per_s < slower.bytes_per_s ? other : slower;
    }
    const char *ends = trace_resource_attr(trace, device, SEMCONV_CUDA_DEVICE_NVLINK_ENDS);
    const char *address =
        to == TRACE_NONE ? NULL
                         : trace_resource_attr(trace, &trace->resources[to], SEMCONV_CUDA_DEVICE_PCI_ADDRESS);
    unsigned there = ends ? count_ends(ends, "switch") : 0;
    if (ends && address)
        there += count_ends(ends, address);
    if (!there || all <= 0)
        return unknown;
    struct peak peak = {.is_link = true, .bytes_per_s = all * there / count};
    snprintf(peak.name, sizeof peak.name, "NVLink x%u", there);
    return peak;
}

static struct peak peak_of(const struct stat *stat, const struct trace_span *span)
{
    const char *direction = stat_attr(stat, span, KEY_COPY_KIND);
    const char *from = stat_attr(stat, span, KEY_COPY_SOURCE), *to = stat_attr(stat, span, KEY_COPY_TARGET);
    if (span->class == CLASS_FILL)
        return of_memory(stat, span);
    if (stat_is(direction, "HostToDevice") || stat_is(direction, "DeviceToHost"))
        return of_pcie(stat, span->resource);
    if (from && to && strcmp(from, to) != 0)
        return of_peers(stat, from, to);
    if (stat_is(direction, "DeviceToDevice") || (from && to))
        return of_memory(stat, span);
    return (struct peak){.is_link = stat_is(direction, "PeerToPeer")};
}

/* --- kinds of copies and fills --- */

static const char *kept_attr(const struct stat *stat, const struct trace_span *span, enum stat_key key)
{
    return stat_keep(stat, stat_attr(stat, span, key));
}

static uint64_t bytes_of(const struct stat *stat, const struct trace_span *span)
{
    return stat_attr_int(stat, span, span->class == CLASS_FILL ? KEY_FILL_BYTES : KEY_COPY_BYTES, 0);
}

static void fill_peak(struct stat_table *table, struct stat_value *row, const struct kind *kind, double rate)
{
    const struct peak *peak = &kind->peak;
    double share = peak->bytes_per_s > 0 ? rate / peak->bytes_per_s : 0;
    /* A rate above the peak means that the copy took an unknown link. */
    if (!kind->has_other_peaks && share > 0 && share <= 1) {
        row[MOVE_PEAK_SHARE] = stat_real(share);
        row[MOVE_PEAK_OF] = stat_table_own(table, xstrdup(peak->name));
        row[MOVE_PEAK_BYTES_PER_S] = stat_real(peak->bytes_per_s);
    } else if (peak->is_link) {
        row[MOVE_PEAK_OF] = stat_text("unknown");
    }
}

static void fill_row(struct stat_table *table, const struct kind *kind, const struct spread *sizes,
                     const struct spread *times)
{
    struct stat_value *row = stat_table_add(table);
    double rate = kind->total_ns ? (double)sizes->total * 1e9 / (double)kind->total_ns : 0;
    row[MOVE_KIND] = stat_text(kind->word);
    if (kind->from)
        row[MOVE_FROM] = stat_text(kind->from);
    if (kind->to)
        row[MOVE_TO] = stat_text(kind->to);
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

static void take_move(struct copies *copies, const struct stat *stat, const struct trace_span *span)
{
    bool is_fill = span->class == CLASS_FILL;
    const char *word = is_fill ? "fill" : kept_attr(stat, span, KEY_COPY_KIND);
    const char *from = is_fill ? NULL : kept_attr(stat, span, KEY_COPY_FROM);
    const char *to = kept_attr(stat, span, is_fill ? KEY_FILL_KIND : KEY_COPY_TO);
    uint64_t key = int_map_mix((uint64_t)(uintptr_t)word) ^ (uint64_t)(uintptr_t)from;
    uint32_t number = int_map_number(&copies->numbers, int_map_mix(key) ^ (uint64_t)(uintptr_t)to);
    struct peak peak = peak_of(stat, span);
    if (number == copies->count)
        *XADD(copies->kinds, copies->count, copies->capacity) = (struct kind){
            word ? word : stat_keep(stat, trace_string(stat->trace, span->name)), from, to, .peak = peak};
    struct kind *kind = &copies->kinds[number];
    kind->has_other_peaks |=
        peak.bytes_per_s != kind->peak.bytes_per_s || strcmp(peak.name, kind->peak.name) != 0;
    kind->total_ns += stat_duration(span);
    samples_add(&copies->sizes, number, bytes_of(stat, span));
    samples_add(&copies->times, number, stat_duration(span));
}

static void add_moves(struct stat_table *table, struct copies *copies)
{
    struct spread spread;
    samples_sort(&copies->sizes);
    samples_sort(&copies->times);
    stat_table_rounds(table, samples_error(&copies->sizes));
    stat_table_rounds(table, samples_error(&copies->times));
    for (size_t at = 0; samples_next(&copies->sizes, &at, &spread);) {
        struct spread time = samples_spread(&copies->times, spread.group);
        fill_row(table, &copies->kinds[spread.group], &spread, &time);
    }
    stat_table_sort(table, MOVE_TOTAL_NS);
}

static size_t size_class(uint64_t bytes)
{
    size_t class = 0;
    for (; bytes >= 4 && class + 1 < SIZES; bytes /= 4)
        class ++;
    return class;
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct copies *copies = state;
    if (span->class == CLASS_COPY || span->class == CLASS_FILL) {
        take_move(copies, stat, span);
        copies->counts[size_class(bytes_of(stat, span))][span->class == CLASS_FILL]++;
    } else if (span->class == CLASS_CALL && stat_call_of(stat, span).group == CALL_GROUP_ALLOC) {
        uint64_t bytes = stat_attr_int(stat, span, KEY_ARG_BYTES, UINT64_MAX);
        if (bytes != UINT64_MAX)
            copies->counts[size_class(bytes)][2]++;
    }
}

static void add_sizes(struct stat_table *table, const struct copies *copies)
{
    for (size_t class = 0; class < SIZES; class ++) {
        const uint64_t *counts = copies->counts[class];
        if (!counts[0] && !counts[1] && !counts[2])
            continue;
        struct stat_value *row = stat_table_add(table);
        row[SIZE_FROM_BYTES] = stat_int(class ? 1ull << 2 * class : 0);
        row[SIZE_BELOW_BYTES] = stat_int(1ull << 2 * (class + 1));
        for (size_t i = 0; i < 3; i++)
            row[SIZE_COPIES + i] = stat_int(counts[i]);
    }
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct copies *copies = state;
    if (report) {
        add_moves(STAT_ADD_TABLE(
                      report, "copies", "Copies and fills",
                      "By direction and kind of memory. Peak: that of the GPU's memory (half of it for "
                      "copies within the GPU) or of the link in one direction, including packet headers.",
                      move_columns),
                  copies);
        add_sizes(STAT_ADD_TABLE(report, "sizes", "Sizes", NULL, size_columns), copies);
    }
    samples_deinit(&copies->sizes);
    samples_deinit(&copies->times);
    int_map_deinit(&copies->numbers);
    free(copies->kinds);
}

const struct stat_section stat_copies = {sizeof(struct copies), take, NULL, finish};
