/* Findings about kernels that leave most of the GPU unused: low occupancy, small grids, serialization. */
#include "cli/util/xalloc.h"
#include "cli/stat/findings/detectors.h"
#include "cli/util/text.h"

#include <stdlib.h>
#include <string.h>

/* Kernels that the program cannot change, by parts of their names. */
static const char *const libraries[] = {"cublas",   "cudnn", "nccl", "nvjet",    "cutlass",
                                        "xmma",     "cub::", "at::", "thrust::", "cusparse",
                                        "cusolver", "cufft", "npp",  "gemm",     "cask"};

/* Of one execution. */
struct use {
    struct stat_launch launch;
    double occupancy; /* of warps, times the share of their threads in use; negative: unknown */
    double threads;   /* share of the warps' threads in use */
    uint64_t blocks;
    uint64_t multiprocessors;
    uint64_t blocks_at_once; /* of one multiprocessor */
    uint64_t max_warps, warp_threads;
};

static struct use use_of(const struct stat *stat, const struct trace_span *kernel)
{
    struct use use = {
        .launch = stat_launch_of(stat, kernel),
        .blocks = stat_product(stat_attr(stat, kernel, KEY_GRID)),
        .multiprocessors = (uint64_t)stat_device_number(stat, kernel, "cuda.device.multiprocessors"),
        .max_warps = (uint64_t)stat_device_number(stat, kernel, "cuda.device.multiprocessor.max_warps"),
        .warp_threads = (uint64_t)stat_device_number(stat, kernel, "cuda.device.warp.threads")};
    use.occupancy = stat_occupancy(stat, kernel, &use.launch);
    if (use.occupancy > 0) {
        uint64_t warps = (use.launch.threads + use.warp_threads - 1) / use.warp_threads;
        use.blocks_at_once = (uint64_t)(use.occupancy * (double)use.max_warps / (double)warps + 0.5);
        use.threads = (double)use.launch.threads / (double)(warps * use.warp_threads);
        use.occupancy *= use.threads;
    }
    return use;
}

/* The occupancy with other limits. */
static double occupancy_with(const struct stat *stat, const struct trace_span *kernel, const struct use *use,
                             const struct stat_launch *launch)
{
    return use->threads * stat_occupancy(stat, kernel, launch);
}

static bool is_of_library(const char *name)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (strstr(name, libraries[i]))
            return true;
    }
    return false;
}

/* A kernel that prefetches into shared memory needs few warps. */
static bool is_pipeline(const struct stat *stat, const struct trace_span *kernel, const struct use *use)
{
    double all = stat_device_number(stat, kernel, "cuda.device.multiprocessor.max_shared_memory");
    return use->launch.threads >= PIPELINE_THREADS &&
           (double)use->launch.shared_bytes >= PIPELINE_SHARED_SHARE * all;
}

static bool is_small(const struct use *use)
{
    return use->multiprocessors && use->blocks &&
           (double)use->blocks <= SMALL_GRID_SHARE * (double)use->multiprocessors;
}

static bool is_low(const struct stat *stat, const struct trace_span *kernel, const struct use *use)
{
    bool is_idle = use->occupancy >= 0 && use->occupancy <= LOW_OCCUPANCY && !is_pipeline(stat, kernel, use);
    return !is_of_library(stat_kernel_name(stat, kernel)) && (is_small(use) || is_idle);
}

/* The largest share of the GPU that the kernel can use. */
static double fill_of(const struct use *use)
{
    double multiprocessors = is_small(use) ? (double)use->blocks / (double)use->multiprocessors : 1;
    return multiprocessors * (use->occupancy >= 0 ? use->occupancy : 1);
}

/* A limit applies if the occupancy is higher without it. */
static void add_reasons(struct text *text, const struct stat *stat, const struct trace_span *kernel,
                        const struct use *use)
{
    struct stat_launch without_registers = use->launch, without_shared = use->launch, bare = use->launch;
    without_registers.registers = bare.registers = 0;
    without_shared.shared_bytes = bare.shared_bytes = 0;
    const double least = 0.5 / (double)(use->max_warps ? use->max_warps : 1); /* below one warp */
    if (is_small(use))
        text_add_format(text, "; the grid has %llu blocks for %llu multiprocessors",
                        (unsigned long long)use->blocks, (unsigned long long)use->multiprocessors);
    if (use->occupancy < 0 || use->occupancy > LOW_OCCUPANCY)
        return;
    if (occupancy_with(stat, kernel, use, &without_shared) > use->occupancy + least)
        text_add_format(text, "; limited by shared memory: %llu bytes per block",
                        (unsigned long long)use->launch.shared_bytes);
    if (occupancy_with(stat, kernel, use, &without_registers) > use->occupancy + least)
        text_add_format(text, "; limited by registers: %llu per thread",
                        (unsigned long long)use->launch.registers);
    if (occupancy_with(stat, kernel, use, &bare) <= LOW_OCCUPANCY)
        text_add_format(text, "; limited by the block size: %llu threads",
                        (unsigned long long)use->launch.threads);
}

static char *low_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                          const void *context)
{
    uint64_t kernel_ns = survey->processes[tally->process].kernel_ns;
    if ((double)tally->ns / (double)kernel_ns < OCCUPANCY_TIME_SHARE ||
        tally->ns / tally->count < OCCUPANCY_KERNEL_NS)
        return NULL;
    struct use use = use_of(survey->stat, tally->first);
    struct text text = {0};
    char time[EVIDENCE_TIME_BYTES];
    text_add_format(
        &text,
        "%llu runs take %s in total, %.0f %% of the process's kernel time; theoretical occupancy %.1f %%",
        (unsigned long long)tally->count, evidence_time(time, tally->ns),
        100.0 * (double)tally->ns / (double)kernel_ns, 100 * use.occupancy);
    add_reasons(&text, survey->stat, tally->first, &use);
    return text.data;
}

void find_low_occupancy(struct findings *findings)
{
    const struct survey *survey = findings->survey;
    const struct trace *trace = survey->stat->trace;
    struct tallies tallies = {0};
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *kernel = &trace->spans[i];
        if (kernel->class != CLASS_KERNEL)
            continue;
        struct use use = use_of(survey->stat, kernel);
        if (!is_low(survey->stat, kernel, &use))
            continue;
        uint64_t key = (uint64_t)(stat_kernel_name(survey->stat, kernel) - trace->strings);
        struct tally *tally = tallies_at(&tallies, key, places_process(&survey->places, kernel), kernel);
        tally->count++;
        tally->ns += stat_duration(kernel);
        tally->saving_ns += (uint64_t)((1 - fill_of(&use)) * (double)stat_duration(kernel));
    }
    findings_offer(findings, FINDING_OCCUPANCY, &tallies, 1, low_evidence, NULL);
}

/* --- serialized kernels --- */

/* The share of the GPU that all blocks of the kernel occupy; 2: unknown, or more than the GPU has. */
static double room_of(const struct use *use)
{
    uint64_t room = use->blocks_at_once * use->multiprocessors;
    return room ? (double)use->blocks / (double)room : 2;
}

/* Kernels of two threads, the second one waiting only for the stream, and room for both: no visible
 * dependency. */
static bool could_be_beside(const struct survey *survey, const struct trace_span *a,
                            const struct trace_span *b)
{
    const struct trace_span *a_call = survey_call(survey, a), *b_call = survey_call(survey, b);
    if (!a_call || !b_call || a_call->thread == b_call->thread || b_call->end_ns > a->end_ns ||
        b->start_ns < a->end_ns || b->start_ns - a->end_ns > HANDOVER_NS)
        return false;
    struct use a_use = use_of(survey->stat, a), b_use = use_of(survey->stat, b);
    return room_of(&a_use) + room_of(&b_use) <= 1;
}

static char *serialized_evidence(const struct survey *survey, const struct tally *tally,
                                 struct finding *finding, const void *context)
{
    const struct trace *trace = survey->stat->trace;
    char time[EVIDENCE_TIME_BYTES];
    return xasprintf(
        "%llu times a kernel of one thread waited on stream %s for a kernel of another thread, although the "
        "GPU had room for both; running them concurrently saves %s",
        (unsigned long long)tally->count, trace_string(trace, trace->lanes[tally->first->lane].stream),
        evidence_time(time, tally->saving_ns));
}

void find_serialized(struct findings *findings)
{
    const struct survey *survey = findings->survey;
    const struct trace *trace = survey->stat->trace;
    struct tallies tallies = {0};
    const struct trace_span **last = xcalloc(trace->lane_count + 1, sizeof *last);
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *work = &trace->spans[i];
        if (!trace_class_is_gpu(work->class))
            continue;
        const struct trace_span *before = last[work->lane];
        last[work->lane] = work->class == CLASS_KERNEL ? work : NULL;
        if (!before || work->class != CLASS_KERNEL || !could_be_beside(survey, before, work))
            continue;
        uint64_t a = stat_duration(before), b = stat_duration(work);
        struct tally *tally = tallies_at(&tallies, work->lane, places_process(&survey->places, work), work);
        tally->count++;
        tally->saving_ns += a < b ? a : b;
    }
    findings_offer(findings, FINDING_SERIALIZED, &tallies, REPEATED_MIN, serialized_evidence, NULL);
    free(last);
}
