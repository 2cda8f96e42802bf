#include "analysis/ranks/ranks_series.h"

#include "cli/util/int_map.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

void ranks_series_add(struct ranks_series *series, double value)
{
    uint32_t tag = (uint32_t)int_map_mix(++series->seen);
    while (!(tag & series->mask) && series->count == RANKS_SERIES_MAX) {
        size_t kept = 0;
        series->mask = series->mask << 1 | 1;
        for (size_t i = 0; i < series->count; i++)
            if (!(series->items[i].tag & series->mask))
                series->items[kept++] = series->items[i];
        series->count = kept;
    }
    if (!(tag & series->mask))
        *XADD(series->items, series->count, series->capacity) = (struct ranks_sample){tag, value};
}

static int compare_samples(const void *a, const void *b)
{
    const struct ranks_sample *x = a, *y = b;
    return ORDER(x->value, y->value);
}

double ranks_series_quantile(struct ranks_series *series, double share)
{
    if (!series->count)
        return 0;
    qsort(series->items, series->count, sizeof *series->items, compare_samples);
    double position = share * (double)(series->count - 1);
    size_t low = (size_t)position, high = low + (low + 1 < series->count);
    double below = series->items[low].value;
    return below + (position - (double)low) * (series->items[high].value - below);
}

void ranks_series_deinit(struct ranks_series *series)
{
    free(series->items);
    *series = (struct ranks_series){0};
}
