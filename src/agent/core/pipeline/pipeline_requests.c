/* Requests of other threads to the pipeline thread: flushes, snapshots, and leaving CUPTI to another tool.
 *
 * The pipeline thread serves them between two rounds. In a flush it does everything up to the exporters. The
 * thread that requested the flush then waits for these in short steps, so that an exit need not wait for the
 * flush. */
#include "agent/core/pipeline/pipeline.h"
#include "agent/core/pipeline/pipeline_state.h"

#include "agent/capture/coexist/other_tools.h"
#include "agent/core/report/shutdown.h"
#include "agent/correlate/gpu_join.h"
#include "base/accounting/balance.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/correlate/session_spans.h"
#include "model/hang/live_state.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_STEP_NS    (1 * NS_PER_MS)
#define RELEASE_STEP_NS (NS_PER_MS / 2)
#define REPORT_WAIT_NS  (250 * NS_PER_MS)
#define WAITERS_NS_MAX  (100 * NS_PER_MS)

struct live_stats_answer {
    struct live_stats_view *view;
    uint64_t cpu_ns; /* of the pipeline thread */
};

enum request_kind {
    REQUEST_FLUSH,
    REQUEST_CHECKPOINT,
    REQUEST_REPORT,
    REQUEST_RELEASE,
    REQUEST_RESUME,
    REQUEST_SNAPSHOT,
    REQUEST_LIVE_STATS,
    REQUEST_KINDS
};

/* Allocated, because a thread of the host may never come back to it: a signal handler can jump out of the
 * wait or end the thread. `answer` is only that of our own threads, which do. */
struct pipeline_request {
    enum request_kind kind;
    void *answer; /* SNAPSHOT: struct pipeline_snapshot; LIVE_STATS: struct live_stats_answer */
    bool is_started, is_done;
    enum status status; /* when it is done */
    struct pipeline_request *next;
};

static struct pipeline_request *requests; /* of waiting threads; NULL: none. Guarded by the lock */
static uint32_t waiters;                  /* number of waiting threads. Guarded by the lock */
static _Atomic uint32_t waiters_for_good; /* interrupted by a signal handler, and never continuing */

static atomic_bool has_checkpoint;                         /* the last one delivered everything */
static _Atomic uint64_t checkpoint_ns, checkpoint_took_ns; /* when it ended, and how long it took */

void pipeline_take_finished(void)
{
    if (pipeline.has_given_up)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    capture_flush(false);
    (void)pipeline_pump_all(now_ns + PUMP_MAX_NS);
    if (pipeline.correlate)
        correlate_settle(pipeline.correlate, now_ns);
}

void pipeline_take_snapshot(struct pipeline_snapshot *view)
{
    struct balance *balance = &view->balance;
    *view = (struct pipeline_snapshot){.queue_bytes = 0};
    balance_take(balance, pipeline.outputs ? pipeline.settings->output_count : 0);
    balance->held = pipeline.correlate ? correlate_held(pipeline.correlate) : 0;
    for (unsigned i = 0; i < balance->output_count; i++) {
        struct output_health health;
        outputs_health(pipeline.outputs, i, &health);
        balance->on_way[i] = health.queued + health.inflight;
        balance->outputs[i] = health.fates;
    }
    if (pipeline.outputs)
        outputs_memory(pipeline.outputs, &view->queue_bytes, &view->queue_free_bytes);
}

static enum status flush(void)
{
    pipeline_take_finished();
    metrics_export(pipeline.metrics, pipeline.correlate, pipeline.outputs);
    profiles_export(pipeline.correlate, pipeline.outputs);
    if (pipeline.outputs)
        outputs_send(pipeline.outputs);
    return STATUS_OK;
}

/* All that the end of the process would do for spans, though tracing goes on. */
static enum status make_checkpoint(void)
{
    pipeline_take_finished();
    if (pipeline.correlate)
        session_spans_end(pipeline.correlate, "exit");
    if (pipeline.recorder && !pipeline.has_given_up)
        recorder_checkpoint(pipeline.recorder);
    return flush();
}

static void pump_a_moment(void)
{
    pipeline_pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
    nanosleep(&(struct timespec){0, (long)RELEASE_STEP_NS}, NULL);
}

static unsigned long long calls_cut_off; /* in progress when CUPTI was released */
static bool has_changed_hands;           /* false: another tool has had CUPTI from the start */

/* Waits for calls in progress, then for their work on the GPU, half of the time for each. */
static void release(void)
{
    uint64_t begin_ns = clock_monotonic_ns();
    uint64_t wait_ns = pipeline.settings->cupti.others_wait_ms * NS_PER_MS;
    uint64_t open_before = counter_get(COUNTER_lost_in_flight);
    while (!capture_quiet(clock_monotonic_ns() - begin_ns >= wait_ns / 2))
        pump_a_moment();
    while (pipeline.correlate && correlate_waiting(pipeline.correlate) > 0 &&
           clock_monotonic_ns() - begin_ns < wait_ns) {
        capture_flush(false);
        pump_a_moment();
    }
    uint32_t waiting = pipeline.correlate ? correlate_waiting(pipeline.correlate) : 0;
    capture_release();
    pipeline_pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
    if (pipeline.correlate) {
        correlate_settle(pipeline.correlate, clock_monotonic_ns());
        session_spans_end(pipeline.correlate, "release");
        outputs_send(pipeline.outputs);
    }
    has_changed_hands = true;
    calls_cut_off += counter_get(COUNTER_lost_in_flight) - open_before;
    log_info("CUPTI is released to other tools: nothing is traced until cuspan uses it again (took %.0f ms; "
             "%u calls had GPU work pending)",
             (double)(clock_monotonic_ns() - begin_ns) / 1e6, waiting);
}

void pipeline_log_releases(void)
{
    unsigned long long times = counter_get(COUNTER_releases);
    char lost[80] = "";
    if (!times || !has_changed_hands)
        return;
    if (calls_cut_off)
        snprintf(lost, sizeof lost, ", nor of %llu call%s in progress when it began", calls_cut_off,
                 calls_cut_off == 1 ? "" : "s");
    log_warn("another tool used CUPTI %llu time%s, for %.1f s in all: cuspan has no spans of that time%s",
             times, times == 1 ? "" : "s", (double)counter_get(COUNTER_released_ns) / 1e9, lost);
}

static bool resume(void)
{
    static bool has_failed;
    struct error err = {""};
    bool is_back = capture_resume(&err) == STATUS_OK;
    if (is_back)
        log_info("cuspan uses CUPTI again");
    else
        (has_failed ? log_debug : log_info)("cannot use CUPTI again yet: %s", err.text);
    has_failed |= !is_back;
    has_changed_hands |= is_back;
    return is_back;
}

static enum status change_hold(bool releases)
{
    if (pipeline.has_given_up) /* CUPTI was unsubscribed permanently */
        return STATUS_UNAVAILABLE;
    if (capture_is_released() == releases)
        return STATUS_OK;
    if (!releases)
        return resume() ? STATUS_OK : STATUS_UNAVAILABLE;
    release();
    return STATUS_OK;
}

void pipeline_resume_if_due(uint64_t now_ns)
{
    if (capture_is_released() && capture_may_resume(now_ns))
        resume();
}

/* The flush of the hang watch. CUPTI returns some buffers up to 40 ms after a flush. */

#define HANG_SETTLE_NS (100 * NS_PER_MS)

static atomic_bool is_hang_flush_wanted;

void pipeline_request_hang_flush(void)
{
    atomic_store(&is_hang_flush_wanted, true);
}

static void end_hang_flush(uint64_t began_ns, bool has_flushed)
{
    struct gpu_left left;
    correlate_settle(pipeline.correlate, clock_monotonic_ns());
    bool knows_ends = gpu_join_end_flush(pipeline.correlate, &left);
    uint64_t now_ns = clock_monotonic_ns(), since_ns = clock_now_ns() - left.start_ns;
    live_note_flush(&(struct live_flush){.began_ns = knows_ends && has_flushed ? began_ns : 0,
                                         .work = has_flushed ? left.kind : LIVE_WORK_UNKNOWN,
                                         .work_began_ns = since_ns < now_ns ? now_ns - since_ns : 0});
}

/* Once, so that errors of the GPUs count from then on. */
static void ask_hardware(uint64_t now_ns)
{
    static uint64_t next_ns;
    static bool is_asked;
    if (is_asked || now_ns < next_ns || !pipeline.settings->hang.is_watched || !pipeline.correlate)
        return;
    is_asked = metrics_ask_hardware(pipeline.correlate);
    next_ns = now_ns + NS_PER_SECOND;
}

void pipeline_follow_hang_flush(uint64_t now_ns)
{
    ask_hardware(now_ns);
    static uint64_t began_ns, ended_ns; /* began_ns 0: no flush is in progress */
    static bool has_flushed;
    if (began_ns) {
        if (now_ns > ended_ns + HANG_SETTLE_NS && !capture_has_more_buffers()) {
            end_hang_flush(began_ns, has_flushed);
            began_ns = 0;
        }
        return;
    }
    if (!atomic_load_explicit(&is_hang_flush_wanted, memory_order_relaxed))
        return;
    atomic_store(&is_hang_flush_wanted, false);
    /* Another tool would lose records of work that has not ended. */
    if (!pipeline.correlate || capture_is_released() || other_tools_are_recording())
        return;
    gpu_join_begin_flush(pipeline.correlate);
    began_ns = clock_monotonic_ns();
    has_flushed = capture_flush(true);
    ended_ns = clock_monotonic_ns();
}

/* Runs without the lock, because it may take long. Snapshots are taken with the lock, in answer(). */
static enum status work(enum request_kind kind)
{
    switch (kind) {
    case REQUEST_FLUSH:
        return flush();
    case REQUEST_CHECKPOINT:
        return make_checkpoint();
    case REQUEST_REPORT:
        pipeline_report_checkpoint(has_checkpoint);
        return STATUS_OK;
    case REQUEST_RELEASE:
    case REQUEST_RESUME:
        return change_hold(kind == REQUEST_RELEASE);
    default:
        return STATUS_OK;
    }
}

static void answer(struct pipeline_request *request)
{
    if (request->kind == REQUEST_SNAPSHOT)
        pipeline_take_snapshot(request->answer);
    if (request->kind != REQUEST_LIVE_STATS)
        return;
    struct live_stats_answer *live_stats = request->answer;
    correlate_snapshot(pipeline.correlate, clock_monotonic_ns(), live_stats->view);
    live_stats->cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Called with the lock held, and releases it meanwhile, so that requests can time out and leave the list.
 * Serves all requests of a kind that are in the list at the start. */
static void serve(enum request_kind kind)
{
    bool is_due = false;
    for (struct pipeline_request *request = requests; request; request = request->next) {
        request->is_started = request->kind == kind;
        is_due |= request->is_started;
    }
    if (!is_due)
        return;
    pthread_mutex_unlock(&pipeline.lock);
    enum status status = work(kind);
    pthread_mutex_lock(&pipeline.lock);
    for (struct pipeline_request **at = &requests; *at;) {
        struct pipeline_request *request = *at;
        if (!request->is_started) {
            at = &request->next;
            continue;
        }
        *at = request->next;
        answer(request);
        request->status = status;
        request->is_done = true; /* the waiting thread owns it now */
    }
}

void pipeline_serve_requests(void)
{
    pthread_mutex_lock(&pipeline.lock);
    for (enum request_kind kind = 0; kind < REQUEST_KINDS; kind++)
        serve(kind);
    pthread_mutex_unlock(&pipeline.lock);
}

bool pipeline_has_requests_locked(void)
{
    return requests != NULL;
}

/* Each waiting thread notices the end within a step of its wait, and touches nothing after that. One that a
 * signal handler took out of its wait never does. */
void pipeline_let_waiters_go(void)
{
    struct timespec until = clock_timespec(clock_monotonic_ns() + WAITERS_NS_MAX);
    shutdown_step_begin(SHUTDOWN_flushers);
    pthread_mutex_lock(&pipeline.lock);
    uint32_t waiting = waiters;
    while (waiters > atomic_load(&waiters_for_good) &&
           pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) == 0) {
    }
    pthread_mutex_unlock(&pipeline.lock);
    shutdown_step_end(SHUTDOWN_flushers, waiting, NULL);
}

/* The functions below run on the thread that waits. */

/* No signal handler of the host runs while its thread has the lock: one that never returns would keep it, and
 * one that flushes would wait for it. */
static sigset_t lock(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&pipeline.lock);
    return before;
}

static void unlock(const sigset_t *before)
{
    pthread_mutex_unlock(&pipeline.lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Called with the lock held, and releases it meanwhile. The host's threads wait in short sleeps, not on a
 * condition: a signal handler that never returns would leave a waiter on the condition, and the signaling
 * thread could wait for that waiter. */
static void nap(sigset_t *before)
{
    unlock(before);
    nanosleep(&(struct timespec){0, (long)WAIT_STEP_NS}, NULL);
    *before = lock();
}

static bool may_wait(uint64_t deadline_ns)
{
    return !pipeline.is_stopping && clock_monotonic_ns() < deadline_ns;
}

/* Once the pipeline is stopping, the outputs are not touched: they are about to end. */
static enum status wait_for_delivery(uint64_t deadline_ns, sigset_t *before)
{
    uint64_t sent[OUTPUT_NUMBERS];
    if (!pipeline.outputs)
        return STATUS_OK;
    if (pipeline.is_stopping)
        return STATUS_TIMEOUT;
    outputs_sent(pipeline.outputs, sent);
    while (!pipeline.is_stopping) {
        if (outputs_wait(pipeline.outputs, sent, 0) == STATUS_OK)
            return STATUS_OK;
        if (!may_wait(deadline_ns))
            return STATUS_TIMEOUT;
        nap(before);
    }
    return STATUS_TIMEOUT;
}

static void withdraw(const struct pipeline_request *request)
{
    struct pipeline_request **at = &requests;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
}

/* Read by a signal handler on the same thread. */
static __thread volatile bool is_waiting __attribute__((tls_model("initial-exec")));

static enum status wait_for(struct pipeline_request *request, uint64_t deadline_ns, sigset_t *before)
{
    enum status status = STATUS_TIMEOUT;
    waiters++;
    request->next = requests;
    requests = request;
    pthread_cond_signal(&pipeline.wake);
    while (!request->is_done && may_wait(deadline_ns))
        nap(before);
    if (request->is_done)
        status = request->status;
    else
        withdraw(request);
    bool delivers = request->kind == REQUEST_FLUSH || request->kind == REQUEST_CHECKPOINT;
    if (status == STATUS_OK && delivers)
        status = wait_for_delivery(deadline_ns, before);
    waiters--;
    pthread_cond_broadcast(&pipeline.done);
    return status;
}

/* TIMEOUT also if the pipeline does not run, or ends, or memory is exhausted. */
static enum status request_and_wait(enum request_kind kind, void *answered, uint64_t deadline_ns)
{
    enum status status = STATUS_TIMEOUT;
    bool was_waiting = is_waiting; /* a signal handler flushes, too */
    is_waiting = true;
    sigset_t before = lock();
    bool may_ask = pipeline.is_running && !pipeline.is_stopping;
    struct pipeline_request *request = may_ask ? calloc(1, sizeof *request) : NULL;
    if (request) {
        *request = (struct pipeline_request){.kind = kind, .answer = answered};
        status = wait_for(request, deadline_ns, &before);
    }
    free(request); /* within the lock, like calloc(): no handler leaves while the allocator holds its own */
    unlock(&before);
    is_waiting = was_waiting;
    return status;
}

enum status pipeline_flush(uint64_t deadline_ns)
{
    return request_and_wait(REQUEST_FLUSH, NULL, deadline_ns);
}

enum status pipeline_checkpoint(void)
{
    uint64_t begin_ns = clock_monotonic_ns();
    uint64_t deadline_ns = begin_ns + pipeline.settings->exit_deadline_ms * NS_PER_MS;
    enum status status = request_and_wait(REQUEST_CHECKPOINT, NULL, deadline_ns);
    atomic_store(&has_checkpoint, status == STATUS_OK);
    (void)request_and_wait(REQUEST_REPORT, NULL, deadline_ns + REPORT_WAIT_NS);
    uint64_t end_ns = clock_monotonic_ns();
    atomic_store(&checkpoint_ns, end_ns);
    atomic_store(&checkpoint_took_ns, end_ns - begin_ns);
    return status;
}

/* A checkpoint just before the exit has used a part of the time. */
uint64_t pipeline_exit_deadline_ns(void)
{
    uint64_t now_ns = clock_monotonic_ns(), left_ns = pipeline.settings->exit_deadline_ms * NS_PER_MS;
    uint64_t used_ns = atomic_load(&checkpoint_took_ns);
    if (used_ns && now_ns - atomic_load(&checkpoint_ns) < left_ns)
        left_ns -= used_ns < left_ns ? used_ns : left_ns;
    return now_ns + left_ns;
}

enum status pipeline_set_released(bool is_released, uint64_t deadline_ns)
{
    return request_and_wait(is_released ? REQUEST_RELEASE : REQUEST_RESUME, NULL, deadline_ns);
}

enum status pipeline_snapshot(struct pipeline_snapshot *snapshot, uint64_t deadline_ns)
{
    return request_and_wait(REQUEST_SNAPSHOT, snapshot, deadline_ns);
}

enum status pipeline_live_stats(struct live_stats_view *view, uint64_t *cpu_ns, uint64_t deadline_ns)
{
    struct live_stats_answer answered = {.view = view};
    if (!pipeline.correlate)
        return STATUS_UNAVAILABLE;
    enum status status = request_and_wait(REQUEST_LIVE_STATS, &answered, deadline_ns);
    *cpu_ns = answered.cpu_ns;
    return status;
}

void pipeline_abandon_waiter(void)
{
    if (is_waiting)
        atomic_store(&waiters_for_good, 1);
}
