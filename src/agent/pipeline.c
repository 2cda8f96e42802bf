#include "agent/pipeline.h"

#include "agent/alone.h"
#include "agent/control_socket.h"
#include "agent/detect.h"
#include "agent/outputs.h"
#include "agent/own.h"
#include "agent/own_resource.h"
#include "agent/report.h"
#include "agent/retreat.h"
#include "agent/shutdown.h"
#include "agent/tape.h"
#include "base/broken.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/losses.h"
#include "capture/context.h"
#include "capture/threads.h"
#include "correlate/correlate.h"
#include "export/exporter.h"
#include "export/file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define PAUSE_BUSY_NS   (1 * NS_PER_MS) /* a ring of 256 KiB holds 7 ms of the fastest launches seen */
#define PAUSE_IDLE_NS   (4 * NS_PER_MS)
#define PAUSE_SILENT_NS (100 * NS_PER_MS)
/* Percent of the fullest ring, found there after a pause. Small rings fill in 2 ms. */
#define RING_FILLING    15
#define RING_FULL       40
#define WAITING_SHARE   16 /* of the calls that can wait: so many more, and their records are asked for */
#define ROUNDS_MIN      2  /* of draining at the end, if there is that much */
#define CANCEL_NS       (1 * NS_PER_SECOND)
#define EXIT_GRACE_NS   (100 * NS_PER_MS)
#define FLUSH_STEP_NS   (1 * NS_PER_MS) /* so soon whoever waits for a flush sees that the process ends */
#define RELEASE_STEP_NS (NS_PER_MS / 2)
#define PUMP_MAX_NS     (1 * NS_PER_SECOND)

static struct {
    const struct settings *settings;
    const char *program;
    struct outputs *outputs;
    struct correlate *correlate;
    struct tape *tape; /* a recording in place of the two above */
    struct capture_sink sink;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    bool is_running, is_stopping, is_done, is_patient;
    bool is_silent; /* an invariant of ours is broken, and the thread has seen it: its own */
    uint64_t deadline_ns;
    enum { HOLD_STAYS, HOLD_RELEASE, HOLD_RESUME } hold_wanted;
    bool has_resume_failed;
    uint64_t flushes_wanted, flushes_done; /* counted from 1 */
    uint32_t flushers;                     /* host's threads that wait for one */
    _Atomic uint64_t signal_deadline_ns;   /* a signal's handler wants the end, by then; 0: none does */
    _Atomic int signal_number;
    _Atomic uint32_t flushers_for_good;    /* interrupted by that handler, and never to return */
    atomic_bool has_ended;                 /* as is_done, for the handler */
    uint64_t looks_wanted, looks_taken;    /* counted from 1 */
    struct pipeline_view view;             /* the last one taken */
    bool was_tracing;                      /* the thread's own */
    struct resource *devices[DEVICES_MAX]; /* what is known of each; NULL: not seen */
} pipeline = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the stages' sinks
 * --------------------------------------------------------------------------------------------- */

static void on_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    correlate_call(context, thread, call);
}

static void on_call_asleep(void *context, const struct thread_info *thread, const struct call_record *call)
{
    correlate_call_asleep(context, thread, call);
}

static void on_resource(void *context, const struct thread_info *thread,
                        const struct resource_record *resource)
{
    correlate_resource(context, thread, resource);
}

static void on_activity(void *context, const struct activity_record *activity)
{
    correlate_activity(context, activity);
}

static void on_context(void *context, const struct thread_info *thread, const struct context_record *attached)
{
    correlate_context(context, thread, attached);
}

static void on_range(void *context, const struct thread_info *thread, const struct range_record *range)
{
    correlate_range(context, thread, range);
}

static void on_name(void *context, const struct thread_info *thread, const struct name_record *name)
{
    correlate_name(context, thread, name);
}

static void on_session(void *context, const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags)
{
    (void)context;
    context_set_session(trace_id, span_id, flags);
    capture_set_session(flags & TRACE_FLAG_SAMPLED);
}

static void on_span(void *context, const struct span *span)
{
    outputs_add(context, span);
}

/* A device's spans belong to the process's resource as well: what is known of both, in one. */
static void set_device_resource(unsigned device)
{
    struct resource both = {0};
    if (resource_merge(&both, pipeline.devices[device]) == STATUS_OK &&
        resource_merge(&both, own_resource()) == STATUS_OK)
        outputs_set_resource(pipeline.outputs, (uint16_t)RESOURCE_DEVICE(device), &both);
    resource_deinit(&both);
}

static void on_device(void *context, uint16_t index, const struct resource *device)
{
    (void)context;
    unsigned number = index - RESOURCE_DEVICE(0);
    if (!pipeline.devices[number])
        pipeline.devices[number] = calloc(1, sizeof *pipeline.devices[number]);
    struct resource *kept = pipeline.devices[number];
    if (!kept)
        return;
    resource_deinit(kept);
    if (resource_merge(kept, device) == STATUS_OK && detect_device(kept, DETECT_GPUS_FOLDER) == STATUS_OK)
        set_device_resource(number);
}

static bool outputs_room(void)
{
    return outputs_have_room(pipeline.outputs);
}

/* --- starting
 * ------------------------------------------------------------------------------------------------------ */

static enum status prepare_spans(const struct pipeline_options *options, struct error *err)
{
    const struct settings *settings = options->settings;
    enum status status = outputs_create(settings, options->own_folder, &pipeline.outputs, err);
    if (status != STATUS_OK)
        return status;
    struct correlate_options correlate = {.settings = settings,
                                          .program = options->program,
                                          .parent = options->parent,
                                          .expects_calls = capture_expects_calls(settings),
                                          .expects_graphs = capture_expects_graphs(settings),
                                          .expects_devices = true,
                                          .slept_at = capture_slept_at,
                                          .sink = {pipeline.outputs, on_span, on_device, on_session}};
    status = correlate_create(&correlate, &pipeline.correlate);
    if (status != STATUS_OK)
        return error_set(err, status, "can't start correlation: %s", status_text(status));
    pipeline.sink = (struct capture_sink){.context = pipeline.correlate,
                                          .on_call = on_call,
                                          .on_call_asleep = on_call_asleep,
                                          .on_resource = on_resource,
                                          .on_activity = on_activity,
                                          .on_context = on_context,
                                          .on_range = on_range,
                                          .on_name = on_name};
    capture_set_downstream_room(outputs_room);
    return STATUS_OK;
}

enum status pipeline_prepare(const struct pipeline_options *options, struct error *err)
{
    pipeline.settings = options->settings;
    pipeline.program = options->program;
    if (!options->settings->record_file)
        return prepare_spans(options, err);
    enum status status = tape_create(options->settings->record_file, &pipeline.tape, err);
    if (status == STATUS_OK)
        pipeline.sink = tape_sink(pipeline.tape);
    return status;
}

/* --- the thread
 * ---------------------------------------------------------------------------------------------------- */

/* With the lock held. A handler may do no more than leave word; it is found after a pause at the latest. */
static void follow_signal(void)
{
    uint64_t deadline_ns = atomic_load(&pipeline.signal_deadline_ns);
    if (!deadline_ns || pipeline.is_stopping)
        return;
    pipeline.deadline_ns = deadline_ns;
    pipeline.is_stopping = true;
    shutdown_begin("a signal", atomic_load(&pipeline.signal_number));
}

static bool wait_or_stop(uint64_t pause_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + pause_ns;
    until.tv_sec += (time_t)(ns / NS_PER_SECOND);
    until.tv_nsec = (long)(ns % NS_PER_SECOND);
    pthread_mutex_lock(&pipeline.lock);
    if (!pipeline.is_stopping && pipeline.flushes_wanted == pipeline.flushes_done &&
        pipeline.looks_wanted == pipeline.looks_taken && pipeline.hold_wanted == HOLD_STAYS)
        pthread_cond_timedwait(&pipeline.wake, &pipeline.lock, &until);
    follow_signal();
    bool stopping = pipeline.is_stopping;
    pthread_mutex_unlock(&pipeline.lock);
    return stopping;
}

static void tick(uint64_t now_ns)
{
    if (pipeline.tape)
        return;
    if (!broken_any())
        correlate_tick(pipeline.correlate, now_ns);
    outputs_tick(pipeline.outputs, now_ns);
}

static void say_failure_once(void)
{
    static bool said;
    const char *failure = capture_failure();
    if (failure && !said)
        log_error("CUPTI has stopped working: %s; this process is no longer traced: start it again, with "
                  "another CUPTI "
                  "(distribution.cuspan.cupti.library) if it comes again",
                  failure);
    said = said || failure;
}

/* The first loss of a kind says what would have helped; how many there were is said at the end. */
static void say_first_losses(void)
{
    static bool said[COUNTER_COUNT];
    for (size_t i = 0; i < loss_count; i++) {
        const struct loss *loss = &losses[i];
        if (!loss->is_told_at_once || said[loss->counter] || !counter_get(loss->counter))
            continue;
        said[loss->counter] = true;
        log_warn("%s, and spans are lost; %s", loss->why, loss->advice);
    }
}

/* Takes what is there now. The host's threads and CUPTI may go on filling what we empty, so there is an end
 * to the rounds: else they would use up the deadline at exit. */
static uint64_t pump_all(uint64_t deadline_ns)
{
    uint64_t records = 0;
    uint32_t rounds_max = 2 + pipeline.settings->cupti.host_buffer_count / CAPTURE_BUFFERS_A_ROUND;
    for (uint32_t round = 0; round < rounds_max && (round < ROUNDS_MIN || capture_has_more_buffers());
         round++) {
        size_t taken = capture_pump(&pipeline.sink);
        records += taken;
        if (taken == 0 || clock_monotonic_ns() >= deadline_ns)
            break;
        tick(clock_monotonic_ns());
    }
    return records;
}

/* --- when an invariant of ours is broken
 * ---------------------------------------------------------------------------------- */

/* CUPTI is left, so the host pays nothing more. What is in the outputs still leaves: nothing is read any more
 * that becomes spans, and what came is counted. Spans that were still open (sessions, ranges) are not. */
static void fall_silent(void)
{
    pipeline.is_silent = true;
    capture_set_downstream_room(NULL); /* a replay may go on */
    capture_stop();
    pipeline.sink = retreat_sink;
    pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
    if (pipeline.outputs)
        outputs_send(pipeline.outputs);
}

/* --- while it runs: stops and flushes by the program
 * ------------------------------------------------------------------------------------------------------- */

static void take_finished(void)
{
    if (pipeline.is_silent)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    capture_flush_finished();
    (void)pump_all(now_ns + PUMP_MAX_NS);
    if (pipeline.correlate)
        correlate_settle(pipeline.correlate, now_ns);
}

/* The program has ended the tracing: its session's span leaves, too. */
static void follow_tracing(void)
{
    bool is_tracing = capture_is_tracing() || capture_is_ending();
    if (pipeline.was_tracing && !is_tracing && pipeline.correlate) {
        take_finished();
        correlate_end_session(pipeline.correlate, "stop");
    }
    pipeline.was_tracing = is_tracing;
}

static void flush_if_wanted(void)
{
    pthread_mutex_lock(&pipeline.lock);
    uint64_t wanted = pipeline.flushes_wanted;
    bool is_due = INVARIANT(pipeline.flushes_done <= wanted) && wanted != pipeline.flushes_done;
    pthread_mutex_unlock(&pipeline.lock);
    if (!is_due)
        return;
    take_finished();
    if (pipeline.outputs)
        outputs_send(pipeline.outputs);
    pthread_mutex_lock(&pipeline.lock);
    pipeline.flushes_done = wanted;
    pthread_cond_broadcast(&pipeline.done);
    pthread_mutex_unlock(&pipeline.lock);
}

/* Between two rounds, so that all sums are of one moment. */
static void take_view(struct pipeline_view *view)
{
    struct balance *balance = &view->balance;
    *view = (struct pipeline_view){.queue_bytes = 0};
    balance_take(balance, pipeline.outputs ? pipeline.settings->output_count : 0);
    balance->held = pipeline.correlate ? correlate_held(pipeline.correlate) : 0;
    for (unsigned i = 0; i < balance->output_count; i++)
        balance->on_way[i] = outputs_on_way(pipeline.outputs, i, &balance->outputs[i]);
    if (pipeline.outputs)
        outputs_memory(pipeline.outputs, &view->queue_bytes, &view->queue_free_bytes);
}

static void look_if_wanted(void)
{
    pthread_mutex_lock(&pipeline.lock);
    if (pipeline.looks_wanted != pipeline.looks_taken) {
        take_view(&pipeline.view);
        pipeline.looks_taken = pipeline.looks_wanted;
        pthread_cond_broadcast(&pipeline.done);
    }
    pthread_mutex_unlock(&pipeline.lock);
}

/* --- giving way to another tool
 * ------------------------------------------------------------------------------------------------------- */

static void pump_a_moment(void)
{
    pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
    nanosleep(&(struct timespec){0, (long)RELEASE_STEP_NS}, NULL);
}

/* First the calls that are under way, then their work on the GPU; half of the time for each. */
static void release(void)
{
    uint64_t begin_ns = clock_monotonic_ns();
    uint64_t wait_ns = pipeline.settings->cupti.others_wait_ms * NS_PER_MS;
    uint64_t open_before = counter_get(COUNTER_lost_in_flight);
    while (!capture_quiet(clock_monotonic_ns() - begin_ns >= wait_ns / 2))
        pump_a_moment();
    while (pipeline.correlate && correlate_waiting(pipeline.correlate) > 0 &&
           clock_monotonic_ns() - begin_ns < wait_ns) {
        capture_flush_finished();
        pump_a_moment();
    }
    uint32_t waiting = pipeline.correlate ? correlate_waiting(pipeline.correlate) : 0;
    capture_release();
    pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
    if (pipeline.correlate) {
        correlate_settle(pipeline.correlate, clock_monotonic_ns());
        correlate_end_session(pipeline.correlate, "release");
        outputs_send(pipeline.outputs);
    }
    bool is_first = counter_get(COUNTER_releases) == 1;
    (is_first ? log_warn : log_info)("CUPTI is left to another tool: nothing is traced until it is free "
                                     "again (after %.0f ms; %llu calls were "
                                     "under way, %u had GPU work that had not come)",
                                     (double)(clock_monotonic_ns() - begin_ns) / 1e6,
                                     (unsigned long long)(counter_get(COUNTER_lost_in_flight) - open_before),
                                     waiting);
}

static bool resume(void)
{
    static bool said_back, said_not;
    struct error err = {""};
    bool is_back = capture_resume(&err) == STATUS_OK;
    if (is_back)
        (said_back ? log_info : log_warn)("cuspan uses CUPTI again");
    else
        (said_not ? log_debug : log_info)("can't use CUPTI again yet: %s", err.text);
    said_back |= is_back;
    said_not |= !is_back;
    return is_back;
}

static void follow_hold(uint64_t now_ns)
{
    pthread_mutex_lock(&pipeline.lock);
    int wanted = pipeline.hold_wanted;
    pthread_mutex_unlock(&pipeline.lock);
    if (wanted == HOLD_STAYS && !capture_is_released())
        return;
    bool has_failed = false;
    if (wanted == HOLD_RELEASE && !capture_is_released())
        release();
    else if (wanted == HOLD_RESUME && capture_is_released())
        has_failed = !resume();
    else if (wanted == HOLD_STAYS && capture_may_resume(now_ns))
        resume();
    if (wanted == HOLD_STAYS)
        return;
    pthread_mutex_lock(&pipeline.lock);
    pipeline.hold_wanted = HOLD_STAYS;
    pipeline.has_resume_failed = has_failed;
    pthread_cond_broadcast(&pipeline.done);
    pthread_mutex_unlock(&pipeline.lock);
}

static struct timespec moment(uint64_t monotonic_ns);

enum status pipeline_set_released(bool is_released, uint64_t deadline_ns)
{
    enum status status = STATUS_TIMEOUT;
    struct timespec until = moment(deadline_ns);
    pthread_mutex_lock(&pipeline.lock);
    if (pipeline.is_running && !pipeline.is_stopping) {
        pipeline.flushers++; /* who stops the pipeline waits for us to go */
        pipeline.hold_wanted = is_released ? HOLD_RELEASE : HOLD_RESUME;
        pthread_cond_signal(&pipeline.wake);
        while (pipeline.hold_wanted != HOLD_STAYS && !pipeline.is_stopping)
            if (pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) != 0)
                break;
        if (pipeline.hold_wanted == HOLD_STAYS)
            status = pipeline.has_resume_failed ? STATUS_UNAVAILABLE : STATUS_OK;
        if (--pipeline.flushers == 0)
            pthread_cond_broadcast(&pipeline.done);
    }
    pthread_mutex_unlock(&pipeline.lock);
    return status;
}

static struct timespec moment(uint64_t monotonic_ns)
{
    return (struct timespec){(time_t)(monotonic_ns / NS_PER_SECOND), (long)(monotonic_ns % NS_PER_SECOND)};
}

/* With the lock held, which is let go meanwhile. A host's thread waits in short sleeps and on no condition: a
 * signal's handler that never returns would leave a waiter there for good, which whoever signals the
 * condition then waits for. */
static void nap(void)
{
    pthread_mutex_unlock(&pipeline.lock);
    nanosleep(&(struct timespec){0, (long)FLUSH_STEP_NS}, NULL);
    pthread_mutex_lock(&pipeline.lock);
}

/* With the lock held. True: the pipeline thread has sent what there was. */
static bool wait_until_sent(uint64_t flush, uint64_t deadline_ns)
{
    while (pipeline.flushes_done < flush && !pipeline.is_stopping && clock_monotonic_ns() < deadline_ns)
        nap();
    return pipeline.flushes_done >= flush && !pipeline.is_stopping;
}

static enum status wait_for_delivery(uint64_t deadline_ns)
{
    uint64_t sent[OUTPUTS_MAX];
    if (!pipeline.outputs)
        return STATUS_OK;
    outputs_sent(pipeline.outputs, sent);
    while (outputs_wait(pipeline.outputs, sent, 0) != STATUS_OK) {
        if (pipeline.is_stopping || clock_monotonic_ns() >= deadline_ns)
            return STATUS_TIMEOUT;
        nap();
    }
    return STATUS_OK;
}

/* Read by a signal's handler on the same thread. */
static __thread volatile bool is_flushing __attribute__((tls_model("initial-exec")));

enum status pipeline_flush(uint64_t deadline_ns)
{
    enum status status = STATUS_TIMEOUT;
    is_flushing = true;
    pthread_mutex_lock(&pipeline.lock);
    if (pipeline.is_running && !pipeline.is_stopping) {
        uint64_t flush = ++pipeline.flushes_wanted;
        pipeline.flushers++;
        pthread_cond_signal(&pipeline.wake);
        if (wait_until_sent(flush, deadline_ns))
            status = wait_for_delivery(deadline_ns);
        pipeline.flushers--;
        pthread_cond_broadcast(&pipeline.done);
    }
    pthread_mutex_unlock(&pipeline.lock);
    is_flushing = false;
    return status;
}

enum status pipeline_look(struct pipeline_view *view, uint64_t deadline_ns)
{
    struct timespec until = moment(deadline_ns);
    pthread_mutex_lock(&pipeline.lock);
    bool is_there = pipeline.is_running && !pipeline.is_stopping;
    uint64_t wanted = is_there ? ++pipeline.looks_wanted : 0;
    if (wanted)
        pthread_cond_signal(&pipeline.wake);
    while (wanted && pipeline.looks_taken < wanted && !pipeline.is_stopping)
        if (pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) != 0)
            break;
    bool is_taken = wanted && pipeline.looks_taken >= wanted;
    if (is_taken)
        *view = pipeline.view;
    pthread_mutex_unlock(&pipeline.lock);
    return is_taken ? STATUS_OK : STATUS_TIMEOUT;
}

/* They use the outputs, which are about to end; none of them waits longer than a step. */
static void let_flushers_go(void)
{
    shutdown_step_begin(SHUTDOWN_flushers);
    pthread_mutex_lock(&pipeline.lock);
    uint32_t waiting = pipeline.flushers;
    pthread_cond_broadcast(&pipeline.done);
    while (pipeline.flushers > atomic_load(&pipeline.flushers_for_good))
        pthread_cond_wait(&pipeline.done, &pipeline.lock);
    pthread_mutex_unlock(&pipeline.lock);
    shutdown_step_end(SHUTDOWN_flushers, waiting, NULL);
}

/* Who reports: the pipeline's thread when it is done, else the host's when it can wait no longer. */
static atomic_flag is_reported = ATOMIC_FLAG_INIT;

static void take(enum shutdown_step step)
{
    shutdown_step_begin(step);
    uint64_t records = pump_all(pipeline.deadline_ns);
    bool is_late = clock_monotonic_ns() >= pipeline.deadline_ns;
    shutdown_step_end(step, records, is_late ? "the deadline has passed" : NULL);
}

static void flush_cupti(void)
{
    uint32_t lent = capture_buffers_lent();
    if (capture_failure()) {
        shutdown_step_skip(SHUTDOWN_flush_cupti);
        return;
    }
    shutdown_step_begin(SHUTDOWN_flush_cupti);
    (void)capture_take_trouble();
    capture_flush_all();
    uint32_t left = capture_buffers_lent();
    shutdown_step_end(SHUTDOWN_flush_cupti, left < lent ? lent - left : 0, capture_take_trouble());
}

static void end_capture(void)
{
    shutdown_step_begin(SHUTDOWN_switch_off);
    capture_stop();
    shutdown_step_end(SHUTDOWN_switch_off, 1, capture_take_trouble());
    take(SHUTDOWN_take_last);
    shutdown_step_begin(SHUTDOWN_late);
    uint64_t late = counter_get(COUNTER_lost_late);
    capture_end();
    shutdown_step_end(SHUTDOWN_late, counter_get(COUNTER_lost_late) - late, NULL);
    shutdown_is_open(SHUTDOWN_OPEN_buffers, capture_buffers_lent());
    shutdown_is_open(SHUTDOWN_OPEN_calls, counter_get(COUNTER_lost_in_flight));
}

static void close_session(void)
{
    if (!pipeline.correlate || broken_any()) {
        shutdown_step_skip(SHUTDOWN_close);
        return;
    }
    shutdown_step_begin(SHUTDOWN_close);
    uint64_t spans = counter_get(COUNTER_spans_created);
    shutdown_is_open(SHUTDOWN_OPEN_records, correlate_waiting(pipeline.correlate));
    correlate_finish(pipeline.correlate);
    shutdown_step_end(SHUTDOWN_close, counter_get(COUNTER_spans_created) - spans, NULL);
}

static void close_recording(struct report *report)
{
    shutdown_step_skip(SHUTDOWN_deliver);
    shutdown_step_begin(SHUTDOWN_recording);
    report->recording = tape_path(pipeline.tape);
    report->recording_events = tape_close(pipeline.tape);
    shutdown_step_end(SHUTDOWN_recording, report->recording_events,
                      counter_get(COUNTER_lost_recording) ? "events could not be written" : NULL);
}

static void deliver(struct report *report)
{
    struct outputs_left left;
    shutdown_step_skip(SHUTDOWN_recording);
    shutdown_step_begin(SHUTDOWN_deliver);
    uint64_t before = counter_get(COUNTER_spans_delivered), late = counter_get(COUNTER_lost_deadline);
    report->trace_count =
        correlate_traces(pipeline.correlate, report->traces, REPORT_TRACES_MAX, &report->trace_total);
    outputs_end(pipeline.outputs, pipeline.deadline_ns, &left);
    bool is_late = counter_get(COUNTER_lost_deadline) != late;
    shutdown_step_end(SHUTDOWN_deliver, counter_get(COUNTER_spans_delivered) - before,
                      is_late ? "the deadline has passed, and spans are lost" : NULL);
    shutdown_is_open(SHUTDOWN_OPEN_threads, left.has_senders);
    shutdown_is_open(SHUTDOWN_OPEN_memory, left.bytes);
}

static void write_report(const struct report *report)
{
    shutdown_is_open(SHUTDOWN_OPEN_descriptors, file_descriptors_open());
    if (report->settings->report_file)
        shutdown_step_begin(SHUTDOWN_report);
    else
        shutdown_step_skip(SHUTDOWN_report);
    bool written = report_write(report);
    if (report->settings->report_file)
        shutdown_step_end(SHUTDOWN_report, written, written ? NULL : "it could not be written");
    shutdown_write(report->settings);
}

/* What waits in correlate for what will not come any more. */
static void give_up_unmade(enum counter reason)
{
    struct balance balance = {.held = 0};
    balance_take(&balance, 0);
    int64_t unmade = balance_unaccounted(&balance);
    if (unmade > 0)
        counter_add(reason, (uint64_t)unmade);
}

static void finish(void)
{
    struct report report = {.program = pipeline.program, .settings = pipeline.settings};
    let_flushers_go();
    if (pipeline.is_patient)
        outputs_set_patience(pipeline.outputs, pipeline.deadline_ns);
    if (!pipeline.is_silent) {
        take(SHUTDOWN_take);
        flush_cupti();
        take(SHUTDOWN_take_flushed);
    }
    end_capture();
    close_session();
    say_failure_once();
    say_first_losses();
    if (pipeline.tape)
        close_recording(&report);
    else
        deliver(&report);
    if (atomic_flag_test_and_set(&is_reported))
        return; /* too late: the host's thread has said what is lost */
    if (pipeline.correlate && broken_any())
        give_up_unmade(COUNTER_lost_broken); /* what was open when the invariant broke stays so */
    report_log_losses(exporter_final_trouble());
    if (pipeline.correlate)
        report_log_imbalance(pipeline.settings->output_count);
    write_report(&report);
}

/* An SDK that has started after us says what this process is: from now on, and at once. */
static void on_pause_in_look(void)
{
    capture_pump(&pipeline.sink);
}

static void follow_resource(uint64_t now_ns)
{
    if (!own_resource_look(now_ns, on_pause_in_look) || pipeline.tape)
        return;
    outputs_set_resource(pipeline.outputs, RESOURCE_PROCESS, own_resource());
    for (unsigned i = 0; i < DEVICES_MAX; i++)
        if (pipeline.devices[i])
            set_device_resource(i);
    outputs_send(pipeline.outputs);
}

/* Calls whose work is long done must not be given up for want of room while CUPTI keeps its records back. */
static void ask_for_records(void)
{
    static uint32_t before; /* as few as there were since the last time that we asked */
    uint32_t waiting = pipeline.correlate ? correlate_waiting(pipeline.correlate) : 0;
    if (pipeline.correlate && correlate_wants_records(pipeline.correlate))
        capture_flush_soon();
    capture_watch_buffers(waiting);
    if (waiting < before)
        before = waiting;
    if (waiting - before <= pipeline.settings->correlation.pending_max / WAITING_SHARE)
        return;
    before = waiting;
    capture_flush_soon();
}

static uint64_t pause_after(size_t records)
{
    uint32_t percent = capture_fullest_ring();
    if (percent >= RING_FULL)
        return 0;
    if (percent >= RING_FILLING)
        return PAUSE_BUSY_NS / 4;
    return records ? PAUSE_BUSY_NS : PAUSE_IDLE_NS;
}

/* All threads of the host's have ended: it ends when ours do, as it would without them. */
static void end_where_alone(uint64_t now_ns)
{
    if (!alone_look(now_ns))
        return;
    pthread_mutex_lock(&pipeline.lock);
    pipeline.deadline_ns = now_ns + pipeline.settings->exit_deadline_ms * NS_PER_MS;
    if (!pipeline.is_stopping)
        shutdown_begin("the end of its last thread", 0);
    pipeline.is_stopping = true;
    pthread_mutex_unlock(&pipeline.lock);
    control_socket_close(); /* its thread would keep the process alive */
}

/* Each returns how long to pause. */
static uint64_t pass(void)
{
    size_t records = capture_pump(&pipeline.sink);
    uint64_t now_ns = clock_monotonic_ns();
    tick(now_ns);
    follow_resource(now_ns);
    ask_for_records();
    capture_service(now_ns);
    follow_tracing();
    follow_hold(now_ns);
    flush_if_wanted();
    look_if_wanted();
    say_failure_once();
    say_first_losses();
    end_where_alone(now_ns);
    return pause_after(records);
}

static uint64_t pass_silently(void)
{
    uint64_t now_ns = clock_monotonic_ns();
    capture_pump(&pipeline.sink);
    tick(now_ns);
    flush_if_wanted();
    look_if_wanted();
    end_where_alone(now_ns);
    return PAUSE_SILENT_NS;
}

static void *run(void *unused)
{
    (void)unused;
    thread_is_ours = true;
    prctl(PR_SET_NAME, "cuspan/pipeline");
    uint64_t pause_ns = PAUSE_BUSY_NS;
    while (!wait_or_stop(pause_ns)) {
        pause_ns = pipeline.is_silent ? pass_silently() : pass();
        if (broken_any() && !pipeline.is_silent)
            fall_silent();
    }
    finish();
    atomic_store(&pipeline.has_ended, true);
    pthread_mutex_lock(&pipeline.lock);
    pipeline.is_done = true;
    pthread_cond_broadcast(&pipeline.done);
    pthread_mutex_unlock(&pipeline.lock);
    return NULL;
}

static int start_thread(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pipeline.wake, &monotonic);
    pthread_cond_init(&pipeline.done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return own_thread(&pipeline.thread, run);
}

enum status pipeline_start(const struct capture_info *info, struct error *err)
{
    if (pipeline.tape)
        tape_describe(pipeline.tape, info, pipeline.program, pipeline.settings);
    else
        outputs_set_resource(pipeline.outputs, RESOURCE_PROCESS, own_resource());
    pipeline.is_patient = !pipeline.tape && info->is_patient;
    if (pipeline.is_patient)
        outputs_set_patience(pipeline.outputs, UINT64_MAX);
    pipeline.was_tracing = capture_is_tracing();
    if (start_thread() != 0)
        return error_set(err, STATUS_UNAVAILABLE, "can't start a thread");
    pthread_mutex_lock(&pipeline.lock);
    pipeline.is_running = true;
    pthread_mutex_unlock(&pipeline.lock);
    return STATUS_OK;
}

/* The senders may just be loading a TLS library, whose own exit handlers can't stand that: they are waited
 * for. */
void pipeline_cancel(void)
{
    capture_set_downstream_room(NULL);
    outputs_destroy(pipeline.outputs, clock_monotonic_ns() + CANCEL_NS);
    pipeline.outputs = NULL;
}

/* On the host's thread, while ours is still at work, perhaps stuck inside CUPTI. What has become spans is
 * counted; what still lay in rings and buffers nobody can count any more, and the line says so. */
static void report_missed_deadline(void)
{
    char why[160];
    struct report report = {.program = pipeline.program, .settings = pipeline.settings};
    if (atomic_flag_test_and_set(&is_reported))
        return;
    snprintf(why, sizeof why,
             "the deadline of %u ms at exit has passed, and what CUPTI still held comes on top; raise "
             "distribution.cuspan.exit_deadline_ms",
             pipeline.settings->exit_deadline_ms);
    if (!pipeline.tape) {
        give_up_unmade(COUNTER_lost_unmade);
        (void)outputs_give_up(pipeline.settings->output_count);
    }
    if (counters_lost())
        report_log_losses(why);
    else
        log_warn("%s", why);
    write_report(&report);
}

void pipeline_wait(void)
{
    pthread_mutex_lock(&pipeline.lock);
    follow_signal();
    struct timespec until = moment(pipeline.deadline_ns + EXIT_GRACE_NS);
    while (pipeline.is_stopping && !pipeline.is_done)
        if (pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) != 0)
            break;
    pthread_mutex_unlock(&pipeline.lock);
}

void pipeline_stop(const char *why)
{
    uint64_t deadline_ns = clock_monotonic_ns() + pipeline.settings->exit_deadline_ms * NS_PER_MS;
    struct timespec until = moment(deadline_ns + EXIT_GRACE_NS);
    pthread_mutex_lock(&pipeline.lock);
    if (!pipeline.is_stopping) {
        shutdown_begin(why, 0);
        pipeline.deadline_ns = deadline_ns;
        pipeline.is_stopping = true;
    }
    pthread_cond_signal(&pipeline.wake);
    while (!pipeline.is_done)
        if (pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) != 0)
            break;
    bool done = pipeline.is_done;
    pthread_mutex_unlock(&pipeline.lock);
    if (!done)
        report_missed_deadline();
    else if (!pthread_equal(pthread_self(), pipeline.thread)) /* it is where it was the host's last thread */
        pthread_join(pipeline.thread,
                     NULL); /* only its end is left: nothing of ours runs while the host goes */
}

void pipeline_ask_to_stop(int signal_number)
{
    uint64_t none = 0;
    uint64_t deadline_ns = clock_monotonic_ns() + pipeline.settings->exit_deadline_ms * NS_PER_MS;
    if (is_flushing)
        atomic_store(&pipeline.flushers_for_good, 1);
    atomic_store(&pipeline.signal_number, signal_number);
    atomic_compare_exchange_strong(&pipeline.signal_deadline_ns, &none, deadline_ns);
}

bool pipeline_has_ended(void)
{
    return atomic_load(&pipeline.has_ended);
}
