/* What each host thread works for, as its records tell: the attached context and the ranges open on it. By
 * slot; a slot's next thread begins with nothing. */
#ifndef CUSPAN_CORRELATE_WORKERS_H
#define CUSPAN_CORRELATE_WORKERS_H

#include "base/limits.h"
#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

struct worker {
    uint64_t serial; /* of the thread */
    uint64_t seen_ns;
    bool has_context, is_sampled;
    uint8_t context[24]; /* trace and span ID; all zero: none */
    uint8_t flags;
    const char *trace_state;
    uint32_t summary; /* handle of the account of the request whose summary it holds; 0: none */
    uint32_t depth;
    uint64_t open[RANGE_PARENTS_MAX]; /* IDs of ranges, the innermost last */
};

struct workers;

enum status workers_create(struct workers **workers) MUST_CHECK;
void workers_destroy(struct workers *workers);

/* The slot's worker as it stands, whichever thread it is of. */
struct worker *workers_at(struct workers *workers, uint32_t slot);
/* Begins anew for this thread. */
void worker_reset(struct worker *worker, const struct thread_info *thread);

/* A range opened on it. Beyond RANGE_PARENTS_MAX it is the parent of nothing. */
void worker_push(struct worker *worker, uint64_t id);
void worker_remove(struct worker *worker, uint64_t id);

#endif
