/* The session: a span named after the program, with a trace of its own, which is the parent of everything
 * that belongs to no request.
 *
 * A session is cut after a number of spans or at an age. The next one is a new trace, linked to the
 * previous one and to the process's context. With a TRACEPARENT the first session is a child of that
 * context. A session span starts with its first child and ends with the last one seen before the cut.
 *
 * It is cut because a trace without an end is of no use, and can crash the program that shows it. */
#pragma once

#include "agent/correlate/trace/sampler.h"
#include "model/span.h"

#define SESSION_TRACES_KEPT 16

struct step;

struct session {
    const struct settings *settings;
    const char *name; /* the program's name, not owned */
    bool has_parent;  /* `parent` is the process's TRACEPARENT */
    struct trace_context parent;
    struct sampler sampler;
    char child_state[TRACE_STATE_MAX]; /* tracestate of the first session, if it is the process's child */
    uint64_t next_id; /* span IDs count up from a random number: unique, and they compress well */
    uint32_t number;  /* sessions started; 0: none yet */
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
    uint32_t account;        /* handle of the open session's account (accounts.h); 0: none */
    const struct step *step; /* the step that this is the session of; NULL: the process's session */
    struct span_link previous;
    uint8_t traces[SESSION_TRACES_KEPT][16]; /* trace IDs of the first sessions, for the report */
};

/* `settings` and `name` must outlive the session. `parent` NULL: none. */
void session_init(struct session *session, const struct settings *settings, const char *name,
                  const struct trace_context *parent);

void session_next_span_id(struct session *session, uint8_t span_id[8]);

/* Starts a session at `time_ns` unless one is open. */
void session_open(struct session *session, uint64_t time_ns);
/* Starts the session of a sampled step: the span of this rank, below the step's span if the ranks' trace is
 * joint. If the step is detailed, trace and parent of the session's children are those of the detailed trace.
 * `name` and `step` must outlive it; session_next_span_id() of the process's session gives its ID. */
void session_open_step(struct session *session, const struct step *step, const char *name,
                       const uint8_t span_id[8], uint64_t time_ns);
bool session_is_due(const struct session *session, uint64_t time_ns);
/* Counts a child and extends the session to cover it. */
void session_cover(struct session *session, uint64_t start_ns, uint64_t end_ns);
void session_add_event(struct session *session, const struct span_event *event);
/* Ends the session and fills its span. `reason` is "spans", "age", "step", "stop", "release" or "exit", and
 * must be static. `links` has room for SPAN_LINKS_MAX. */
void session_close(struct session *session, const char *reason, struct span *span, struct span_link *links);

/* Returns a link with the attribute cuda.link: `what`, which must be static. */
struct span_link session_link(const uint8_t trace_id[16], const uint8_t span_id[8], uint32_t flags,
                              const char *what);
/* Links to the span of TRACEPARENT, and returns 1; 0: the process has none. */
uint32_t session_link_to_process(const struct session *session, struct span_link *link);
