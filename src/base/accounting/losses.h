/* What each loss means to a user: why it happens, and what mends it. One table, for the agent's log and for
 * `cuspan status`. */
#ifndef CUSPAN_BASE_ACCOUNTING_LOSSES_H
#define CUSPAN_BASE_ACCOUNTING_LOSSES_H

#include "base/accounting/counters.h"

#include <stddef.h>

struct loss {
    enum counter counter;
    bool is_told_at_once; /* in the log when it first happens; of the others an exporter or the end tells */
    const char *why;
    const char *advice; /* what to change */
};

extern const struct loss losses[];
extern const size_t loss_count;

/* NULL: the counter is none. Each that is has a row (tests/unit/base/balance_test.c). */
const struct loss *loss_of(enum counter counter);

#endif
