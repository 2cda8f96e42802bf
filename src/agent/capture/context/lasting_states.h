/* Keeps the tracestates that cuspan_current() has given to the program, which stay valid after their contexts
 * are detached. */
#pragma once

#include "base/limits.h"

#define LASTING_STATES_MAX 1024 /* different ones; at most 960 KiB */

/* Returns a copy of `text`, of less than TRACE_STATE_MAX bytes: the same one for equal texts. Its content is
 * valid until LASTING_STATES_MAX other texts were kept. Its memory is never freed, and always has a NUL at
 * its end. NULL: out of memory. Any thread. */
const char *lasting_states_keep(const char *text);

/* Call it in a forked child: makes the lock usable, which another thread may have held. */
void lasting_states_forked(void);
