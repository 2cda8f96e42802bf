/* Many values by group, and what they come to: the one place that says what a median and a 99th percentile
 * are here, and how long something was busy. */
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

/* Percentiles are nearest-rank: the smallest value that at least that share of all are not above. */
struct spread {
    uint32_t group;
    uint64_t count, total, min, median, p99, max;
};

void samples_add(struct samples *samples, uint32_t group, uint64_t value);
/* Sorts them by group and value. */
void samples_sort(struct samples *samples);
/* The spread of the group that begins at *at, which moves on to the next one's begin; false at the end. */
int samples_next(const struct samples *samples, size_t *at, struct spread *spread);
/* Of one group in sorted samples; all zero where it has none. */
struct spread samples_spread(const struct samples *samples, uint32_t group);
void samples_deinit(struct samples *samples);

/* Stretches of time. */
struct stretches {
    struct stretch {
        uint64_t start_ns, end_ns;
        uint32_t span; /* index, of whoever needs it */
    } * items;
    size_t count, capacity;
};

void stretches_add(struct stretches *stretches, uint64_t start_ns, uint64_t end_ns, uint32_t span);
/* By begin, those that begin together by end. */
void stretches_sort(struct stretches *stretches);
/* By begin, with those that overlap or touch made one. Returns what they cover; `span` is then that which
 * began it. */
uint64_t stretches_merge(struct stretches *stretches);
/* Of two merged lists: in how many ns both are there. */
uint64_t stretches_common(const struct stretches *a, const struct stretches *b);
void stretches_deinit(struct stretches *stretches);

#endif
