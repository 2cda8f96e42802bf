/* Who wants capture to be awake: the contexts that are attached (context.c) and may be sampled. They are
 * counted on the host's threads; wake.c decides by the count, and falls asleep beside them.
 *
 * Whoever falls asleep sets active_contexts_is_asleep and then looks at the count; whoever attaches counts
 * and then looks at active_contexts_is_asleep: so one of the two sees the other. */
#ifndef CUSPAN_CAPTURE_SLEEP_ACTIVE_CONTEXTS_H
#define CUSPAN_CAPTURE_SLEEP_ACTIVE_CONTEXTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A context is attached whose work may be sampled: capture is awake when this returns. Any thread, at any
 * time, also before capture starts. */
void active_contexts_attached(void);
/* And detached. */
void active_contexts_detached(void);
/* A context is attached whose work certainly isn't sampled. */
void active_contexts_attached_unsampled(void);
/* In a forked child: only the contexts of the thread that forked are attached. Async-signal-safe. */
void active_contexts_set(uint32_t count);

/* How many there are; a number that changes with each that comes or goes; and whether one was not sampled.
 * Any thread. */
uint32_t active_contexts_count(void);
uint32_t active_contexts_changes(void);
bool active_contexts_has_unsampled(void);
/* Forgets all but the count. */
void active_contexts_reset(void);

/* Asleep, or falling asleep. */
extern atomic_bool active_contexts_is_asleep;
/* Called by who attaches while it is; set before that is. */
extern void (*active_contexts_on_asleep)(void);

#endif
