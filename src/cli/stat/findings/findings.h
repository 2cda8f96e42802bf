/* What a program could do better, as far as its spans show it: each finding with its evidence and with what
 * it could bring at most. docs/findings.md has them one by one; findings_limits.h from where on they count.
 *
 * A detector goes over the survey, tallies what it looks for by process, place and name, and offers each
 * tally; findings_offer() keeps those whose prize is worth a look. */
#ifndef CUSPAN_CLI_STAT_FINDINGS_H
#define CUSPAN_CLI_STAT_FINDINGS_H

#include "cli/stat/findings/findings_limits.h"
#include "cli/stat/memory/ledger.h"

/* X(identifier, word, what to do about it). The order is that of docs/findings.md. */
#define FINDINGS(X)                                                                                          \
    X(FINDING_LAUNCH_BOUND, "launch-bound",                                                                  \
      "give the GPU more work per launch, make the sequence a CUDA graph, or launch by more threads")        \
    X(FINDING_TINY_LAUNCHES, "tiny-launches", "fuse the kernels, or let each do more")                       \
    X(FINDING_GRAPH_CANDIDATE, "graph-candidate",                                                            \
      "capture the sequence once (cudaStreamBeginCapture) and launch it as a CUDA graph")                    \
    X(FINDING_SERIALIZED, "serialized-kernels", "give each thread a stream of its own")                      \
    X(FINDING_SYNC_COPIES, "synchronous-copies",                                                             \
      "copy by cudaMemcpyAsync on a stream from pinned memory, and wait only where the data is needed")      \
    X(FINDING_PAGEABLE, "pageable-copies",                                                                   \
      "allocate the host's buffer by cudaHostAlloc, or pin it by cudaHostRegister")                          \
    X(FINDING_TINY_COPIES, "tiny-copies",                                                                    \
      "collect them in one buffer and copy that, or pass small values as kernel arguments")                  \
    X(FINDING_ROUND_TRIPS, "round-trips", "leave the data on the GPU: what comes back was there before")     \
    X(FINDING_SYNC_NOTHING, "needless-sync", "leave the call out: nothing was pending")                      \
    X(FINDING_SYNC_BETWEEN, "sync-between-launches",                                                         \
      "leave the call out, or order streams by events: a stream keeps the order by itself")                  \
    X(FINDING_OCCUPANCY, "low-occupancy", "change what limits it, as the evidence says")                     \
    X(FINDING_STEADY_ALLOCATION, "steady-allocation",                                                        \
      "allocate once before the loop, or take cudaMallocAsync, whose pool keeps the memory")                 \
    X(FINDING_LEAK, "leak", "free it, or keep and use it again")                                             \
    X(FINDING_WRONG_FREE, "wrong-free", "free each address once, by whoever owns it")

enum finding_kind {
#define FINDING_ID(id, word, advice) id,
    FINDINGS(FINDING_ID)
#undef FINDING_ID
        FINDING_KINDS
};

/* What all detectors look at. Stretches are in the order of time, and merged but for `given`. */
struct survey {
    const struct stat *stat;
    struct places places;
    struct ledger ledger;
    struct device_survey {
        struct stretches busy;    /* any work */
        struct stretches kernels; /* kernels and graphs */
    } * devices;                  /* by resource */
    struct process_survey {
        uint64_t start_ns, end_ns;    /* the first GPU work's begin, the last one's end; equal: none */
        struct stretches outstanding; /* from the call that gave work until that work's end */
        struct stretches given;       /* from the begin of the call that gave work to that work's begin */
        struct stretches calls;       /* the host was in a call */
        struct stretches submits;     /* in one that gives work */
        struct stretches waits;       /* in one that waits for the GPU */
        uint64_t kernel_ns;           /* all kernels' time */
        bool has_managed;             /* memory that the host can read without a copy */
    } * processes;                    /* by places' numbers */
};

/* What a detector adds up. */
struct tally {
    uint32_t process;
    const struct trace_span *first; /* the earliest one; the others are as it is */
    uint64_t count;
    uint64_t ns; /* of whatever the detector says in its evidence */
    uint64_t bytes;
    uint64_t prize_ns;
    uint64_t extra;
};

struct tallies {
    struct tally *items;
    size_t count, capacity;
    struct int_map numbers;
};

/* The tally of that key, a new one for its first span. Holds until the next call. */
struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span);
void tallies_deinit(struct tallies *tallies);

struct finding {
    enum finding_kind kind;
    uint32_t process;
    const char *where; /* borrowed of the trace, or static */
    uint64_t count;
    uint64_t prize_ns;    /* saved at most */
    uint64_t prize_bytes; /* LEAK */
    uint64_t base_ns;     /* what the prize is a share of; 0: the process's time of GPU work */
    uint64_t first_ns;    /* since 1970 */
    char *evidence;       /* owned */
};

struct findings {
    const struct survey *survey;
    struct finding *items;
    size_t count, capacity;
};

/* Takes over the evidence. One whose prize is time, and too little of it, is dropped. */
void findings_offer(struct findings *findings, const struct finding *finding);
/* What a tally says of itself: where by the name of its first span. Without evidence. */
struct finding finding_of(enum finding_kind kind, const struct tally *tally, const struct trace *trace);

/* In how many ns of a stretch of time none of the merged stretches is there. */
uint64_t survey_gaps(const struct stretches *stretches, uint64_t from_ns, uint64_t until_ns);
bool survey_covers(const struct stretches *stretches, uint64_t time_ns);
/* When the GPU comes to what the host was at: the begin of the work that it gave next. A host that doesn't
 * wait is ahead by up to a thousand launches. UINT64_MAX: it gave no more. */
uint64_t survey_gpu_time(const struct process_survey *process, uint64_t host_ns);
/* The call of the process that gave a piece of GPU work; NULL: unknown, or no call. */
const struct trace_span *survey_call(const struct survey *survey, const struct trace_span *work);
/* The first work of a class that a call gave; CLASS_COUNT: of any. NULL: none. */
const struct trace_span *survey_work(const struct survey *survey, const struct trace_span *call,
                                     enum trace_class class);
/* By its name: a call that waits until the GPU is done. */
bool survey_waits(const struct survey *survey, const struct trace_span *call);
/* By its name: one that returns before its work is done. */
bool survey_is_async(const struct survey *survey, const struct trace_span *call);
/* Whether the call gives the GPU work: launch, copy or fill. */
bool survey_submits(const struct survey *survey, const struct trace_span *call);
/* The full name where there is one. */
const char *survey_kernel_name(const struct survey *survey, const struct trace_span *kernel);

#define EVIDENCE_TIME_BYTES 40
/* "12.3 us", for evidence; returns `out`. */
const char *evidence_time(char out[EVIDENCE_TIME_BYTES], uint64_t ns);

/* The detectors. */
void find_launch_bound(struct findings *findings);
void find_tiny_launches(struct findings *findings);
void find_graph_candidates(struct findings *findings);
void find_serialized(struct findings *findings);
void find_copies(struct findings *findings);
void find_needless_waits(struct findings *findings);
void find_low_occupancy(struct findings *findings);
void find_memory_faults(struct findings *findings);

#endif
