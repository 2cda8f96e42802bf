/* Session spans: starts, cuts and ends sessions. */
#ifndef CUSPAN_AGENT_CORRELATE_SESSION_SPANS_H
#define CUSPAN_AGENT_CORRELATE_SESSION_SPANS_H

#include "agent/correlate/trace/parent.h"
#include "agent/correlate/trace/session.h"
#include "model/step.h"

struct correlate;

/* A step begins or ends: before the calls that started after it. */
void session_spans_step(struct correlate *correlate, const struct step_boundary *boundary);
/* Ends the open sessions with this reason. */
void session_spans_end(struct correlate *correlate, const char *reason);

/* Returns the session for work at this time that belongs to nothing else: that of a step, or of the process.
 * Ends one that is due and starts the next. A step that is not sampled has one that is never open. */
struct session *session_spans_at(struct correlate *correlate, uint64_t time_ns);
/* Its account (struct counting). */
uint32_t session_spans_account_at(struct correlate *correlate, uint64_t time_ns);
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
