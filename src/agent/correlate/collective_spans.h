/* Spans of collectives: one for each kernel that communicates, between the call that launched it and the
 * kernel's span, which becomes its child. A collective without a kernel has its copy as its child. */
#ifndef CUSPAN_AGENT_CORRELATE_COLLECTIVE_SPANS_H
#define CUSPAN_AGENT_CORRELATE_COLLECTIVE_SPANS_H

#include "agent/correlate/join/collectives.h"

struct correlate;
struct call_info;
struct step;

/* A call on this thread may have launched NCCL's work. The call is in the table of pending calls. */
void collective_spans_launch(struct correlate *correlate, const struct thread_info *thread,
                             const struct call_info *info, const struct call_record *call);

/* Whether this GPU work runs a collective. `kernel` and `call` as below. */
bool collective_spans_communicates(struct correlate *correlate, const struct activity_record *record,
                                   const struct pending_call *call, enum collective_operation kernel);

/* `correlate->span` is the span of this record's work. If the work communicates, emits the span of the
 * collective and becomes its child. `kernel` is the operation by the kernel's name; NONE: another kernel, or
 * a copy. `call` may be NULL. `step`: whose spans are limited, or NULL. Returns whether the work
 * communicates. */
bool collective_spans_wrap(struct correlate *correlate, const struct activity_record *record,
                           const struct pending_call *call, enum collective_operation kernel,
                           struct step *step);

#endif
