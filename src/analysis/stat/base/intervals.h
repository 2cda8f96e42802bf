/* Keeps unions of time intervals that arrive sorted by start, and computes the gaps between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. */
struct intervals {
    struct interval {
        uint64_t start_ns, end_ns;
        uint64_t before_ns; /* ns covered by all earlier intervals */
    } * items;
    size_t count, capacity;
};

/* Adds an interval that starts at or after all previous ones. Those that overlap or touch become one. */
void intervals_add(struct intervals *intervals, uint64_t start_ns, uint64_t end_ns);
/* Returns how many ns before `until_ns` are covered. */
uint64_t intervals_covered(const struct intervals *intervals, uint64_t until_ns);
/* Returns how many ns between `from_ns` and `until_ns` are not covered. */
uint64_t intervals_gaps(const struct intervals *intervals, uint64_t from_ns, uint64_t until_ns);
/* Whether the time is covered. */
bool intervals_cover(const struct intervals *intervals, uint64_t time_ns);
/* Forgets all but the last `count` intervals. The time before these then has no gaps. */
void intervals_keep(struct intervals *intervals, size_t count);
void intervals_deinit(struct intervals *intervals);
