/* Keeps NCCL's collectives from the NVTX range of their call until the records of the kernels that run them.
 *
 * NCCL pushes a range (NVTX) around each call. A single call launches its kernel inside its range. The calls
 * of a group (ncclGroupStart, ncclGroupEnd) only enqueue, and ncclGroupEnd launches: one kernel for all, or
 * several. So each thread has a list of collectives, to which its launches refer. When the GPU record
 * arrives, the kernel's name decides which collectives of the list the kernel runs.
 *
 * The memory is allocated with the first range of NCCL. A ring of entries is overwritten in order; a launch
 * whose collectives are overwritten has a span with the kernel's name only, and is counted
 * (collectives_forgotten). */
#pragma once

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
    uint32_t next;   /* serial of the list's next collective; 0: this is the last */
    uint64_t communicator;
    uint64_t ordinal;
    uint64_t share; /* bytes that one rank contributes */
    uint32_t ranks, rank;
    int32_t root, peer, reduction;
    uint8_t has;                           /* enum collective_has */
    uint8_t operation;                     /* enum collective_operation */
    uint8_t datatype, algorithm, protocol; /* index of a word; 0: unknown */
    bool is_taken;                         /* the span of a kernel or copy has taken it */
    bool is_closed;   /* only in a list's first: NCCL's call has returned, so no launch follows */
    uint16_t kernels; /* only in a list's first: kernels launched for the list */
};

/* The state of a thread's NCCL calls. */
struct collective_thread {
    uint64_t serial;      /* thread_info.serial of the thread */
    uint32_t first, last; /* serials of the open list's ends; 0: the list is empty */
    uint32_t previous;    /* serial of the first of the latest closed list */
    uint32_t count;       /* collectives in the open list */
    uint32_t depth;       /* groups that are open (ncclGroupStart) */
    bool is_calling;      /* the thread is inside the range of a collective */
    bool is_ending;       /* the thread is inside the range of ncclGroupEnd */
};

struct collectives { /* 0.3 MiB */
    uint32_t used;   /* the latest collective's serial */
    uint32_t word_count;
    char words[COLLECTIVE_WORDS_MAX][COLLECTIVE_WORD_BYTES];
    struct collective entries[COLLECTIVES_MAX];
    struct collective_thread threads[THREADS_MAX]; /* by slot */
};

/* Whether the record starts a range of NCCL. */
bool collectives_is_nccl(const struct range_record *start);
/* Whether a range of NCCL is the call of a collective, and not one such as ncclGroupEnd. */
bool collectives_is_operation(const struct range_record *start);

/* Notes the start or the end of a range of NCCL on the thread. collectives_begin() allocates `*collectives`
 * if it is NULL; it stays NULL if there is no memory. `start` is the start's record in both functions. */
void collectives_begin(struct collectives **collectives, const struct thread_info *thread,
                       const struct range_record *start);
void collectives_end(struct collectives *collectives, const struct thread_info *thread,
                     const struct range_record *start);

/* Notes a launch on the thread: of a kernel or graph (`is_kernel`), or of a copy. If NCCL made the call,
 * `call` refers to the thread's list of collectives from now on. `call` may be NULL. */
void collectives_launch(struct collectives *collectives, const struct thread_info *thread,
                        struct pending_call *call, bool is_kernel);

/* Adds the values in a mark of NCCL's profiler plugin to its collective. False: the mark is not the plugin's.
 */
bool collectives_note_plugin(struct collectives *collectives, const struct thread_info *thread,
                             const struct range_record *mark);

/* Returns the first collective of the call's list; NULL: it was overwritten. */
struct collective *collectives_of(struct collectives *collectives, const struct pending_call *call);
struct collective *collectives_next(struct collectives *collectives, const struct collective *collective);

/* Returns the word with this index, NUL-terminated; NULL: index 0, unknown. */
const char *collectives_word(const struct collectives *collectives, uint8_t index);
