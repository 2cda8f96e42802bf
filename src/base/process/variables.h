/* The environment for all threads of ours. The host may call setenv() at any time, and before glibc 2.41 that
 * frees the array that another thread's getenv() reads. */
#pragma once

#include <stdbool.h>

/* Copies the environment, on the host's thread that starts the agent. The first call counts. */
void variables_take(void);

/* Lays lines "NAME=VALUE" over the copy, for an agent that is attached to a running program. Settings in
 * CUSPAN_SET follow those that the program has there. Call it after variables_take() and before the settings
 * are read. False: out of memory. */
bool variables_lay_over(const char *lines);

/* A variable as it was then, or NULL. Before variables_take(), as it is now. A setuid process has none,
 * because its caller must not control it. Any thread; valid until the process ends. */
const char *variables_get(const char *name);

/* All of them, like environ, as of then. NULL: before variables_take(), in a setuid process, or out of
 * memory. */
char *const *variables_all(void);
