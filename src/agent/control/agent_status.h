/* The state of the running agent as JSON, for `cuspan ps` and `cuspan status`. */
#ifndef CUSPAN_AGENT_CONTROL_AGENT_STATUS_H
#define CUSPAN_AGENT_CONTROL_AGENT_STATUS_H

#include <stdio.h>

/* One object: process and state. Does not wait. */
void agent_status_describe(FILE *to);
/* One object: the same, and all counters, sums, outputs, memory and CUPTI. Waits for the pipeline thread,
 * for a second at most; "exact" says whether it answered. */
void agent_status_write(FILE *to);

#endif
