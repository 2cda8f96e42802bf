/* Session spans: when the session begins, is cut and ends, and what its span says. */
#ifndef CUSPAN_CORRELATE_SPANS_SESSION_SPANS_H
#define CUSPAN_CORRELATE_SPANS_SESSION_SPANS_H

#include "correlate/correlate.h"
#include "correlate/totals/session_overhead.h"
#include "correlate/trace/session.h"

struct session_spans {
    struct session current;
    uint32_t account; /* handle of the open session's; 0: none */
    struct session_overhead session_overhead;
};

/* False if the system has no randomness. */
bool session_spans_init(struct session_spans *sessions, const struct correlate_options *options);

/* The session at this time, for work that belongs to nothing else. Ends the one that is due, begins the next.
 */
struct session *session_spans_at(struct correlate *correlate, uint64_t time_ns);
/* Ends the session if one is open; the reason is cuda.session.end_reason. */
void session_spans_end(struct correlate *correlate, const char *reason);
void session_spans_end_if_due(struct correlate *correlate, uint64_t time_ns);

#endif
