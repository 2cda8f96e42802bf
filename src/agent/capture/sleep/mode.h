/* The mode of the callbacks on host threads. */
#ifndef CUSPAN_AGENT_CAPTURE_SLEEP_MODE_H
#define CUSPAN_AGENT_CAPTURE_SLEEP_MODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* OFF: callbacks return at once, permanently or until capture starts. ASLEEP: only what later work depends
 * on, which is graph creation and names. ON: everything. ENDING, between ON and ASLEEP: calls in progress
 * finish, new ones are ignored. */
enum mode { MODE_OFF, MODE_ASLEEP, MODE_ON, MODE_ENDING };
extern _Atomic uint8_t mode_now;

/* In ticks. A call that started earlier missed its start, or is not ours. */
extern _Atomic uint64_t mode_on_since;
void mode_set_on_since(uint64_t since);

/* From every mode. mode_off() returns the previous one. */
void mode_on(void);
uint8_t mode_off(void);
/* From ASLEEP to ON and back; no effect in other modes. Calls that span a change have no record. `since` is
 * clock_ticks() now, or 0 in a replay, where the threads' clocks differ; calls that started before it are
 * ignored. */
void mode_wake(uint64_t since);
void mode_sleep(void);
/* From ON to ENDING, and back unless it is ASLEEP already. */
void mode_end(void);
void mode_resume(void);
bool mode_is_ending(void);

#endif
