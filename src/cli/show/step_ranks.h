/* The ranks of a training step in one trace: how the GPUs of each spent it, and which rank the others waited
 * for.
 *
 * All ranks leave a collective at nearly the same time, so the one with the shortest part was last, and the
 * rest of the others' parts is waiting. This needs no common clock. */
#ifndef CUSPAN_CLI_SHOW_STEP_RANKS_H
#define CUSPAN_CLI_SHOW_STEP_RANKS_H

#include "cli/trace/trace.h"

enum rank_work { RANK_COMPUTE, RANK_COMMUNICATION, RANK_COPIES, RANK_WORKS };

struct step_rank {
    int64_t number;
    uint32_t host; /* string; 0: unknown */
    uint64_t start_ns, end_ns;
    uint32_t *spans[RANK_WORKS]; /* indices, in order of time; owned */
    size_t counts[RANK_WORKS], capacities[RANK_WORKS];
    uint64_t compute_ns, communication_ns;
    uint64_t wait_ns;   /* in collectives, for other ranks */
    uint64_t caused_ns; /* what the rank that waited longest waited in collectives where this one was last */
    size_t last_count;  /* in how many it was last */
    bool is_last;       /* it was the one that caused most, and more than 1 % of the step */
};

struct step_ranks {
    struct step_rank *items; /* by number */
    size_t count, capacity;
    size_t collectives; /* that several ranks took part in */
    uint32_t *owners;   /* by span: index of its rank, or TRACE_NONE */
};

/* Empty (count 0) if the trace is not a step of at least one rank. */
void step_ranks_find(struct step_ranks *ranks, const struct trace *trace);
void step_ranks_deinit(struct step_ranks *ranks);

/* Leaves only the spans of one rank in the trace. False: there is no such rank, and the trace is unchanged.
 */
bool step_ranks_keep(struct trace *trace, int64_t number);

#endif
