/* The ranks of training jobs on this host, for `cuspan top`: their steps, compared within each job. */
#pragma once

#include "command/top/top_poll.h"

struct top_rank {
    const struct top_steps *steps;
    long pid;
    uint64_t step_ns; /* mean of the steps that ended in the interval; else of the latest; 0: unknown */
    /* The latest sampled step that all ranks of the job on this host have measured, else the latest of this
     * rank; NULL: none. */
    const struct top_step *sampled;
    bool is_compared; /* with at least one other rank, in the same step */
    bool is_late;     /* it is the one that the others waited for, by the limits of src/analysis/ranks */
    int64_t delay_ns; /* its own time (ranks_own_time()) against that of its peers */
};

/* The ranks of each job follow each other, by rank. Returns their number; the caller frees `*ranks`, which
 * borrows from the agents' figures. */
size_t top_ranks_find(const struct top_poll *poll, struct top_rank **ranks);
