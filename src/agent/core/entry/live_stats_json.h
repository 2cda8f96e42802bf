/* The statistics of the program as a JSON object on the control socket, for `cuspan top`. */
#pragma once

#include "agent/core/control/control_socket.h"

/* Waits for the pipeline thread, for a second at most, and keeps the statistics counted for another 10 s. If
 * nothing is counted (the agent waits, records, or has ended), all values are 0 and "is_on" is false. The
 * first answer is such, because it starts the counting. One thread. */
control_answer_fn live_stats_write_json;
