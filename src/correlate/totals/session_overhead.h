/* What tracing itself takes, on session spans: CUPTI's part by its own overhead records, and cuspan's. Each
 * session span says what came since the one before, so that they add up. */
#ifndef CUSPAN_CORRELATE_OWN_COST_H
#define CUSPAN_CORRELATE_OWN_COST_H

#include "base/accounting/counters.h"
#include "model/metrics/tracing_overhead.h"
#include "model/record.h"
#include "model/span.h"

struct own_cost {
    void (*take)(struct own_figures *); /* NULL: nobody measures it, or it isn't this run's */
    struct own_figures told;
    uint64_t cupti_told_ns[COUNTER_COUNT]; /* of the counters of CUPTI's kinds */
};

/* An overhead record that has its times. `kind` is CUPTI's number of it. What the driver does on its own
 * account (compiling, loading) isn't tracing's cost. */
void own_cost_add(const struct activity_record *record, uint64_t kind);

/* Appends it to a session's span. */
void own_cost_write(struct own_cost *cost, struct span *span);

#endif
