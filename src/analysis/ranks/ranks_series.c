#include "analysis/ranks/ranks_series.h"

#include "cli/util/int_map.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>

#define FEW 24 /* values up to which an insertion sort is the fastest */

static void thin(struct ranks_series *series)
{
    size_t kept = 0;
    series->mask = series->mask << 1 | 1;
    for (size_t i = 0; i < series->count; i++)
        if (!(series->items[i].tag & series->mask))
            series->items[kept++] = series->items[i];
    series->count = kept;
}

void ranks_series_add(struct ranks_series *series, double value)
{
    uint32_t tag = (uint32_t)int_map_mix(++series->seen);
    if (tag & series->mask)
        return;
    while (series->count == RANKS_SERIES_MAX)
        thin(series);
    if (tag & series->mask)
        return;
    series->items = xgrow(series->items, &series->capacity, series->count + 1, sizeof *series->items);
    series->items[series->count++] = (struct ranks_sample){tag, value};
}

static int compare_samples(const void *a, const void *b)
{
    const struct ranks_sample *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
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

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts few values, which is the common case: most collectives have few ranks. */
static void sort_few(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;
        for (; at && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

void ranks_sort(double *values, size_t count)
{
    if (count <= FEW)
        sort_few(values, count);
    else
        qsort(values, count, sizeof *values, compare_doubles);
}

double ranks_median_sorted(const double *sorted, size_t count)
{
    if (!count)
        return 0;
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double ranks_median(double *values, size_t count)
{
    ranks_sort(values, count);
    return ranks_median_sorted(values, count);
}

double ranks_mad(double *values, size_t count, double center)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - center);
    return ranks_median(values, count);
}
