/* Sorting, and the robust statistics: median and median absolute deviation (MAD). */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* The result of qsort()'s comparison of two numbers, ascending. */
#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* qsort(), also of an array without memory. */
static inline void sort_array(void *array, size_t count, size_t size,
                              int (*compare)(const void *, const void *))
{
    if (count > 1)
        qsort(array, count, size, compare);
}

int sort_compare_doubles(const void *a, const void *b);
void sort_doubles(double *values, size_t count);
/* Returns the median of sorted values: the mean of the two middle ones if the count is even; 0: there are
 * none. */
double sort_median_sorted(const double *sorted, size_t count);
/* This and sort_mad() sort the values. */
double sort_median(double *values, size_t count);
/* Returns the median distance from `center`. Replaces the values with the distances. */
double sort_mad(double *values, size_t count, double center);
