/* How the agent stands, as JSON, while it runs: for `cuspan ps` and `cuspan status`. */
#ifndef CUSPAN_AGENT_STATUS_H
#define CUSPAN_AGENT_STATUS_H

#include <stdio.h>

/* One object: who and how. Waits for nobody. */
void agent_status_describe(FILE *to);
/* One object: the same with all counters, sums, outputs, memory and CUPTI. Asks the pipeline thread, for a
 * second at most: "exact" says whether it has answered. */
void agent_status_write(FILE *to);

void agent_status_string(FILE *to, const char *text);

#endif
