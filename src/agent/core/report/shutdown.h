/* The steps of the shutdown with their results, and what is still open afterwards. The pipeline thread
 * performs the steps; after a missed deadline another thread writes the report. One per process. */
#pragma once

#include "base/text/json_writer.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* X(identifier, is_optional, description, unit of the count). An optional step may fail without failing the
 * shutdown. */
#define SHUTDOWN_STEPS(X)                                                                                    \
    X(flushers, false, "release threads that wait for a flush", "threads")                                   \
    X(take, false, "drain captured records", "records")                                                      \
    X(flush_cupti, false, "flush CUPTI", "buffers")                                                          \
    X(take_flushed, false, "drain what CUPTI flushed", "records")                                            \
    X(switch_off, false, "unsubscribe from CUPTI", "subscriber")                                             \
    X(take_last, false, "drain the last records", "records")                                                 \
    X(late, true, "count records that arrive late", "records")                                               \
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

/* X(identifier, is_optional, description). Checked at the end: each should be 0. Optional ones depend on the
 * host or CUPTI. */
#define SHUTDOWN_CHECKS(X)                                                                                   \
    X(memory, false, "bytes of queues that a sender still holds")                                            \
    X(threads, false, "outputs whose senders still run")                                                     \
    X(descriptors, false, "file descriptors of the agent that are still open")                               \
    X(buffers, true, "activity buffers that CUPTI has not returned")                                         \
    X(calls, true, "CUDA calls that have not returned")                                                      \
    X(records, true, "calls whose GPU work CUPTI never reported")

enum shutdown_check {
#define SHUTDOWN_CHECK_ID(id, is_optional, what) SHUTDOWN_OPEN_##id,
    SHUTDOWN_CHECKS(SHUTDOWN_CHECK_ID)
#undef SHUTDOWN_CHECK_ID
        SHUTDOWN_CHECK_COUNT
};

/* `why` is the cause of the shutdown and stays valid. `signal_number` 0: no signal. */
void shutdown_begin(const char *why, int signal_number);

/* Start and end of a step. With an error, which stays valid, it failed. A step without an end was in
 * progress when the deadline passed. */
void shutdown_step_begin(enum shutdown_step step);
void shutdown_step_end(enum shutdown_step step, uint64_t count, const char *error);
void shutdown_step_skip(enum shutdown_step step);

void shutdown_is_open(enum shutdown_check check, uint64_t count);

/* Every step and check that is not optional has passed. */
bool shutdown_has_passed(void);

/* Writes the member "shutdown" of a JSON object, if the agent shuts down. */
void shutdown_write_json(struct json_writer *json);

/* Writes text to settings->shutdown_report: standard error, or FILE.PID. NULL: nothing. */
void shutdown_write(const struct settings *settings);
