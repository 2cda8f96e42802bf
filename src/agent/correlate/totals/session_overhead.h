/* Adds the cost of tracing to session spans: CUPTI's, by its overhead records, and cuspan's. Each session
 * span has the growth since the one before, so they add up.
 *
 * The time of sending after the last session span is only in the report. CUPTI's overhead records cover
 * buffers, resources and instrumentation, and little of what CUPTI adds to each call; `cuspan overhead`
 * measures that. */
#pragma once

#include "base/accounting/counters.h"
#include "model/metrics/tracing_overhead.h"
#include "model/record.h"
#include "model/span.h"

struct session_overhead {
    struct agent_overhead told;
    uint64_t cupti_told_ns[COUNTER_COUNT]; /* by counter of CUPTI's kinds */
};

/* Counts an overhead record that has times. `kind` is its CUpti_ActivityOverheadKind. */
void session_overhead_add(const struct activity_record *record, uint64_t kind);

/* Adds the cost to a session span. `take` reads cuspan's own cost; NULL: it was not measured, or is of
 * another run. */
void session_overhead_write(struct session_overhead *overhead, void (*take)(struct agent_overhead *),
                            struct span *span);
