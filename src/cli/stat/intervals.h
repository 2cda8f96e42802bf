/* Lists of time intervals: union, intersection and gaps. */
#ifndef CUSPAN_CLI_STAT_INTERVALS_H
#define CUSPAN_CLI_STAT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intervals {
    struct interval {
        uint64_t start_ns, end_ns;
        uint32_t span; /* index, for the caller's use */
    } * items;
    size_t count, capacity;
};

void intervals_add(struct intervals *intervals, uint64_t start_ns, uint64_t end_ns, uint32_t span);
/* By start, then by end. */
void intervals_sort(struct intervals *intervals);
/* Sorts by start and joins intervals that overlap or touch; `span` is that of the first one. Returns the time
 * that they cover. */
uint64_t intervals_merge(struct intervals *intervals);
/* ns that two merged lists have in common. */
uint64_t intervals_common(const struct intervals *a, const struct intervals *b);
/* ns between `from_ns` and `until_ns` that a merged list does not cover. */
uint64_t intervals_gaps(const struct intervals *intervals, uint64_t from_ns, uint64_t until_ns);
/* Whether a merged list covers the time. */
bool intervals_cover(const struct intervals *intervals, uint64_t time_ns);
void intervals_deinit(struct intervals *intervals);

#endif
