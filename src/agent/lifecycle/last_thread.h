/* A host whose main thread has ended by pthread_exit ends when its last thread does. Ours would keep it alive
 * for ever, so they have to notice that they are the last. */
#ifndef CUSPAN_AGENT_ALONE_H
#define CUSPAN_AGENT_ALONE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether all threads that are left are ours. Looks no more often than a few times a second, and then costs
 * one system call as long as the main thread lives among others. False where /proc isn't there. */
bool last_thread_check(uint64_t now_ns);

#endif
