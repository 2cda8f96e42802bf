/* The state of each host thread: the attached context and the open ranges, by slot. A slot's next thread
 * starts empty. */
#ifndef CUSPAN_CORRELATE_TRACE_THREAD_STATE_H
#define CUSPAN_CORRELATE_TRACE_THREAD_STATE_H

#include "base/limits.h"
#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

struct thread_state {
    uint64_t serial; /* of the thread */
    uint64_t seen_ns;
    bool has_context, is_sampled;
    uint8_t context[24]; /* trace and span ID; all zero: none */
    uint8_t flags;
    const char *trace_state;
    uint32_t summary; /* account of the request whose summary it holds; 0: none */
    uint32_t depth;
    uint64_t open[RANGE_PARENTS_MAX]; /* range IDs, the innermost last */
};

struct thread_states;

enum status thread_states_create(struct thread_states **states) MUST_CHECK;
void thread_states_destroy(struct thread_states *states);

/* Returns the slot's state, whichever thread it belongs to. */
struct thread_state *thread_states_at(struct thread_states *states, uint32_t slot);
/* Resets the state for this thread. */
void thread_state_reset(struct thread_state *state, const struct thread_info *thread);

/* Adds an open range. Beyond RANGE_PARENTS_MAX a range has no children. */
void thread_state_push(struct thread_state *state, uint64_t id);
void thread_state_remove(struct thread_state *state, uint64_t id);

#endif
