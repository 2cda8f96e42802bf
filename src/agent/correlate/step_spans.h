/* Which spans of a step are sent, and where: a rank may send only its share of the step's trace
 * (trace/step_budget.h). When it is a rank's turn, all its spans go to a trace of their own, and copies of
 * the selected ones to the step's trace. */
#ifndef CUSPAN_AGENT_CORRELATE_STEP_SPANS_H
#define CUSPAN_AGENT_CORRELATE_STEP_SPANS_H

#include "agent/correlate/trace/parent.h"
#include "agent/correlate/trace/steps.h"
#include "model/record.h"

struct correlate;
struct call_info;

/* Before the step's first span. */
void step_spans_open(struct correlate *correlate, struct step *step);

/* Counts a call or a range (of NCCL's operation: `is_collective`) for the step in which it starts. */
void step_spans_note(struct correlate *correlate, const struct parent *parent, uint64_t start_ns,
                     bool expects_work, bool is_collective);
/* Counts the length of GPU work, sampled or not. */
void step_spans_note_work(struct correlate *correlate, uint64_t ns);

/* The step with this trace, if its spans are limited; NULL: no limit. `time_ns`: a time in the step. */
struct step *step_spans_limit(struct correlate *correlate, const uint8_t trace_id[16], uint64_t time_ns);
struct step *step_spans_limit_of(struct correlate *correlate, const struct parent *parent, uint64_t time_ns);

/* Whether a call or range of the step has a span. `step` NULL: it has. */
bool step_spans_takes_call(struct correlate *correlate, struct step *step, bool is_failed);
/* It has one, which is sent later and has about this size. `account`, here and below: its own, or the one
 * around it. */
void step_spans_reserve(struct correlate *correlate, struct step *step, uint32_t bytes, uint32_t account);
/* Sends it. */
void step_spans_emit(struct correlate *correlate, struct step *step, const struct span *span,
                     uint32_t account);

/* Sends a span of GPU work or of a collective, if it is `wanted` in the step's trace or the step is detailed.
 * Returns whether it was sent, into the trace that it is in. */
bool step_spans_emit_work(struct correlate *correlate, struct step *step, struct span *span, bool wanted,
                          uint32_t account);
bool step_spans_wants_work(struct correlate *correlate, struct step *step, uint64_t ns);
/* Of a record that is no GPU work. */
bool step_spans_wants_extra(struct correlate *correlate, struct step *step);
bool step_spans_wants_collective(struct correlate *correlate, struct step *step, uint64_t key);
/* Whether only a part of the step's spans is sent: kernels of collectives are not. */
bool step_spans_is_selecting(struct correlate *correlate, struct step *step);

#endif
