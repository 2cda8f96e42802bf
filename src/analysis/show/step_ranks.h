/* The ranks of a training step in one trace: how the GPUs of each spent it, and which one was late, by the
 * analysis across ranks (src/analysis/ranks), so that `cuspan stat` says the same. */
#pragma once

#include "analysis/trace/trace.h"

enum rank_work { RANK_COMPUTE, RANK_COMMUNICATION, RANK_COPIES, RANK_WORKS };

struct step_rank {
    int64_t number;
    uint32_t host; /* string; 0: unknown */
    uint64_t start_ns, end_ns;
    uint32_t *spans[RANK_WORKS]; /* indices, in order of time; owned */
    size_t counts[RANK_WORKS], capacities[RANK_WORKS];
    uint64_t compute_ns, communication_ns;
    uint64_t wait_ns; /* for other ranks, when it has nothing else to do */
    int64_t delay_ns; /* of its own time, against its peers; 0: not compared */
    bool is_late;
};

struct step_ranks {
    struct step_rank *items; /* by number */
    size_t count, capacity;
    uint32_t *owners; /* by span: index of its rank, or TRACE_NONE */
};

/* Empty (count 0) if the trace is not a step of at least one rank. */
void step_ranks_find(struct step_ranks *ranks, const struct trace *trace);
void step_ranks_deinit(struct step_ranks *ranks);

/* Leaves only the spans of one rank in the trace. False: there is no such rank, and the trace is unchanged.
 */
bool step_ranks_keep(struct trace *trace, int64_t number);
