#include "correlate/trace/thread_state.h"

#include <stdlib.h>
#include <string.h>

struct workers {
    struct worker workers[THREADS_MAX];
};

enum status workers_create(struct workers **workers)
{
    *workers = calloc(1, sizeof **workers);
    return *workers ? STATUS_OK : STATUS_NO_MEMORY;
}

void workers_destroy(struct workers *workers)
{
    free(workers);
}

struct worker *workers_at(struct workers *workers, uint32_t slot)
{
    return &workers->workers[slot % THREADS_MAX];
}

void worker_reset(struct worker *worker, const struct thread_info *thread)
{
    memset(worker, 0, offsetof(struct worker, open));
    worker->serial = thread->serial;
}

void worker_push(struct worker *worker, uint64_t id)
{
    if (worker->depth < RANGE_PARENTS_MAX)
        worker->open[worker->depth++] = id;
}

void worker_remove(struct worker *worker, uint64_t id)
{
    for (uint32_t i = worker->depth; i > 0; i--) {
        if (worker->open[i - 1] != id)
            continue;
        worker->depth--;
        memmove(&worker->open[i - 1], &worker->open[i], (worker->depth - (i - 1)) * sizeof *worker->open);
        return;
    }
}
