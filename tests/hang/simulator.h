/* A simulator of training jobs that hang. A rank's program enqueues kernels, collectives, sends and receives
 * on streams and waits for its GPU; a fault is planted in the last but one step; what can end, ends. Each
 * rank is then written by the agent's own writer (model/hang/live_state.h), in the order of its calls. */
#pragma once

#include "analysis/hang/hang.h"

#include <stdbool.h>
#include <stdint.h>

/* X(identifier, name) */
#define FAULTS(X)                                                                                            \
    X(FAULT_DIED, "died")                                                                                    \
    X(FAULT_STOPPED, "stopped")                                                                              \
    X(FAULT_LOCK, "lock")                                                                                    \
    X(FAULT_LOADER, "loader")                                                                                \
    X(FAULT_STORAGE, "storage")                                                                              \
    X(FAULT_CUDA_CALL, "cuda-call")                                                                          \
    X(FAULT_ENDED, "early-end")                                                                              \
    X(FAULT_OPERATION, "operation")                                                                          \
    X(FAULT_SIZE, "size")                                                                                    \
    X(FAULT_DATATYPE, "datatype")                                                                            \
    X(FAULT_SKIPPED, "skipped")                                                                              \
    X(FAULT_EXTRA, "extra")                                                                                  \
    X(FAULT_ORDER, "order")                                                                                  \
    X(FAULT_KERNEL, "kernel")                                                                                \
    X(FAULT_LINK, "link")                                                                                    \
    X(FAULT_NCCL, "nccl")

enum fault {
#define FAULT_ID(id, name) id,
    FAULTS(FAULT_ID) FAULT_COUNT
};
extern const char *const fault_names[];

struct shape {
    uint32_t tensor, pipeline, data;
    uint32_t steps, layers, micro, buckets;
    bool has_pairs;  /* a communicator for each pair of stages, otherwise one for the whole pipeline */
    bool is_sharded; /* weights are gathered for each layer */
    bool has_syncs;  /* the host waits for its GPU after each micro batch, as for a loss */
};

struct job;
struct job *job_create(const struct shape *shape, uint64_t seed);
void job_destroy(struct job *job);
uint32_t job_ranks(const struct job *job);

/* False: there is no place for it in this job. */
bool job_plant(struct job *job, enum fault fault);
/* Returns whether it hangs. */
bool job_run(struct job *job);
/* Where the cause is. */
bool job_is_culprit(const struct job *job, uint32_t rank);
bool job_is_communicator(const struct job *job, uint64_t id); /* of the fault; LINK and NCCL only have this */

/* The knowledge of the agents. */
enum knowledge {
    KNOWS_LIMITS,   /* capture sleeps: lower limits of the ends, the latest ones missing */
    KNOWS_ENDS,     /* exact ends and the oldest work of each GPU, after a forced flush */
    KNOWS_DATATYPES /* also data types, with NCCL's profiler plugin */
};
/* Writes the rank's live state into zeroed memory of LIVE_STATE_BYTES, 64-aligned, as of that process. */
void job_write(struct job *job, uint32_t rank, enum knowledge knowledge, int32_t pid, uint64_t started_ticks,
               void *memory);
/* Adds the fact that the live state does not have: where the host is outside CUDA. */
void job_add_facts(const struct job *job, uint32_t rank, struct hang_rank *to);
uint64_t job_random(struct job *job, uint64_t below);
