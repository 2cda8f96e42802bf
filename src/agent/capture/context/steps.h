/* Passes the steps of a training job, which the program's threads report, to the pipeline thread. A step is
 * to a job what a session is to a process: it holds for all threads that have no context, such as PyTorch's
 * autograd thread.
 *
 * Boundaries go to the pipeline thread through a lock-free list. While a sampled step or the one before it is
 * in progress, the step counts as an attached context (active_contexts.h): capture is on before steps_begin()
 * returns. During other steps, capture sleeps.
 *
 * A boundary takes the program's thread about 60 ns, and one from an NVTX range 160 ns. With
 * steps.nvtx_pattern, each other range takes 20 to 30 ns more, otherwise 2 ns
 * (tests/bench/programs/step_bench.c, AMD EPYC, busy machine). Waking up takes about 10 us in CUPTI
 * (sleep_control.h), once for each sampled step.
 *
 * The pipeline thread reads the list after the head of each ring, and again before it decodes buffers, so
 * that no call or record comes before its boundary. */
#pragma once

#include "model/iteration.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the current step and starts this one. STEP_NONE starts none; with a negative number, none follows
 * soon. False: ignored, because a more reliable source was seen before. Any thread, also before capture
 * starts. If capture has to wake up, it waits for CUPTI's switch of records. */
bool steps_begin(int64_t number, enum step_kind kind, enum step_source source);

/* Begins an iteration of a serving engine and ends the current one. Takes `event`, an ENGINE_ITERATION. Any
 * thread; about 100 ns, and the wait for CUPTI if capture has to wake up. */
void steps_begin_iteration(struct engine_event *event);
/* Ends the current iteration: later work belongs to the step around it, if there is one. */
void steps_end_iteration(void);
/* Passes an event about a request or a summary on, in order with the iterations. Takes `event`. Any thread.
 */
void steps_note_request(struct engine_event *event);
/* A request that keeps capture awake has no end. Any thread. */
void steps_release_request(void);
/* In a forked child: the requests are its parent's. Async-signal-safe. */
void steps_forget_requests(void);
/* Whether spans of the iteration are sent; true before capture starts. Any thread. */
bool steps_samples_iteration(const struct iteration *iteration);

/* Returns the most reliable source so far. Any thread. */
enum step_source steps_source(void);

/* Starts a step if `name` matches steps.nvtx_pattern: the step numbered by the digits at the end of the name,
 * else the next one. Called for each range that NVTX pushes, in any domain; without a pattern it costs one
 * load. Any thread. */
static inline void steps_begin_from_nvtx(const char *name, size_t bytes);

/* Sets the ID of the first communicator as large as the job; further calls are ignored. Only steps that start
 * later have it in their identity: a rank leaves the initialization of a communicator after all have entered
 * it, so in a program that is the same on all ranks, each rank learns it in the same step. steps_start()
 * registers it for NCCL's communicators. Any thread. */
void steps_set_nonce(uint64_t nonce);

/* Call it when capture starts: these rules decide about the current step, if any, and later ones. `rules` and
 * `nvtx_pattern` (fnmatch; NULL: none) must stay valid. */
void steps_start(const struct step_rules *rules, const char *nvtx_pattern);

/* Takes the next boundary, with its time in ticks, in the order of the times. The caller frees its event.
 * False: none so far. `*missed` becomes the number of boundaries lost before it. Pipeline thread. To assign a
 * thread's calls, first take the head of its ring, then all boundaries: a boundary before one of these calls
 * is among them. */
bool steps_take(struct step_boundary *boundary, uint64_t *missed);

/* Whether a step that needs capture is in progress. Async-signal-safe. */
bool steps_are_held(void);

extern _Atomic(const char *) steps_nvtx_pattern;
void steps_match_nvtx(const char *pattern, const char *name, size_t bytes);

static inline void steps_begin_from_nvtx(const char *name, size_t bytes)
{
    const char *pattern = atomic_load_explicit(&steps_nvtx_pattern, memory_order_acquire);
    if (__builtin_expect(pattern != NULL, 0))
        steps_match_nvtx(pattern, name, bytes);
}

/* Whether the names of ranges are needed even if the ranges are not captured. */
static inline bool steps_need_names(void)
{
    return atomic_load_explicit(&steps_nvtx_pattern, memory_order_relaxed) != NULL;
}
