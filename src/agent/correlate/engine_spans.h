/* Spans of serving engines: of each sampled request, and the root of each sampled iteration. The iteration's
 * span of this rank is a session (session_spans.h).
 *
 * An iteration is open until the GPU records of its calls have arrived, also if it is not sampled: its GPU
 * time is then divided among its requests. A request's span is sent when the request has ended and none of
 * its iterations is open, or as unfinished after REQUEST_IDLE_S without an iteration.
 *
 * The latest iterations are kept (totals/iteration_summaries.h). The scheduler of the engine knows
 * afterwards which one was slow, and asks all ranks for its summary: a trace of the root and the ranks. */
#pragma once

#include "agent/correlate/totals/accounts.h"
#include "agent/correlate/trace/steps.h"
#include "model/iteration.h"
#include "model/span.h"

#define REQUEST_IDLE_S 600 /* as long as many clients wait */

struct correlate;
struct engine;

void engine_spans_destroy(struct engine *engine);

/* Notes that a request starts or ends at `time_ns`, or sends the summary of an earlier iteration. */
void engine_spans_note(struct correlate *correlate, const struct engine_event *event, uint64_t time_ns);

/* Begins the step's iteration, and takes the event. Sets step->iteration; 0: no memory, or too many are open.
 */
void engine_spans_begin(struct correlate *correlate, struct step *step, struct engine_event *event);
/* Notes when the iteration ended on the host. */
void engine_spans_end(struct correlate *correlate, uint32_t iteration, uint64_t time_ns);
/* Returns when it ended on the host; 0: it is in progress. */
uint64_t engine_spans_ended(struct correlate *correlate, uint32_t iteration);
/* Returns the account of an iteration, which this opens if needed; 0: none is free. */
uint32_t engine_spans_account(struct correlate *correlate, uint32_t iteration);
/* Returns the name of this rank's span, "rank 3", valid until the iteration closes. */
const char *engine_spans_rank(struct correlate *correlate, uint32_t iteration);
/* Closes an iteration that is not sampled as soon as its GPU records have arrived. */
void engine_spans_leave(struct correlate *correlate, uint32_t iteration);
/* Closes a sampled iteration: on rank 0, emits its root, the parent of the span `rank`, and links `rank` to
 * the requests, until the next iteration closes. Adds the iteration's attributes to `rank`. `account` NULL:
 * its GPU time is unknown. */
void engine_spans_close(struct correlate *correlate, uint32_t iteration, const struct account *account,
                        struct span *rank);
/* Gives up requests whose end was lost. Call it at times, after all events have been taken. */
void engine_spans_sweep(struct correlate *correlate, uint64_t time_ns);
/* At exit, after all iterations: emits the spans of the requests that have not ended. */
void engine_spans_finish(struct correlate *correlate);
