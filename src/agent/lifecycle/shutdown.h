/* The steps of the shutdown, each with what became of it, and what is still open afterwards. The pipeline's
 * thread goes through the steps; whoever writes the report may be another thread, because the deadline has
 * passed meanwhile. One per process, like the shutdown. */
#ifndef CUSPAN_AGENT_SHUTDOWN_H
#define CUSPAN_AGENT_SHUTDOWN_H

#include "model/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* X(identifier, is_optional, what is done, what is counted). An optional step may fail without the shutdown
 * having failed. */
#define SHUTDOWN_STEPS(X)                                                                                    \
    X(flushers, false, "let threads go that wait for a flush", "threads")                                    \
    X(take, false, "take what was captured", "records")                                                      \
    X(flush_cupti, false, "have CUPTI hand over what it holds", "buffers")                                   \
    X(take_flushed, false, "take what CUPTI handed over", "records")                                         \
    X(switch_off, false, "switch CUPTI off", "subscriber")                                                   \
    X(take_last, false, "take what came meanwhile", "records")                                               \
    X(late, true, "count what comes from now on", "records")                                                 \
    X(close, false, "close the session", "spans")                                                            \
    X(deliver, false, "deliver", "spans")                                                                    \
    X(recording, false, "close the recording", "events")                                                     \
    X(report, true, "write the report", "files")

enum shutdown_step {
#define SHUTDOWN_STEP_ID(id, is_optional, what, unit) SHUTDOWN_##id,
    SHUTDOWN_STEPS(SHUTDOWN_STEP_ID)
#undef SHUTDOWN_STEP_ID
        SHUTDOWN_STEP_COUNT
};

/* X(identifier, is_optional, what). What is checked at the end: none of it should be open. Optional is what
 * the host or CUPTI holds. */
#define SHUTDOWN_CHECKS(X)                                                                                   \
    X(memory, false, "bytes of queues that a sender still holds")                                            \
    X(threads, false, "outputs whose senders are still at work")                                             \
    X(descriptors, false, "descriptors of ours that are still open")                                         \
    X(buffers, true, "activity buffers that CUPTI has not given back")                                       \
    X(calls, true, "CUDA calls that have not returned")                                                      \
    X(records, true, "calls whose GPU work was never told")

enum shutdown_check {
#define SHUTDOWN_CHECK_ID(id, is_optional, what) SHUTDOWN_OPEN_##id,
    SHUTDOWN_CHECKS(SHUTDOWN_CHECK_ID)
#undef SHUTDOWN_CHECK_ID
        SHUTDOWN_CHECK_COUNT
};

/* Why the agent ends; `signal_number` 0: no signal's doing. `why` stays valid. */
void shutdown_begin(const char *why, int signal_number);

/* A step begins, and ends: with an error, which stays valid, it has failed. What is skipped never begins;
 * what hasn't ended when the report is written, was under way when the deadline passed. */
void shutdown_step_begin(enum shutdown_step step);
void shutdown_step_end(enum shutdown_step step, uint64_t count, const char *error);
void shutdown_step_skip(enum shutdown_step step);

void shutdown_is_open(enum shutdown_check check, uint64_t count);

/* All that isn't optional has gone well, and nothing is open. */
bool shutdown_has_passed(void);

/* As a member "shutdown" of a JSON object, with a comma before. */
void shutdown_write_json(FILE *file);

/* As text, to settings->shutdown_report: standard error or FILE.PID. NULL there: nothing. */
void shutdown_write(const struct settings *settings);

#endif
