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
    struct session_overhead overhead;
};

/* Returns the session for work that belongs to nothing else. Ends one that is due and starts the next. */
struct session *session_spans_at(struct correlate *correlate, uint64_t time_ns);
void session_spans_end_if_due(struct correlate *correlate, uint64_t time_ns);
/* Extends the session over a child of its trace, sampled or not: the number of children limits a session. */
void session_spans_cover(struct correlate *correlate, const struct parent *parent, uint64_t start_ns,
                         uint64_t end_ns);

#endif
