/* Measures for how long something was busy, as the union of intervals: overlaps count once.
 *
 * Records arrive in the order of CUPTI's buffers, not of time. The union is a list of disjoint intervals,
 * merged as they grow, in a pool that many lists share. If the pool is empty or a list is full, the oldest
 * interval is closed: its length is kept, and later work counts only from its end on. Work that arrives in
 * order of time is always exact. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define BUSY_INTERVALS_MAX 2048 /* for a list never cleared: more than the records of a CUPTI buffer */

struct busy_pool;

/* `intervals` limits all lists together, with 24 bytes for each interval, and `list_max` each list. Only
 * intervals that were used take memory. The caller owns the pool: free(). Fails with NO_MEMORY only. */
enum status busy_pool_create(uint32_t intervals, uint32_t list_max, struct busy_pool **pool) MUST_CHECK;

/* All zero: never busy. References into the pool are index + 1; 0: none. */
struct busy_time {
    uint32_t first, recent, count; /* recent: the last interval added to, mostly near the next one */
    uint64_t closed_ns, closed_until_ns, last_ns;
};

/* Adds an interval. False: the part of it before the closed time is not counted. */
bool busy_add(struct busy_pool *pool, struct busy_time *busy, uint64_t start_ns, uint64_t end_ns);

/* Returns the length of the union. */
uint64_t busy_ns(const struct busy_pool *pool, const struct busy_time *busy);

/* Returns the end of the last interval that starts at or before `time_ns`; 0: none. The caller sets `*at` to
 * 0 for the first call, keeps it between calls, and passes rising times. */
uint64_t busy_end_before(const struct busy_pool *pool, const struct busy_time *busy, uint64_t time_ns,
                         uint32_t *at);

/* Empties the list and returns its intervals. */
void busy_clear(struct busy_pool *pool, struct busy_time *busy);
