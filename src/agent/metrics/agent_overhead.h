/* What cuspan itself takes of the host, from those that measure it. */
#ifndef CUSPAN_AGENT_OWN_FIGURES_H
#define CUSPAN_AGENT_OWN_FIGURES_H

#include "base/accounting/balance.h"
#include "model/metrics/tracing_overhead.h"

#include <stdio.h>

/* Any thread of ours, and the host's when it ends. */
void own_figures_take(struct own_figures *figures);

/* As an object of JSON, with what CUPTI took by its own records. */
void own_figures_write(FILE *to, const struct own_figures *figures, const struct balance *balance);

#endif
