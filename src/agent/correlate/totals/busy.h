/* The time in which something was busy: the union of intervals, so overlaps count once.
 *
 * Records arrive in the order of CUPTI's buffers, not of time. The union is a list of disjoint intervals,
 * merged as they grow, in a pool that many lists share. If the pool is empty or a list is full, the oldest
 * interval is closed: its length is kept, and later work counts only from its end on. Work that arrives in
 * order of time is always exact. */
#ifndef CUSPAN_AGENT_CORRELATE_TOTALS_BUSY_H
#define CUSPAN_AGENT_CORRELATE_TOTALS_BUSY_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define BUSY_INTERVALS_MAX 2048 /* of a list that never ends: more than a CUPTI buffer has records */

struct busy_pool;

/* `intervals` for all lists together, 24 bytes each, and at most `list_max` for each. The system gives memory
 * for those that were used. */
enum status busy_pool_create(uint32_t intervals, uint32_t list_max, struct busy_pool **pool) MUST_CHECK;
void busy_pool_destroy(struct busy_pool *pool);

/* All zero: never busy. References into the pool are index + 1; 0: none. */
struct busy_time {
    uint32_t first, recent, count; /* recent: where the last work went, since the next one is mostly near */
    uint64_t closed_ns, closed_until_ns, last_ns;
};

/* False: a part before the closed time does not count. */
bool busy_add(struct busy_pool *pool, struct busy_time *busy, uint64_t start_ns, uint64_t end_ns);

/* Returns the length of the union. */
uint64_t busy_ns(const struct busy_pool *pool, const struct busy_time *busy);

/* Returns the end of the last interval that starts at or before `time_ns`; 0: none. `*at`: 0 for the first
 * time, and then as it was left, for times that rise. */
uint64_t busy_end_before(const struct busy_pool *pool, const struct busy_time *busy, uint64_t time_ns,
                         uint32_t *at);

/* Empties the list and returns its intervals. */
void busy_clear(struct busy_pool *pool, struct busy_time *busy);

#endif
