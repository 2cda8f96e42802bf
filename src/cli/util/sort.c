#include "cli/util/sort.h"

#include <math.h>

#define FEW 24 /* values up to which an insertion sort is the fastest: most collectives have few ranks */

int sort_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return ORDER(x, y);
}

void sort_doubles(double *values, size_t count)
{
    if (count > FEW) {
        qsort(values, count, sizeof *values, sort_compare_doubles);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;
        for (; at && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

double sort_median_sorted(const double *sorted, size_t count)
{
    return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
}

double sort_median(double *values, size_t count)
{
    sort_doubles(values, count);
    return sort_median_sorted(values, count);
}

double sort_mad(double *values, size_t count, double center)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - center);
    return sort_median(values, count);
}
