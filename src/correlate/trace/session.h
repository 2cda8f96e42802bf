/* The session: the span below which lies what belongs to no request, named after the program, and its trace.
 *
 * A session is cut at a number of spans and at an age; the next is a trace of its own, linked to the one
 * before and to the process's context. With a TRACEPARENT the first session is that context's child. It spans
 * its children: it begins with the first and ends with the last that was seen when it was cut. */
#ifndef CUSPAN_CORRELATE_SESSION_H
#define CUSPAN_CORRELATE_SESSION_H

#include "correlate/trace/sampler.h"
#include "model/span.h"

struct session_options {
    const char *name; /* of the program */
    uint32_t spans_max;
    uint64_t age_max_ns;
    bool has_parent; /* TRACEPARENT */
    struct trace_context parent;
    struct sampler_options sampler;
};

#define SESSION_TRACES_KEPT 16

struct session {
    struct session_options options;
    struct sampler sampler;
    char child_state[TRACE_STATE_MAX]; /* tracestate of the one session that is the process's child */
    uint64_t next_id; /* span IDs count up from a random number: unique here, and their bytes repeat well on
                         the wire */
    uint32_t number;  /* of sessions begun; 0: none yet */
    bool is_open;
    bool is_sampled;
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t parent_span_id[8];
    uint8_t flags;
    const char *trace_state;
    uint64_t begin_ns, end_ns;
    uint32_t spans;
    uint32_t event_count, events_dropped;
    struct span_event events[SPAN_EVENTS_MAX];
    struct span_link previous;
    uint8_t traces[SESSION_TRACES_KEPT][16]; /* the first ones, for the report */
};

/* False if the system has no randomness to give. */
bool session_init(struct session *session, const struct session_options *options);

void session_next_span_id(struct session *session, uint8_t span_id[8]);

/* Begins a session at `time_ns` if none is open. */
void session_open(struct session *session, uint64_t time_ns);
bool session_is_due(const struct session *session, uint64_t time_ns);
/* Counts a child and stretches the session over it. */
void session_cover(struct session *session, uint64_t start_ns, uint64_t end_ns);
void session_add_event(struct session *session, const struct span_event *event);
/* Ends the session and fills its span, with `reason` "spans", "age", "stop", "release" or "exit". `links`
 * holds SPAN_LINKS_MAX.
 */
void session_close(struct session *session, const char *reason, struct span *span, struct span_link *links);

#endif
