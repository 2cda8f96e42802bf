/* Session spans: starts, cuts and ends sessions. */
#ifndef CUSPAN_CORRELATE_SESSION_SPANS_H
#define CUSPAN_CORRELATE_SESSION_SPANS_H

#include "correlate/correlate.h"
#include "correlate/totals/session_overhead.h"
#include "correlate/trace/parent.h"
#include "correlate/trace/session.h"
#include "correlate/trace/steps.h"

struct session_spans {
    struct session current; /* of the process */
    uint64_t cut_ns;        /* when the first step since its beginning began; 0: none did */
    char rank[32];          /* name of the sessions of steps */
    struct steps steps;
    struct session late; /* scratch: of a step whose span has left */
    struct span root;    /* scratch */
    struct session_overhead overhead;
};

/* Returns the session for work at this time that belongs to nothing else: that of a step, or of the process.
 * Ends one that is due and starts the next. A step that is not sampled has one that is never open. */
struct session *session_spans_at(struct correlate *correlate, uint64_t time_ns);
/* The open session with this trace, or NULL. */
struct session *session_spans_of_trace(struct correlate *correlate, const uint8_t trace_id[16]);
void session_spans_end_if_due(struct correlate *correlate, uint64_t time_ns);
/* Between rounds: ends the sessions of earlier steps. */
void session_spans_end_steps(struct correlate *correlate);
/* How many are open. */
uint32_t session_spans_open(const struct correlate *correlate);
/* Extends the session over a child of its trace, sampled or not: the number of children limits a session. */
void session_spans_cover(struct correlate *correlate, const struct parent *parent, uint64_t start_ns,
                         uint64_t end_ns);

#endif
