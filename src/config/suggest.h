/* "Did you mean": the candidate most similar to a misspelled word. */
#ifndef CUSPAN_CONFIG_SUGGEST_H
#define CUSPAN_CONFIG_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_WORD_MAX 64 /* longer words get no suggestion */

struct nearest {
    const char *word;
    char best[NEAREST_WORD_MAX + 1]; /* "": none is similar enough */
    size_t best_distance;
};

void suggest_init(struct nearest *nearest, const char *word);
/* Of several equally similar candidates the first wins. The word itself is never suggested. */
void suggest_offer(struct nearest *nearest, const char *candidate);

#endif
