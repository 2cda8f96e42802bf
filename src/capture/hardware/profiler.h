/* Hardware counters of one CUDA context, by CUPTI's Range Profiler.
 *
 * Metrics are those of settings: the chip's own names, or plain ones (model/gpu_counters.h). A set of metrics
 * may take several passes, of which one run of a kernel is one: unless kernels may be run again
 * (PROFILER_REPLAYS), sets of more than one pass are refused.
 *
 * What takes long is beginning to count (0.4 s the first time) and reading (13 ms: CUPTI reads only what is
 * stopped). So where kernels run once, counting begins when the profiler is opened, ranges are marked (some
 * us, and 40 to 80 on the GPU), and read many at a time. CUPTI lets the GPU's earlier work end
 * before a range begins. (On an H200; docs/counters.md.) Where kernels run again, each is a round of its own.
 *
 * One thread at a time; the context must be current. profiler_host_load() comes first. */
#ifndef CUSPAN_CAPTURE_HARDWARE_PROFILER_H
#define CUSPAN_CAPTURE_HARDWARE_PROFILER_H

#include "capture/hardware/profiler_host.h"

#include <stdbool.h>

enum profiler_scope {
    PROFILER_RUNS_ONCE, /* ranges, between push and pop */
    PROFILER_REPLAYS,   /* each kernel between begin and end, run again as often as there are passes */
    PROFILER_LOOPS      /* what the program itself runs again, as often as it is told to */
};

#define PROFILER_RANGES_MAX 256 /* before they are read; fewer where they take much memory */

struct profiler;

/* INVALID: the chip has no such metric, or they can't be counted where kernels run once; UNAVAILABLE:
 * counters can't be had here and now: the right is missing, another tool has them, or the device has none.
 * NO_MEMORY. */
enum status profiler_open(cuda_context_handle context, const struct pattern_list *metrics,
                          enum profiler_scope scope, struct profiler **profiler,
                          struct error *err) MUST_CHECK;
void profiler_close(struct profiler *profiler);

/* RUNS_ONCE: around what is counted together. */
enum status profiler_push(struct profiler *profiler, struct error *err) MUST_CHECK;
enum status profiler_pop(struct profiler *profiler, struct error *err) MUST_CHECK;

/* What one range counted: `range_ns` is how long it took by the GPU's clock, some us more than the work in
 * it, for metrics that are rates; 0: none of them is. */
struct profiler_counts {
    double values[GPU_COUNTERS_MAX];
    double range_ns;
};

/* So many may be marked before they are read; at most PROFILER_RANGES_MAX. */
size_t profiler_ranges_max(const struct profiler *profiler);

/* The ranges since the last time, in their order. `goes_on`: more ranges will come. */
typedef void profiler_counts_fn(void *context, size_t range, const struct profiler_counts *counts);
enum status profiler_read(struct profiler *profiler, bool goes_on, profiler_counts_fn *see, void *seer,
                          struct error *err) MUST_CHECK;

/* LOOPS: before the first time; after each, `*again`: whether there is to be another; and at last. Not OK:
 * not all passes were made. */
enum status profiler_loop_begin(struct profiler *profiler, struct error *err) MUST_CHECK;
enum status profiler_loop_again(struct profiler *profiler, bool *again, struct error *err) MUST_CHECK;
enum status profiler_loop_end(struct profiler *profiler, double *values, struct error *err) MUST_CHECK;

/* REPLAYS: around the launch. `*count` kernels were counted, `values` are the first's. */
enum status profiler_begin(struct profiler *profiler, struct error *err) MUST_CHECK;
enum status profiler_end(struct profiler *profiler, double *values, size_t *count,
                         struct error *err) MUST_CHECK;

size_t profiler_metric_count(const struct profiler *profiler);

/* --- what a chip has, by this type of counting, for a person who asks --- */

struct profiler_metric {
    const char *name;    /* without its rollups */
    const char *rollups; /* "sum avg min max", as far as there are any */
    const char *description;
    const char *hardware; /* the unit of the chip that counts it */
    const char *unit;
};
typedef void profiler_see_fn(void *context, const struct profiler_metric *metric);

/* The chip's name, of PROFILER_CHIP_BYTES at most. */
enum status profiler_learn_chip(cuda_context_handle context, enum profiler_type type, char *chip,
                                struct error *err) MUST_CHECK;

/* All metrics of the context's device. The strings are valid in `see`. */
enum status profiler_list(cuda_context_handle context, enum profiler_type type, profiler_see_fn *see,
                          void *seer, struct error *err) MUST_CHECK;

/* In how many passes these can be counted. INVALID: the chip lacks one. */
enum status profiler_plan(cuda_context_handle context, enum profiler_type type,
                          const struct pattern_list *metrics, size_t *passes, struct error *err) MUST_CHECK;

#endif
