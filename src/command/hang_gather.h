/* Gathers the states of a job's ranks for `cuspan hang`: runs it on each host by srun, kubectl or ssh. */
#pragma once

#include "analysis/hang/hang_read.h"

enum gather_by { GATHER_JOB, GATHER_PODS, GATHER_HOSTS, GATHER_WAYS };

struct gathering {
    const char *target[GATHER_WAYS]; /* the job's ID, the selector, the hosts with commas; at most one */
    const char *namespace;           /* of the pods, or NULL */
    uint32_t timeout_ms;             /* of each host, and of the search for them */
    char **unknown;                  /* the hosts that gave no answer */
    size_t unknown_count, unknown_capacity;
};

/* Adds the ranks of all hosts that answer. Prints a line for each host that does not. False: it found no
 * host, and has printed why. */
bool hang_gather(struct gathering *gathering, struct hang_model *model);
void hang_gather_deinit(struct gathering *gathering);

/* hang_ras_client.c: asks NCCL's RAS, a thread in each process of NCCL (from 2.28.7 on), for the state of the
 * job. `address`: "HOST:PORT", or "HOST" for NCCL's port. UNAVAILABLE, INVALID. */
enum status hang_ask_ras(const char *address, uint32_t timeout_ms, struct hang_model *model,
                         struct error *err) MUST_CHECK;
