/* The life of the agent: loaded by the CUDA driver, started once, stopped at exit, disabled in a forked
 * child.
 *
 * Nothing that CUPTI may still touch is freed, and the library stays loaded even after dlclose(). A child
 * that is forked while the library is only loaded, which cuspan.h does, gets an agent of its own when it
 * uses CUDA. Any other forked child never calls CUPTI and has no thread of ours. */
#pragma once

#include "base/trace_context.h"
#include "agent/capture/capture.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts the agent as its configuration says, on the thread that initializes CUDA. */
void agent_inject(void);

/* Called by the program through cuspan.h, on any of its threads. */
enum agent_answer {
    AGENT_DONE = 0,
    AGENT_ALREADY = 1, /* nothing to do */
    AGENT_FAILED = -1  /* the log has the reason; or the flush timed out */
};
/* Starts the agent if CUDA has not, and starts tracing. May take some milliseconds in CUPTI. */
enum agent_answer agent_start(void);
/* Starts the agent that `cuspan attach` has loaded into this running process, and tracing. `lines` has
 * variables "NAME=VALUE" that go before those of the environment. ALREADY: there is an agent. */
enum agent_answer agent_attach(const char *lines);
/* Stops tracing until the next start. */
enum agent_answer agent_stop(void);
enum agent_answer agent_flush(uint32_t timeout_ms);

/* Also waits until calls in progress return, for at most `timeout_ms`. `under_way`: the number of calls that
 * did not, and so have no span. One thread. */
enum agent_answer agent_stop_within(uint32_t timeout_ms, uint32_t *under_way);

/* The state of the agent. */
struct agent_view {
    const char *state; /* waiting, starting, tracing, stopping, asleep, released, off */
    const char *why;   /* reason of the state, or "" */
    const char *program;
    uint64_t begun_ns;
    const struct settings *settings;
    const struct capture_info *info; /* NULL: CUPTI is not loaded */
};
void agent_get_view(struct agent_view *view);
/* Leaves CUPTI to another tool. Waits for calls and GPU work in progress, for at most cupti.others_wait_ms,
 * delivers what was captured, and unsubscribes. ALREADY: not subscribed. FAILED: no agent runs here, or it
 * took some seconds longer than that. With cupti.others: give-way the agent resumes automatically. */
enum agent_answer agent_release(void);
/* Subscribes again. FAILED: another tool uses CUPTI; the log says which. */
enum agent_answer agent_resume(void);

/* Whether work for this context, which is about to be attached, may be sampled; true if unknown. */
bool agent_may_sample(const struct trace_context *context);

/* The names in engine.headers, in lower case and separated by commas. Reads the configuration for it, also if
 * the agent will not start in this process. Any thread; valid until the process ends. */
const char *agent_engine_headers(void);

/* Ends like an exit: delivers within exit_deadline_ms and stops tracing. False: no agent runs in this
 * process, as in a forked child, or it has ended. Any thread. */
bool agent_finish(void);
