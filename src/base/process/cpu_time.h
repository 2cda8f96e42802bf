/* The processor's time that cuspan's own threads in the host take, by what they do.
 *
 * A thread says what it is when it begins; its time stays in the sum when it has ended. Only threads of ours
 * take the lock: asking costs them a system call for each thread that runs. */
#ifndef CUSPAN_BASE_PROCESS_CPU_TIME_H
#define CUSPAN_BASE_PROCESS_CPU_TIME_H

#include <stdint.h>

enum own_work {
    OWN_PIPELINE, /* drains, correlates, encodes; flushes CUPTI */
    OWN_SENDER,   /* compresses and sends, with a spool, too */
    OWN_CONTROL,  /* answers, and starts what is asked for */
    OWN_WORK_COUNT
};

/* The calling thread does this from now on. */
void cpu_time_start(enum own_work work);
/* The calling thread ends: base/self_env_thread.c says so for each thread that it has started. Harmless where
 * it never began. */
void cpu_time_end(void);

/* ns so far. Any thread of ours, and the host's when it ends. */
uint64_t cpu_time_ns(enum own_work work);

/* In a forked child: none of these threads is there. */
void cpu_time_forget(void);

#endif
