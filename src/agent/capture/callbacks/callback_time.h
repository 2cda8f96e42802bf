/* Estimates how long cuspan's callbacks take on the host threads, by sampling.
 *
 * On each thread about one in a thousand traced calls is timed: all callbacks from the end of the previous
 * call to its own end, including those of nested driver calls. The interval is random, so that loops in the
 * program do not bias the sample, and short at first, so that short programs get a figure.
 *
 * All other calls pay two instructions, a countdown at their end. Before a timed call, the thread's
 * thread_self is set to NULL and its thread_timed to the thread. Its callbacks then take the path of new
 * threads, and the common path needs no check. The timed code is the common one.
 *
 * A timed callback starts after a serializing instruction; otherwise the host's pending memory accesses would
 * count as ours. The typical cost of the two counter readings is measured at the start and subtracted. The
 * result is an upper bound because a timed callback does not overlap with the host's work. The sample read 10
 * to 60 ns more than the 56 to 100 ns that a launch's four callbacks take when timed in blocks, and 75 to 200
 * ns more without these two corrections (callback_bench --sample, x86-64, a busy machine).
 *
 * A launch's four callbacks execute 400 instructions instead of 398, the share of the timed ones included. */
#pragma once

#include "agent/capture/threads/threads.h"

/* Call it once, before the first callback. */
void callback_time_init(void);

/* Starts or ends the timing of a call. Called on the host thread, at the end of the call in which its
 * countdown reached 0. */
void callback_time_turn(struct host_thread *thread);
/* Adds a callback that took this many ticks of the processor's counter. Called on the thread that is being
 * timed. */
void callback_time_add(struct host_thread *thread, uint64_t ticks);

/* Returns the ticks that are subtracted from each timed callback for the two readings around it. */
uint64_t callback_time_of_reading(void);

/* The estimate over all threads so far. */
struct callback_time_sum {
    uint64_t timed_calls; /* 0: no estimate yet */
    uint64_t call_ns;     /* mean time of one call's callbacks */
};
/* Returns the estimate so far. Any thread. */
struct callback_time_sum callback_time_get(void);

/* Forgets the estimate. For tests and forked processes. */
void callback_time_reset(void);
