/* Counts the attached contexts (context.c) that may be sampled, for which capture must be awake. Host threads
 * count; sleep_control.c decides by the count.
 *
 * sleep_control sets active_contexts_is_asleep and then reads the count. A thread that attaches increments
 * the count and then reads active_contexts_is_asleep. So at least one of the two sees the other. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Count an attached or detached context that may be sampled. After the first, capture is awake. Any thread,
 * also before capture starts. */
void active_contexts_attached(void);
void active_contexts_detached(void);
/* Notes an attached context that is certainly not sampled. */
void active_contexts_attached_unsampled(void);
/* Sets the count in a forked child, where only the forking thread's contexts are attached. Async-signal-safe.
 */
void active_contexts_set(uint32_t count);

/* Return the number of contexts, a number that changes with each attach and detach, and whether any context
 * was unsampled. Any thread. */
uint32_t active_contexts_count(void);
uint32_t active_contexts_changes(void);
bool active_contexts_has_unsampled(void);
/* Resets everything except the count. */
void active_contexts_reset(void);

/* Capture is asleep, or falling asleep. */
extern atomic_bool active_contexts_is_asleep;
/* Called by a thread that attaches a context while capture is asleep. Set it before
 * active_contexts_is_asleep. */
extern void (*active_contexts_on_asleep)(void);
