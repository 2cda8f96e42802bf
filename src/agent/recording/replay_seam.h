/* Exports of the library that replays recordings instead of CUPTI, in addition to CUPTI's functions and
 * those that capture looks up (agent/abi/cupti_abi.h). Order of use: load the library, let it load a
 * recording, start the agent with it as its CUPTI, run.
 *
 * Environment, read when a recording is loaded:
 *  CUSPAN_REPLAY_VERSION             CUDA release of the imitated CUPTI, 12.0 to 13.5
 *  CUSPAN_REPLAY_ENDS_NOW            number of repetitions, the last of which ends now; unset: the recorded
 * times CUSPAN_REPLAY_FIRST_CORRELATION   first correlation ID; default: as recorded CUSPAN_REPLAY_FAIL
 * faults to inject, "name[=number],..." (src/agent/replay/state/faults.h) */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_LIBRARY         "libcuspan-replay.so"         /* both CUPTI APIs, as 13.0 and later */
#define REPLAY_LIBRARY_CLASSIC "libcuspan-replay-classic.so" /* as 12.x */

struct replay_options {
    bool is_paced;   /* at the recorded pace; otherwise as fast as the agent accepts */
    bool overload;   /* neither paced nor waiting for the agent */
    uint32_t repeat; /* number of repetitions, with times and IDs shifted; 0 counts as 1 */
    void (*progress)(void *context, uint64_t done,
                     uint64_t total); /* called a few times per second; may be NULL */
    void *progress_context;
};

struct replay_result {
    uint64_t calls;              /* call exits delivered to the agent */
    uint64_t calls_off;          /* calls whose callback the agent did not enable */
    uint64_t resources;          /* callbacks delivered */
    uint64_t activities;         /* records written to the agent's buffers */
    uint64_t activities_off;     /* records of kinds that the agent did not enable */
    uint64_t activities_dropped; /* records for which the agent had no buffer */
    uint64_t threads;            /* real threads that played */
    uint64_t wall_ns;
    uint64_t first_ns, last_ns; /* of what was played, in ns since 1970 */
};

/* cuspan_replay_load: once per process. Fails like recording_open() and recording_next(); INVALID: wrong
 * setting. */
typedef enum status cuspan_replay_load_fn(const char *path, struct error *err);
/* cuspan_replay_run: plays to the end. Records still in a buffer are delivered by the agent's next flush.
 * TIMEOUT: the agent accepts nothing any more. */
typedef enum status cuspan_replay_run_fn(const struct replay_options *options, struct replay_result *result,
                                         struct error *err);

/* The last value of an INFO event with this key (agent/recording/recording.h), or for hardware counters all
 * of them, separated by commas; NULL: not recorded. */
typedef const char *cuspan_replay_info_fn(const char *key);

/* A program that exports cuspan_replay_watch is notified of each call into the agent on a host thread: its
 * start (`what` is the CUDA function or the buffer operation), its return (NULL), and the CUPTI functions
 * that the agent calls meanwhile (by name), in a forked child at any time. `what` remains valid. */
enum replay_watch { REPLAY_WATCH_BEGIN, REPLAY_WATCH_END, REPLAY_WATCH_CUPTI };
typedef void cuspan_replay_watch_fn(enum replay_watch event, const char *what);
