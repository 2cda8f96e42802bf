/* The ranks of a job that may hang, as far as they are known: from live states (model/hang/), files of ended
 * processes, and JSON of other hosts. hang_analyze.h says from it who holds up the others.
 *
 * Ranks know a communicator by its ID, which all of them have alike, and their own rank in it. The other
 * members follow from their own states, so the members of a communicator may be known in part. */
#pragma once

#include "cli/util/int_map.h"
#include "model/collective.h"
#include "model/hang/live_reader.h"

#include <stdbool.h>
#include <stdint.h>

#define HANG_NONE      UINT32_MAX
#define HANG_STILL_NS  5000000000u
#define HANG_RANKS_MAX (1 << 20) /* of a job */

/* Where the program's own thread is. X(identifier, word, text after "is") */
#define HANG_PLACES(X)                                                                                       \
    X(HANG_UNKNOWN, "unknown", "at an unknown place")                                                        \
    X(HANG_SYNC, "cuda_sync", "waiting for its GPU")                                                         \
    X(HANG_NCCL, "nccl", "in a call of NCCL")                                                                \
    X(HANG_CUDA, "cuda_call", "in a call of CUDA")                                                           \
    X(HANG_HOST, "host", "in host code")                                                                     \
    X(HANG_LOCK, "lock", "waiting for a lock")                                                               \
    X(HANG_LOADER, "loader", "waiting for a worker process")                                                 \
    X(HANG_STORAGE, "storage", "waiting for storage")                                                        \
    X(HANG_NETWORK, "network", "waiting for a connection")                                                   \
    X(HANG_BUSY, "busy", "computing on the CPU")                                                             \
    X(HANG_STOPPED, "stopped", "stopped by a signal or debugger")                                            \
    X(HANG_FINISHED, "finished", "at its end")                                                               \
    X(HANG_DEAD, "dead", "dead")

enum hang_where {
#define HANG_PLACE_ID(id, word, text) id,
    HANG_PLACES(HANG_PLACE_ID) HANG_WHERE_COUNT
};
const char *hang_where_word(uint32_t where); /* of the JSON */
const char *hang_where_text(enum hang_where where);
/* In a function of CUDA or NCCL. */
enum hang_where hang_where_in_call(const char *function);

/* As collective_text(), and "unknown". */
const char *hang_operation_word(uint32_t operation);

/* The oldest work of the GPU that has not ended, if the ends are exact. */
enum hang_gpu { HANG_GPU_UNKNOWN, HANG_GPU_COMPUTE, HANG_GPU_COLLECTIVE };

/* A rank's part in a communicator. */
struct hang_seat {
    uint64_t id;
    uint64_t enqueued, completed; /* of all operations */
    bool is_counted;              /* by NCCL's RAS: without sends, receives and calls */
    bool is_exact;                /* `completed` is exact, otherwise a lower limit */
    uint32_t size, rank;          /* of the communicator, and in it; 0 and HANG_NONE: unknown */
    uint32_t local_ranks;         /* in this process, at least 1 */
    uint32_t communicator, owner; /* indices of the job, after hang_split() */
    /* After hang_split(), the collectives are first, and after them sends and receives. Collectives of a
     * communicator have the same place on all ranks, because sends and receives do not count. */
    struct live_call_view *calls;
    uint32_t call_count, collective_count;
    bool is_aligned; /* otherwise the places are unknown */
    uint64_t window, entered,
        ended; /* places of the first call here, and after the last and the last ended */
};

struct hang_rank {
    int64_t rank, world_size; /* -1: unknown */
    int32_t pid;
    uint32_t user; /* ranks of several users are never one job, because their reports could lie */
    uint64_t started_ticks;
    const char *host; /* of the model */
    enum hang_where where;
    enum hang_where end;         /* DEAD or FINISHED: `where` is as of its last second; UNKNOWN: it lives */
    uint64_t looked_ns;          /* the agent's last look, since 1970; 0: unknown */
    const char *function, *line; /* where; NULL: unknown */
    bool is_counted;             /* only NCCL's RAS knows it */
    enum live_watch watch;
    bool is_still;       /* nothing has moved for HANG_STILL_NS, or the agent calls it a stall */
    uint64_t stalled_ns; /* for how long, 0: unknown */
    int64_t step;        /* -1: none */
    enum hang_gpu gpu;
    struct hang_seat *seats;
    uint32_t seat_count;
};

struct hang_communicator {
    uint64_t id;
    uint32_t size; /* at least the number of members */
    size_t member_count, member_capacity;
    struct hang_seat **members; /* in the order of the ranks */
    uint64_t floor;             /* all ranks have started below this place */
    uint64_t least, most;       /* of the members' `entered`; equal without aligned ones */
};

struct hang_model {
    struct hang_rank *ranks; /* by rank after hang_split() */
    size_t rank_count, rank_capacity;
    struct hang_communicator *communicators; /* of hang_split(), the small ones first */
    size_t communicator_count;
    struct hang_ras *ras; /* what NCCL's RAS says of ranks, before hang_merge_ras() */
    size_t ras_count, ras_capacity;
    char **texts;
    size_t text_count, text_capacity;
    struct int_map text_numbers;
};

/* A zeroed model is empty. */
void hang_deinit(struct hang_model *model);
void hang_rank_deinit(struct hang_rank *rank);
/* The text, as long as the model lives; NULL stays NULL. */
const char *hang_keep(struct hang_model *model, const char *text);
/* A new rank: nothing is known of it. Valid until the next one. */
struct hang_rank *hang_add(struct hang_model *model);
/* Where the rank's thread is, such as "train.py:7 step". NULL: unknown, and nothing changes. */
void hang_set_line(struct hang_model *model, struct hang_rank *rank, const char *frame);
/* A rank of a live state. Its place outside CUDA and NCCL is unknown (HANG_HOST). */
struct hang_rank *hang_add_live(struct hang_model *model, const char *host, const struct live_view *view);

/* Divides a model into jobs: ranks that share communicators. Ranks without any belong to the only job, or are
 * one each. The model keeps their texts; the caller deinits and frees the jobs. Processes that have ended are
 * dead if others of their job live, or have ended later (HANG_STILL_NS). */
struct hang_model *hang_split(struct hang_model *model, size_t *count);

static inline uint64_t hang_place_key(uint32_t communicator, uint64_t place)
{
    return collective_mix(hash_mix(communicator), place);
}
/* The call of a collective at a place; NULL: not remembered. */
const struct live_call_view *hang_call_at(const struct hang_seat *seat, uint64_t place);
/* The same of the first member that remembers it. */
const struct live_call_view *hang_call_of(const struct hang_model *model, uint32_t communicator,
                                          uint64_t place);
/* The rank's part in a communicator; NULL: none. */
const struct hang_seat *hang_seat_of(const struct hang_rank *rank, uint32_t communicator);
/* Whether all of its processes have ended. */
bool hang_has_ended(const struct hang_model *model);
/* Ranks of the job, at least those that are known. */
size_t hang_expected(const struct hang_model *model);
