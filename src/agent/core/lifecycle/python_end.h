/* Python ended by Ctrl-C runs its own exit handlers, then ends itself by SIGINT without running those of C.
 *
 * So the agent registers with the interpreter (Py_AtExit) and then delivers everything
 * (pipeline_checkpoint). Tracing goes on, because the program may continue without Python. If an exit
 * follows, this time counts for its deadline. */
#pragma once

#include <stdbool.h>

/* Registers `end` to be called when the interpreter that is initialized now, if there is one, has finished.
 * The process may end then, or run on. Any thread. */
void python_end_follow(void (*end)(void));

/* Whether a Python is in the process that is not initialized now, but may be later. */
bool python_may_begin(void);
