/* "Did you mean": the candidate that a mistyped word is nearest to. */
#ifndef CUSPAN_CONFIG_SUGGEST_H
#define CUSPAN_CONFIG_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_WORD_MAX 64 /* longer words have no neighbours */

struct nearest {
    const char *word;
    char best[NEAREST_WORD_MAX + 1]; /* "": none is near enough */
    size_t best_distance;
};

void suggest_init(struct nearest *nearest, const char *word);
/* The first of several equally near ones stays. The word itself is never suggested. */
void suggest_offer(struct nearest *nearest, const char *candidate);

#endif
