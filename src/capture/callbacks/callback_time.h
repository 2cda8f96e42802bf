/* How long cuspan's callbacks take on the host's threads, by a sample.
 *
 * Of each thread, one traced call in about a thousand is timed: all callbacks from the end of the call before
 * it to its own end, those of the driver's calls inside it included. Which one is drawn at random, so that a
 * program's loops don't bias it, and the first ones come sooner, so that short programs have a figure, too.
 *
 * The other calls pay two instructions for it, a countdown at their end. A thread whose next call is to be
 * timed has its thread_self taken away (it is thread_timed meanwhile), so its callbacks take the way of new
 * threads, and there's nothing to ask on the way of all others. The timed code itself is the usual one.
 *
 * A timed callback begins when all that its thread had under way is done: else the host's own waits for
 * memory are taken for ours. What the two readings take, as a rule, is measured at the start and taken off.
 * What is left makes the figure too high, not too low: so timed, a callback doesn't overlap with what the
 * host does. Beside the 56 to 100 ns that a launch's four callbacks took in blocks of calls, 10 to 60 ns too
 * much were seen (75 to 200 with the host's waits; callback_bench --sample, x86-64, a busy machine). */
#ifndef CUSPAN_CAPTURE_CALLBACKS_CALLBACK_TIME_H
#define CUSPAN_CAPTURE_CALLBACKS_CALLBACK_TIME_H

#include "capture/callbacks/threads.h"

/* Once, before the first callback. */
void callback_time_init(void);

/* The host's thread: its countdown has come to 0, at the end of a call. */
void callback_time_turn(struct host_thread *thread);
/* The same thread, while it is thread_timed: a callback took so many ticks of the processor's counter. */
void callback_time_add(struct host_thread *thread, uint64_t ticks);

/* What is taken off each timed callback for the two readings around it, in ticks. */
uint64_t callback_time_of_reading(void);

/* Of all threads so far. */
struct callback_time_sum {
    uint64_t timed_calls; /* 0: nothing is known */
    uint64_t call_ns;     /* the mean of one call's callbacks */
};
/* Any thread. */
struct callback_time_sum callback_time_get(void);

/* For tests and for a process that forked. */
void callback_time_reset(void);

#endif
