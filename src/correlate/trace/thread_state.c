#include "correlate/trace/thread_state.h"

#include <stdlib.h>
#include <string.h>

struct thread_states {
    struct thread_state workers[THREADS_MAX];
};

enum status thread_states_create(struct thread_states **workers)
{
    *workers = calloc(1, sizeof **workers);
    return *workers ? STATUS_OK : STATUS_NO_MEMORY;
}

void thread_states_destroy(struct thread_states *workers)
{
    free(workers);
}

struct thread_state *thread_states_at(struct thread_states *workers, uint32_t slot)
{
    return &workers->workers[slot % THREADS_MAX];
}

void thread_state_reset(struct thread_state *worker, const struct thread_info *thread)
{
    memset(worker, 0, offsetof(struct thread_state, open));
    worker->serial = thread->serial;
}

void thread_state_push(struct thread_state *worker, uint64_t id)
{
    if (worker->depth < RANGE_PARENTS_MAX)
        worker->open[worker->depth++] = id;
}

void thread_state_remove(struct thread_state *worker, uint64_t id)
{
    for (uint32_t i = worker->depth; i > 0; i--) {
        if (worker->open[i - 1] != id)
            continue;
        worker->depth--;
        memmove(&worker->open[i - 1], &worker->open[i], (worker->depth - (i - 1)) * sizeof *worker->open);
        return;
    }
}
