/* A host whose main thread called pthread_exit() ends when its last thread does. Our threads would keep it
 * alive for ever, so they detect that they are the last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether all remaining threads are ours. Checks at most a few times a second; while the main thread runs
 * among others, a check is one system call. False without /proc. */
bool last_thread_check(uint64_t now_ns);
