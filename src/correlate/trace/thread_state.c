#include "correlate/trace/thread_state.h"

#include <stdlib.h>
#include <string.h>

struct thread_states {
    struct thread_state states[THREADS_MAX];
};

enum status thread_states_create(struct thread_states **states)
{
    *states = calloc(1, sizeof **states);
    return *states ? STATUS_OK : STATUS_NO_MEMORY;
}

void thread_states_destroy(struct thread_states *states)
{
    free(states);
}

struct thread_state *thread_states_at(struct thread_states *states, uint32_t slot)
{
    return &states->states[slot % THREADS_MAX];
}

void thread_state_reset(struct thread_state *state, const struct thread_info *thread)
{
    memset(state, 0, offsetof(struct thread_state, open));
    state->serial = thread->serial;
}

void thread_state_push(struct thread_state *state, uint64_t id)
{
    if (state->depth < RANGE_PARENTS_MAX)
        state->open[state->depth++] = id;
}

void thread_state_remove(struct thread_state *state, uint64_t id)
{
    for (uint32_t i = state->depth; i > 0; i--) {
        if (state->open[i - 1] != id)
            continue;
        state->depth--;
        memmove(&state->open[i - 1], &state->open[i], (state->depth - (i - 1)) * sizeof *state->open);
        return;
    }
}
