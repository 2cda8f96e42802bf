#include "agent/correlate/totals/busy.h"

#include <stdlib.h>

struct interval {
    uint64_t start_ns, end_ns;
    uint32_t before, after;
};

/* The disjoint intervals of each busy_time, linked in order of time from its `first` on. */
struct busy_pool {
    uint32_t size, list_max;
    uint32_t used, free; /* used: intervals ever used; free: list of those returned */
    struct interval intervals[];
};

enum status busy_pool_create(uint32_t intervals, uint32_t list_max, struct busy_pool **pool)
{
    struct busy_pool *made = calloc(1, sizeof *made + intervals * sizeof *made->intervals);
    if (!made)
        return STATUS_NO_MEMORY;
    made->size = intervals;
    made->list_max = list_max;
    *pool = made;
    return STATUS_OK;
}

static struct interval *interval_at(struct busy_pool *pool, uint32_t at)
{
    return &pool->intervals[at - 1];
}

/* Returns an unused interval's index + 1; 0: all are in use. */
static uint32_t take_interval(struct busy_pool *pool)
{
    uint32_t at = pool->free;
    if (at)
        pool->free = interval_at(pool, at)->after;
    else if (pool->used < pool->size)
        at = ++pool->used;
    return at;
}

/* Makes two intervals neighbors, either of which may be missing (0). */
static inline void connect(struct busy_pool *pool, struct busy_time *busy, uint32_t before, uint32_t after)
{
    if (before)
        interval_at(pool, before)->after = after;
    else
        busy->first = after;
    if (after)
        interval_at(pool, after)->before = before;
}

/* Removes the interval and returns it to the pool. */
static void drop_interval(struct busy_pool *pool, struct busy_time *busy, uint32_t at)
{
    struct interval *gone = interval_at(pool, at);
    connect(pool, busy, gone->before, gone->after);
    if (busy->recent == at)
        busy->recent = gone->before ? gone->before : gone->after;
    gone->after = pool->free;
    pool->free = at;
    busy->count--;
}

static void close_time(struct busy_time *busy, uint64_t start_ns, uint64_t end_ns)
{
    busy->closed_ns += end_ns - start_ns;
    busy->closed_until_ns = end_ns;
}

/* Finds the last interval that starts at or before `start_ns`; 0: none. */
static uint32_t find_before(struct busy_pool *pool, const struct busy_time *busy, uint64_t start_ns)
{
    uint32_t at = busy->recent;
    while (at && interval_at(pool, at)->start_ns > start_ns)
        at = interval_at(pool, at)->before;
    if (!at && busy->first && interval_at(pool, busy->first)->start_ns <= start_ns)
        at = busy->first;
    while (at && interval_at(pool, at)->after &&
           interval_at(pool, interval_at(pool, at)->after)->start_ns <= start_ns)
        at = interval_at(pool, at)->after;
    return at;
}

/* Inserts an interval after `before` (0: at the front). If the pool is empty, closes the oldest interval;
 * 0 if that is the new one. */
static uint32_t add_interval(struct busy_pool *pool, struct busy_time *busy, uint32_t before,
                             uint64_t start_ns, uint64_t end_ns)
{
    uint32_t at = busy->count < pool->list_max ? take_interval(pool) : 0;
    if (!at) {
        if (!before) {
            close_time(busy, start_ns, end_ns);
            return 0;
        }
        uint32_t oldest = busy->first;
        close_time(busy, interval_at(pool, oldest)->start_ns, interval_at(pool, oldest)->end_ns);
        before = before == oldest ? 0 : before;
        drop_interval(pool, busy, oldest);
        at = take_interval(pool);
    }
    uint32_t after = before ? interval_at(pool, before)->after : busy->first;
    *interval_at(pool, at) = (struct interval){.start_ns = start_ns, .end_ns = end_ns};
    connect(pool, busy, before, at);
    connect(pool, busy, at, after);
    busy->count++;
    return at;
}

/* Merges the interval with those after it that it now overlaps. */
static void absorb_after(struct busy_pool *pool, struct busy_time *busy, uint32_t at)
{
    struct interval *grown = interval_at(pool, at);
    while (grown->after && interval_at(pool, grown->after)->start_ns <= grown->end_ns) {
        uint32_t next = grown->after;
        if (interval_at(pool, next)->end_ns > grown->end_ns)
            grown->end_ns = interval_at(pool, next)->end_ns;
        drop_interval(pool, busy, next);
    }
}

static void add_time(struct busy_pool *pool, struct busy_time *busy, uint64_t start_ns, uint64_t end_ns)
{
    uint32_t at = find_before(pool, busy, start_ns);
    uint32_t next = at ? interval_at(pool, at)->after : busy->first;
    if (at && interval_at(pool, at)->end_ns >= start_ns) {
        if (end_ns > interval_at(pool, at)->end_ns)
            interval_at(pool, at)->end_ns = end_ns;
    } else if (next && interval_at(pool, next)->start_ns <= end_ns) {
        interval_at(pool, next)->start_ns = start_ns;
        if (end_ns > interval_at(pool, next)->end_ns)
            interval_at(pool, next)->end_ns = end_ns;
        at = next;
    } else {
        at = add_interval(pool, busy, at, start_ns, end_ns);
    }
    if (!at)
        return;
    busy->recent = at;
    absorb_after(pool, busy, at);
}

bool busy_add(struct busy_pool *pool, struct busy_time *busy, uint64_t start_ns, uint64_t end_ns)
{
    bool is_whole = start_ns >= busy->closed_until_ns;
    if (end_ns > busy->last_ns)
        busy->last_ns = end_ns;
    if (!is_whole)
        start_ns = busy->closed_until_ns;
    if (start_ns < end_ns)
        add_time(pool, busy, start_ns, end_ns);
    return is_whole;
}

uint64_t busy_ns(const struct busy_pool *pool, const struct busy_time *busy)
{
    uint64_t sum = busy->closed_ns;
    for (uint32_t at = busy->first; at; at = pool->intervals[at - 1].after)
        sum += pool->intervals[at - 1].end_ns - pool->intervals[at - 1].start_ns;
    return sum;
}

uint64_t busy_end_before(const struct busy_pool *pool, const struct busy_time *busy, uint64_t time_ns,
                         uint32_t *at)
{
    uint32_t next = *at ? pool->intervals[*at - 1].after : busy->first;
    for (; next && pool->intervals[next - 1].start_ns <= time_ns; next = pool->intervals[next - 1].after)
        *at = next;
    return *at ? pool->intervals[*at - 1].end_ns : 0;
}

void busy_clear(struct busy_pool *pool, struct busy_time *busy)
{
    while (busy->first)
        drop_interval(pool, busy, busy->first);
    *busy = (struct busy_time){0};
}
