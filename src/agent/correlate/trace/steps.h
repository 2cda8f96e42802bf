/* The steps of a training job over time: which step a call without a context belongs to, by the time at which
 * it started.
 *
 * Each thread has its own ring, so calls arrive out of order around a boundary. A step's session therefore
 * stays open for two more rounds. Calls that started in an older step and return later still than that get
 * its trace, but are not counted in its span. */
#ifndef CUSPAN_AGENT_CORRELATE_TRACE_STEPS_H
#define CUSPAN_AGENT_CORRELATE_TRACE_STEPS_H

#include "agent/correlate/trace/session.h"
#include "agent/correlate/trace/traced_step.h"

#include <stdbool.h>
#include <stdint.h>

#define STEPS_KEPT     256 /* boundaries; a round of 0.1 s has as many steps of 0.4 ms */
#define STEPS_OPEN_MAX 4   /* sampled steps with a session */

/* All zero: no steps so far. */
struct steps {
    uint64_t count;   /* boundaries so far; boundary n is in kept[n % STEPS_KEPT] */
    uint64_t settled; /* boundaries before this one are older than one complete round, */
    uint64_t seen;    /* and before this one were there at the end of the last round */
    struct step kept[STEPS_KEPT];
    struct session sessions[STEPS_OPEN_MAX];
    struct step_lengths lengths; /* of GPU work besides collectives */
    struct session unsampled;    /* of calls in steps that are not sampled; never open */
    struct {
        bool is_sent;
        int64_t number;
    } roots[STEP_NONE]; /* the last step whose own span was sent, by kind */
};

/* Adds a boundary, whose time must not be before the previous one's. The oldest one is forgotten; its session
 * must be closed. */
struct step *steps_add(struct steps *steps, const struct step_rules *rules,
                       const struct step_boundary *boundary);
/* The one that steps_add() is going to forget, or NULL. */
struct step *steps_oldest(struct steps *steps);
/* The step at this time. NULL: none. */
struct step *steps_at(struct steps *steps, uint64_t time_ns);
/* GPU work of a call that started at this time ended. */
void steps_note_work(struct steps *steps, uint64_t call_ns, uint64_t end_ns);
/* When the GPU had finished the work of all steps before this one, by the records so far. False: unknown,
 * because the step before was forgotten, or capture slept while it launched its last work. `slept_between` as
 * in struct correlate_options. */
bool steps_gpu_ready(const struct steps *steps, uint64_t index,
                     bool (*slept_between)(uint64_t from_ns, uint64_t until_ns), uint64_t *ready_ns);
/* The step of a call that started at this time, whatever its kind, or the oldest one known. NULL: none. */
struct step *steps_boundary_before(struct steps *steps, uint64_t time_ns);
/* The step with this trace; `time_ns`, at which it probably was in progress, makes the search short. NULL:
 * another trace, or forgotten. */
struct step *steps_of_trace(struct steps *steps, const uint8_t trace_id[16], uint64_t time_ns);
/* The first part of the same step, as far as it is known. */
struct step *steps_first_part(struct steps *steps, struct step *step);
/* The load of the latest step of the same kind before this one, with all its parts, during which capture was
 * awake. False: there is none. */
bool steps_earlier_load(const struct steps *steps, const struct step *step,
                        bool (*slept_between)(uint64_t from_ns, uint64_t until_ns), struct step_load *load);
/* A session that is not open, or NULL. */
struct session *steps_free_session(struct steps *steps);
/* The open session of a step with this trace, or NULL. */
struct session *steps_session_of(struct steps *steps, const uint8_t trace_id[16]);
/* A round is complete. Then steps_next_ended() returns the steps with a session that ended before the round,
 * oldest first; the caller closes the session. */
void steps_end_round(struct steps *steps);
struct step *steps_next_ended(struct steps *steps);
/* The oldest step with an open session, ended or not; NULL: none. */
struct step *steps_oldest_open(struct steps *steps);

#endif
