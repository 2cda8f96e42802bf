/* Counts hardware events in one CUDA context, with CUPTI's Range Profiler.
 *
 * Metrics are those of the settings: the chip's names or cuspan's short ones (model/gpu_counter_names.h). A
 * set of metrics may need several passes, and a kernel's run is one pass. Sets with more than one pass are
 * refused unless kernels may be replayed (PROFILER_REPLAYS).
 *
 * Starting to count (0.4 s the first time) and reading (13 ms, with counting stopped) are slow. Where kernels
 * run once, counting therefore starts when the profiler is opened; ranges are marked (a few us, and 40 to 80
 * us on the GPU) and read many at a time. CUPTI drains the GPU before a range starts. Measured on an H200;
 * docs/counters.md. Where kernels are replayed, each is counted separately.
 *
 * Not thread-safe; the context must be current. Call profiler_host_load() first. */
#pragma once

#include "agent/capture/hardware/profiler_host.h"
#include "model/entries/doctor_entry.h"

#include <stdbool.h>

enum profiler_scope {
    PROFILER_RUNS_ONCE, /* ranges between push and pop */
    PROFILER_REPLAYS,   /* each kernel between profiler_begin() and profiler_end(), replayed once per pass */
    PROFILER_LOOPS      /* ranges that the program itself repeats as often as told */
};

#define PROFILER_RANGES_MAX 256 /* ranges before a read is needed; fewer if they take much memory */

struct profiler;

/* Opens a profiler for the metrics, which profiler_close() frees. INVALID: the chip lacks a metric, or the
 * metrics cannot be counted in one run. UNAVAILABLE: counters are not available now (no permission, in use by
 * another tool, or not on this device). Also NO_MEMORY. */
enum status profiler_open(cuda_context_handle context, const struct pattern_list *metrics,
                          enum profiler_scope scope, struct profiler **profiler,
                          struct error *err) MUST_CHECK;
void profiler_close(struct profiler *profiler);

/* RUNS_ONCE: start and end a range, whose work is counted together. */
enum status profiler_push(struct profiler *profiler, struct error *err) MUST_CHECK;
enum status profiler_pop(struct profiler *profiler, struct error *err) MUST_CHECK;

/* The counts of one range. `range_ns` is its duration by the GPU's clock, a few us longer than its work, for
 * metrics that are rates; 0: there are none. */
struct profiler_counts {
    double values[GPU_COUNTERS_MAX];
    double range_ns;
};

/* Returns how many ranges may be marked before a read; at most PROFILER_RANGES_MAX. */
size_t profiler_ranges_max(const struct profiler *profiler);

/* Visits the ranges since the last read, in order. `goes_on`: more ranges will follow. */
typedef void profiler_counts_fn(void *context, size_t range, const struct profiler_counts *counts);
enum status profiler_read(struct profiler *profiler, bool goes_on, profiler_counts_fn *see, void *seer,
                          struct error *err) MUST_CHECK;

/* LOOPS: call the first function before the first iteration, the second after each one, where `*again` tells
 * whether to repeat it, and the third after the last one. Not OK from the third: passes are missing. */
enum status profiler_loop_begin(struct profiler *profiler, struct error *err) MUST_CHECK;
enum status profiler_loop_again(struct profiler *profiler, bool *again, struct error *err) MUST_CHECK;
enum status profiler_loop_end(struct profiler *profiler, double *values, struct error *err) MUST_CHECK;

/* REPLAYS: call them around the launch. `*count` becomes the number of kernels counted; `values` are those of
 * the first. */
enum status profiler_begin(struct profiler *profiler, struct error *err) MUST_CHECK;
enum status profiler_end(struct profiler *profiler, double *values, size_t *count,
                         struct error *err) MUST_CHECK;

size_t profiler_metric_count(const struct profiler *profiler);

/* For the command line: names the context's chip in `chip`, and lists its metrics or the number of passes
 * that those of `ask` need. INVALID: the chip lacks one. */
enum status profiler_describe(cuda_context_handle context, const struct doctor_counters *ask,
                              struct doctor_chip *chip, struct error *err) MUST_CHECK;
