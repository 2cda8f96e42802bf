/* The verbs of the control socket. To add one, add a row.
 *
 * describe: process and state, a line of `cuspan ps`. status: everything that is known. start, stop [MS],
 * flush [MS]: like cuspan_start(), cuspan_stop() and cuspan_flush(), with the maximum time. */
#pragma once

#include "agent/core/control/control_socket.h"

/* Gives them to the socket, before the agent starts. Any thread, any number of times. */
void control_verbs_serve(void);

/* `figures`: the statistics of the program as a JSON object, for `cuspan top`. Waits for the pipeline thread,
 * for a second at most, and keeps the statistics counted for another 10 s. If nothing is counted (the agent
 * waits, records, or has ended), all values are 0 and "is_on" is false. The first answer is such, because it
 * starts the counting. One thread. */
control_answer_fn live_stats_write_json;
