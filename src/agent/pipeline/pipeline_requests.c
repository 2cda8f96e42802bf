/* What others ask of the pipeline's thread, which does it between two rounds: flushes, looks, the program's
 * stops, and leaving CUPTI to another tool. */
#include "agent/pipeline/pipeline_state.h"

#include "base/accounting/balance.h"
#include "base/invariant.h"
#include "base/accounting/counters.h"
#include "base/log.h"

#define FLUSH_STEP_NS   (1 * NS_PER_MS) /* so soon whoever waits for a flush sees that the process ends */
#define RELEASE_STEP_NS (NS_PER_MS / 2)

/* --- stops and flushes by the program, and looks
 * --- */

static void take_finished(void)
{
    if (pipeline.is_silent)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    capture_flush_finished();
    (void)pipeline_pump_all(now_ns + PUMP_MAX_NS);
    if (pipeline.correlate)
        correlate_settle(pipeline.correlate, now_ns);
}

/* The program has ended the tracing: its session's span leaves, too. */
void pipeline_follow_tracing(void)
{
    bool is_tracing = capture_is_tracing() || capture_is_ending();
    if (pipeline.was_tracing && !is_tracing && pipeline.correlate) {
        take_finished();
        correlate_end_session(pipeline.correlate, "stop");
    }
    pipeline.was_tracing = is_tracing;
}

void pipeline_flush_if_wanted(void)
{
    pthread_mutex_lock(&pipeline.lock);
    uint64_t wanted = pipeline.flushes_wanted;
    bool is_due = INVARIANT(pipeline.flushes_done <= wanted) && wanted != pipeline.flushes_done;
    pthread_mutex_unlock(&pipeline.lock);
    if (!is_due)
        return;
    take_finished();
    metrics_export(pipeline.metrics, pipeline.correlate, pipeline.outputs);
    if (pipeline.outputs)
        outputs_send(pipeline.outputs);
    pthread_mutex_lock(&pipeline.lock);
    pipeline.flushes_done = wanted;
    pthread_cond_broadcast(&pipeline.done);
    pthread_mutex_unlock(&pipeline.lock);
}

void pipeline_take_view(struct pipeline_view *view)
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

void pipeline_look_if_wanted(void)
{
    pthread_mutex_lock(&pipeline.lock);
    if (pipeline.looks_wanted != pipeline.looks_taken) {
        pipeline_take_view(&pipeline.view);
        pipeline.looks_taken = pipeline.looks_wanted;
        pthread_cond_broadcast(&pipeline.done);
    }
    pthread_mutex_unlock(&pipeline.lock);
}

void pipeline_tell_figures_if_wanted(void)
{
    pthread_mutex_lock(&pipeline.lock);
    if (pipeline.figures_wanted) {
        correlate_snapshot(pipeline.correlate, clock_monotonic_ns(), pipeline.figures_wanted);
        pipeline.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
        pipeline.figures_wanted = NULL;
        pthread_cond_broadcast(&pipeline.done);
    }
    pthread_mutex_unlock(&pipeline.lock);
}

/* --- giving way to another tool
 * ------------------------------------------------------------------------------------------------------- */

static void pump_a_moment(void)
{
    pipeline_pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
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
    pipeline_pump_all(clock_monotonic_ns() + PUMP_MAX_NS);
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

void pipeline_follow_hold(uint64_t now_ns)
{
    pthread_mutex_lock(&pipeline.lock);
    int wanted = pipeline.hold_wanted;
    pthread_mutex_unlock(&pipeline.lock);
    if (wanted == HOLD_STAYS && !capture_is_released())
        return;
    bool has_failed = pipeline.is_silent; /* CUPTI has been left for good */
    if (!has_failed && wanted == HOLD_RELEASE && !capture_is_released())
        release();
    else if (!has_failed && wanted == HOLD_RESUME && capture_is_released())
        has_failed = !resume();
    else if (!has_failed && wanted == HOLD_STAYS && capture_may_resume(now_ns))
        resume();
    if (wanted == HOLD_STAYS)
        return;
    pthread_mutex_lock(&pipeline.lock);
    pipeline.hold_wanted = HOLD_STAYS;
    pipeline.has_resume_failed = has_failed;
    pthread_cond_broadcast(&pipeline.done);
    pthread_mutex_unlock(&pipeline.lock);
}

enum status pipeline_set_released(bool is_released, uint64_t deadline_ns)
{
    enum status status = STATUS_TIMEOUT;
    struct timespec until = pipeline_moment(deadline_ns);
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
    uint64_t sent[OUTPUT_NUMBERS];
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
    struct timespec until = pipeline_moment(deadline_ns);
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

enum status pipeline_figures(struct live_stats_view *view, uint64_t *cpu_ns, uint64_t deadline_ns)
{
    struct timespec until = pipeline_moment(deadline_ns);
    enum status status = STATUS_TIMEOUT;
    if (!pipeline.correlate)
        return STATUS_UNAVAILABLE;
    pthread_mutex_lock(&pipeline.lock);
    if (pipeline.is_running && !pipeline.is_stopping) {
        pipeline.figures_wanted = view;
        pthread_cond_signal(&pipeline.wake);
        while (pipeline.figures_wanted && !pipeline.is_stopping)
            if (pthread_cond_timedwait(&pipeline.done, &pipeline.lock, &until) != 0)
                break;
        if (!pipeline.figures_wanted)
            status = STATUS_OK;
    }
    pipeline.figures_wanted = NULL; /* `view` is the caller's again */
    *cpu_ns = pipeline.cpu_ns;
    pthread_mutex_unlock(&pipeline.lock);
    return status;
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
