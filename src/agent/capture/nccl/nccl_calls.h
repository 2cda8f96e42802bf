/* Counts NCCL's collectives on the threads that enqueue them, also while capture sleeps, so that the same
 * collective has the same number on all ranks. Knows the communicators from the NVTX ranges of their
 * initialization, or from NCCL's profiler plugin.
 *
 * All tables are fixed and lock-free. A collective takes one atomic addition and two lookups. */
#pragma once

#include "model/collective.h"
#include "model/hang/live_state.h"
#include "model/record.h"

#include <stdatomic.h>

#define NCCL_COMMUNICATORS_MAX 1024 /* per process; further ones have no ranks */
#define NCCL_COUNTS_MAX        4096 /* by communicator and operation, for Send and Recv also by peer */
#define NCCL_CALL_ATTRS_MAX    3

/* Values in the payloads of NCCL's NVTX ranges. */
enum nccl_value {
    NCCL_NOTHING,
    NCCL_COMMUNICATOR,
    NCCL_RANKS,
    NCCL_RANK,
    NCCL_DEVICES, /* ncclCommInitAll: this process has all ranks */
    NCCL_PEER,
    NCCL_BYTES,
    NCCL_OF_PARENT, /* ranks and rank are those of the parent communicator (ncclCommSplit) */
    NCCL_VALUES
};
struct nccl_values {
    uint64_t value[NCCL_VALUES];
    uint32_t present; /* bit: enum nccl_value */
};
/* Returns the meaning of a payload's entry by its name (NULL: unnamed); NCCL_NOTHING: none. */
enum nccl_value nccl_value_of(const char *entry_name);

/* Notes that a range of NCCL starts. `name` is the function's, such as "ncclAllReduce". Counts a collective,
 * and sets attributes for its range: its ordinal from 0, and the communicator's ranks and rank where known.
 * Returns the number of attributes. Describes the call for live_begin_call() in `start`, unless that is NULL;
 * `name` is borrowed. */
uint32_t nccl_note_call(const char *name, uint32_t name_bytes, const struct nccl_values *values,
                        struct range_attr attrs[NCCL_CALL_ATTRS_MAX], struct live_start *start);

/* Notes the payload of a range of NCCL, which has perhaps initialized a communicator. */
void nccl_note_values(const struct nccl_values *values);
/* Notes that this process has this rank of the communicator. */
void nccl_note_communicator(uint64_t communicator, uint32_t ranks, uint32_t rank);

/* Calls `hook` for each communicator of this process, on the thread that initializes it. NULL: none. */
typedef void nccl_communicator_hook(uint64_t communicator, uint32_t ranks, uint32_t rank);
void nccl_set_communicator_hook(nccl_communicator_hook *hook);

/* A collective of all ranks of a communicator: no Send or Recv. */
struct nccl_collective {
    uint64_t communicator;
    enum collective_operation operation;
    uint64_t bytes; /* one rank's share */
    uint32_t ranks; /* 0: unknown */
    bool is_shared; /* several ranks of the communicator are in this process */
};
/* Calls `hook` for each such collective, on the thread that enqueues it. NULL: no hook, and NCCL_BYTES is not
 * needed. */
typedef void nccl_collective_hook(const struct nccl_collective *collective);
void nccl_set_collective_hook(nccl_collective_hook *hook);

extern nccl_collective_hook *_Atomic nccl_on_collective;
/* Whether NCCL_BYTES is needed, by the hook or by the live state. */
static inline bool nccl_follows_collectives(void)
{
    return atomic_load_explicit(&nccl_on_collective, memory_order_relaxed) != NULL || live_state_is_on();
}

/* Names the communicators that are known so far to a live state that has just started. */
void nccl_tell_live_state(void);
