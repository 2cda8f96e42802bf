/* What the program has done so far, as one object of JSON at the control socket: for `cuspan top`. */
#ifndef CUSPAN_AGENT_FIGURES_H
#define CUSPAN_AGENT_FIGURES_H

#include <stdio.h>

/* Asks the pipeline's thread, a second at most, and keeps the figures counted for 10 s more. Where nothing is
 * counted (the agent waits, records, or has ended), all is 0 and "is_on" false; so it is in the first answer,
 * since the counting begins with it. One thread. */
void live_stats_write_json(FILE *to);

#endif
