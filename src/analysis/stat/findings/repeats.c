#include "analysis/stat/findings/repeats.h"

#include "base/hash.h"
#include "cli/util/int_map.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

#define BASE HASH_SPREAD /* odd, for a polynomial over 64-bit numbers */

struct search {
    const uint32_t *tokens;
    uint64_t *mixed; /* the tokens with their bits mixed */
    size_t count, period_max, times;
    struct int_map last; /* hash of a window → its last token */
    struct repeat *found;
    size_t found_count, found_capacity;
};

/* Extends a repetition around `at` to both sides, as long as each token equals the one a period before it. */
static struct repeat extend(const struct search *search, size_t at, size_t period)
{
    const uint32_t *tokens = search->tokens;
    size_t start = at, end = at + 1;
    while (start >= period && tokens[start] == tokens[start - period])
        start--;
    start = start >= period && tokens[start] != tokens[start - period] ? start - period + 1 : 0;
    while (end < search->count && tokens[end] == tokens[end - period])
        end++;
    return (struct repeat){start, end - start, period};
}

/* Finds repetitions with periods in (window / 2, window]. */
static void search_windows(struct search *search, size_t window)
{
    struct repeat latest = {0};
    uint64_t hash = 0, power = 1;
    int_map_clear(&search->last);
    for (size_t i = 1; i < window; i++)
        power *= BASE;
    for (size_t i = 0; i < search->count; i++) {
        if (i >= window)
            hash -= search->mixed[i - window] * power;
        hash = hash * BASE + search->mixed[i];
        if (i + 1 < window)
            continue;
        uint32_t before = int_map_exchange(&search->last, int_map_mix(hash), (uint32_t)i);
        size_t period = before == MAP_NONE ? 0 : i - before;
        if (period <= window / 2 || period > window || period > search->period_max)
            continue;
        if (period == latest.period && i < latest.start + latest.length)
            continue;
        latest = extend(search, i, period);
        if (latest.length / latest.period >= search->times)
            *XADD(search->found, search->found_count, search->found_capacity) = latest;
    }
}

size_t repeats_find(const uint32_t *tokens, size_t count, size_t period_max, size_t times,
                    struct repeat **found)
{
    struct search search = {.tokens = tokens,
                            .count = count < MAP_NONE ? count : MAP_NONE - 1,
                            .period_max = period_max,
                            .times = times < REPEATS_LEAST ? REPEATS_LEAST : times};
    search.mixed = xcalloc(search.count, sizeof *search.mixed);
    for (size_t i = 0; i < search.count; i++)
        search.mixed[i] = int_map_mix(tokens[i] + 1ull);
    for (size_t window = 1; window / 2 < period_max && window <= count; window *= 2)
        search_windows(&search, window);
    free(search.mixed);
    int_map_deinit(&search.last);
    *found = search.found;
    return search.found_count;
}
