/* A finding: a possible improvement of the traced program, with evidence and an upper bound of the saving.
 * docs/findings.md describes all kinds; findings_limits.h has their thresholds.
 *
 * A detector sees each span once, tallies its matches by process, place and name, and offers the tallies at
 * the end. */
#pragma once

#include "analysis/stat/findings/findings_limits.h"
#include "analysis/stat/findings/survey.h"
#include "cli/util/text.h"

/* X(identifier, word, action). The order is that of docs/findings.md; those from prefill-stalls-decode on are
 * about serving engines. */
#define FINDINGS(X)                                                                                          \
    X(FINDING_LAUNCH_BOUND, "launch-bound",                                                                  \
      "give the GPU more work per launch, use a CUDA graph, or launch from more threads")                    \
    X(FINDING_TINY_LAUNCHES, "tiny-launches", "fuse the kernels, or do more work in each")                   \
    X(FINDING_GRAPH_CANDIDATE, "graph-candidate",                                                            \
      "capture the sequence once (cudaStreamBeginCapture) and launch it as a CUDA graph")                    \
    X(FINDING_SERIALIZED, "serialized-kernels", "use a separate stream for each thread")                     \
    X(FINDING_SYNC_COPIES, "synchronous-copies",                                                             \
      "use cudaMemcpyAsync on a stream with pinned memory, and wait only where the data is needed")          \
    X(FINDING_PAGEABLE, "pageable-copies",                                                                   \
      "allocate the host buffer with cudaHostAlloc, or pin it with cudaHostRegister")                        \
    X(FINDING_TINY_COPIES, "tiny-copies",                                                                    \
      "combine them in one buffer, or pass small values as kernel arguments")                                \
    X(FINDING_ROUND_TRIPS, "round-trips", "keep the data on the GPU: it is copied back unchanged")           \
    X(FINDING_SYNC_NOTHING, "needless-sync", "remove the call: nothing is pending")                          \
    X(FINDING_SYNC_BETWEEN, "sync-between-launches",                                                         \
      "remove the call: a stream runs in order; use events to order work between streams")                   \
    X(FINDING_OCCUPANCY, "low-occupancy", "change the limit named in the evidence")                          \
    X(FINDING_STEADY_ALLOCATION, "steady-allocation",                                                        \
      "allocate once before the loop, or use cudaMallocAsync, whose pool keeps the memory")                  \
    X(FINDING_LEAK, "leak", "free the memory, or reuse it")                                                  \
    X(FINDING_WRONG_FREE, "wrong-free", "free each address exactly once")                                    \
    X(FINDING_PREFILL_STALLS, "prefill-stalls-decode",                                                       \
      "compute fewer prompt tokens in an iteration (chunked prefill), or compute prompts in another engine") \
    X(FINDING_SCHEDULER_BOUND, "scheduler-bound",                                                            \
      "schedule the next iteration while the GPU computes, or free the scheduler's thread of other work")    \
    X(FINDING_PREEMPTION, "preemption",                                                                      \
      "give the KV cache more memory, or let the engine run fewer requests at once")                         \
    X(FINDING_SMALL_BATCH, "small-batch",                                                                    \
      "let the engine run more requests at once, or give the KV cache more memory")                          \
    X(FINDING_GRAPH_MISS, "graph-miss", "let the engine capture CUDA graphs of these numbers of requests")   \
    X(FINDING_LATE_RANK, "late-rank",                                                                        \
      "give the rank's process a CPU core of its own near its GPU, and free its threads of other work")      \
    X(FINDING_HANG, "hang", "run cuspan hang on these files: it shows where each rank was")

enum finding_kind {
#define FINDING_ID(id, word, advice) id,
    FINDINGS(FINDING_ID) FINDING_KINDS
};

struct finding {
    enum finding_kind kind;
    uint32_t process;
    const char *where; /* borrowed from the trace, kept (stat_keep()), or static */
    uint64_t count;
    uint64_t saving_ns;    /* upper bound of the saving */
    uint64_t saving_bytes; /* LEAK: bytes that are leaked */
    uint64_t
        base_ns; /* the saving is a share of it; 0: from the first GPU work to the last, without pauses */
    uint64_t first_ns; /* time of the first match, in ns since 1970 */
    char *evidence;    /* owned */
    char *code;        /* the place in the program that most matches come from, owned; NULL: unknown */
};

struct findings {
    struct survey *survey;
    struct finding *items;
    size_t count, capacity;
};

/* Returns the evidence, which the finding then owns; NULL: drop the finding. `finding` is filled from the
 * tally, with the name of the first span as its place; the function may correct it. */
typedef char *evidence_fn(const struct survey *survey, const struct tally *tally, struct finding *finding,
                          const void *context);
/* Makes a finding of each tally that counts at least `count_min`, unless it saves too little time, or
 * `findings` is NULL. Frees the tallies. `context` is for the evidence function. */
void findings_offer(struct findings *findings, enum finding_kind kind, struct tallies *tallies,
                    uint64_t count_min, evidence_fn *evidence, const void *context);

/* Returns a time such as "12.3 us", for evidence. Valid in the block. */
#define EVIDENCE_TIME(ns) text_duration((char[TEXT_NUMBER_BYTES]){0}, (ns), false)

/* Looks for some kinds of findings in the spans that it is given, and offers them at the end. */
struct detector {
    size_t bytes; /* size of the state, which starts zeroed */
    /* Takes a span of the current segment, which the survey has taken before. NULL: the detector needs no
     * spans. */
    void (*take)(void *state, struct survey *survey, const struct trace_span *span);
    void (*end_segment)(void *state, struct survey *survey); /* NULL: nothing to do */
    /* Offers findings, unless `findings` is NULL, and frees what the state refers to. */
    void (*finish)(void *state, struct findings *findings);
};

/* Adds jobs that hung, by the reports of their ranks, as the first findings. Empties the model. */
struct hang_model;
void findings_add_hangs(struct stat_report *report, struct hang_model *model);

extern const struct detector find_launch_bound, find_tiny_launches, find_graph_candidates, find_serialized,
    find_copies, find_needless_waits, find_low_occupancy, find_memory_faults, find_engines, find_graph_misses,
    find_late_ranks;
