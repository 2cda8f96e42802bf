/* Whether capture is awake. A service that samples its requests pays for CUPTI's records only while one that
 * is sampled is in flight; and the program itself may begin and end the tracing.
 *
 * Awake: CUPTI's records are on. Asleep: callbacks return at once, and with CUPTI's classic calls its records
 * are off. CUPTI's callbacks stay on: with calls in flight, switching them gives later calls the IDs of
 * others, and crashes; with the subscriber API so does switching records (13.5;
 * tests/bench/programs/sleeping.cu). So where it is known at the start that capture is to sleep, it takes the
 * classic calls (sleep_control_is_foreseen). Switching records takes some 10 us for all kinds, and loses none
 * of work that was launched before.
 *
 * Contexts are told by the host's threads (context.c), outside of CUDA's calls; such a thread may wait some
 * microseconds for another one that is just switching. */
#ifndef CUSPAN_CAPTURE_SLEEP_SLEEP_CONTROL_H
#define CUSPAN_CAPTURE_SLEEP_SLEEP_CONTROL_H

#include "model/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* The program begins or ends the tracing. False: it is so already. Any thread. */
bool sleep_control_begin_tracing(void);
bool sleep_control_end_tracing(void);
bool sleep_control_is_tracing(void);
/* Ended by the program, it goes on with the calls that are under way until they have returned, for so long at
 * most (1 s); those that haven't by then are counted (calls_cut), and have no span. Any thread. Known is a
 * call from its begin to its end; whether a callback is just being left, nobody says, since that would cost
 * each: a record may come some ns after its call has returned. */
bool sleep_control_is_ending(void);
void sleep_control_set_ending(uint32_t wait_ms);

/* Whether, by the settings, capture will sleep or be stopped and started: `by_program` says that the program
 * itself began it, or that it began for a sampled request of a process that isn't sampled. */
bool sleep_control_is_foreseen(const struct settings *settings, bool by_program);

/* Capture has started, and is awake; it sleeps from now on where that is wanted. */
void sleep_control_start(const struct settings *settings, bool is_replay);
/* Capture stops, or is not to be touched any more. Async-signal-safe. */
void sleep_control_stop(void);
/* Capture stops for good: the last time asleep counts, too. Pipeline thread. */
void sleep_control_finish(void);

/* How long the sleep has lasted that is not over; 0: awake. Any thread. */
uint64_t sleep_control_asleep_ns(void);

/* Capture goes off, to leave CUPTI for a while, and is back (and on). The time between counts as asleep for
 * sleep_control_slept_at alone; a second sleep_control_suspend does nothing. Pipeline thread. */
void sleep_control_suspend(void);
void sleep_control_resume(void);

/* Pipeline thread: whether it slept at this time, or within a millisecond of it: who finds GPU work of then
 * without a call need not wait for one. As far as the latest times asleep are remembered. */
bool sleep_control_slept_at(uint64_t time_ns);

/* Pipeline thread: whether work that belongs to no context is sampled. */
void sleep_control_set_session(bool is_sampled);
/* Pipeline thread, every few ms: falls asleep if nobody wants what comes. True: it just has. */
bool sleep_control_service(void);

#endif
