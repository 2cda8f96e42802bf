/* "Did you mean": the candidate most similar to a misspelled word. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SUGGEST_WORD_MAX 64 /* longer words get no suggestion */

struct suggest {
    const char *word;                /* set by the caller, the rest is zero */
    char best[SUGGEST_WORD_MAX + 1]; /* "": none is similar enough */
    size_t best_distance;
};

/* Of several equally similar candidates the first wins. The word itself is never suggested. */
void suggest_offer(struct suggest *suggest, const char *candidate);
