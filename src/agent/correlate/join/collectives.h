/* NCCL's collectives on their way from the range of the call to the kernels that run them.
 *
 * NCCL pushes a range (NVTX) around each call. A single call launches its kernel inside its range. The calls
 * of a group (ncclGroupStart, ncclGroupEnd) only enqueue, and ncclGroupEnd launches: one kernel for all, or
 * several. So each thread has a list of collectives, which its launches refer to. The kernel's name decides
 * which of the list it runs, when the GPU's record arrives.
 *
 * The memory is allocated with the first range of NCCL. A ring of entries is overwritten in order; a launch
 * whose collectives are overwritten has a span with the kernel's name only, and is counted
 * (collectives_forgotten). */
#ifndef CUSPAN_AGENT_CORRELATE_JOIN_COLLECTIVES_H
#define CUSPAN_AGENT_CORRELATE_JOIN_COLLECTIVES_H

#include "base/limits.h"
#include "agent/correlate/join/pending.h"
#include "model/collective.h"
#include "model/record.h"

#include <stdbool.h>

#define COLLECTIVES_MAX       4096 /* GPUs run behind by at most 1,024 launches */
#define COLLECTIVE_WORDS_MAX  64   /* distinct names of datatypes, algorithms and protocols */
#define COLLECTIVE_WORD_BYTES 24
#define COLLECTIVE_LIST_MAX   512 /* collectives of one group */

enum collective_has {
    COLLECTIVE_HAS_ORDINAL = 1,
    COLLECTIVE_HAS_RANKS = 2,
    COLLECTIVE_HAS_RANK = 4,
    COLLECTIVE_HAS_BYTES = 8,
    COLLECTIVE_HAS_ROOT = 16,
    COLLECTIVE_HAS_PEER = 32,
    COLLECTIVE_HAS_REDUCTION = 64,
    COLLECTIVE_HAS_COMMUNICATOR = 128
};

struct collective {
    uint32_t serial; /* counts up from 1 */
    uint32_t next;   /* serial of the next one of the list; 0: the last */
    uint64_t communicator;
    uint64_t ordinal;
    uint64_t share; /* bytes of one rank */
    uint32_t ranks, rank;
    int32_t root, peer, reduction;
    uint8_t has;                           /* enum collective_has */
    uint8_t operation;                     /* enum collective_operation */
    uint8_t datatype, algorithm, protocol; /* index of a word; 0: unknown */
    bool is_taken;                         /* a kernel has it */
    bool is_closed;                        /* first of a list: its call has returned, so no launch follows */
    uint16_t kernels;                      /* first of a list: kernels launched */
};

/* A thread's NCCL calls. */
struct collective_thread {
    uint64_t serial;      /* of the thread */
    uint32_t first, last; /* serials of the open list; 0: empty */
    uint32_t previous;    /* first of the latest closed list */
    uint32_t count;       /* of the open list */
    uint32_t depth;       /* open groups */
    bool is_calling;      /* inside the range of a collective */
    bool is_ending;       /* inside that of ncclGroupEnd */
};

struct collectives { /* 0.3 MiB */
    uint32_t used;   /* the latest serial */
    uint32_t word_count;
    char words[COLLECTIVE_WORDS_MAX][COLLECTIVE_WORD_BYTES];
    struct collective entries[COLLECTIVES_MAX];
    struct collective_thread threads[THREADS_MAX]; /* by slot */
};

/* Whether this is the start of a range of NCCL. */
bool collectives_is_nccl(const struct range_record *start);
/* Whether a range of NCCL is that of a collective. */
bool collectives_is_operation(const struct range_record *start);

/* A range of NCCL starts or ends on the thread. `*collectives` is allocated if it is NULL, and stays NULL
 * without memory. `start` is the start's record in both cases. */
void collectives_begin(struct collectives **collectives, const struct thread_info *thread,
                       const struct range_record *start);
void collectives_end(struct collectives *collectives, const struct thread_info *thread,
                     const struct range_record *start);

/* The thread has launched work (`is_kernel`) or a copy, if NCCL did it: then the call's entry refers to the
 * thread's collectives. */
void collectives_launch(struct collectives *collectives, const struct thread_info *thread,
                        struct pending_call *call, bool is_kernel);

/* False: not a mark of NCCL's profiler plugin. Otherwise what the plugin says is added to the collective. */
bool collectives_note_plugin(struct collectives *collectives, const struct thread_info *thread,
                             const struct range_record *mark);

/* The first collective of the call's list, or NULL: overwritten. */
struct collective *collectives_of(struct collectives *collectives, const struct pending_call *call);
struct collective *collectives_next(struct collectives *collectives, const struct collective *collective);

/* NUL-terminated; NULL: unknown. */
const char *collectives_word(const struct collectives *collectives, uint8_t index);

#endif
