/* What the library that stands in for CUPTI exports to whoever starts a replay, beside CUPTI's own calls and
 * what capture looks for (capture/cupti_abi.h). The order is: load it, let it load a recording, start the
 * agent with it as its CUPTI, run.
 *
 * It reads from the environment, when a recording is loaded:
 *   CUSPAN_REPLAY_VERSION             the CUDA release whose CUPTI it poses as, 12.0 to 13.5
 *   CUSPAN_REPLAY_FIRST_CORRELATION   the first correlation ID; else as recorded
 *   CUSPAN_REPLAY_FAIL                how to fail, "name[=number],..." (src/replay/faults.h) */
#ifndef CUSPAN_RECORDING_REPLAY_SEAM_H
#define CUSPAN_RECORDING_REPLAY_SEAM_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_LIBRARY         "libcuspan-replay.so"         /* both of CUPTI's APIs; 13.0 and later */
#define REPLAY_LIBRARY_CLASSIC "libcuspan-replay-classic.so" /* what 12.x has */

struct replay_options {
    bool is_paced;   /* at the recorded pace; else as fast as the agent accepts */
    bool overload;   /* not paced, and doesn't wait for the agent either */
    uint32_t repeat; /* how often the recording is played, its times and IDs shifted; 0 counts as 1 */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* a few times a second; NULL: none */
    void *progress_context;
};

struct replay_result {
    uint64_t calls;              /* callbacks of a call's exit that the agent took */
    uint64_t calls_off;          /* calls whose callback the agent didn't ask for */
    uint64_t resources;          /* callbacks taken */
    uint64_t activities;         /* records put into the agent's buffers */
    uint64_t activities_off;     /* records of kinds that the agent didn't ask for */
    uint64_t activities_dropped; /* records for which the agent had no buffer */
    uint64_t threads;            /* real threads that played */
    uint64_t wall_ns;
};

/* cuspan_replay_load: once a process. Fails as recording_open and recording_next do; INVALID for a wrong
 * setting. */
typedef enum status cuspan_replay_load_fn(const char *path, struct error *err);
/* cuspan_replay_run: plays to the end. What still lies in a buffer leaves at the agent's next flush. TIMEOUT
 * if the agent takes nothing any more. */
typedef enum status cuspan_replay_run_fn(const struct replay_options *options, struct replay_result *result,
                                         struct error *err);

/* A program that exports cuspan_replay_watch hears of each call into the agent on a thread of the host's:
 * when it begins (`what`: the CUDA function, or what is done with a buffer), when it has returned (NULL), and
 * which of CUPTI's functions the agent calls meanwhile (its name); in a forked child, which it calls at any
 * time. `what` stays valid. */
enum replay_watch { REPLAY_WATCH_BEGIN, REPLAY_WATCH_END, REPLAY_WATCH_CUPTI };
typedef void cuspan_replay_watch_fn(enum replay_watch event, const char *what);

#endif
