/* The state and functions that the files of the pipeline share. Only for the pipeline thread, unless marked.
 */
#pragma once

#include "agent/core/metrics/metrics_export.h"
#include "agent/core/metrics/profiles_export.h"
#include "agent/core/outputs/outputs.h"
#include "agent/core/pipeline/recorder.h"
#include "base/clock.h"
#include "agent/capture/capture.h"
#include "agent/correlate/correlate.h"

#include <pthread.h>
#include <time.h>

#define PUMP_MAX_NS (1 * NS_PER_SECOND)

struct pipeline_options;
struct pipeline_snapshot;

/* Only pipeline.c changes it. pipeline_requests.c takes the lock, too. */
struct pipeline_state {
    const struct settings *settings;
    const char *program;
    struct outputs *outputs;
    struct correlate *correlate;
    struct metrics *metrics;   /* NULL: metrics are off */
    struct recorder *recorder; /* a recording instead of the two above */
    struct capture_sink sink;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    bool is_running, is_stopping; /* guarded by the lock */
    bool has_given_up;            /* the thread has seen a broken invariant */
    uint64_t deadline_ns;         /* of the stop */
    uint64_t take_until_ns;       /* pipeline_take_until(); 0 before */
};
extern struct pipeline_state pipeline;

/* pipeline_sinks.c: the sinks of captured records and of spans. The first function wires the stages, and sets
 * `outputs`, `correlate`, `metrics` and `sink`. */
enum status pipeline_prepare_spans(const struct pipeline_options *options, struct pipeline_state *state,
                                   struct error *err) MUST_CHECK;
/* The sink of a recording, which also gets devices and their links. */
struct capture_sink pipeline_recorder_sink(void);
/* Sets the resources of all devices again, after that of the process has changed. */
void pipeline_set_device_resources(void);
/* Passes new facts about the links of devices to the outputs or the recorder. */
void pipeline_follow_links(void);

/* pipeline.c */
/* Drains what is there now. The number of rounds is limited, because the host and CUPTI may fill buffers as
 * fast as we drain them, and so use all of the deadline at exit. */
uint64_t pipeline_pump_all(uint64_t deadline_ns);
/* At exit: until then, records become spans, which wait for room in the queues. Later ones are lost. */
void pipeline_take_until(uint64_t until_ns);
void pipeline_log_failure(void);
void pipeline_log_losses(void);

/* pipeline_requests.c: called between two rounds. */
void pipeline_serve_requests(void);
bool pipeline_has_requests_locked(void);
/* Takes all events, and the records of what is finished on the GPU. */
void pipeline_take_finished(void);
/* Resumes after a release, when no other tool uses CUPTI. */
void pipeline_resume_if_due(uint64_t now_ns);
/* At the end: what was left out while CUPTI was released. */
void pipeline_log_releases(void);
/* Serves pipeline_request_hang_flush(). */
void pipeline_follow_hang_flush(uint64_t now_ns);

/* At the end, for SHUTDOWN_flushers: waits until the waiting threads have noticed it. */
void pipeline_let_waiters_go(void);
/* The deadline of an exit that starts now. Any thread. */
uint64_t pipeline_exit_deadline_ns(void);
/* In a signal handler: the interrupted thread never continues, so pipeline_let_waiters_go() does not wait for
 * it. */
void pipeline_abandon_waiter(void);
/* Exact, because no round is in progress. */
void pipeline_take_snapshot(struct pipeline_snapshot *view);

/* pipeline_report.c: the report of a running process (settings.accounts_file). The first is written by the
 * thread that starts the pipeline. */
void pipeline_report_start(void);
void pipeline_report_if_due(uint64_t now_ns);
void pipeline_report_exit(void);
/* After a checkpoint: as at the end, if everything was delivered. */
void pipeline_report_checkpoint(bool is_complete);
/* Fills in what all reports of the pipeline contain, except `balance`. */
struct report;
void pipeline_describe(struct report *report);

/* pipeline_end.c */
void pipeline_finish(void);
/* Called by a thread of the host while the pipeline thread is still busy, perhaps stuck inside CUPTI. Spans
 * are counted; records in rings and buffers cannot be counted any more, which the log line reports. */
void pipeline_report_missed_deadline(void);

/* last_thread.c: a host whose main thread called pthread_exit() ends when its last thread does. Our threads
 * would keep it alive for ever, so they detect that they are the last. Whether all remaining threads are
 * ours. Checks at most a few times a second; while the main thread runs among others, a check is one system
 * call. False without /proc. */
bool last_thread_check(uint64_t now_ns);
