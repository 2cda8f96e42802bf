/* The CPU time of cuspan's threads in the host, by task.
 *
 * A thread registers its task when it starts; its time remains in the sum after it ends. Only cuspan's own
 * threads take the lock. Reading costs a system call for each running thread. */
#pragma once

#include <stdint.h>

enum own_work {
    OWN_PIPELINE, /* drains, correlates and encodes; flushes CUPTI */
    OWN_SENDER,   /* compresses and sends, also from a spool */
    OWN_CONTROL,  /* serves the control socket; looks for hangs */
    OWN_WORK_COUNT
};

/* Registers the calling thread. */
void cpu_time_start(enum own_work work);
/* agent_thread.c calls it at the end of each thread; no effect on a thread that is not registered. */
void cpu_time_end(void);

/* ns so far. Any thread of ours, and the host's when it ends. */
uint64_t cpu_time_ns(enum own_work work);

/* In a forked child: none of these threads is there. */
void cpu_time_forget(void);
