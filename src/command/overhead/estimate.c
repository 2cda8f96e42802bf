#include "command/overhead/estimate.h"

#include <math.h>
#include <stdlib.h>

#define OUTSIDE_MAX 0.05

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The interval excludes this many values at either end; 0: too few values. Fewer than k of n values are below
 * the median with the probability that fewer than k of n coins show heads. */
static size_t rank_of_ends(size_t count)
{
    double outside = 0, ways = pow(0.5, (double)count); /* n over k, divided by 2^n */
    size_t rank = 0;
    for (; rank < count / 2; rank++) {
        outside += 2 * ways;
        if (outside > OUTSIDE_MAX)
            break;
        ways *= (double)(count - rank) / (double)(rank + 1);
    }
    return rank;
}

struct estimate estimate_of(double *values, size_t count)
{
    struct estimate found = {.count = count};
    qsort(values, count, sizeof *values, compare);
    size_t rank = rank_of_ends(count);
    found.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    found.is_sure = rank > 0;
    found.low = values[rank ? rank - 1 : 0];
    found.high = values[rank ? count - rank : count - 1];
    return found;
}
