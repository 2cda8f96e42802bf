/* Keeps the latest steps of a training job. A call without a context belongs to the step in which the call
 * started.
 *
 * A call may return after its step has ended, and a thread may work for an iteration that has ended. This
 * counts in the step's span for STEPS_GRACE_NS. Later calls get its trace only. Time decides, so that a
 * replay has the same results whatever its speed. Each thread has its own ring, so a step's session stays
 * open for two more rounds. */
#pragma once

#include "agent/correlate/trace/session.h"
#include "agent/correlate/trace/traced_step.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define STEPS_KEPT     256              /* boundaries; a round of 0.1 s has as many steps of 0.4 ms */
#define STEPS_OPEN_MAX 8                /* sampled steps with a session */
#define STEPS_GRACE_NS (10 * NS_PER_MS) /* more than an engine needs to copy an iteration's results */

/* All zero: no steps so far. */
struct steps {
    uint64_t count;   /* boundaries so far; boundary n is in kept[n % STEPS_KEPT] */
    uint64_t settled; /* number of boundaries that were over at the end of the last but one round */
    uint64_t seen;    /* the same at the end of the last round */
    struct step kept[STEPS_KEPT];
    struct session sessions[STEPS_OPEN_MAX];
    struct step_lengths lengths; /* lengths of GPU work besides collectives */
    struct session unsampled;    /* for calls in steps that are not sampled; never open */
    struct {
        bool is_sent;
        int64_t number;
    } roots[STEP_NONE]; /* by kind: the last step whose own span this rank sent */
};

/* Adds a boundary, whose time must not be before the previous one's, and returns the step that it starts,
 * owned by `steps`. Forgets the oldest step, whose session must be closed. */
struct step *steps_add(struct steps *steps, const struct step_rules *rules,
                       const struct step_boundary *boundary);
/* Returns the step that the next steps_add() will forget; NULL: none. */
struct step *steps_oldest(struct steps *steps);
/* Returns the latest step, or the time outside steps; NULL: none so far. */
struct step *steps_latest(struct steps *steps);
/* Returns the step at this time; NULL: the time is outside all steps. */
struct step *steps_at(struct steps *steps, uint64_t time_ns);
/* Notes that GPU work of a call that started at `call_ns` ended at `end_ns`. */
void steps_note_work(struct steps *steps, uint64_t call_ns, uint64_t end_ns);
/* Sets `*ready_ns` to the time when the GPU had finished the work of all steps before this one, by the
 * records so far. False: unknown, because the step before was forgotten, or capture slept while it launched
 * its last work. `slept_between` as in struct correlate_options. */
bool steps_gpu_ready(const struct steps *steps, uint64_t index,
                     bool (*slept_between)(uint64_t from_ns, uint64_t until_ns), uint64_t *ready_ns);
/* Returns the step or the time outside steps (STEP_NONE) in which a call started at `time_ns`, or the oldest
 * one known. NULL: no boundary was before it. */
struct step *steps_boundary_before(struct steps *steps, uint64_t time_ns);
/* Returns the step with this trace. `time_ns` is a time at which it probably was in progress, to make the
 * search short. NULL: the trace is not a step's, or the step was forgotten. */
struct step *steps_of_trace(struct steps *steps, const uint8_t trace_id[16], uint64_t time_ns);
/* Returns the first part of the same step, or `step` itself if that part was forgotten. */
struct step *steps_first_part(struct steps *steps, struct step *step);
/* Fills `load` with that of the latest earlier step of the same kind, with all its parts, during which
 * capture was awake. False: there is none. */
bool steps_earlier_load(const struct steps *steps, const struct step *step,
                        bool (*slept_between)(uint64_t from_ns, uint64_t until_ns), struct step_load *load);
/* Returns a session that is not open; NULL: all are open. */
struct session *steps_free_session(struct steps *steps);
/* Returns the open session of the step with this trace; NULL: none. */
struct session *steps_session_of(struct steps *steps, const uint8_t trace_id[16]);
/* Whether what a thread notes at `time_ns` is too late to count for the step. */
bool steps_is_over(const struct steps *steps, const struct step *step, uint64_t time_ns);
/* Notes that a round is complete. Then each call of steps_next_ended() returns the oldest step with an open
 * session or iteration that is over, and the caller closes that session; NULL: no more. */
void steps_end_round(struct steps *steps, uint64_t now_ns);
struct step *steps_next_ended(struct steps *steps);
/* Returns the oldest step with an open session, ended or not; NULL: none. */
struct step *steps_oldest_session(struct steps *steps);
/* The same also for steps with an open iteration. */
struct step *steps_oldest_open(struct steps *steps);
