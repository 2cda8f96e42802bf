/* The state of the running agent as JSON, for `cuspan ps` and `cuspan status`. */
#pragma once

#include "agent/core/control/control_socket.h"

/* Process and state. Does not wait. */
control_answer_fn agent_status_describe;
/* The same, and all counters, sums, outputs, memory and CUPTI. Waits for the pipeline thread, for a second
 * at most; "exact" says whether it answered. */
control_answer_fn agent_status_write;
