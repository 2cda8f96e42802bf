#include "agent/core/pipeline/pipeline.h"

#include "agent/core/pipeline/pipeline_state.h"

#include "agent/core/control/control_socket.h"
#include "agent/core/resource/detect.h"
#include "agent/core/resource/device_links.h"
#include "agent/core/resource/self_env.h"
#include "agent/core/resource/process_resource.h"
#include "agent/core/resource/training_job.h"
#include "agent/core/pipeline/discard_sink.h"
#include "agent/core/pipeline/native_code.h"
#include "agent/core/report/shutdown.h"
#include "agent/correlate/session_spans.h"
#include "base/accounting/invariant.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "base/accounting/losses.h"
#include "base/process/agent_thread.h"
#include "base/process/cpu_time.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/sleep_control.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define PAUSE_BUSY_NS     (1 * NS_PER_MS) /* a ring of 256 KiB holds 7 ms of the fastest launches seen */
#define PAUSE_IDLE_NS     (4 * NS_PER_MS)
#define PAUSE_GIVEN_UP_NS (100 * NS_PER_MS)
/* Maximum time per round that spans wait for room in the queues. Compressing a full queue takes some ms, and
 * requests to this thread must not wait long. */
#define PAUSE_IN_ROUND_NS (20 * NS_PER_MS)
/* Fill of the fullest ring after a pause, in percent. Small rings fill in 2 ms. */
#define RING_FILLING 15
#define RING_FULL    40
/* Naming new native stacks, in a round. The first one in a large library takes 16 rounds. */
#define NAMING_NS (1 * NS_PER_MS)
#define PREPARED_CODE                                                                                        \
    (16u * 1024 * 1024)  /* bytes; the symbols of smaller libraries are read within some ms */
#define WAITING_SHARE 16 /* after this share of the pending calls, CUPTI is flushed */
#define ROUNDS_MIN    2  /* rounds of draining at exit, if there are records */
#define CANCEL_NS     (1 * NS_PER_SECOND)
#define EXIT_GRACE_NS (100 * NS_PER_MS)

struct pipeline_state pipeline = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_t thread;
static bool is_done;                        /* guarded by the lock */
static atomic_bool has_ended;               /* like is_done, for the signal handler */
static bool is_patient;                     /* a replay that waits instead of losing spans */
static bool was_tracing;                    /* as of the last round */
static _Atomic uint64_t signal_deadline_ns; /* deadline of a stop by a signal handler; 0: none */
static _Atomic int stop_signal;

enum status pipeline_prepare(const struct pipeline_options *options, struct error *err)
{
    pipeline.settings = options->settings;
    pipeline.program = options->program;
    if (settings_have_native_stacks(options->settings) && native_code_start() != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory for call stacks");
    if (!options->settings->record_file)
        return pipeline_prepare_spans(options, &pipeline, err);
    enum status status = recorder_create(options->settings->record_file, &pipeline.recorder, err);
    if (status == STATUS_OK)
        pipeline.sink = pipeline_recorder_sink();
    return status;
}

/* With the lock held. The first cause counts. */
static void begin_stop(uint64_t deadline_ns, const char *why, int signal_number)
{
    if (pipeline.is_stopping)
        return;
    pipeline.deadline_ns = deadline_ns;
    pipeline.is_stopping = true;
    shutdown_begin(why, signal_number);
}

/* With the lock held. A signal handler can only store its request, which is found after a pause at the
 * latest. */
static void follow_signal(void)
{
    uint64_t deadline_ns = atomic_load(&signal_deadline_ns);
    if (deadline_ns)
        begin_stop(deadline_ns, "a signal", atomic_load(&stop_signal));
}

static bool wait_or_stop(uint64_t pause_ns)
{
    struct timespec until = clock_timespec(clock_monotonic_ns() + pause_ns);
    pthread_mutex_lock(&pipeline.lock);
    if (!pipeline.is_stopping && !pipeline_has_requests_locked())
        pthread_cond_timedwait(&pipeline.wake, &pipeline.lock, &until);
    follow_signal();
    bool stopping = pipeline.is_stopping;
    pthread_mutex_unlock(&pipeline.lock);
    return stopping;
}

static void tick(uint64_t now_ns)
{
    if (pipeline.recorder)
        return;
    if (!invariant_any_failed())
        correlate_tick(pipeline.correlate, now_ns);
    outputs_tick(pipeline.outputs, now_ns);
    if (!invariant_any_failed())
        metrics_export_tick(pipeline.metrics, pipeline.correlate, pipeline.outputs, now_ns);
    if (!invariant_any_failed())
        profiles_export_tick(pipeline.correlate, pipeline.outputs, now_ns);
}

void pipeline_log_failure(void)
{
    const char *failure = capture_failure();
    if (failure)
        log_once(log_error,
                 "CUPTI has stopped working: %s; this process is no longer traced; restart it, with "
                 "another CUPTI "
                 "(distribution.cuspan.cupti.library) if it happens again",
                 failure);
}

/* The first loss of a kind logs how to avoid it. The report at exit has the count. */
void pipeline_log_losses(void)
{
    static bool is_logged[COUNTER_COUNT];
    for (size_t i = 0; i < loss_count; i++) {
        const struct loss *loss = &losses[i];
        if (!loss->is_told_at_once || is_logged[loss->counter] || !counter_get(loss->counter))
            continue;
        is_logged[loss->counter] = true;
        log_warn("%s, and spans are lost; %s", loss->why, loss->advice);
    }
}

/* A burst (CUPTI flushes the records of a second at once) becomes spans faster than they are compressed.
 * Records then wait in rings and buffers while these have room. */
static size_t pump(void)
{
    uint64_t until_ns = pipeline.take_until_ns;
    if (!until_ns)
        until_ns = clock_monotonic_ns() + PAUSE_IN_ROUND_NS;
    if (pipeline.outputs)
        outputs_set_pause(pipeline.outputs, until_ns, capture_can_wait);
    return capture_pump(&pipeline.sink);
}

void pipeline_take_until(uint64_t until_ns)
{
    pipeline.take_until_ns = until_ns;
    if (!pipeline.has_given_up)
        pipeline.sink = discard_sink_after(&pipeline.sink, until_ns);
    if (is_patient)
        outputs_set_patience(pipeline.outputs, until_ns);
}

uint64_t pipeline_pump_all(uint64_t deadline_ns)
{
    uint64_t records = 0;
    native_code_allow(UINT64_MAX);
    uint32_t rounds_max = 2 + pipeline.settings->cupti.host_buffer_count / CAPTURE_BUFFERS_A_ROUND;
    for (uint32_t round = 0; round < rounds_max && (round < ROUNDS_MIN || capture_has_more_buffers());
         round++) {
        size_t taken = pump();
        records += taken;
        if (taken == 0 || clock_monotonic_ns() >= deadline_ns)
            break;
        tick(clock_monotonic_ns());
    }
    return records;
}

/* Unsubscribes from CUPTI, so that the host has no further cost. Spans in the outputs are still delivered.
 * Records are counted only. Open sessions and ranges get no span. */
static void give_up(void)
{
    pipeline.has_given_up = true;
    capture_set_downstream_room(NULL); /* no replay waits for room any more */
    capture_stop();
    pipeline.sink = discard_sink;
    pipeline_pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
    if (pipeline.outputs)
        outputs_send(pipeline.outputs);
}

/* An SDK that starts after the agent changes the resource, which takes effect at once. */
static void on_pause_in_look(void)
{
    capture_pump(&pipeline.sink);
}

static void follow_resource(uint64_t now_ns)
{
    if (!process_resource_poll(now_ns, on_pause_in_look) || pipeline.recorder)
        return;
    outputs_set_resource(pipeline.outputs, RESOURCE_PROCESS, process_resource());
    pipeline_set_device_resources();
    outputs_send(pipeline.outputs);
}

/* Flushes CUPTI before pending calls are evicted whose records it still holds. */
static void ask_for_records(void)
{
    static uint32_t before; /* the minimum since the last flush */
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

static bool is_tracing(void)
{
    return sleep_control_is_tracing() || mode_is_ending();
}

/* When the program ends the tracing, its session ends, too; unless it has resumed meanwhile, because then the
 * open session may be a later one. */
static void follow_tracing(void)
{
    bool has_stopped = was_tracing && !is_tracing() && pipeline.correlate;
    if (has_stopped)
        pipeline_take_finished();
    was_tracing = is_tracing();
    if (has_stopped && !was_tracing)
        session_spans_end(pipeline.correlate, "stop");
}

/* If all threads of the host have ended, the process ends when ours do, as it would without them. */
static void end_if_last_thread(uint64_t now_ns)
{
    if (!last_thread_check(now_ns))
        return;
    pthread_mutex_lock(&pipeline.lock);
    begin_stop(pipeline_exit_deadline_ns(), "the end of its last thread", 0);
    pthread_mutex_unlock(&pipeline.lock);
    control_socket_close(); /* its thread would keep the process alive */
}

/* These return the time to pause. */
static uint64_t pass(void)
{
    native_code_allow(NAMING_NS);
    size_t records = pump();
    uint64_t now_ns = clock_monotonic_ns();
    (void)native_code_prepare(now_ns, PREPARED_CODE);
    tick(now_ns);
    follow_resource(now_ns);
    pipeline_follow_links();
    ask_for_records();
    capture_service(now_ns);
    follow_tracing();
    pipeline_resume_if_due(now_ns);
    pipeline_serve_requests();
    pipeline_follow_hang_flush(now_ns);
    pipeline_log_failure();
    pipeline_log_losses();
    pipeline_report_if_due(now_ns);
    end_if_last_thread(now_ns);
    return pause_after(records);
}

static uint64_t pass_given_up(void)
{
    uint64_t now_ns = clock_monotonic_ns();
    capture_pump(&pipeline.sink);
    tick(now_ns);
    pipeline_serve_requests();
    end_if_last_thread(now_ns);
    return PAUSE_GIVEN_UP_NS;
}

static void *run(void *unused)
{
    thread_is_ours = true;
    prctl(PR_SET_NAME, "cuspan/pipeline");
    cpu_time_start(OWN_PIPELINE);
    uint64_t pause_ns = PAUSE_BUSY_NS;
    while (!wait_or_stop(pause_ns)) {
        pause_ns = pipeline.has_given_up ? pass_given_up() : pass();
        if (invariant_any_failed() && !pipeline.has_given_up)
            give_up();
    }
    pipeline_finish();
    atomic_store(&has_ended, true);
    pthread_mutex_lock(&pipeline.lock);
    is_done = true;
    pthread_cond_broadcast(&pipeline.done);
    pthread_mutex_unlock(&pipeline.lock);
    return NULL;
}

static void describe_recording(const struct capture_info *info)
{
    char job[TRAINING_JOB_BYTES];
    training_job_identity(&deployment_own, pipeline.settings->steps.job_id, job);
    recorder_describe(pipeline.recorder, info, pipeline.program, pipeline.settings);
    recorder_describe_job(pipeline.recorder, process_resource(), job, pipeline.settings);
}

enum status pipeline_start(const struct capture_info *info, struct error *err)
{
    device_links_begin(&(struct device_links_options){.gpus_folder = DETECT_GPUS_FOLDER,
                                                      .pci_folder = DEVICE_LINKS_PCI_FOLDER,
                                                      .asks_nvml = pipeline.settings->capture.nvlink,
                                                      .is_replay = clock_source != NULL,
                                                      .recorded = capture_recorded_links});
    if (pipeline.recorder)
        describe_recording(info);
    else
        outputs_set_resource(pipeline.outputs, RESOURCE_PROCESS, process_resource());
    is_patient = !pipeline.recorder && info->is_patient;
    if (is_patient)
        outputs_set_patience(pipeline.outputs, UINT64_MAX);
    was_tracing = sleep_control_is_tracing();
    pipeline_report_start();
    agent_thread_init_cond(&pipeline.wake);
    agent_thread_init_cond(&pipeline.done);
    if (self_env_thread(&thread, run) != 0)
        return error_set(err, STATUS_UNAVAILABLE, "cannot start a thread");
    pthread_mutex_lock(&pipeline.lock);
    pipeline.is_running = true;
    pthread_mutex_unlock(&pipeline.lock);
    return STATUS_OK;
}

/* Waits for the senders: one may be loading a TLS library, whose exit handlers must not run at the same
 * time. */
void pipeline_cancel(void)
{
    capture_set_downstream_room(NULL);
    outputs_destroy(pipeline.outputs, clock_monotonic_ns() + CANCEL_NS);
    pipeline.outputs = NULL;
}

/* With the lock held. */
static void wait_until_done(void)
{
    struct timespec until = clock_timespec(pipeline.deadline_ns + EXIT_GRACE_NS);
    while (!is_done && pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) == 0) {
    }
}

void pipeline_wait(void)
{
    pthread_mutex_lock(&pipeline.lock);
    follow_signal();
    if (pipeline.is_stopping)
        wait_until_done();
    pthread_mutex_unlock(&pipeline.lock);
}

void pipeline_stop(const char *why)
{
    pthread_mutex_lock(&pipeline.lock);
    begin_stop(pipeline_exit_deadline_ns(), why, 0);
    pthread_cond_signal(&pipeline.wake);
    wait_until_done();
    bool done = is_done;
    pthread_mutex_unlock(&pipeline.lock);
    if (!done)
        pipeline_report_missed_deadline();
    else if (!pthread_equal(pthread_self(), thread)) /* the pipeline thread itself, as the last thread */
        pthread_join(thread, NULL);                  /* so that no thread of ours runs while the host exits */
}

void pipeline_ask_to_stop(int signal_number)
{
    uint64_t none = 0;
    uint64_t deadline_ns = clock_monotonic_ns() + pipeline.settings->exit_deadline_ms * NS_PER_MS;
    pipeline_abandon_waiter();
    atomic_store(&stop_signal, signal_number);
    atomic_compare_exchange_strong(&signal_deadline_ns, &none, deadline_ns);
}

bool pipeline_has_ended(void)
{
    return atomic_load(&has_ended);
}
