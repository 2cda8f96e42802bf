/* What the agent can be asked at its control socket. A further verb is a row. */
#ifndef CUSPAN_AGENT_CONTROL_VERBS_H
#define CUSPAN_AGENT_CONTROL_VERBS_H

#include "agent/control/control_socket.h"

/* describe: the process and the agent's state, in one line of `cuspan ps`.
 * status: all that is known of it.
 * start, stop [MS], flush [MS]: as cuspan_start(), cuspan_stop() and cuspan_flush(); MS is how long it may
 * take. */
extern const struct control_verb control_verbs[];
extern const size_t control_verb_count;

#endif
