/* Tracestates that the program was given (cuspan_current), which stay valid after their contexts are
 * detached. */
#ifndef CUSPAN_AGENT_CAPTURE_CONTEXT_LASTING_STATES_H
#define CUSPAN_AGENT_CAPTURE_CONTEXT_LASTING_STATES_H

#include "base/limits.h"

#define LASTING_STATES_MAX 1024 /* different ones; at most 960 KiB */

/* Returns a copy of `text`, of less than TRACE_STATE_MAX bytes: the same one for equal texts. It is valid
 * until LASTING_STATES_MAX other texts were given; its memory is never freed, and always ends with a NUL.
 * NULL: out of memory. Any thread. */
const char *lasting_states_keep(const char *text);

/* In a forked child: another thread may have held the lock. */
void lasting_states_forked(void);

#endif
