/* Findings about kernels that leave most of the GPU unused: low occupancy, small grids, serialization. */
#include "cli/util/xalloc.h"
#include "analysis/stat/findings/finding.h"

#include <stdlib.h>
#include <string.h>

/* Kernels that the program cannot change, by parts of their names. */
static const char *const libraries[] = {"cublas",   "cudnn", "nccl", "nvjet",    "cutlass",
                                        "xmma",     "cub::", "at::", "thrust::", "cusparse",
                                        "cusolver", "cufft", "npp",  "gemm",     "cask"};

/* How one execution of a kernel uses the GPU. */
struct use {
    struct stat_launch launch;
    uint32_t resource;
    double occupancy; /* occupancy of warps, times the share of their threads in use; negative: unknown */
    double threads;   /* share of the warps' threads in use */
    uint64_t blocks;
    uint64_t multiprocessors;
    uint64_t blocks_at_once; /* blocks that one multiprocessor can run at once */
    uint64_t max_warps, warp_threads;
};

static struct use use_of(const struct stat *stat, const struct trace_span *kernel)
{
    const struct stat_device *device = stat_device_of(stat, kernel->resource);
    struct use use = {.launch = stat_launch_of(stat, kernel),
                      .resource = kernel->resource,
                      .blocks = stat_product(stat_attr(stat, kernel, KEY_GRID)),
                      .multiprocessors = device->multiprocessors,
                      .max_warps = device->max_warps,
                      .warp_threads = device->warp_threads};
    use.occupancy = use.launch.occupancy;
    if (use.occupancy > 0) {
        uint64_t warps = (use.launch.threads + use.warp_threads - 1) / use.warp_threads;
        use.blocks_at_once = (uint64_t)(use.occupancy * (double)use.max_warps / (double)warps + 0.5);
        use.threads = (double)use.launch.threads / (double)(warps * use.warp_threads);
        use.occupancy *= use.threads;
    }
    return use;
}

/* Returns the occupancy with other limits. */
static double occupancy_with(const struct stat *stat, const struct use *use, const struct stat_launch *launch)
{
    return use->threads * stat_occupancy(stat, use->resource, launch);
}

static bool is_small(const struct use *use)
{
    return use->multiprocessors && use->blocks &&
           (double)use->blocks <= SMALL_GRID_SHARE * (double)use->multiprocessors;
}

static bool is_low(const struct stat *stat, const struct use *use)
{
    double shared_bytes = (double)stat_device_of(stat, use->resource)->shared_bytes;
    /* The kernel prefetches into shared memory by design, and needs few warps. */
    bool is_pipeline = use->launch.threads >= PIPELINE_THREADS &&
                       (double)use->launch.shared_bytes >= PIPELINE_SHARED_SHARE * shared_bytes;
    return is_small(use) || (use->occupancy >= 0 && use->occupancy <= LOW_OCCUPANCY && !is_pipeline);
}

/* Adds the reasons of a low occupancy. A limit is a reason if the occupancy is higher without it. */
static void add_reasons(struct text *text, const struct stat *stat, const struct use *use)
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
    if (occupancy_with(stat, use, &without_shared) > use->occupancy + least)
        text_add_format(text, "; limited by shared memory: %llu bytes per block",
                        (unsigned long long)use->launch.shared_bytes);
    if (occupancy_with(stat, use, &without_registers) > use->occupancy + least)
        text_add_format(text, "; limited by registers: %llu per thread",
                        (unsigned long long)use->launch.registers);
    if (occupancy_with(stat, use, &bare) <= LOW_OCCUPANCY)
        text_add_format(text, "; limited by the block size: %llu threads",
                        (unsigned long long)use->launch.threads);
}

struct low {
    struct tallies tallies; /* by full name */
    struct use *uses;       /* of each tally's first kernel */
    size_t count, capacity;
    struct int_map libraries; /* kernel → whether the program cannot change it */
};

static char *low_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                          const void *context)
{
    uint64_t kernel_ns = survey_process_at(survey, tally->process)->kernel_ns;
    if ((double)tally->ns / (double)kernel_ns < OCCUPANCY_TIME_SHARE ||
        tally->ns / tally->count < OCCUPANCY_KERNEL_NS)
        return NULL;
    const struct low *low = context;
    const struct use *use = &low->uses[tally - low->tallies.items];
    struct text text = {0};
    text_add_format(
        &text,
        "%llu runs take %s in total, %.0f %% of the process's kernel time; theoretical occupancy %.1f %%",
        (unsigned long long)tally->count, EVIDENCE_TIME(tally->ns),
        100.0 * (double)tally->ns / (double)kernel_ns, 100 * use->occupancy);
    add_reasons(&text, survey->stat, use);
    return text.data;
}

static bool can_change(struct low *low, const struct stat *stat, const struct trace_span *kernel)
{
    uint64_t key = stat_kernel_key(stat, kernel);
    uint32_t is_library = int_map_get(&low->libraries, key);
    if (is_library == MAP_NONE) {
        is_library = 0;
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
            is_library |= strstr(stat_kernel_name(stat, kernel), libraries[i]) != NULL;
        int_map_set(&low->libraries, key, is_library);
    }
    return !is_library;
}

static void take_low(void *state, struct survey *survey, const struct trace_span *kernel)
{
    struct low *low = state;
    const struct stat *stat = survey->stat;
    if (kernel->class != CLASS_KERNEL || !can_change(low, stat, kernel))
        return;
    struct use use = use_of(stat, kernel);
    if (!is_low(stat, &use))
        return;
    struct tally *tally = tallies_count(&low->tallies, survey, stat_kernel_key(stat, kernel), kernel,
                                        survey_origin(survey, kernel));
    if (low->count < low->tallies.count)
        *XADD(low->uses, low->count, low->capacity) = use;
    tally->ns += stat_duration(kernel);
    /* The largest share of the GPU that the kernel can use. */
    double fill = is_small(&use) ? (double)use.blocks / (double)use.multiprocessors : 1;
    fill *= use.occupancy >= 0 ? use.occupancy : 1;
    tally->saving_ns += (uint64_t)((1 - fill) * (double)stat_duration(kernel));
}

static void finish_low(void *state, struct findings *findings)
{
    struct low *low = state;
    findings_offer(findings, FINDING_OCCUPANCY, &low->tallies, 1, low_evidence, low);
    int_map_deinit(&low->libraries);
    free(low->uses);
}

const struct detector find_low_occupancy = {sizeof(struct low), take_low, NULL, finish_low};

/* --- serialized kernels --- */

/* The latest work of a stream. */
struct latest {
    const struct trace_span *span; /* NULL: the work is in an earlier segment */
    bool is_kernel, has_call;
    uint32_t thread; /* thread of the call */
    uint64_t end_ns, duration_ns;
    double room; /* share of the GPU (room_of()), if `span` is NULL */
};

struct serialized {
    struct tallies tallies;
    struct paged streams; /* by lane */
};

/* Returns the share of the GPU that all blocks of the kernel occupy, which can exceed 1; 2: unknown. */
static double room_of(const struct stat *stat, const struct trace_span *kernel)
{
    struct use use = use_of(stat, kernel);
    uint64_t room = use.blocks_at_once * use.multiprocessors;
    return room ? (double)use.blocks / (double)room : 2;
}

/* Whether two kernels could run at the same time: two threads launched them, the second one waits only for
 * the stream, and the GPU has room for both. They have no visible dependency. */
static bool could_be_beside(const struct stat *stat, const struct latest *a, const struct trace_span *b)
{
    const struct trace_span *call = stat_call_of_work(stat, b);
    if (!a->has_call || !call || a->thread == call->thread || call->end_ns > a->end_ns ||
        b->start_ns < a->end_ns || b->start_ns - a->end_ns > HANDOVER_NS)
        return false;
    return (a->span ? room_of(stat, a->span) : a->room) + room_of(stat, b) <= 1;
}

static char *serialized_evidence(const struct survey *survey, const struct tally *tally,
                                 struct finding *finding, const void *context)
{
    const struct trace *trace = survey->stat->trace;
    return xasprintf(
        "%llu times a kernel of one thread waited on stream %s for a kernel of another thread, although the "
        "GPU had room for both; running them concurrently saves %s",
        (unsigned long long)tally->count, trace_string(trace, trace->lanes[tally->first.lane].stream),
        EVIDENCE_TIME(tally->saving_ns));
}

static void take_serialized(void *state, struct survey *survey, const struct trace_span *work)
{
    struct serialized *serialized = state;
    const struct stat *stat = survey->stat;
    if (!trace_class_is_gpu(work->class))
        return;
    struct latest *before = paged_at(&serialized->streams, work->lane, sizeof *before);
    if (before->is_kernel && work->class == CLASS_KERNEL && could_be_beside(stat, before, work)) {
        uint64_t duration = stat_duration(work);
        struct tally *tally =
            tallies_count(&serialized->tallies, survey, work->lane, work, survey_origin(survey, work));
        tally->saving_ns += before->duration_ns < duration ? before->duration_ns : duration;
    }
    const struct trace_span *call = stat_call_of_work(stat, work);
    *before = (struct latest){.span = work,
                              .is_kernel = work->class == CLASS_KERNEL,
                              .has_call = call != NULL,
                              .thread = call ? call->thread : TRACE_NONE,
                              .end_ns = work->end_ns,
                              .duration_ns = stat_duration(work)};
}

/* Computes the room of each stream's latest kernel, whose attributes end with the segment. */
static void end_serialized(void *state, struct survey *survey)
{
    struct serialized *serialized = state;
    struct latest *latest;
    for (size_t i = 0; (latest = paged_next(&serialized->streams, &i, sizeof *latest)); i++) {
        if (latest->span && latest->is_kernel)
            latest->room = room_of(survey->stat, latest->span);
        latest->span = NULL;
    }
}

static void finish_serialized(void *state, struct findings *findings)
{
    struct serialized *serialized = state;
    findings_offer(findings, FINDING_SERIALIZED, &serialized->tallies, REPEATED_MIN, serialized_evidence,
                   NULL);
    paged_deinit(&serialized->streams);
}

const struct detector find_serialized = {sizeof(struct serialized), take_serialized, end_serialized,
                                         finish_serialized};
