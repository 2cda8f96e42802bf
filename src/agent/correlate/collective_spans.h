/* Makes the spans of collectives: one for each kernel that communicates. It is a child of the call that
 * launched the kernel, and the parent of the kernel's span. If NCCL copies instead of launching a kernel, the
 * copy's span is the child. */
#pragma once

#include "agent/correlate/join/collectives.h"

struct correlate;
struct call_info;
struct step;

/* Notes the collectives of a call that NCCL may have made on this thread. The call must be in the table of
 * pending calls. */
void collective_spans_launch(struct correlate *correlate, const struct thread_info *thread,
                             const struct call_info *info, const struct call_record *call);

/* Whether the record's GPU work runs a collective. `kernel` and `call` are as below. */
bool collective_spans_communicates(struct correlate *correlate, const struct activity_record *record,
                                   const struct pending_call *call, enum collective_operation kernel);

/* The same for work without a span: only notes the ends of its collectives in the live state. */
void collective_spans_note_end(struct correlate *correlate, const struct activity_record *record,
                               const struct pending_call *call);

/* If the record's work communicates, emits the span of its collective, and makes `correlate->span`, the span
 * of the work, its child. `kernel` is the operation by the kernel's name; NONE: another kernel, or a copy.
 * `call` is NULL if unknown. `step` is the step whose limit of spans applies; NULL: no limit. Returns whether
 * the work communicates. */
bool collective_spans_wrap(struct correlate *correlate, const struct activity_record *record,
                           const struct pending_call *call, enum collective_operation kernel,
                           struct step *step);
