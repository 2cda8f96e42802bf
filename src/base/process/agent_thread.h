/* cuspan's threads in the host. They handle no signals, and do not inherit the CPU affinity and the real-time
 * priority of the host's thread that creates them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `stack_bytes` 0: the system's default. Returns 0, or an error number. */
int agent_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument);

/* Waits so long for the thread's end. False: it goes on, detached. */
bool agent_thread_end(pthread_t thread, uint64_t wait_ns);

/* Initializes a condition whose deadlines are those of clock_monotonic_ns(). */
void agent_thread_init_cond(pthread_cond_t *cond);
