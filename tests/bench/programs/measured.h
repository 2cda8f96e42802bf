/* Times, and numbers in their order, for the benchmarks. */
#pragma once

#include <stdlib.h>
#include <time.h>

/* CPU time of this thread. */
static inline double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int compare_numbers(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static inline void sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_numbers);
}
