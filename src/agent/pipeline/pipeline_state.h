/* What the files of the pipeline share: its state, and what each asks of the others. All but what is marked
 * is for the pipeline's thread. */
#ifndef CUSPAN_AGENT_PIPELINE_STATE_H
#define CUSPAN_AGENT_PIPELINE_STATE_H

#include "agent/metrics/metrics_export.h"
#include "agent/pipeline/outputs.h"
#include "agent/pipeline/pipeline.h"
#include "agent/pipeline/recorder.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "correlate/correlate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define PUMP_MAX_NS (1 * NS_PER_SECOND)

struct pipeline_state {
    const struct settings *settings;
    const char *program;
    struct outputs *outputs;
    struct correlate *correlate;
    struct metrics *metrics;   /* NULL: none are wanted */
    struct recorder *recorder; /* a recording in place of the two above */
    struct capture_sink sink;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    bool is_running, is_stopping, is_done, is_patient;
    bool is_silent; /* an invariant of ours is broken, and the thread has seen it: its own */
    uint64_t deadline_ns;
    /* The thread's own plan for the end, 0 before it: until when records become spans, which wait for room in
     * the queues, and until when batches are delivered. */
    uint64_t take_until_ns, deliver_until_ns;
    struct pipeline_request *requests;   /* of threads that wait; NULL: none */
    uint32_t waiters;                    /* those threads */
    _Atomic uint64_t signal_deadline_ns; /* by which a signal handler wants the end; 0: none does */
    _Atomic int signal_number;
    _Atomic uint32_t waiters_for_good;     /* that this handler has interrupted, and that never return */
    atomic_bool has_ended;                 /* like is_done, for the handler */
    bool was_tracing;                      /* the thread's own */
    struct resource *devices[DEVICES_MAX]; /* what is known of each; NULL: not seen */
};
extern struct pipeline_state pipeline;

/* pipeline_sinks.c: where capture's records and correlate's spans go. The former wires the stages. */
enum status pipeline_prepare_spans(const struct pipeline_options *options, struct error *err) MUST_CHECK;
/* The recorder's, that hears of devices and their links besides. */
struct capture_sink pipeline_recorder_sink(void);
void pipeline_set_device_resource(unsigned device);
/* Tells the outputs, or the recorder, what has become known of devices' links since. */
void pipeline_follow_links(void);

/* pipeline.c */
/* Takes what is there now. The host's threads and CUPTI may go on filling what we empty, so there is an end
 * to the rounds: else they would use up the deadline at exit. */
uint64_t pipeline_pump_all(uint64_t deadline_ns);
void pipeline_say_failure(void);
void pipeline_say_losses(void);
struct timespec pipeline_moment(uint64_t monotonic_ns);

/* pipeline_requests.c: all between two rounds. */
void pipeline_follow_tracing(void);
void pipeline_serve_requests(void);
/* After a release, once no other tool uses CUPTI. */
void pipeline_resume_if_due(uint64_t now_ns);
/* All sums of one moment: between two rounds. */
void pipeline_take_snapshot(struct pipeline_snapshot *view);

/* pipeline_report.c: the report of a process that still runs, kept up to date where settings.report_file is
 * set. The first is on the thread that starts the pipeline. */
void pipeline_report_start(void);
void pipeline_report_if_due(uint64_t now_ns);
void pipeline_report_exit(void);
/* What all reports of the pipeline say, but not `balance`. */
struct report;
void pipeline_describe(struct report *report);

/* pipeline_end.c */
void pipeline_finish(void);
/* On the host's thread, while ours is still at work, perhaps stuck inside CUPTI. What has become spans is
 * counted; what still lay in rings and buffers nobody can count any more, and the line says so. */
void pipeline_report_missed_deadline(void);

#endif
