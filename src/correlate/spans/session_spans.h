/* Session spans: starts, cuts and ends sessions. */
#ifndef CUSPAN_CORRELATE_SPANS_SESSION_SPANS_H
#define CUSPAN_CORRELATE_SPANS_SESSION_SPANS_H

#include "correlate/correlate.h"
#include "correlate/totals/session_overhead.h"
#include "correlate/trace/parent.h"
#include "correlate/trace/session.h"

struct session_spans {
    struct session current;
    uint32_t account; /* of the open session (accounts.h); 0: none */
    struct session_overhead session_overhead;
};

/* False if the system has no randomness. */
bool session_spans_init(struct session_spans *sessions, const struct correlate_options *options);

/* Returns the session for work that belongs to nothing else. Ends one that is due and starts the next. */
struct session *session_spans_at(struct correlate *correlate, uint64_t time_ns);
/* Ends the session if one is open. `reason` is its cuda.session.end_reason. */
void session_spans_end(struct correlate *correlate, const char *reason);
void session_spans_end_if_due(struct correlate *correlate, uint64_t time_ns);
/* Extends the session over a child of its trace, sampled or not: the number of children limits a session. */
void session_spans_cover(struct correlate *correlate, const struct parent *parent, uint64_t start_ns,
                         uint64_t end_ns);

#endif
