/* The facts that the kernel shows about a thread of the own process. Allocates nothing. */
#pragma once

#include "agent/watch/stacks/stack_result.h"

#include <stdint.h>

/* Writes the IDs of the process's threads in ascending order, at most `max`. Returns how many threads there
 * are. */
uint32_t thread_facts_list(int32_t *tids, uint32_t max);

/* Fills what a thread does and waits for, except its frames. False: it has ended. */
bool thread_facts_read(int32_t tid, struct thread_stack *thread);

/* CPU time of a thread in ns; 0: it has ended. */
uint64_t thread_facts_cpu_ns(int32_t tid);

/* Parsers of the files' content, for thread_facts_read() and tests. `stat` and `call` are NUL-terminated. */
bool thread_facts_parse_stat(const char *stat, struct thread_stack *thread);
void thread_facts_parse_call(const char *call, struct thread_stack *thread);
