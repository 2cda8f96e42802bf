/* The table of kernels: durations, launch dimensions and theoretical occupancy. */
#include "cli/util/xalloc.h"
#include "cli/stat/stat.h"

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
    X(COL_FULL_NAME, "full_name", "full name", STAT_TEXT)
STAT_COLUMNS_OF(columns, COLUMNS);

#define REGISTERS_OF_A_WARP_STEP 256  /* allocation granularity of registers per warp */
#define SCHEDULERS               4    /* of a multiprocessor; each has its share of the registers */
#define SHARED_STEP_BYTES        128  /* allocation granularity of shared memory per block */
#define SHARED_RESERVED_BYTES    1024 /* reserved by CUDA in each block, from compute capability 8.0 on */

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

double stat_occupancy(const struct stat *stat, const struct trace_span *kernel,
                      const struct stat_launch *launch)
{
    uint64_t max_warps = (uint64_t)stat_device_number(stat, kernel, "cuda.device.multiprocessor.max_warps");
    uint64_t max_blocks = (uint64_t)stat_device_number(stat, kernel, "cuda.device.multiprocessor.max_blocks");
    uint64_t registers =
        (uint64_t)stat_device_number(stat, kernel, "cuda.device.multiprocessor.max_registers");
    uint64_t shared =
        (uint64_t)stat_device_number(stat, kernel, "cuda.device.multiprocessor.max_shared_memory");
    uint64_t warp_threads = (uint64_t)stat_device_number(stat, kernel, "cuda.device.warp.threads");
    bool has_reserve = stat_device_number(stat, kernel, "cuda.device.compute_capability.major") >= 8;
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

struct stat_launch stat_launch_of(const struct stat *stat, const struct trace_span *kernel)
{
    return (struct stat_launch){
        .threads = stat_product(stat_attr(stat, kernel, KEY_BLOCK)),
        .registers = stat_attr_int(stat, kernel, KEY_REGISTERS, 0),
        .shared_bytes = stat_attr_int(stat, kernel, KEY_SHARED_STATIC, 0) +
                        stat_attr_int(stat, kernel, KEY_SHARED_DYNAMIC, 0),
    };
}

/* All executions of one full name. */
struct kind {
    const struct trace_span *first;
    bool has_grids, has_blocks, has_registers, has_shared; /* more than one */
    double occupied_ns;                                    /* occupancy times duration */
    uint64_t known_ns;
};

static void compare_with_first(const struct stat *stat, struct kind *kind, const struct trace_span *span)
{
    /* Equal strings of a trace share one address. */
    kind->has_grids |= stat_attr(stat, kind->first, KEY_GRID) != stat_attr(stat, span, KEY_GRID);
    kind->has_blocks |= stat_attr(stat, kind->first, KEY_BLOCK) != stat_attr(stat, span, KEY_BLOCK);
    struct stat_launch first = stat_launch_of(stat, kind->first), this = stat_launch_of(stat, span);
    kind->has_registers |= first.registers != this.registers;
    kind->has_shared |= first.shared_bytes != this.shared_bytes;
    double occupancy = stat_occupancy(stat, span, &this);
    if (occupancy < 0)
        return;
    kind->occupied_ns += occupancy * (double)stat_duration(span);
    kind->known_ns += stat_duration(span);
}

static void fill_row(const struct stat *stat, struct stat_value *row, const struct kind *kind,
                     const struct spread *s, uint64_t all)
{
    struct stat_launch launch = stat_launch_of(stat, kind->first);
    const char *grid = stat_attr(stat, kind->first, KEY_GRID),
               *block = stat_attr(stat, kind->first, KEY_BLOCK);
    const char *full = stat_attr(stat, kind->first, KEY_KERNEL_NAME);
    row[COL_NAME] = stat_text(trace_string(stat->trace, kind->first->name));
    row[COL_COUNT] = stat_int(s->count);
    row[COL_TOTAL_NS] = stat_int(s->total);
    row[COL_SHARE] = stat_ratio((double)s->total, (double)all);
    stat_fill_spread(&row[COL_AVG_NS], s);
    if (grid)
        row[COL_GRID] = stat_text(kind->has_grids ? "various" : grid);
    if (block)
        row[COL_BLOCK] = stat_text(kind->has_blocks ? "various" : block);
    if (!kind->has_registers)
        row[COL_REGISTERS] = stat_int(launch.registers);
    if (!kind->has_shared)
        row[COL_SHARED_BYTES] = stat_int(launch.shared_bytes);
    row[COL_OCCUPANCY_SHARE] = stat_ratio(kind->occupied_ns, (double)kind->known_ns);
    if (full)
        row[COL_FULL_NAME] = stat_text(full);
}

void stat_kernels(const struct stat *stat, struct stat_report *report)
{
    const struct trace *trace = stat->trace;
    struct stat_table *table = STAT_ADD_TABLE(report, "kernels", "Kernels",
                                              "GPU time; concurrent kernels add up. Occupancy is "
                                              "theoretical, weighted by the time of each execution.",
                                              columns);
    struct int_map numbers = {0};
    struct samples samples = {0};
    struct kind *kinds = NULL;
    size_t capacity = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->class != CLASS_KERNEL)
            continue;
        const char *full = stat_attr(stat, span, KEY_KERNEL_NAME);
        size_t known = numbers.count;
        uint32_t number =
            stat_number(&numbers, full ? (uint64_t)(full - trace->strings) : (uint64_t)span->name << 32);
        if (number == known) {
            kinds = xgrow(kinds, &capacity, known + 1, sizeof *kinds);
            kinds[number] = (struct kind){.first = span};
        }
        compare_with_first(stat, &kinds[number], span);
        samples_add(&samples, number, stat_duration(span));
        all += stat_duration(span);
    }
    samples_sort(&samples);
    struct spread spread;
    for (size_t at = 0; samples_next(&samples, &at, &spread);)
        fill_row(stat, stat_table_add(table), &kinds[spread.group], &spread, all);
    stat_table_sort(table, COL_TOTAL_NS);
    samples_deinit(&samples);
    int_map_deinit(&numbers);
    free(kinds);
}
