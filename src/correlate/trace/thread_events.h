/* Follows each thread's contexts and names, and chooses the parent of its calls and ranges. */
#ifndef CUSPAN_CORRELATE_TRACE_THREAD_EVENTS_H
#define CUSPAN_CORRELATE_TRACE_THREAD_EVENTS_H

#include "correlate/trace/parent.h"
#include "correlate/trace/thread_state.h"

struct correlate;
struct range;

#define DECISIONS_KEPT 1024

struct decision {
    uint8_t trace_id[16];
    bool is_sampled;
};

struct thread_events {
    struct thread_states *states;
    struct tracestates *tracestates;
    struct decision decisions[DECISIONS_KEPT]; /* by trace, if the sampler is not parent-based */
};

enum status thread_events_init(struct thread_events *threads) MUST_CHECK;
void thread_events_deinit(struct thread_events *threads);

/* Returns the thread's state. If the slot's previous thread has ended, closes what it left open. */
struct thread_state *thread_events_state(struct correlate *correlate, const struct thread_info *thread,
                                         uint64_t now_ns);
/* Returns the innermost open range, if the thread's context is still the one in which it started; else
 * NULL. */
struct range *thread_events_innermost_range(const struct correlate *correlate,
                                            const struct thread_state *state);
/* Returns the parent of new spans: the innermost open range, else the thread's context, else the session. */
struct parent thread_events_parent(struct correlate *correlate, struct thread_state *state, uint64_t time_ns);

#endif
