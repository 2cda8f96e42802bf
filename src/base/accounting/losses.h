/* The reason for each loss and how to prevent it, for the agent's log and `cuspan status`. */
#pragma once

#include "base/accounting/counters.h"

#include <stddef.h>

struct loss {
    enum counter counter;
    bool is_told_at_once; /* logged when it first happens; an exporter or the final report logs the others */
    const char *why;
    const char *advice; /* how to prevent it */
};

extern const struct loss losses[];
extern const size_t loss_count;

/* NULL: the counter is not a loss. */
const struct loss *loss_of(enum counter counter);
