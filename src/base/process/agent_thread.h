/* A thread of ours in the host: no signal of the host's is ever handled on it, and it inherits neither the
 * processors nor the real-time priority of the host's thread that happened to begin it. */
#ifndef CUSPAN_BASE_PROCESS_AGENT_THREAD_H
#define CUSPAN_BASE_PROCESS_AGENT_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* `stack_bytes` 0: the system's default. Returns 0, or an error number. */
int agent_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument);

#endif
