/* What tracing itself takes, on session spans: CUPTI's part by its own overhead records, and cuspan's. Each
 * session span says what came since the one before, so that they add up. */
#ifndef CUSPAN_CORRELATE_OWN_COST_H
#define CUSPAN_CORRELATE_OWN_COST_H

#include "base/accounting/counters.h"
#include "model/metrics/tracing_overhead.h"
#include "model/record.h"
#include "model/span.h"

struct session_overhead {
    void (*take)(struct agent_overhead *); /* NULL: nobody measures it, or it isn't this run's */
    struct agent_overhead told;
    uint64_t cupti_told_ns[COUNTER_COUNT]; /* of the counters of CUPTI's kinds */
};

/* An overhead record that has its times. `kind` is CUPTI's number of it. What the driver does on its own
 * account (compiling, loading) isn't tracing's cost. */
void session_overhead_add(const struct activity_record *record, uint64_t kind);

/* Appends it to a session's span. */
void session_overhead_write(struct session_overhead *cost, struct span *span);

#endif
