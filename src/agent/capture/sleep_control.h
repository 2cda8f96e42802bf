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
#ifndef CUSPAN_AGENT_CAPTURE_SLEEP_CONTROL_H
#define CUSPAN_AGENT_CAPTURE_SLEEP_CONTROL_H

#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts or stops tracing for the program. False: no change. Any thread. */
bool sleep_control_begin_tracing(void);
bool sleep_control_end_tracing(void);
bool sleep_control_is_tracing(void);
/* After the program stops tracing, calls in progress are captured until they return (mode_is_ending()), for
 * up to `wait_ms` (default 1 s). Calls that take longer are counted (calls_cut) and have no span. Any thread.
 * A callback that is about to return is not tracked, because that would slow down every call, so a record may
 * appear a few ns after its call has returned. */
void sleep_control_set_ending(uint32_t wait_ms);

/* Capture started and is awake; it may sleep from now on. */
void sleep_control_start(const struct settings *settings, bool is_replay);
/* Capture stops. Async-signal-safe. */
void sleep_control_stop(void);
/* Capture stops permanently: closes the last sleep period. Pipeline thread. */
void sleep_control_finish(void);

/* Length of the current sleep period; 0: awake. Any thread. */
uint64_t sleep_control_asleep_ns(void);

/* Around the time in which CUPTI is released to another tool; capture is on afterwards, or
 * asleep if nothing needs it. Only sleep_control_slept_between() counts this time as asleep. Repeated
 * suspends have no effect. Pipeline thread. */
void sleep_control_suspend(void);
void sleep_control_resume(void);

/* Whether capture was asleep at any time from `from_ns` until `until_ns`, both included. Limited to the
 * remembered periods. Pipeline thread. */
bool sleep_control_slept_between(uint64_t from_ns, uint64_t until_ns);

/* Sets whether work without a context is sampled. Pipeline thread. */
void sleep_control_set_session(bool is_sampled);
/* Falls asleep if nothing needs capture. True: it just did. Pipeline thread, every few milliseconds. */
bool sleep_control_service(void);

#endif
