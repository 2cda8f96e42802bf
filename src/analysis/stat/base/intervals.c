#include "analysis/stat/base/intervals.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

void intervals_add(struct intervals *intervals, uint64_t start_ns, uint64_t end_ns)
{
    struct interval *last = intervals->count ? &intervals->items[intervals->count - 1] : NULL;
    if (last && start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return;
    }
    uint64_t before_ns = last ? last->before_ns + last->end_ns - last->start_ns : 0;
    *XADD(intervals->items, intervals->count, intervals->capacity) =
        (struct interval){start_ns, end_ns, before_ns};
}

/* Returns the number of intervals that start at the time or earlier. Searches from the end, because most
 * questions are about the last ones. */
static size_t started(const struct intervals *intervals, uint64_t time_ns)
{
    size_t low = 0, high = intervals->count;
    for (size_t step = 1; step <= intervals->count; step *= 2) {
        size_t at = intervals->count - step;
        if (intervals->items[at].start_ns <= time_ns) {
            low = at;
            break;
        }
        high = at;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (intervals->items[middle].start_ns > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t intervals_covered(const struct intervals *intervals, uint64_t until_ns)
{
    size_t count = started(intervals, until_ns);
    if (count == 0)
        return intervals->count ? intervals->items[0].before_ns : 0;
    const struct interval *last = &intervals->items[count - 1];
    return last->before_ns + (until_ns < last->end_ns ? until_ns : last->end_ns) - last->start_ns;
}

uint64_t intervals_gaps(const struct intervals *intervals, uint64_t from_ns, uint64_t until_ns)
{
    if (intervals->count && intervals->items[0].before_ns && from_ns < intervals->items[0].start_ns)
        from_ns = intervals->items[0].start_ns; /* earlier intervals are forgotten */
    if (until_ns <= from_ns)
        return 0;
    return until_ns - from_ns -
           (intervals_covered(intervals, until_ns) - intervals_covered(intervals, from_ns));
}

bool intervals_cover(const struct intervals *intervals, uint64_t time_ns)
{
    size_t count = started(intervals, time_ns);
    return count && intervals->items[count - 1].end_ns > time_ns;
}

void intervals_keep(struct intervals *intervals, size_t count)
{
    if (intervals->count <= count)
        return;
    memmove(intervals->items, intervals->items + intervals->count - count, count * sizeof *intervals->items);
    intervals->count = count;
    intervals->items = xshrink(intervals->items, &intervals->capacity, count, sizeof *intervals->items);
}

void intervals_deinit(struct intervals *intervals)
{
    free(intervals->items);
    *intervals = (struct intervals){0};
}
