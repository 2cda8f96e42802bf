/* Significance tests: do two sides of runs differ by more than noise? No names and no thresholds here.
 * docs/diff.md explains the method. */
#pragma once

#include "analysis/stat/base/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_VALUES_MAX    32 /* of an item in a run: all of them, or so many evenly spaced ranks */
#define COMPARE_RUNS_MANY 4  /* with as many on each side, runs are permuted */

/* One item (a kernel, a call) in one run. */
struct run_item {
    uint64_t count; /* 0: not in the run */
    uint64_t total;
    uint64_t median;
    uint32_t value_count;
    uint64_t values[RUN_VALUES_MAX]; /* ascending */
};

enum side { SIDE_BASE, SIDE_NEW, SIDE_COUNT };

struct comparison {
    const struct run_item *runs[SIDE_COUNT]; /* in: of each run of the side; borrowed */
    double median[SIDE_COUNT]; /* out: of the medians of the runs with the item; 0: there are none */
    /* Out: the median of all ratios of what is compared (executions, or the trimmed means of runs), new by
     * base, with its 95 % interval. 0: the item is not on both sides; infinite: it was 0. */
    double ratio, ratio_low, ratio_high;
    double p;       /* corrected for all items; 1 if there is too little data */
    bool is_tested; /* there is enough data for p to reach the level */
};

enum compare_method {
    COMPARE_VALUES, /* Mann-Whitney's test of the executions, Holm's correction */
    COMPARE_RUNS    /* runs permuted between the sides, Westfall and Young's correction */
};

/* Selects the values that a run keeps from all values of the spread's group, sorted. */
void run_item_of(struct run_item *item, const struct sample *sorted, const struct spread *spread);

/* Deterministic: random permutations come from a fixed seed. */
enum compare_method compare_all(struct comparison *items, size_t count, const size_t run_counts[SIDE_COUNT],
                                double level);
