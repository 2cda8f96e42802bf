/* `cuspan send`, in the agent's library: it knows the settings and how to speak to a collector. */
#ifndef CUSPAN_AGENT_SEND_H
#define CUSPAN_AGENT_SEND_H

#include "model/send_entry.h"

send_fn agent_send;

#endif
