/* The time in which something was busy: the union of intervals, so what overlaps counts once.
 *
 * Records come in the order of CUPTI's buffers, not of time, so the union is kept as disjoint intervals that
 * grow together. They lie in a pool that many share. When it is empty, or one has too many, its oldest
 * interval is closed: its length is kept, and what comes later and began before its end counts from there on
 * only. Work in the order of time is exact all the same. */
#ifndef CUSPAN_CORRELATE_BUSY_H
#define CUSPAN_CORRELATE_BUSY_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define BUSY_INTERVALS_MAX 2048 /* of one: more than a buffer of CUPTI's has records */

struct busy_pool;

/* `intervals`: for all that use it; 24 bytes each. */
enum status busy_pool_create(uint32_t intervals, struct busy_pool **pool) MUST_CHECK;
void busy_pool_destroy(struct busy_pool *pool);

/* All zero, it was never busy. References into the pool are index + 1; 0: none. */
struct busy_time {
    uint32_t first, recent, count; /* recent: where the last work went; the next is mostly near */
    uint64_t closed_ns, closed_until_ns, last_ns;
};

/* False: part of it lies before what is closed, and does not count. */
bool busy_add(struct busy_pool *pool, struct busy_time *busy, uint64_t start_ns, uint64_t end_ns);

/* The union's length so far. */
uint64_t busy_ns(const struct busy_pool *pool, const struct busy_time *busy);

/* Empties it: its intervals go back. */
void busy_clear(struct busy_pool *pool, struct busy_time *busy);

#endif
