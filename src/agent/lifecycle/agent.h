/* The agent's life: loaded by the CUDA driver, started once, stopped at exit, dead in a forked child. */
#ifndef CUSPAN_AGENT_LIFECYCLE_AGENT_H
#define CUSPAN_AGENT_LIFECYCLE_AGENT_H

#include "base/trace_context.h"
#include "capture/capture.h"
#include "model/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* What the driver calls in the library that CUDA_INJECTION64_PATH names, on the thread that initializes CUDA.
 * Always answers 1, well or not: a host never fails because of us. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* What the program asks by cuspan.h, on any thread of its own. */
enum agent_answer {
    AGENT_DONE = 0,
    AGENT_ALREADY = 1, /* it is so already */
    AGENT_FAILED = -1  /* the log has said why; or, of a flush, that its time has passed */
};
/* Starts the agent where CUDA has not, and traces. May take CUPTI's milliseconds. */
enum agent_answer agent_start(void);
/* Ends the tracing until the next start. */
enum agent_answer agent_stop(void);
enum agent_answer agent_flush(uint32_t timeout_ms);

/* The same, and waits for calls that are under way to return, at most so long: `under_way`, how many hadn't
 * by then, and have no span. One thread. */
enum agent_answer agent_stop_within(uint32_t timeout_ms, uint32_t *under_way);

/* How it stands. */
struct agent_view {
    const char *state; /* waiting, starting, tracing, stopping, asleep, released, off */
    const char *why;   /* or "" */
    const char *program;
    uint64_t begun_ns;
    const struct settings *settings;
    const struct capture_info *info; /* NULL: nothing is loaded */
};
void agent_get_view(struct agent_view *view);
/* Gives CUPTI to another tool: calls and GPU work under way are waited for, for cupti.others_wait_ms at most,
 * what was captured is delivered, and cuspan is subscribed no more. ALREADY: it isn't. FAILED: no agent runs
 * here, or it took longer than the wait and some seconds. With cupti.others: give-way it comes back by
 * itself. */
enum agent_answer agent_release(void);
/* Comes back. FAILED: another tool has CUPTI; the log says which. */
enum agent_answer agent_resume(void);

/* Whether work for this context, which is about to be attached, may be sampled; where that is unknown yet,
 * true. */
bool agent_may_sample(const struct trace_context *context);

/* What is done at exit: delivers what there is within exit_deadline_ms, and traces no further. False: no
 * agent runs in this process (a forked child has none of its parent's), or it has ended already. Any thread.
 */
bool agent_finish(void);

#endif
