/* Spans of runtime and driver calls, and the resource events (modules, contexts) that happen inside them. */
#ifndef CUSPAN_CORRELATE_CALL_SPANS_H
#define CUSPAN_CORRELATE_CALL_SPANS_H

#include "model/record.h"
#include "model/span.h"

struct code_stack;
struct correlate;

#define RESOURCES_HELD  32
#define CALL_EVENTS_MAX 8

struct held_resource {
    uint64_t tid; /* 0: free */
    struct span_event event;
};

struct call_spans {
    struct code_stack *code; /* of the next call, not owned; NULL: none */
    uint32_t place;          /* of the current call, in profiles */
    uint32_t held_count;
    struct held_resource held[RESOURCES_HELD]; /* until their call returns */
    struct span_event events[CALL_EVENTS_MAX]; /* of the current span */
};

/* At the end: adds the events of calls that never returned to the session. */
void call_spans_finish(struct correlate *correlate);

#endif
