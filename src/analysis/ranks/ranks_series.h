/* Keeps series of values in bounded memory, and computes their quantiles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RANKS_SERIES_MAX 1024 /* values kept; when there are more, a random half is dropped */

/* A zeroed one is empty. Up to RANKS_SERIES_MAX values it is exact. */
struct ranks_series {
    struct ranks_sample {
        uint32_t tag; /* hash of the value's position: decides whether thinning keeps the value */
        double value;
    } * items;
    size_t count, capacity;
    uint32_t mask; /* thinning keeps values whose tag has none of these bits */
    uint64_t seen;
};

void ranks_series_add(struct ranks_series *series, double value);
/* Returns a quantile, interpolated between two values; 0: the series is empty. 0 <= share <= 1. Sorts the
 * series. */
double ranks_series_quantile(struct ranks_series *series, double share);
void ranks_series_deinit(struct ranks_series *series);
