#include "agent/capture/sleep_control.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/process/host_call.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/sleep/active_contexts.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/sleep/sleep_lock.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/threads/threads.h"

#include <stdatomic.h>

#define TIMES_KEPT 1024 /* sleep periods; at most a thousand per second */

static struct {
    atomic_bool runs;       /* between sleep_control_start() and sleep_control_stop() */
    atomic_bool is_tracing; /* tracing is requested by the program */
    atomic_bool sleeps;     /* capture may sleep while no sampled request is in flight */
    struct {
        uint64_t begin_ns, end_ns; /* end_ns UINT64_MAX: not ended */
    } times[TIMES_KEPT]; /* ring of sleep periods, indexed by `asleep_count`; guarded by sleep_lock(), as
                            is every change of active_contexts_is_asleep */
    uint32_t asleep_count;
    uint64_t asleep_since_ns;         /* start of the current sleep by clock_monotonic_ns() */
    _Atomic uint64_t ending_ns;       /* time for calls in progress to return, in ns */
    _Atomic uint64_t ending_until_ns; /* end of that time; changed under sleep_lock() */

    /* Set at the start, or owned by the pipeline thread. */
    enum sleep_when when;
    bool is_replay;
    bool is_session_unsampled;
    uint32_t changes_seen;
} state = {.is_tracing = true, .ending_ns = NS_PER_SECOND};

static bool is_wanted(void)
{
    return atomic_load(&state.is_tracing) && (!atomic_load(&state.sleeps) || active_contexts_count() > 0);
}

/* Wakes capture if it is asleep and something needs it. CUPTI's records stay enabled in sleep; correlate
 * handles GPU work without a captured call. */
static void wake_up(void)
{
    if (!atomic_load(&state.runs)) /* in a forked child the lock might never be released */
        return;
    struct host_call call = host_call_begin(); /* a canceled thread would keep the lock */
    sleep_lock();
    if (mode_is_ending() && is_wanted())
        mode_resume();
    if (atomic_load(&state.runs) && atomic_load(&active_contexts_is_asleep) && is_wanted()) {
        threads_wake();
        mode_wake(state.is_replay ? 0 : clock_ticks());
        counter_add(COUNTER_asleep_ns, clock_monotonic_ns() - state.asleep_since_ns);
        state.times[(state.asleep_count - 1) % TIMES_KEPT].end_ns = clock_now_ns();
        atomic_store(&active_contexts_is_asleep, false);
    }
    sleep_unlock();
    host_call_end(call);
}

/* Starts a sleep period. The caller holds the lock. */
static void begin_time_asleep(void)
{
    state.times[state.asleep_count % TIMES_KEPT].begin_ns = clock_now_ns();
    state.times[state.asleep_count++ % TIMES_KEPT].end_ns = UINT64_MAX;
}

/* Puts capture to sleep if nothing needs it. A thread that attaches a context after this store sees the flag
 * and wakes capture. is_wanted() sees one that attached before. `has_ended`: after the program has stopped
 * tracing, calls in progress need not be waited for. Returns whether capture fell asleep. */
static bool fall_asleep(bool has_ended)
{
    sleep_lock();
    bool was_asleep = atomic_exchange(&active_contexts_is_asleep, true);
    bool may_fall = has_ended || !mode_is_ending();
    bool falls = !was_asleep && may_fall && atomic_load(&state.runs) && !is_wanted();
    if (falls) {
        mode_sleep();
        state.asleep_since_ns = clock_monotonic_ns();
        begin_time_asleep();
        counter_add(COUNTER_sleeps, 1);
    } else {
        atomic_store(&active_contexts_is_asleep, was_asleep);
    }
    sleep_unlock();
    return falls;
}

/* Stops tracing for the program: from now on new calls are ignored, and those in progress are waited for.
 * Both change under one lock. Otherwise capture could fall asleep in between, as if there were no calls to
 * wait for. */
static bool begin_to_end(void)
{
    sleep_lock();
    bool was_tracing = atomic_exchange(&state.is_tracing, false);
    if (was_tracing && atomic_load(&state.runs)) {
        atomic_store(&state.ending_until_ns, clock_monotonic_ns() + atomic_load(&state.ending_ns));
        mode_end();
    }
    sleep_unlock();
    return was_tracing;
}

void sleep_control_set_ending(uint32_t wait_ms)
{
    atomic_store(&state.ending_ns, wait_ms * NS_PER_MS);
}

bool sleep_control_slept_between(uint64_t from_ns, uint64_t until_ns)
{
    bool slept = false;
    sleep_lock();
    uint32_t kept = state.asleep_count < TIMES_KEPT ? state.asleep_count : TIMES_KEPT;
    for (uint32_t i = 1; i <= kept && !slept; i++) {
        uint32_t at = (state.asleep_count - i) % TIMES_KEPT;
        uint64_t end_ns = state.times[at].end_ns;
        if (end_ns != UINT64_MAX && from_ns > end_ns)
            break; /* older periods end even earlier */
        slept = until_ns >= state.times[at].begin_ns;
    }
    sleep_unlock();
    return slept;
}

uint64_t sleep_control_asleep_ns(void)
{
    if (!atomic_load(&state.runs) || !atomic_load(&active_contexts_is_asleep))
        return 0;
    sleep_lock();
    bool is_asleep = atomic_load(&state.runs) && atomic_load(&active_contexts_is_asleep);
    uint64_t ns = is_asleep ? clock_monotonic_ns() - state.asleep_since_ns : 0;
    sleep_unlock();
    return ns;
}

bool sleep_control_begin_tracing(void)
{
    bool was_tracing = atomic_exchange(&state.is_tracing, true);
    if (!was_tracing && atomic_load(&state.runs))
        wake_up();
    return !was_tracing;
}

bool sleep_control_end_tracing(void)
{
    if (!atomic_load(&state.runs)) /* as in wake_up() */
        return atomic_exchange(&state.is_tracing, false);
    bool was_tracing = begin_to_end();
    if (was_tracing && !threads_in_call()) /* otherwise the pipeline thread completes the transition */
        fall_asleep(true);
    return was_tracing;
}

bool sleep_control_is_tracing(void)
{
    return atomic_load(&state.is_tracing);
}

/* Starts or stops tracing in the callback of cudaProfilerStart or cudaProfilerStop, if capture.cuda_profiler
 * is set. */
static void on_bound(bool begins)
{
    struct host_call call = host_call_begin();
    if (begins)
        sleep_control_begin_tracing();
    else
        sleep_control_end_tracing();
    host_call_end(call);
}

void sleep_control_start(const struct settings *settings, bool is_replay)
{
    state.when = settings->sampling.sleep;
    state.is_replay = is_replay;
    state.changes_seen = active_contexts_changes();
    if (settings->record_file || settings_keep_awake(settings) || (is_replay && state.when == SLEEP_AUTO))
        state.when = SLEEP_NEVER;
    callbacks_on_bound = on_bound;
    active_contexts_on_asleep = wake_up;
    atomic_store(&state.is_tracing, !settings->capture.cuda_profiler);
    atomic_store(&state.sleeps, state.when == SLEEP_ALWAYS);
    atomic_store(&active_contexts_is_asleep, false);
    atomic_store(&state.runs, true);
    if (!is_wanted())
        fall_asleep(true);
}

void sleep_control_suspend(void)
{
    if (!atomic_load(&state.runs))
        return;
    sleep_lock();
    if (atomic_load(&active_contexts_is_asleep)) /* continue the current period */
        counter_add(COUNTER_asleep_ns, clock_monotonic_ns() - state.asleep_since_ns);
    else
        begin_time_asleep();
    atomic_store(&state.runs, false);
    atomic_store(&active_contexts_is_asleep, false);
    sleep_unlock();
}

void sleep_control_resume(void)
{
    sleep_lock();
    state.times[(state.asleep_count - 1) % TIMES_KEPT].end_ns = clock_now_ns();
    state.changes_seen = active_contexts_changes();
    atomic_store(&state.runs, true);
    sleep_unlock();
    if (!is_wanted())
        fall_asleep(true);
}

void sleep_control_finish(void)
{
    if (atomic_load(&state.runs) && atomic_load(&active_contexts_is_asleep))
        counter_add(COUNTER_asleep_ns, clock_monotonic_ns() - state.asleep_since_ns);
    sleep_control_stop();
}

void sleep_control_stop(void)
{
    atomic_store(&state.runs, false);
    active_contexts_reset();
}

void sleep_control_set_session(bool is_sampled)
{
    state.is_session_unsampled = !is_sampled;
}

/* Whether capture may sleep. It may not if an SDK publishes contexts, because callbacks read them and must
 * stay active. */
static bool may_sleep(void)
{
    if (state.when == SLEEP_NEVER || atomic_load_explicit(&sdk_context_is_there, memory_order_relaxed))
        return false;
    bool is_attached_seen = active_contexts_changes() > 0;
    return state.when == SLEEP_ALWAYS || active_contexts_has_unsampled() ||
           (is_attached_seen && state.is_session_unsampled);
}

bool sleep_control_service(void)
{
    uint32_t changes = active_contexts_changes();
    bool is_quiet =
        changes == state.changes_seen; /* a gap between two steps of a request is too short to sleep */
    state.changes_seen = changes;
    atomic_store(&state.sleeps, may_sleep());
    bool is_ending = mode_is_ending();
    uint32_t under_way = is_ending ? threads_in_call() : 0;
    if (under_way && clock_monotonic_ns() < atomic_load(&state.ending_until_ns))
        return false;
    if (!is_wanted()) {
        bool has_fallen = is_quiet && fall_asleep(is_ending);
        if (has_fallen && under_way)
            counter_add(COUNTER_calls_cut, under_way);
        return has_fallen;
    }
    if (atomic_load(&active_contexts_is_asleep))
        wake_up();
    return false;
}
