/* Follows each thread's contexts and names, and chooses the parent of its calls and ranges. */
#ifndef CUSPAN_CORRELATE_THREAD_EVENTS_H
#define CUSPAN_CORRELATE_THREAD_EVENTS_H

#include "correlate/trace/parent.h"
#include "correlate/trace/tracestates.h"
#include "model/record.h"

#include <stdbool.h>

struct correlate;
struct range;

/* The state of a host thread: the attached context and the open ranges. */
struct thread_state {
    uint64_t serial; /* of the thread */
    uint64_t seen_ns;
    bool has_context, is_sampled;
    uint8_t context[24]; /* trace and span ID; all zero: none */
    uint8_t flags;
    const char *trace_state;
    uint32_t summary; /* account of the request whose summary it holds; 0: none */
    uint32_t depth;
    uint64_t open[RANGE_PARENTS_MAX]; /* range IDs, the innermost last; further ranges have no children */
};

#define DECISIONS_KEPT 1024

struct decision {
    uint8_t trace_id[16];
    bool is_sampled;
};

struct thread_events {
    struct thread_state states[THREADS_MAX]; /* by slot */
    struct tracestates tracestates;
    struct decision decisions[DECISIONS_KEPT]; /* by trace, if the sampler is not parent-based */
};

/* Returns the thread's state. If the slot's previous thread has ended, closes what it left open. */
struct thread_state *thread_events_state(struct correlate *correlate, const struct thread_info *thread,
                                         uint64_t now_ns);
/* Returns the innermost open range, if the thread's context is still the one in which it started; else
 * NULL. */
struct range *thread_events_innermost_range(struct correlate *correlate, const struct thread_state *state);
/* Returns the parent of new spans: the innermost open range, else the thread's context, else the session. */
struct parent thread_events_parent(struct correlate *correlate, struct thread_state *state, uint64_t time_ns);

#endif
