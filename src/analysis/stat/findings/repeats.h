/* Finds repetitions in a sequence: intervals in which the same tokens repeat.
 *
 * A repetition of period p is a maximal interval in which each token equals the one p before it, with p as
 * small as possible. All repetitions with at least REPEATS_LEAST periods are found, in O(n log p): the latest
 * earlier occurrence of each window of length 2^k is looked up by its hash. In an interval of period p, with
 * p <= 2^k < 2p, that occurrence is exactly p earlier. The tokens are then compared, because different
 * windows can have the same hash. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define REPEATS_LEAST 3 /* fewer periods cannot be found by windows of powers of two */

struct repeat {
    size_t start;
    size_t length; /* in tokens; the last period may be cut */
    size_t period;
};

/* Finds repetitions with at least `times` periods (REPEATS_LEAST or more) of at most `period_max` tokens, in
 * no order. Returns their number. The caller frees *found, which is NULL if there are none. */
size_t repeats_find(const uint32_t *tokens, size_t count, size_t period_max, size_t times,
                    struct repeat **found);
