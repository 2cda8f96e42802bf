/* What this library knows of itself and its process: the environment that it may read, and where it lies. */
#ifndef CUSPAN_AGENT_OWN_H
#define CUSPAN_AGENT_OWN_H

#include <pthread.h>

/* A variable, or NULL. A program that runs with another user's rights must not be led by its caller's
 * environment: it has no variables. */
const char *own_variable(const char *name);

/* Where libcuspan.so lies; the modules that belong to it lie beside it. Static storage; any thread.
 */
const char *own_folder(void);

/* A thread of ours in the host, on which no signal of the host's is ever handled, in the default scheduling
 * class: a real-time host's would put our work on a par with its own. Returns 0, or pthread_create's error.
 */
int own_thread(pthread_t *thread, void *(*run)(void *));

#endif
