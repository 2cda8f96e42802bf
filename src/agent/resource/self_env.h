/* The environment that the agent may read, the directory of the library, and its threads. */
#ifndef CUSPAN_AGENT_RESOURCE_SELF_ENV_H
#define CUSPAN_AGENT_RESOURCE_SELF_ENV_H

#include <pthread.h>

/* A variable, or NULL. A setuid process has none, because its caller must not control it. */
const char *self_env_get(const char *name);

/* The directory of libcuspan.so and its modules. Static storage; any thread. */
const char *self_env_folder(void);

/* Starts a thread of ours with a small stack. Returns 0, or an error number. */
int self_env_thread(pthread_t *thread, void *(*run)(void *));

#endif
