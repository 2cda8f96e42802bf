/* Decides which spans of a step are sent, and into which trace. A rank may send only its share of the step's
 * trace (trace/step_budget.h). When it is a rank's turn, all its spans are sent in a trace of their own, and
 * copies of the selected ones in the step's trace. */
#pragma once

#include "agent/correlate/trace/parent.h"
#include "agent/correlate/trace/steps.h"
#include "model/record.h"

struct correlate;
struct call_info;

/* Prepares the limits of a step's spans. Call it before the step's first span. */
void step_spans_open(struct correlate *correlate, struct step *step);

/* Counts a call or a range (of NCCL's operation: `is_collective`) for the step in which it starts. */
void step_spans_note(struct correlate *correlate, const struct parent *parent, uint64_t start_ns,
                     bool expects_work, bool is_collective);
/* Counts the length of GPU work, sampled or not. */
void step_spans_note_work(struct correlate *correlate, uint64_t ns);

/* Returns the step with this trace, if the number of its spans is limited; NULL: no limit. `time_ns` is a
 * time in the step. */
struct step *step_spans_limit(struct correlate *correlate, const uint8_t trace_id[16], uint64_t time_ns);
struct step *step_spans_limit_of(struct correlate *correlate, const struct parent *parent, uint64_t time_ns);

/* Whether a call or range of the step gets a span. True if `step` is NULL, here and below: no limit. */
bool step_spans_takes_call(struct correlate *correlate, struct step *step, bool is_failed);
/* Counts the span of a call or range for the step's limit. The span has about `bytes` bytes and is sent
 * later. `account`, here and below, is the account of the work, or the one around it. */
void step_spans_reserve(struct correlate *correlate, struct step *step, uint32_t bytes, uint32_t account);
/* Sends a span, and counts it for the step's limit. */
void step_spans_emit(struct correlate *correlate, struct step *step, const struct span *span,
                     uint32_t account);

/* Sends a span of GPU work or of a collective, if it is `wanted` in the step's trace or the step is detailed.
 * Returns whether it was sent. `span` then has the trace and span ID with which it was sent. */
bool step_spans_emit_work(struct correlate *correlate, struct step *step, struct span *span, bool wanted,
                          uint32_t account);
bool step_spans_wants_work(struct correlate *correlate, struct step *step, uint64_t ns);
/* Whether the step's trace gets the span of another record than one of GPU work. */
bool step_spans_wants_extra(struct correlate *correlate, struct step *step);
bool step_spans_wants_collective(struct correlate *correlate, struct step *step, uint64_t key);
/* Whether only a part of the step's spans is sent. Kernels of collectives are then left out. */
bool step_spans_is_selecting(struct correlate *correlate, struct step *step);
