/* The table of kernels: durations, launch dimensions and theoretical occupancy. */
#include "cli/util/xalloc.h"
#include "analysis/stat/base/stat.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(X)                                                                                           \
    X(COL_NAME, "name", "kernel", STAT_TEXT)                                                                 \
    X(COL_COUNT, "count", "runs", STAT_COUNT)                                                                \
    X(COL_TOTAL_NS, "total_ns", "total", STAT_NS)                                                            \
    X(COL_SHARE, "share", "share", STAT_SHARE)                                                               \
    X(COL_AVG_NS, "avg_ns", "average", STAT_NS)                                                              \
    X(COL_MEDIAN_NS, "median_ns", "median", STAT_NS)                                                         \
    X(COL_P99_NS, "p99_ns", "p99", STAT_NS)                                                                  \
    X(COL_MIN_NS, "min_ns", "min", STAT_NS)                                                                  \
    X(COL_MAX_NS, "max_ns", "max", STAT_NS)                                                                  \
    X(COL_GRID, "grid", "grid", STAT_TEXT)                                                                   \
    X(COL_BLOCK, "block", "block", STAT_TEXT)                                                                \
    X(COL_REGISTERS, "registers", "registers", STAT_COUNT)                                                   \
    X(COL_SHARED_BYTES, "shared_bytes", "shared", STAT_BYTES)                                                \
    X(COL_OCCUPANCY_SHARE, "occupancy_share", "occupancy", STAT_SHARE)                                       \
    X(COL_FULL_NAME, "full_name", "full name", STAT_TEXT)                                                    \
    X(COL_PLACE, "place", "code", STAT_TEXT) /* filled by kernel_lines.h */
STAT_COLUMNS_OF(columns, COLUMNS);

#define REGISTERS_OF_A_WARP_STEP 256 /* allocation granularity of registers per warp */
#define SCHEDULERS               4   /* schedulers of a multiprocessor; each has its share of the registers */
#define SHARED_STEP_BYTES        128 /* allocation granularity of shared memory per block */
#define SHARED_RESERVED_BYTES    1024 /* reserved by CUDA in each block, from compute capability 8.0 on */

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

double stat_occupancy(const struct stat *stat, uint32_t resource, const struct stat_launch *launch)
{
    const struct stat_device *device = stat_device_of(stat, resource);
    uint64_t max_warps = device->max_warps, max_blocks = device->max_blocks, registers = device->registers;
    uint64_t shared = device->shared_bytes, warp_threads = device->warp_threads;
    bool has_reserve = device->major >= 8;
    if (!max_warps || !max_blocks || !registers || !shared || !warp_threads || !launch->threads)
        return -1;
    uint64_t warps = (launch->threads + warp_threads - 1) / warp_threads;
    uint64_t blocks = least(max_blocks, max_warps / warps);
    if (launch->registers) {
        uint64_t of_a_warp = round_up(launch->registers * warp_threads, REGISTERS_OF_A_WARP_STEP);
        blocks = least(blocks, registers / SCHEDULERS / of_a_warp * SCHEDULERS / warps);
    }
    uint64_t of_a_block =
        round_up(launch->shared_bytes + (has_reserve ? SHARED_RESERVED_BYTES : 0), SHARED_STEP_BYTES);
    if (of_a_block)
        blocks = least(blocks, shared / of_a_block);
    return (double)(blocks * warps) / (double)max_warps;
}

/* All executions of one full name. */
struct kind {
    uint32_t name;
    const char *full, *grid, *block;                       /* of the first execution; NULL: unknown */
    struct stat_launch launch;                             /* launch of the first execution */
    bool has_grids, has_blocks, has_registers, has_shared; /* executions differ in these */
    double occupied_ns;                                    /* sum of occupancy times duration */
    uint64_t known_ns;
};

struct kernels {
    struct int_map numbers;
    struct samples samples;
    struct kind *kinds;
    size_t count, capacity;
};

static bool differs(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

static void compare_with_first(const struct stat *stat, struct kind *kind, const struct trace_span *span,
                               const struct stat_launch *launch)
{
    if (!kind->has_grids)
        kind->has_grids = differs(kind->grid, stat_attr(stat, span, KEY_GRID));
    if (!kind->has_blocks)
        kind->has_blocks = differs(kind->block, stat_attr(stat, span, KEY_BLOCK));
    kind->has_registers |= kind->launch.registers != launch->registers;
    kind->has_shared |= kind->launch.shared_bytes != launch->shared_bytes;
    if (launch->occupancy < 0)
        return;
    kind->occupied_ns += launch->occupancy * (double)stat_duration(span);
    kind->known_ns += stat_duration(span);
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct kernels *kernels = state;
    if (span->class != CLASS_KERNEL)
        return;
    struct stat_launch launch = stat_launch_of(stat, span);
    uint32_t number = int_map_number(&kernels->numbers, stat_kernel_key(stat, span));
    if (number == kernels->count)
        *XADD(kernels->kinds, kernels->count, kernels->capacity) =
            (struct kind){.name = span->name,
                          .full = stat_keep(stat, stat_attr(stat, span, KEY_KERNEL_NAME)),
                          .grid = stat_keep(stat, stat_attr(stat, span, KEY_GRID)),
                          .block = stat_keep(stat, stat_attr(stat, span, KEY_BLOCK)),
                          .launch = launch};
    compare_with_first(stat, &kernels->kinds[number], span, &launch);
    samples_add(&kernels->samples, number, stat_duration(span));
}

static void fill_row(const struct stat *stat, struct stat_value *row, const struct kind *kind,
                     const struct spread *s, uint64_t all)
{
    row[COL_NAME] = stat_text(trace_string(stat->trace, kind->name));
    row[COL_COUNT] = stat_int(s->count);
    row[COL_TOTAL_NS] = stat_int(s->total);
    row[COL_SHARE] = stat_ratio((double)s->total, (double)all);
    stat_fill_spread(&row[COL_AVG_NS], s);
    if (kind->grid)
        row[COL_GRID] = stat_text(kind->has_grids ? "various" : kind->grid);
    if (kind->block)
        row[COL_BLOCK] = stat_text(kind->has_blocks ? "various" : kind->block);
    if (!kind->has_registers)
        row[COL_REGISTERS] = stat_int(kind->launch.registers);
    if (!kind->has_shared)
        row[COL_SHARED_BYTES] = stat_int(kind->launch.shared_bytes);
    row[COL_OCCUPANCY_SHARE] = stat_ratio(kind->occupied_ns, (double)kind->known_ns);
    if (kind->full)
        row[COL_FULL_NAME] = stat_text(kind->full);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct kernels *kernels = state;
    if (report) {
        struct stat_table *table = STAT_ADD_TABLE(report, "kernels", "Kernels",
                                                  "GPU time; concurrent kernels add up. Occupancy is "
                                                  "theoretical, weighted by the time of each execution.",
                                                  columns);
        struct spread spread;
        uint64_t all = samples_total(&kernels->samples);
        samples_sort(&kernels->samples);
        stat_table_rounds(table, samples_error(&kernels->samples));
        for (size_t at = 0; samples_next(&kernels->samples, &at, &spread);)
            fill_row(stat, stat_table_add(table), &kernels->kinds[spread.group], &spread, all);
        stat_table_sort(table, COL_TOTAL_NS);
    }
    samples_deinit(&kernels->samples);
    int_map_deinit(&kernels->numbers);
    free(kernels->kinds);
}

const struct stat_section stat_kernels = {sizeof(struct kernels), take, NULL, finish};
