/* Decides whether capture is awake. A service that samples its requests pays for calls' records and spans
 * only while a sampled request is in flight. The program itself may also start and stop tracing.
 *
 * Asleep, callbacks return at once, and records are discarded. CUPTI's callbacks and records stay enabled:
 * CUPTI may crash the program if they are switched while other threads make CUDA calls (docs/cupti.md).
 *
 * Host threads report contexts (context.c) outside CUDA calls.
 *
 * After a sleep, work whose call has not arrived within wait_ms is dropped and counted (asleep_records), so
 * orphans are recognized only in a process that has never slept. With `sampling.sleep: auto`, the first
 * unsampled context shows that the service samples its requests, and capture sleeps only from then on.
 * Replays sleep only with `always`, recordings never. */
#pragma once

#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* Start and stop tracing for the program, and tell whether it is tracing. False from the first two: no
 * change. Any thread. */
bool sleep_control_begin_tracing(void);
bool sleep_control_end_tracing(void);
bool sleep_control_is_tracing(void);
/* After the program stops tracing, calls in progress are captured until they return (mode_is_ending()), for
 * up to `wait_ms` (default 1 s). Calls that take longer are counted (calls_cut) and have no span. Any thread.
 * A callback that is about to return is not tracked, because that would slow down every call, so a record may
 * appear a few ns after its call has returned. */
void sleep_control_set_ending(uint32_t wait_ms);

/* Call it when capture has started and is awake: it may sleep from now on. */
void sleep_control_start(const struct settings *settings, bool is_replay);
/* Call it when capture stops: it no longer sleeps or wakes. Async-signal-safe. */
void sleep_control_stop(void);
/* Call it when capture stops permanently: ends the last sleep period, too. Pipeline thread. */
void sleep_control_finish(void);

/* Returns the length of the current sleep period in ns; 0: capture is awake. Any thread. */
uint64_t sleep_control_asleep_ns(void);

/* Call them around the time in which CUPTI is released to another tool. Afterwards capture is on, or asleep
 * if nothing needs it. Only sleep_control_slept_between() counts this time as asleep. Repeated suspends have
 * no effect. Pipeline thread. */
void sleep_control_suspend(void);
void sleep_control_resume(void);

/* Whether capture was asleep at any time from `from_ns` until `until_ns`, both included. Only the latest
 * 1,024 sleep periods are remembered. Pipeline thread. */
bool sleep_control_slept_between(uint64_t from_ns, uint64_t until_ns);

/* Sets whether work without a context is sampled. Pipeline thread. */
void sleep_control_set_session(bool is_sampled);
/* Puts capture to sleep if nothing needs it, and wakes it if something does. True: it has just fallen asleep.
 * Pipeline thread, every few milliseconds. */
bool sleep_control_service(void);
