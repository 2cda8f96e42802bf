/* Spans of runtime and driver calls, and the resource events (modules, contexts) that happen inside them. */
#ifndef CUSPAN_AGENT_CORRELATE_CALL_SPANS_H
#define CUSPAN_AGENT_CORRELATE_CALL_SPANS_H

#include "model/record.h"

struct correlate;

/* The code that makes the next call: the attributes of its stack. */
void call_spans_code(struct correlate *correlate, const struct code_record *record);
void call_spans_add(struct correlate *correlate, const struct thread_info *thread,
                    const struct call_record *call);
/* A call that made or changed a graph while capture slept. */
void call_spans_add_asleep(struct correlate *correlate, const struct thread_info *thread,
                           const struct call_record *call);
/* An event of the call that is in progress on the thread, or of a graph. */
void call_spans_resource(struct correlate *correlate, const struct thread_info *thread,
                         const struct resource_record *resource);

/* At the end: adds the events of calls that never returned to the session. */
void call_spans_finish(struct correlate *correlate);

#endif
