#include "capture/sleep/sleep_control.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log.h"
#include "capture/callbacks/callbacks.h"
#include "capture/sleep/active_contexts.h"
#include "capture/sleep/mode.h"
#include "capture/context/sdk_context.h"
#include "capture/cupti/switches.h"
#include "capture/callbacks/threads.h"

#include <errno.h>
#include <stdatomic.h>

#define TIMES_KEPT 1024 /* asleep; a thousand a second at most */

static struct {
    atomic_bool runs;       /* between start and stop */
    atomic_bool is_tracing; /* by the program's will */
    atomic_bool sleeps;     /* while nothing sampled is in flight */
    struct {
        uint64_t begin_ns, end_ns; /* UINT64_MAX: it lasts */
    } times[TIMES_KEPT]; /* asleep, by `asleep_count` modulo their number; guarded by switches_lock, as is
                            each change of active_contexts_is_asleep */
    uint32_t asleep_count;
    uint64_t asleep_since_ns;         /* of the timer's clock */
    _Atomic uint64_t ending_ns;       /* how long calls that are under way may take to return */
    _Atomic uint64_t ending_until_ns; /* guarded by switches_lock, as to its change */

    /* Set at the start, or the pipeline thread's own. */
    enum sleep_when when;
    bool is_replay;
    bool is_session_unsampled;
    uint32_t changes_seen;
} wake = {.is_tracing = true, .ending_ns = NS_PER_SECOND};

static bool is_wanted(void)
{
    return atomic_load(&wake.is_tracing) && (!atomic_load(&wake.sleeps) || active_contexts_count() > 0);
}

/* Records first, callbacks last, and below the other way round: a call that has a record finds its GPU work
 * recorded, and what is left over at a switch is GPU work without a call, which correlate knows how to take.
 */
static void rouse(void)
{
    if (!atomic_load(&wake.runs)) /* in a forked child nobody may ever give the lock back */
        return;
    switches_lock();
    if (mode_is_ending() && is_wanted())
        mode_resume();
    if (atomic_load(&wake.runs) && atomic_load(&active_contexts_is_asleep) && is_wanted()) {
        switches_records(true);
        threads_wake();
        mode_wake(wake.is_replay ? 0 : clock_ticks());
        counter_add(COUNTER_asleep_ns, clock_monotonic_ns() - wake.asleep_since_ns);
        wake.times[(wake.asleep_count - 1) % TIMES_KEPT].end_ns = clock_now_ns();
        atomic_store(&active_contexts_is_asleep, false);
    }
    switches_unlock();
}

/* With the lock held. */
static void begin_time_asleep(void)
{
    wake.times[wake.asleep_count % TIMES_KEPT].begin_ns = clock_now_ns();
    wake.times[wake.asleep_count++ % TIMES_KEPT].end_ns = UINT64_MAX;
}

/* Who wants it after the first store here sees that it falls asleep, and waits to rouse it; who did before is
 * seen by is_wanted. */
static bool fall_asleep(void)
{
    switches_lock();
    bool was_asleep = atomic_exchange(&active_contexts_is_asleep, true);
    bool falls = !was_asleep && atomic_load(&wake.runs) && !is_wanted();
    if (falls) {
        mode_sleep();
        switches_records(false);
        wake.asleep_since_ns = clock_monotonic_ns();
        begin_time_asleep();
        counter_add(COUNTER_sleeps, 1);
    } else {
        atomic_store(&active_contexts_is_asleep, was_asleep);
    }
    switches_unlock();
    return falls;
}

/* Calls that are under way have records to come: the ones that would begin are left out from now on, and the
 * pipeline thread lets all fall asleep once those have returned. */
static void begin_to_end(void)
{
    switches_lock();
    atomic_store(&wake.ending_until_ns, clock_monotonic_ns() + atomic_load(&wake.ending_ns));
    if (atomic_load(&wake.runs) && !is_wanted())
        mode_end();
    switches_unlock();
}

/* All have returned, or it has taken too long. */
static bool has_ended(void)
{
    uint32_t under_way = threads_in_call();
    bool is_late = clock_monotonic_ns() >= atomic_load(&wake.ending_until_ns);
    if (under_way && is_late)
        counter_add(COUNTER_calls_cut, under_way);
    return !under_way || is_late;
}

void sleep_control_set_ending(uint32_t wait_ms)
{
    atomic_store(&wake.ending_ns, wait_ms * NS_PER_MS);
}

bool sleep_control_is_ending(void)
{
    return mode_is_ending();
}

bool sleep_control_slept_at(uint64_t time_ns)
{
    bool slept = false;
    switches_lock();
    uint32_t kept = wake.asleep_count < TIMES_KEPT ? wake.asleep_count : TIMES_KEPT;
    for (uint32_t i = 1; i <= kept && !slept; i++) {
        uint32_t at = (wake.asleep_count - i) % TIMES_KEPT;
        uint64_t end_ns = wake.times[at].end_ns;
        if (end_ns != UINT64_MAX && time_ns > end_ns)
            break; /* it is younger than this one, and so than those before */
        slept = time_ns >= wake.times[at].begin_ns;
    }
    switches_unlock();
    return slept;
}

uint64_t sleep_control_asleep_ns(void)
{
    if (!atomic_load(&wake.runs) || !atomic_load(&active_contexts_is_asleep))
        return 0;
    switches_lock();
    bool is_asleep = atomic_load(&wake.runs) && atomic_load(&active_contexts_is_asleep);
    uint64_t ns = is_asleep ? clock_monotonic_ns() - wake.asleep_since_ns : 0;
    switches_unlock();
    return ns;
}

/* --- the program's will --- */

bool sleep_control_begin_tracing(void)
{
    bool was_tracing = atomic_exchange(&wake.is_tracing, true);
    if (!was_tracing && atomic_load(&wake.runs))
        rouse();
    return !was_tracing;
}

bool sleep_control_end_tracing(void)
{
    bool was_tracing = atomic_exchange(&wake.is_tracing, false);
    if (!was_tracing || !atomic_load(&wake.runs))
        return was_tracing;
    if (threads_in_call())
        begin_to_end();
    else
        fall_asleep();
    return true;
}

bool sleep_control_is_tracing(void)
{
    return atomic_load(&wake.is_tracing);
}

/* In the callback of cudaProfilerStart or cudaProfilerStop, where the user has asked for it: the one place
 * where a callback switches CUPTI, and may wait for another thread that does. */
static void on_bound(bool begins)
{
    int saved_errno = errno;
    if (begins)
        sleep_control_begin_tracing();
    else
        sleep_control_end_tracing();
    errno = saved_errno;
}

/* --- life --- */

bool sleep_control_is_foreseen(const struct settings *settings, bool by_program)
{
    if (settings->record_file)
        return false;
    if (settings->metrics.is_on) /* what isn't sampled counts in them, too */
        return by_program || settings->capture.cuda_profiler;
    bool is_part_sampled = settings->sampler == SAMPLER_TRACE_ID_RATIO && settings->sampler_ratio < 1;
    return by_program || settings->capture.cuda_profiler || settings->sampling.sleep == SLEEP_ALWAYS ||
           (settings->sampling.sleep == SLEEP_AUTO && is_part_sampled);
}

void sleep_control_start(const struct settings *settings, bool is_replay)
{
    wake.when = settings->sampling.sleep;
    wake.is_replay = is_replay;
    wake.changes_seen = active_contexts_changes();
    if (settings->record_file || settings->metrics.is_on || (is_replay && wake.when == SLEEP_AUTO))
        wake.when = SLEEP_NEVER;
    callbacks_on_bound = on_bound;
    active_contexts_on_asleep = rouse;
    atomic_store(&wake.is_tracing, !settings->capture.cuda_profiler);
    atomic_store(&wake.sleeps, wake.when == SLEEP_ALWAYS);
    atomic_store(&active_contexts_is_asleep, false);
    atomic_store(&wake.runs, true);
    if (!is_wanted())
        fall_asleep();
}

void sleep_control_suspend(void)
{
    if (!atomic_load(&wake.runs))
        return;
    switches_lock();
    if (atomic_load(&active_contexts_is_asleep)) /* the time that has begun goes on */
        counter_add(COUNTER_asleep_ns, clock_monotonic_ns() - wake.asleep_since_ns);
    else
        begin_time_asleep();
    atomic_store(&wake.runs, false);
    atomic_store(&active_contexts_is_asleep, false);
    switches_unlock();
}

void sleep_control_resume(void)
{
    switches_lock();
    wake.times[(wake.asleep_count - 1) % TIMES_KEPT].end_ns = clock_now_ns();
    wake.changes_seen = active_contexts_changes();
    atomic_store(&wake.runs, true);
    switches_unlock();
}

void sleep_control_finish(void)
{
    if (atomic_load(&wake.runs) && atomic_load(&active_contexts_is_asleep))
        counter_add(COUNTER_asleep_ns, clock_monotonic_ns() - wake.asleep_since_ns);
    sleep_control_stop();
}

void sleep_control_stop(void)
{
    atomic_store(&wake.runs, false);
    active_contexts_reset();
}

void sleep_control_set_session(bool is_sampled)
{
    wake.is_session_unsampled = !is_sampled;
}

/* An SDK's context is read in the callbacks, so they have to be awake for it. */
static bool may_sleep(void)
{
    if (wake.when == SLEEP_NEVER || atomic_load_explicit(&sdk_context_is_there, memory_order_relaxed))
        return false;
    bool is_attached_seen = active_contexts_changes() > 0;
    return wake.when == SLEEP_ALWAYS || active_contexts_has_unsampled() ||
           (is_attached_seen && wake.is_session_unsampled);
}

/* Once, where someone may wonder that it costs more than he has read. */
static void say_how_it_sleeps(void)
{
    static bool said;
    if (!said && switches_use_subscriber_api())
        log_info("some requests aren't sampled, and cuspan sleeps while no other is in flight; CUPTI's "
                 "records stay on, as "
                 "they can't be switched safely with its subscriber API: set "
                 "distribution.cuspan.sampling.sleep to always, "
                 "or the sampler's ratio, and the API that can is taken at the start");
    said = true;
}

bool sleep_control_service(void)
{
    uint32_t changes = active_contexts_changes();
    bool is_quiet =
        changes == wake.changes_seen; /* a gap between two steps of a request is no reason to sleep */
    wake.changes_seen = changes;
    atomic_store(&wake.sleeps, may_sleep());
    if (mode_is_ending() && !has_ended())
        return false;
    if (!is_wanted()) {
        bool has_fallen = is_quiet && fall_asleep();
        if (has_fallen && atomic_load(&wake.is_tracing))
            say_how_it_sleeps();
        return has_fallen;
    }
    if (atomic_load(&active_contexts_is_asleep))
        rouse();
    return false;
}
