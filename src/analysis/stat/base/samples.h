/* Keeps distributions of values by group. The definitions of median and percentile are here only.
 *
 * Distinct values are counted, so memory does not grow with the number of values. Values are rounded to their
 * first digits (samples_error()) if there are more than SAMPLES_DISTINCT_MAX distinct values in all groups
 * together, or if all the command's tables of values together have samples_slots_max slots: `stat --by` has
 * thousands of tables. Counts, totals, minima and maxima always stay exact. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SAMPLES_DISTINCT_MAX 1000000
#define SAMPLES_SLOTS_MAX    (1u << 25) /* 16 bytes each */

extern size_t samples_slots_max; /* SAMPLES_SLOTS_MAX, except in tests */

/* A value of a group and how often it occurred. */
struct sample {
    uint64_t value;
    uint32_t group;
    uint32_t count; /* times it occurred; a value that occurs more often has several samples */
};

struct samples {
    struct sample *items; /* a hash table; after samples_sort() a list sorted by group and value */
    size_t count, capacity;
    size_t distinct_max; /* 0: SAMPLES_DISTINCT_MAX */
    unsigned bits;       /* leading bits of a value that are kept; 0: all */
    struct spread *sums; /* by group, only with count, total, min and max */
    size_t sum_count, sum_capacity;
};

/* The spread of a group's values. Percentiles are nearest-rank: the smallest value that is not below that
 * share of all values. */
struct spread {
    uint32_t group;
    uint64_t count, total, min, median, p99, max;
};

void samples_add(struct samples *samples, uint32_t group, uint64_t value);
/* Returns the largest relative error of medians and percentiles; 0: they are exact. */
double samples_error(const struct samples *samples);
/* Returns the sum of all values. */
uint64_t samples_total(const struct samples *samples);
/* Returns the median of one group, before or after sorting; 0: it has no samples. */
uint64_t samples_median(const struct samples *samples, uint32_t group);
/* Sorts the samples by group and value. No more values can be added. */
void samples_sort(struct samples *samples);
/* Fills `spread` for the group that starts at `*at` in sorted samples, and advances `*at` to the next group.
 * False: there are no more groups. */
int samples_next(const struct samples *samples, size_t *at, struct spread *spread);
/* Returns the spread of one group in sorted samples; zeros: it has no samples. */
struct spread samples_spread(const struct samples *samples, uint32_t group);
void samples_deinit(struct samples *samples);
