/* What this library knows of itself and its process: the environment that it may read, and where it lies. */
#ifndef CUSPAN_AGENT_OWN_H
#define CUSPAN_AGENT_OWN_H

#include <pthread.h>

/* A variable, or NULL. A program that runs with another user's rights must not be led by its caller's
 * environment: it has no variables. */
const char *self_env_get(const char *name);

/* Where libcuspan.so lies; the modules that belong to it lie beside it. Static storage; any thread.
 */
const char *self_env_folder(void);

/* A thread of ours in the host (base/self_env_thread.h), with a small stack. Returns 0, or an error number.
 */
int self_env_thread(pthread_t *thread, void *(*run)(void *));

#endif
