/* Loads the agent through Python's own sys.remote_exec (3.14 and later): the main thread runs a script when
 * it next can, and nothing is stopped. For programs whose threads compute, so that none can be borrowed. */
#pragma once

#include "agent/operate/attach/remote_job.h"
#include "agent/operate/attach/target.h"

/* Whether the process is Python 3.14 or later itself, of our user, and sees our files. Otherwise its
 * interpreter, which makes the request, would be another user's program. */
bool python_exec_is_possible(const struct target *target);

/* Does what the job says, and stores its stage, result and message. UNAVAILABLE: Python refuses, or the main
 * thread has not run Python within the time. */
enum status python_exec(const struct target *target, struct remote_job *job, uint32_t timeout_ms,
                        struct error *err) MUST_CHECK;
