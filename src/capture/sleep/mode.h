/* What the callbacks on the host's threads do: nothing, next to nothing, or all. */
#ifndef CUSPAN_CAPTURE_SLEEP_MODE_H
#define CUSPAN_CAPTURE_SLEEP_MODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* OFF: callbacks return at once, for good or until capture starts. ASLEEP: only what later work can't be
 * understood without is captured: graphs that are made, and names. ON: all. ENDING, between the two: no call
 * begins, and those that are under way have their end. */
enum mode { MODE_OFF, MODE_ASLEEP, MODE_ON, MODE_ENDING };
extern _Atomic uint8_t mode_now;

/* What began before has lost its end, or was no call of ours: ticks. */
extern _Atomic uint64_t mode_on_since;

/* From ASLEEP to ON and back, where it is so. Calls that begin in one and end in another have no record: what
 * began before `since` (clock_ticks(), now; 0 where clocks of threads differ, in a replay) has lost its end.
 */
void mode_wake(uint64_t since);
void mode_sleep(void);
/* From ON to ENDING, and back before it is ASLEEP. */
void mode_end(void);
void mode_resume(void);
bool mode_is_ending(void);

#endif
