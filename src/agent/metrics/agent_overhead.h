/* What cuspan itself takes of the host, from those that measure it. */
#ifndef CUSPAN_AGENT_OWN_FIGURES_H
#define CUSPAN_AGENT_OWN_FIGURES_H

#include "base/accounting/balance.h"
#include "model/metrics/tracing_overhead.h"

#include <stdio.h>

/* Any thread of ours, and the host's when it ends. */
void agent_overhead_take(struct agent_overhead *figures);

/* As an object of JSON, with what CUPTI took by its own records. */
void agent_overhead_write(FILE *to, const struct agent_overhead *figures, const struct balance *balance);

#endif
