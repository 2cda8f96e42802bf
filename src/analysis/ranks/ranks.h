/* Analyzes a training job across its ranks. The caller adds steps, GPU work and collectives of all ranks, in
 * the order of their start times or rank by rank; ranks_finish() returns the tables and findings. The
 * analysis does not depend on the source of the data.
 *
 * Ranks have clocks of their own. Only durations are compared between ranks, except in ranks_clocks.h, which
 * estimates the offsets. Memory is bounded by struct ranks_limits; what exceeds a limit is counted in the
 * report.
 *
 * All times are ns; points in time are since 1970, by the clock of the rank's host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_NONE      UINT32_MAX
#define RANKS_TEXT_NONE "-"

/* X(identifier, word of collective.operation, rounds, all need all). The bus factor is that of nccl-tests for
 * n ranks: rounds * (n - 1) / n, or 1 with 0 rounds. "All need all": no rank can end before the last one has
 * started. */
#define RANKS_OPERATIONS(X)                                                                                  \
    X(RANKS_ALL_REDUCE, "all_reduce", 2, true)                                                               \
    X(RANKS_ALL_GATHER, "all_gather", 1, true)                                                               \
    X(RANKS_REDUCE_SCATTER, "reduce_scatter", 1, true)                                                       \
    X(RANKS_ALL_TO_ALL, "all_to_all", 1, true)                                                               \
    X(RANKS_BROADCAST, "broadcast", 0, false)                                                                \
    X(RANKS_REDUCE, "reduce", 0, false)                                                                      \
    X(RANKS_GATHER, "gather", 1, false)                                                                      \
    X(RANKS_SCATTER, "scatter", 1, false)                                                                    \
    X(RANKS_SEND, "send", 0, false)                                                                          \
    X(RANKS_RECV, "recv", 0, false)                                                                          \
    X(RANKS_SEND_RECV, "send_recv", 0, false)                                                                \
    X(RANKS_OTHER, "other", 0, false)

enum ranks_operation {
#define RANKS_OPERATION_ID(id, word, rounds, all) id,
    RANKS_OPERATIONS(RANKS_OPERATION_ID)
};

extern const struct ranks_operation_facts {
    const char *word;
    double rounds;
    bool all_need_all;
} ranks_operations[];

enum ranks_category { RANKS_COMPUTE, RANKS_COMMUNICATION, RANKS_COPY, RANKS_CATEGORIES };

/* Only steps of RANKS_TRAIN are compared. RANKS_DIVIDED is set by the analysis: a training step with an
 * evaluation or a checkpoint in between. */
enum ranks_step_kind { RANKS_TRAIN, RANKS_EVALUATION, RANKS_CHECKPOINT, RANKS_DIVIDED };

/* Returns the number that the analysis and its rows use for a step. An evaluation or a checkpoint has the
 * number of the training step that it interrupts, and gets one here that no training step has. */
static inline uint64_t ranks_step_number(uint64_t number, enum ranks_step_kind kind)
{
    return number ^ (uint64_t)kind << 62;
}

/* How a step ended: by the next step (STEP) or otherwise (CUT). Unknown in files of older versions. */
enum ranks_step_end { RANKS_END_UNKNOWN, RANKS_END_STEP, RANKS_END_CUT };

struct ranks_limits {
    size_t ranks_max;           /* ranks; more are refused */
    size_t steps_max;           /* steps of one rank, over all ranks */
    size_t open_entries_max;    /* ranks' parts of collectives that have not been seen on all ranks yet */
    size_t classes_max;         /* rows of collectives */
    size_t lateness_values_max; /* ranks x steps, over all communicators */
    size_t host_pairs_max;      /* pairs of hosts whose clocks are compared */
    size_t speeds_max;          /* rows of collectives x steps, to find links that become slow */
};

/* A trace's ID, in two halves. Zeros: unknown. */
struct ranks_id {
    uint64_t high, low;
};

struct ranks_step {
    uint64_t number;
    uint64_t start_ns, end_ns; /* on the host thread */
    enum ranks_step_kind kind;
    enum ranks_step_end end; /* CUT: for example by the program's exit, not by the next step */
    struct ranks_id trace_id;
    /* The backlog lasts from start_ns until the GPU had finished the work of earlier steps. Without it, the
     * work of the step before must be known; otherwise the step's time starts with its first work. */
    bool has_backlog;
    uint64_t backlog_ns;
    /* Only some of the step's work is passed. Its parts, without idle time, then come from the totals, if
     * these are known. */
    bool is_partial;
    bool has_totals;
    uint64_t compute_ns, exposed_ns, copies_ns;
};

struct ranks_collective {
    uint64_t key;          /* equal on all ranks, and unique for this instance */
    uint64_t communicator; /* equal on all ranks */
    enum ranks_operation operation;
    uint32_t participants; /* ranks of the communicator; 2 for send and recv, whose sides have the same key */
    uint64_t bytes;
    uint64_t step;
    uint64_t start_ns, end_ns; /* times of the kernel on the GPU */
};

/* Parts of a step's time on one rank. They are disjoint and add up to the duration: compute counts before
 * communication, communication before copies. */
struct ranks_parts {
    uint64_t duration_ns;
    uint64_t compute_ns;
    uint64_t exposed_ns; /* communication that no compute overlaps */
    uint64_t copies_ns;  /* copies that neither compute nor communication overlaps */
    uint64_t idle_ns;
    uint64_t loader_ns; /* part of idle: before the first CUDA call of the step; 0 if that call is unknown */
};

/* Why a step does not count: X(identifier, word). The first and last one of a job in the files may be shorter
 * or longer than they show: the program starts or ends in them. */
#define RANKS_PARTIALS(X)                                                                                    \
    X(RANKS_WHOLE, "")                                                                                       \
    X(RANKS_FIRST, "first")                                                                                  \
    X(RANKS_LAST, "last")                                                                                    \
    X(RANKS_CUT, "cut")                                                                                      \
    X(RANKS_SELECTED, "selection") /* without totals */                                                      \
    X(RANKS_OTHER_KIND, "kind")    /* an evaluation, a checkpoint, or a step that one of them divides */

enum ranks_partial {
#define RANKS_PARTIAL_ID(id, word) id,
    RANKS_PARTIALS(RANKS_PARTIAL_ID)
};

struct ranks_step_row {
    uint64_t number;
    uint32_t job;         /* index */
    uint32_t rank;        /* RANKS_NONE: the mean of all ranks */
    uint32_t rank_number; /* rank number in the job; RANKS_NONE: the mean of all ranks */
    uint32_t rank_count;
    enum ranks_step_kind kind;
    enum ranks_partial partial; /* WHOLE: the step is compared */
    uint64_t communication_ns;  /* communication, overlapped or not */
    uint64_t waiting_ns;        /* part of exposed_ns spent waiting for other ranks */
    uint64_t own_ns;            /* the duration without waiting and transfers */
    bool has_delay;             /* the rank was compared with others in this step */
    bool is_late;     /* the rank arrived last, and its delay is beyond the limit for single steps */
    int64_t delay_ns; /* own_ns minus the median of its peers */
    bool has_parts;   /* false: only duration_ns of parts is known */
    struct ranks_parts parts;
    struct ranks_id trace_id;
};

struct ranks_collective_row {
    uint32_t job; /* index */
    uint64_t communicator;
    enum ranks_operation operation;
    uint32_t participants;
    uint32_t first_rank, second_rank; /* the two lowest indexes of its ranks; for a pair, both */
    uint32_t host_count;
    uint64_t count; /* complete instances */
    uint64_t bytes; /* sum of all instances */
    uint64_t bytes_min, bytes_max;
    bool has_transfer;  /* the shortest duration of an instance is its transfer time */
    double transfer_ns; /* median of the shortest durations */
    double algbw, busbw;
    double wait_ns; /* mean over instances and ranks of the duration beyond the shortest */
    double skew_ns; /* median over instances of longest - shortest */
    uint32_t last_rank;
    uint64_t last_count; /* how often that rank was last */
};

struct ranks_rank_row {
    uint32_t rank;
    uint32_t number;
    uint32_t job;           /* index */
    const char *host, *gpu; /* of struct ranks */
    uint64_t steps;
    double score;       /* own time of its peers divided by its own; below 1: slower */
    double lateness_ns; /* median over steps: sum of arrivals after the median arrival */
    double lateness_total_ns;
    uint64_t last_count, instance_count; /* collectives where it was last, and all of its collectives */
    double own_ns, peers_own_ns;         /* medians over steps */
    double delay_ns;                     /* median over steps of own time minus that of the peers */
    int64_t step_shift;                  /* its step numbers minus those of the other ranks */
};

/* The clock of a host against that of the first host: offset(t) = offset_ns + drift * (t - origin_ns). t may
 * be by either clock, since drifts are small. */
struct ranks_clock_row {
    const char *host; /* of struct ranks */
    bool is_known;
    uint64_t origin_ns;
    double offset_ns, drift;
    double uncertainty_ns;
    uint64_t samples;
    uint64_t
        contradictions; /* collectives that would have ended on one rank before they started on another */
};

#define RANKS_FINDINGS(X)                                                                                    \
    X(RANKS_STRAGGLER, "straggler")                                                                          \
    X(RANKS_SLOW_LINK, "slow-link")                                                                          \
    X(RANKS_EXPOSED, "exposed-communication")                                                                \
    X(RANKS_IMBALANCE, "imbalance")                                                                          \
    X(RANKS_DATA_LOADER, "data-loader")                                                                      \
    X(RANKS_NOT_COMPARED, "not-compared")

enum ranks_finding_kind {
#define RANKS_FINDING_ID(id, word) id,
    RANKS_FINDINGS(RANKS_FINDING_ID)
};

struct ranks_finding {
    enum ranks_finding_kind kind;
    uint32_t job;          /* index */
    uint32_t rank;         /* RANKS_NONE: no single one */
    const char *host;      /* borrowed; NULL: no single one. STRAGGLER: all ranks of the host are late */
    uint64_t communicator; /* 0: none */
    bool is_idle;          /* STRAGGLER: its GPU has no work during most of the delay */
    bool is_work;          /* STRAGGLER: work of its own takes longer */
    uint64_t steps;        /* steps that show it */
    uint64_t steps_seen;
    double delay_ns;     /* STRAGGLER: delay in a step that shows it; SLOW_LINK: excess over the others */
    double saving_ns;    /* upper bound, per step */
    double saving_share; /* the saving as a share of the step's duration */
    uint64_t step;       /* the step that shows it best */
    struct ranks_id trace_id;
    char *evidence;     /* owned */
    const char *advice; /* what to do; static */
};

/* Counts of data that the report could not use. */
struct ranks_losses {
    uint64_t incomplete; /* collectives missing in the data of some rank */
    uint64_t evicted;    /* incomplete ones given up because too many were open */
    uint64_t ambiguous;  /* collectives in which a rank appeared twice under one key */
    uint64_t unreadable; /* collectives whose key or communicator cannot be read */
    uint64_t repeated;   /* steps of a rank that were added more than once */
    uint64_t ranks, steps, classes, lateness, host_pairs, speeds; /* beyond the limits */
    uint64_t unsorted;                                            /* GPU work that came after later work */
};

struct ranks_report {
    struct ranks_step_row *steps; /* by number, then by rank_number; the mean row is the last one */
    size_t step_count;
    struct ranks_collective_row *collectives;
    size_t collective_count;
    struct ranks_rank_row *ranks;
    size_t rank_count;
    struct ranks_clock_row *clocks;
    size_t clock_count;
    struct ranks_finding *findings; /* by saving, largest first */
    size_t finding_count, finding_capacity;
    uint64_t instances; /* complete ones */
    uint32_t job_count; /* jobs have no rank, trace or communicator in common */
    struct ranks_losses losses;
};

/* The default limits. The analysis takes about 1 GiB if all are reached. */
extern const struct ranks_limits ranks_default_limits;

struct ranks;

/* `limits` is copied; NULL: the defaults. Never returns NULL. */
struct ranks *ranks_create(const struct ranks_limits *limits);
void ranks_destroy(struct ranks *ranks);

/* Adds a process and returns its index, which the functions below call its rank; RANKS_NONE: there are too
 * many. `number` is its rank number in the job. The texts are copied. */
uint32_t ranks_add(struct ranks *ranks, uint32_t number, const char *host, const char *gpu);
/* Sets the size of the rank's job, as its launcher gives it. */
void ranks_set_world(struct ranks *ranks, uint32_t rank, uint32_t size);
/* Counts a collective whose key or communicator cannot be read. */
void ranks_add_unreadable(struct ranks *ranks);
/* Announces a step, before its work. Work of a step that was not announced creates the step. */
void ranks_add_step(struct ranks *ranks, uint32_t rank, const struct ranks_step *step);
/* Adds a CUDA call of a step, in the order of the start times. `waits`: the call returns when the GPU is
 * done. */
void ranks_add_call(struct ranks *ranks, uint32_t rank, uint64_t step, uint64_t start_ns, uint64_t end_ns,
                    bool waits);
/* Adds GPU work of a step. All work and collectives of a rank must come in the order of their start times.
 * Kernels of collectives may be passed as communication, too; that changes nothing. */
void ranks_add_work(struct ranks *ranks, uint32_t rank, uint64_t step, enum ranks_category category,
                    uint64_t start_ns, uint64_t end_ns);
/* Replaces the name of the rank's GPU; `gpu` is copied. */
void ranks_set_gpu(struct ranks *ranks, uint32_t rank, const char *gpu);
void ranks_add_collective(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective);

/* Returns the operation that the word names; RANKS_OTHER: none. */
enum ranks_operation ranks_operation_of(const char *word);
/* Returns the bus bandwidth divided by the bandwidth of the algorithm, for n ranks. */
double ranks_bus_factor(enum ranks_operation operation, uint32_t n);
bool ranks_is_p2p(enum ranks_operation operation);

/* Returns the own time of a rank in a step. `others_ns` is the part of the duration that the rank waited for
 * other ranks or transferred data. `host_ns` is the time for which its host worked; 0: unknown. */
uint64_t ranks_own_time(uint64_t duration_ns, uint64_t others_ns, uint64_t host_ns);

/* Fills the report, which borrows texts of `ranks`. The caller frees it by ranks_report_deinit(), and adds no
 * data afterwards. */
void ranks_finish(struct ranks *ranks, struct ranks_report *report);
void ranks_report_deinit(struct ranks_report *report);
const char *ranks_finding_word(enum ranks_finding_kind kind);
const char *ranks_partial_word(enum ranks_partial partial);
