/* The verbs of the control socket. To add one, add a row. */
#ifndef CUSPAN_AGENT_CONTROL_CONTROL_VERBS_H
#define CUSPAN_AGENT_CONTROL_CONTROL_VERBS_H

#include "agent/control/control_socket.h"

/* describe: process and state, a line of `cuspan ps`. status: everything that is known. start, stop [MS],
 * flush [MS]: like cuspan_start(), cuspan_stop() and cuspan_flush(), with the maximum time. */
extern const struct control_verb control_verbs[];
extern const size_t control_verb_count;

#endif
