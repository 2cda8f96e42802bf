/* Estimates from repeated measurements: the median and its confidence interval. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ESTIMATE_VALUES_MAX 1000 /* the probabilities below stay exact */

struct estimate {
    size_t count;
    double median;
    /* The exact order-statistic interval of the median: of n values in order the k-th from either end, with
     * the largest k for which it holds the median with at least 95 %, whatever the distribution. With fewer
     * than six values there is none: then the range of all. */
    double low, high;
    bool is_sure;
};

/* For 1 to ESTIMATE_VALUES_MAX values, which it sorts. */
struct estimate estimate_of(double *values, size_t count);
