/* Starts, cuts and ends sessions, and emits their spans. */
#pragma once

#include "agent/correlate/trace/parent.h"
#include "agent/correlate/trace/session.h"
#include "model/step.h"

struct correlate;

/* Notes that a step starts or ends. Call it before the calls that started after this boundary. Takes the
 * event of an iteration. */
void session_spans_step(struct correlate *correlate, struct step_boundary *boundary);
/* Ends the open sessions with this reason. The next session starts with the next work. Waiting records and
 * spans are kept. */
void session_spans_end(struct correlate *correlate, const char *reason);

/* Returns the session for work at `time_ns`, noted at `noted_ns`, that belongs to no request: the step's, or
 * outside steps the process's. Ends a session that is due and starts the next one. The session of a step that
 * is not sampled, or over by then, is not open. Never NULL. */
struct session *session_spans_at(struct correlate *correlate, uint64_t time_ns, uint64_t noted_ns);
/* Returns the account of session_spans_at(); 0: the session has none. */
uint32_t session_spans_account_at(struct correlate *correlate, uint64_t time_ns);
/* Returns the account of the iteration with this trace, for work at `time_ns`; 0: it has none, it is over, or
 * the trace is another. */
uint32_t session_spans_account_of_iteration(struct correlate *correlate, const uint8_t trace_id[16],
                                            uint64_t time_ns);
/* Returns the open session with this trace; NULL: none. */
struct session *session_spans_of_trace(struct correlate *correlate, const uint8_t trace_id[16]);
void session_spans_end_if_due(struct correlate *correlate, uint64_t time_ns);
/* Call it between rounds: ends the sessions of earlier steps. */
void session_spans_end_steps(struct correlate *correlate);
/* Returns the number of open sessions. */
uint32_t session_spans_open(const struct correlate *correlate);
/* If `parent` is an open session, extends that session to cover a child with these times. Counts the child,
 * sampled or not, because the number of children limits a session. */
void session_spans_cover(struct correlate *correlate, const struct parent *parent, uint64_t start_ns,
                         uint64_t end_ns);
