#include "cli/stat/intervals.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

void intervals_add(struct intervals *intervals, uint64_t start_ns, uint64_t end_ns, uint32_t span)
{
    intervals->items =
        xgrow(intervals->items, &intervals->capacity, intervals->count + 1, sizeof *intervals->items);
    intervals->items[intervals->count++] = (struct interval){start_ns, end_ns, span};
}

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void intervals_sort(struct intervals *intervals)
{
    if (intervals->count > 1)
        qsort(intervals->items, intervals->count, sizeof *intervals->items, compare_intervals);
}

uint64_t intervals_merge(struct intervals *intervals)
{
    size_t kept = 0;
    uint64_t covered = 0;
    intervals_sort(intervals);
    for (size_t i = 0; i < intervals->count; i++) {
        struct interval *last = kept ? &intervals->items[kept - 1] : NULL, next = intervals->items[i];
        if (!last || next.start_ns > last->end_ns)
            intervals->items[kept++] = next;
        else if (next.end_ns > last->end_ns)
            last->end_ns = next.end_ns;
    }
    intervals->count = kept;
    for (size_t i = 0; i < kept; i++)
        covered += intervals->items[i].end_ns - intervals->items[i].start_ns;
    return covered;
}

uint64_t intervals_common(const struct intervals *a, const struct intervals *b)
{
    uint64_t common = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct interval *x = &a->items[i], *y = &b->items[j];
        uint64_t start = x->start_ns > y->start_ns ? x->start_ns : y->start_ns;
        uint64_t end = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
        common += end > start ? end - start : 0;
        if (x->end_ns < y->end_ns)
            i++;
        else
            j++;
    }
    return common;
}

void intervals_deinit(struct intervals *intervals)
{
    free(intervals->items);
    *intervals = (struct intervals){0};
}

/* The first interval that ends after the time. */
static size_t first_after(const struct intervals *intervals, uint64_t time_ns)
{
    size_t low = 0, high = intervals->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (intervals->items[middle].end_ns > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t intervals_gaps(const struct intervals *intervals, uint64_t from_ns, uint64_t until_ns)
{
    uint64_t gaps = until_ns > from_ns ? until_ns - from_ns : 0;
    if (!gaps)
        return 0;
    for (size_t i = first_after(intervals, from_ns); i < intervals->count; i++) {
        const struct interval *interval = &intervals->items[i];
        uint64_t start = interval->start_ns > from_ns ? interval->start_ns : from_ns;
        uint64_t end = interval->end_ns < until_ns ? interval->end_ns : until_ns;
        if (start >= until_ns)
            break;
        gaps -= end - start;
    }
    return gaps;
}

bool intervals_cover(const struct intervals *intervals, uint64_t time_ns)
{
    size_t at = first_after(intervals, time_ns);
    return at < intervals->count && intervals->items[at].start_ns <= time_ns;
}
