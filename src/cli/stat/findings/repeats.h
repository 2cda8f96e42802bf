/* Repetitions in a sequence: stretches in which the same tokens come again and again.
 *
 * A repetition of period p is a stretch in which each token equals the one p before it, as long as it can be
 * on both sides, with p the least such number. All of them with at least REPEATS_LEAST periods are found, in
 * O(n log p): of each window of length 2^k the last occurrence before is looked up by its hash. Where a
 * stretch has period p, and p <= 2^k < 2p, that is exactly p before (a nearer one would make a lesser
 * period); what the hashes say is then compared token by token: two windows of one hash can't make a
 * repetition. */
#ifndef CUSPAN_CLI_STAT_FINDINGS_REPEATS_H
#define CUSPAN_CLI_STAT_FINDINGS_REPEATS_H

#include <stddef.h>
#include <stdint.h>

#define REPEATS_LEAST 3 /* windows of powers of two cannot find fewer periods */

struct repeat {
    size_t start;
    size_t length; /* in tokens; the last period may be cut */
    size_t period;
};

/* Finds repetitions with at least `times` periods (REPEATS_LEAST or more) of at most `period_max` tokens, in
 * no order. Returns their number. The caller frees *found, which is NULL if there are none. */
size_t repeats_find(const uint32_t *tokens, size_t count, size_t period_max, size_t times,
                    struct repeat **found);

#endif
