/* Values by group and their statistics. The definitions of median and percentile are here only. */
#ifndef CUSPAN_CLI_STAT_SAMPLES_H
#define CUSPAN_CLI_STAT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
    struct sample {
        uint32_t group;
        uint64_t value;
    } * items;
    size_t count, capacity;
};

/* Percentiles are nearest-rank: the smallest value that is not below that share of all values. */
struct spread {
    uint32_t group;
    uint64_t count, total, min, median, p99, max;
};

void samples_add(struct samples *samples, uint32_t group, uint64_t value);
/* Sorts them by group and value. */
void samples_sort(struct samples *samples);
/* The spread of the group that starts at *at, which advances to the next group; false at the end. */
int samples_next(const struct samples *samples, size_t *at, struct spread *spread);
/* The spread of one group in sorted samples; zero if it has no samples. */
struct spread samples_spread(const struct samples *samples, uint32_t group);
void samples_deinit(struct samples *samples);

#endif
