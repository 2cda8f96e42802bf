/* Runs a query in a child process. Loading a driver, a CUPTI or a resolver may crash, hang, or leave threads
 * behind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Calls work(query, answer) in a child without output, and copies the `bytes` of `answer` back. If
 * false, `answer` is zeroed and `failure` (64 bytes) says what happened to the child. */
bool probe_child_run(void (*work)(const void *query, void *answer), const void *query, void *answer,
                     size_t bytes, unsigned timeout_ms, char failure[64]);
