/* CUPTI's switches: what it is told to trace, by the settings, at the start, at the few later moments, and at
 * the end. The other half of capture, what comes of it, is capture.c's. All but the first graph's switch is
 * for the pipeline thread, or for the start. */
#ifndef CUSPAN_CAPTURE_CUPTI_SWITCHES_H
#define CUSPAN_CAPTURE_CUPTI_SWITCHES_H

#include "capture/cupti/cupti.h"
#include "model/settings.h"

#include <stdbool.h>

/* Chooses between CUPTI's two APIs (with `will_sleep` the one that can, unless the settings choose),
 * subscribes, and switches on calls, kinds and fields. Both structs are borrowed for good. On failure nothing
 * is left on. UNSUPPORTED, UNAVAILABLE (another tool has the slot; CUPTI refuses). */
enum status switches_on(const struct cupti *cupti, const struct settings *settings, bool will_sleep,
                        struct error *err) MUST_CHECK;

/* Which API it is; false before switches_on. */
bool switches_use_subscriber_api(void);

/* Once in a while: switches on what can be on only after CUDA is initialized. */
void switches_follow(void);

/* Asks CUPTI for finished records, or for all that it holds, and counts what it has dropped. */
void switches_flush(bool everything);

/* Why CUPTI has refused to flush or to be switched off since the last time that this was asked; NULL: it has
 * not. Stays valid. */
const char *switches_take_error(void);

/* The records of calls' work on or off, for sleep: between lock and unlock, which any thread may hold for
 * some microseconds. What was launched before keeps its record. With the subscriber API they stay on
 * (wake.h). */
void switches_lock(void);
void switches_unlock(void);
void switches_records(bool on);

/* No record of ours is made any more, and no callback does anything; what is recorded still comes. */
void switches_quiet(void);

/* All of it as switches_on had it, after switches_off, but for graph records: graphs that are made may not
 * meet them (docs/cupti.md). */
enum status switches_on_again(struct error *err) MUST_CHECK;
/* Whether the last switches_on or switches_on_again failed because another tool holds CUPTI. */
bool switches_are_held(void);

/* Another subscriber's clock is set between the two calls, which come from one thread: no kind may be on. Any
 * thread; without effect where nothing is on. */
void switches_pause(bool begins);

/* Switches everything off and unsubscribes; without effect where nothing is on. */
void switches_off(void);

#endif
