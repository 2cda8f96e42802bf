#include "base/text/suggest.h"

#include <string.h>
#include <strings.h>

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with transpositions. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][SUGGEST_WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            row[j] = min_of(min_of(last[j] + 1, row[j - 1] + 1), last[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_of(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_length];
}

void suggest_offer(struct suggest *suggest, const char *candidate)
{
    if (strcmp(suggest->word, candidate) == 0)
        return;
    size_t length = strlen(suggest->word), candidate_length = strlen(candidate);
    if (length > SUGGEST_WORD_MAX || candidate_length > SUGGEST_WORD_MAX || length == 0)
        return;
    size_t longer = candidate_length > length ? candidate_length : length;
    size_t allowed = min_of(3, longer / 3);
    if (longer - min_of(length, candidate_length) > allowed)
        return;
    size_t found = strcasecmp(suggest->word, candidate) == 0
                       ? 0
                       : distance(suggest->word, length, candidate, candidate_length);
    if (found <= allowed && (!suggest->best[0] || found < suggest->best_distance)) {
        memcpy(suggest->best, candidate, candidate_length + 1);
        suggest->best_distance = found;
    }
}
