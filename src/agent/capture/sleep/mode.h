/* The mode of the callbacks on host threads. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* OFF: callbacks return at once, permanently or until capture starts. ASLEEP: callbacks handle only what
 * later work depends on, which is graph creation and names. ON: they handle everything. ENDING, between ON
 * and ASLEEP: they finish calls in progress and ignore new ones. */
enum mode { MODE_OFF, MODE_ASLEEP, MODE_ON, MODE_ENDING };
extern _Atomic uint8_t mode_now;

/* When capturing last started, in ticks. A call with an earlier start is ignored: its callback at the start
 * was skipped, or the start is another tool's. */
extern _Atomic uint64_t mode_on_since;
void mode_set_on_since(uint64_t since);

/* Switch to ON or OFF from every mode. mode_off() returns the previous mode. */
void mode_on(void);
uint8_t mode_off(void);
/* Switch from ASLEEP to ON and back; no effect in other modes. Calls that span a change have no record.
 * `since` is clock_ticks() now, or 0 in a replay, where the threads' clocks differ; calls that started before
 * it are ignored. */
void mode_wake(uint64_t since);
void mode_sleep(void);
/* Switch from ON to ENDING, and back to ON unless the mode is ASLEEP already. */
void mode_end(void);
void mode_resume(void);
bool mode_is_ending(void);
