/* Where captured records go when an invariant of the agent's own is broken: calls, marks and activity records
 * are counted (lost_broken), and nothing of them is looked at. */
#ifndef CUSPAN_AGENT_RETREAT_H
#define CUSPAN_AGENT_RETREAT_H

#include "capture/capture.h"

extern const struct capture_sink retreat_sink;

#endif
