/* The hang watch: looks once a second whether the process stands still (model/hang/stall.h), and reports it.
 *
 *   live state <- program's threads, pipeline thread        (model/hang/live_state.h)
 *       |
 *   cuspan/watch: a look, the file (live_file.h), stall_note()
 *       | once nothing has moved for hang.after_ms
 *   a request to the pipeline thread: a forced flush of CUPTI, so that the ends are exact; lines of threads
 *       | during a stall
 *   two looks at all threads (stacks/thread_stacks.h) -> the report (hang_report.h) -> `report` below
 *
 * The thread waits for no lock of the pipeline, allocates nothing after its start, and calls neither CUDA nor
 * CUPTI, so it works while other threads of the process are stuck. A look takes less than 0.1 ms;
 * one at the stacks of 100 threads, once and for each report, 12 ms of CPU time. If the process is stopped,
 * looks stop, and the live state can still be read. */
#pragma once

#include "agent/watch/stacks/thread_stacks.h"
#include "base/control_path.h"
#include "base/status.h"
#include "model/hang/live_state.h"
#include "model/log_record.h"
#include "model/metrics/hardware.h"

/* A CUDA call in progress. Two looks at the same call have the same thread and `id`. */
struct watch_call {
    uint32_t thread, cbid;
    uint64_t id;
    const char *name; /* static */
};

struct watch_options {
    uint64_t after_ns; /* hang.after_ms */
    enum stack_detail stacks;
    int64_t rank, world_size;            /* -1: unknown */
    char (*folders)[CONTROL_PATH_BYTES]; /* for the file; copied */
    size_t folder_count;
    /* On the watch thread. Return at most LIVE_CUDA_CALLS calls; send a report in one of its forms. */
    uint32_t (*find_calls)(struct watch_call *calls);
    void (*ask_gpus)(void); /* for a later take_gpus(), which returns false if nothing is known */
    bool (*take_gpus)(struct hardware *hardware);
    void (*request_flush)(void); /* of CUPTI */
    void (*report)(const struct log_record *brief, const struct log_record *full);
};

/* Begins the live state and starts the thread. UNAVAILABLE or NO_MEMORY: no thread; then there is no live
 * state, either. Once per process. */
enum status watch_start(const struct watch_options *options, struct error *err) MUST_CHECK;

/* Makes a last look, ends the thread, and removes the file unless the process stands still or has
 * communicators. Waits for at most 200 ms; the thread may be blocked by a disk. */
void watch_stop(void);

/* In a forked child: there is no thread, and nothing is written. Async-signal-safe. */
void watch_forget(void);
