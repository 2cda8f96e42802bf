/* Makes the spans of runtime and driver calls, with the resource events (modules, contexts) inside them. */
#pragma once

#include "model/record.h"

struct correlate;

/* Keeps the stack of the code that makes the next call, for that call's span. */
void call_spans_code(struct correlate *correlate, const struct code_record *record);
void call_spans_add(struct correlate *correlate, const struct thread_info *thread,
                    const struct call_record *call);
/* Notes the graph that a call made or changed while capture slept. The call gets no span. */
void call_spans_add_asleep(struct correlate *correlate, const struct thread_info *thread,
                           const struct call_record *call);
/* Keeps an event for the span of the call that is in progress on the thread, or notes one about a graph. */
void call_spans_resource(struct correlate *correlate, const struct thread_info *thread,
                         const struct resource_record *resource);

/* At the end: adds the events of calls that never returned to the session. */
void call_spans_finish(struct correlate *correlate);
