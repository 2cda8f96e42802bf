/* Tests when capture sleeps, with fakes of the lock and of the callbacks. */
#include "agent/capture/sleep_control.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/sleep/active_contexts.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/sleep/sleep_lock.h"
#include "agent/capture/context/sdk_context.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>

#define THREADS 8
#define ROUNDS  20000

void (*callbacks_on_bound)(bool begins);
_Atomic bool sdk_context_is_there;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Another thread does this before the calling one gets the lock, once. */
static _Thread_local void (*meanwhile)(void);

void sleep_lock(void)
{
    void (*does)(void) = meanwhile;
    meanwhile = NULL;
    if (does)
        does();
    pthread_mutex_lock(&lock);
}

void sleep_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static _Atomic uint32_t calls_under_way;

uint32_t threads_in_call(void)
{
    return atomic_load(&calls_under_way);
}

void threads_wake(void) {}

static bool is_awake(void)
{
    return atomic_load(&mode_now) == MODE_ON;
}

static void begin(enum sleep_when when, bool is_replay, bool is_recorded)
{
    static struct settings settings;
    settings = (struct settings){.sampling.sleep = when, .record_file = is_recorded ? (char *)"file" : NULL};
    atomic_store(&mode_now, MODE_ON);
    sleep_control_set_session(true);
    sleep_control_start(&settings, is_replay);
}

/* Twice, because a context that came or went since the last call delays sleep. */
static void serve(void)
{
    sleep_control_service();
    sleep_control_service();
}

static void test_a_stop_during_a_release_holds_after_it(void **state)
{
    begin(SLEEP_NEVER, false, false);
    sleep_control_suspend();
    assert_true(sleep_control_end_tracing());
    atomic_store(&mode_now, MODE_ON); /* CUPTI is used again */
    sleep_control_resume();
    assert_false(is_awake());
    sleep_control_begin_tracing();
    assert_true(is_awake());
}

static int set_up(void **state)
{
    sleep_control_stop();
    atomic_store(&sdk_context_is_there, false);
    return 0;
}

static void test_stays_awake_where_all_is_sampled(void **state)
{
    begin(SLEEP_AUTO, false, false);
    serve();
    assert_true(is_awake());
    active_contexts_attached();
    active_contexts_detached();
    serve();
    assert_true(is_awake());
    assert_int_equal(counter_get(COUNTER_sleeps), 0);
}

static void test_sleeps_once_a_context_is_not_sampled(void **state)
{
    uint64_t before = counter_get(COUNTER_sleeps);
    begin(SLEEP_AUTO, false, false);
    active_contexts_attached_unsampled();
    assert_true(sleep_control_service());
    assert_false(is_awake());
    assert_int_equal(counter_get(COUNTER_sleeps), before + 1);
    assert_false(sleep_control_service());
    assert_int_equal(counter_get(COUNTER_sleeps), before + 1);
}

static void test_sleeps_below_an_unsampled_session_where_contexts_are_attached(void **state)
{
    begin(SLEEP_AUTO, false, false);
    sleep_control_set_session(false);
    serve();
    assert_true(
        is_awake()); /* nobody attaches here, so sampled contexts may come in a way that we do not see */
    active_contexts_attached();
    active_contexts_detached();
    serve();
    assert_false(is_awake());
    sleep_control_set_session(true);
    serve();
    assert_true(is_awake());
}

static void test_wakes_for_a_sampled_context_and_until_it_ends(void **state)
{
    begin(SLEEP_ALWAYS, false, false);
    assert_false(is_awake());
    active_contexts_attached();
    assert_true(is_awake());
    active_contexts_attached();
    active_contexts_detached();
    serve();
    assert_true(is_awake());
    active_contexts_detached();
    assert_false(sleep_control_service()); /* a context was attached since the last poll: this may be a gap
                                              within a request */
    assert_true(is_awake());
    assert_true(sleep_control_service());
    assert_false(is_awake());
}

static void test_counts_the_time_asleep(void **state)
{
    uint64_t before = counter_get(COUNTER_asleep_ns);
    begin(SLEEP_ALWAYS, false, false);
    sched_yield();
    active_contexts_attached();
    assert_true(counter_get(COUNTER_asleep_ns) > before);
    active_contexts_detached();
}

static uint64_t fake_now_ns;

static uint64_t fake_clock(void)
{
    return fake_now_ns;
}

static void sleep_from_to(uint64_t begin_ms, uint64_t end_ms)
{
    fake_now_ns = begin_ms * 1000000;
    serve();
    assert_false(is_awake());
    fake_now_ns = end_ms * 1000000;
    active_contexts_attached();
    active_contexts_detached();
}

static bool slept_at(uint64_t ms)
{
    return sleep_control_slept_between(ms * 1000000, ms * 1000000);
}

static void test_remembers_when_it_slept(void **state)
{
    clock_source = fake_clock;
    fake_now_ns = 5000000;
    begin(SLEEP_ALWAYS, false, false);
    assert_true(slept_at(100)); /* it still does */
    fake_now_ns = 10000000;
    active_contexts_attached();
    active_contexts_detached();
    sleep_from_to(20, 30);
    fake_now_ns = 40000000;
    assert_true(slept_at(5) && slept_at(9) && slept_at(10));
    assert_false(slept_at(4) || slept_at(11) || slept_at(19));
    assert_true(slept_at(20) && slept_at(25) && slept_at(30));
    assert_false(slept_at(31) || slept_at(40));
    for (uint64_t i = 0; i < 2000; i++) /* more than it remembers */
        sleep_from_to(100 + 10 * i, 104 + 10 * i);
    assert_false(slept_at(25));
    assert_true(slept_at(100 + 10 * 1999 + 2));
    assert_false(slept_at(100 + 10 * 1999 + 7));
    clock_source = NULL;
}

static void test_never_sleeps_where_it_must_not(void **state)
{
    begin(SLEEP_NEVER, false, false);
    active_contexts_attached_unsampled();
    serve();
    assert_true(is_awake());
    begin(SLEEP_AUTO, true, false); /* a replay */
    serve();
    assert_true(is_awake());
    begin(SLEEP_ALWAYS, false, true); /* a recording */
    serve();
    assert_true(is_awake());
}

static void test_stays_awake_for_an_sdk(void **state)
{
    begin(SLEEP_ALWAYS, false, false);
    assert_false(is_awake());
    atomic_store(&sdk_context_is_there, true);
    sleep_control_service();
    assert_true(is_awake());
}

static void test_follows_the_program(void **state)
{
    begin(SLEEP_AUTO, false, false);
    assert_true(sleep_control_is_tracing());
    assert_false(sleep_control_begin_tracing());
    assert_true(sleep_control_end_tracing());
    assert_false(sleep_control_end_tracing());
    assert_false(sleep_control_is_tracing());
    assert_false(is_awake());
    active_contexts_attached();
    serve();
    assert_false(is_awake()); /* the program's stop overrides a sampled request */
    assert_true(sleep_control_begin_tracing());
    assert_true(is_awake());
    active_contexts_detached();
}

static void test_follows_cuda_profiler_start_and_stop(void **state)
{
    static struct settings settings = {.capture.cuda_profiler = true};
    atomic_store(&mode_now, MODE_ON);
    sleep_control_start(&settings, false);
    assert_false(is_awake());
    callbacks_on_bound(true);
    assert_true(is_awake());
    serve();
    assert_true(is_awake());
    callbacks_on_bound(false);
    assert_false(is_awake());
}

static int cancel_state = -1; /* with which the lock was taken */

static void note_cancel_state(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_setcancelstate(cancel_state, NULL);
}

/* A canceled thread would keep the lock. */
static void test_threads_cannot_be_canceled_with_the_lock(void **state)
{
    begin(SLEEP_ALWAYS, false, false);
    meanwhile = note_cancel_state;
    active_contexts_attached();
    assert_int_equal(cancel_state, PTHREAD_CANCEL_DISABLE);
    for (int begins = 0; begins <= 1; begins++) {
        cancel_state = -1;
        meanwhile = note_cancel_state;
        callbacks_on_bound(begins);
        assert_int_equal(cancel_state, PTHREAD_CANCEL_DISABLE);
    }
    active_contexts_detached();
}

static void test_the_last_sleep_counts_too(void **state)
{
    uint64_t before = counter_get(COUNTER_asleep_ns);
    begin(SLEEP_ALWAYS, false, false);
    sched_yield();
    sleep_control_finish();
    assert_true(counter_get(COUNTER_asleep_ns) > before);
    before = counter_get(COUNTER_asleep_ns);
    sleep_control_finish();
    assert_int_equal(counter_get(COUNTER_asleep_ns), before);
}

static void test_a_forked_child_has_the_contexts_of_one_thread(void **state)
{
    begin(SLEEP_ALWAYS, false, false);
    active_contexts_attached();
    active_contexts_attached(); /* on another thread of the parent */
    active_contexts_set(1);
    active_contexts_detached();
    serve();
    assert_false(is_awake());
}

static void test_is_left_alone_after_the_stop(void **state)
{
    begin(SLEEP_ALWAYS, false, false);
    sleep_control_stop();
    active_contexts_attached();
    (void)sleep_control_begin_tracing();
    (void)sleep_control_service();
    assert_int_equal(mode_now, MODE_ASLEEP);
    active_contexts_detached();
}

static atomic_bool is_over;
static atomic_uint asleep_in_flight;

static void *attach_and_look(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        active_contexts_attached();
        if (atomic_load(&mode_now) != MODE_ON)
            atomic_fetch_add(&asleep_in_flight, 1);
        active_contexts_detached();
    }
    return NULL;
}

static void *fall_asleep_again_and_again(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over))
        sleep_control_service();
    return NULL;
}

static void test_no_wake_up_is_lost(void **state)
{
    pthread_t threads[THREADS], service;
    uint64_t before = counter_get(COUNTER_sleeps);
    begin(SLEEP_ALWAYS, false, false);
    pthread_create(&service, NULL, fall_asleep_again_and_again, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, attach_and_look, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    pthread_join(service, NULL);
    assert_int_equal(asleep_in_flight, 0);
    assert_true(counter_get(COUNTER_sleeps) > before);
}

static void test_a_stop_waits_for_calls_that_are_under_way(void **state)
{
    uint64_t cut = counter_get(COUNTER_calls_cut);
    begin(SLEEP_NEVER, false, false);
    atomic_store(&calls_under_way, 2);
    sleep_control_set_ending(60000);
    assert_true(sleep_control_end_tracing());
    assert_true(mode_is_ending());
    assert_false(sleep_control_end_tracing());
    assert_false(sleep_control_service());
    assert_true(mode_is_ending());
    atomic_store(&calls_under_way, 0);
    assert_true(sleep_control_service());
    assert_false(is_awake());
    assert_false(mode_is_ending());
    assert_int_equal(counter_get(COUNTER_calls_cut), cut);
}

static void test_a_stop_waits_no_longer_than_it_is_told(void **state)
{
    uint64_t cut = counter_get(COUNTER_calls_cut);
    begin(SLEEP_NEVER, false, false);
    atomic_store(&calls_under_way, 2);
    sleep_control_set_ending(0);
    assert_true(sleep_control_end_tracing());
    assert_true(sleep_control_service());
    assert_false(is_awake());
    assert_int_equal(counter_get(COUNTER_calls_cut), cut + 2);
    atomic_store(&calls_under_way, 0);
}

static void serve_once(void)
{
    assert_false(sleep_control_service());
}

static void stop_tracing(void)
{
    assert_true(sleep_control_end_tracing());
}

/* The stop waits for a call in progress, whatever the two threads do at once. */
static void check_that_a_stop_waits(void (*this_thread)(void), void (*other_thread)(void))
{
    atomic_store(&calls_under_way, 1);
    sleep_control_set_ending(60000);
    meanwhile = other_thread;
    this_thread();
    assert_null(meanwhile);
    assert_true(mode_is_ending());
    assert_false(sleep_control_service());
    assert_true(mode_is_ending());
    atomic_store(&calls_under_way, 0);
    assert_true(sleep_control_service());
    assert_false(is_awake());
}

static void test_the_pipeline_thread_does_not_end_a_stop_that_begins(void **state)
{
    begin(SLEEP_NEVER, false, false);
    check_that_a_stop_waits(stop_tracing, serve_once);
}

static void test_a_stop_that_begins_as_capture_falls_asleep_waits(void **state)
{
    begin(SLEEP_ALWAYS, false, false);
    active_contexts_attached();
    active_contexts_detached();
    serve_once(); /* the next one would fall asleep */
    assert_true(is_awake());
    check_that_a_stop_waits(serve_once, stop_tracing);
}

static void test_a_start_ends_the_wait(void **state)
{
    uint64_t sleeps = counter_get(COUNTER_sleeps);
    begin(SLEEP_NEVER, false, false);
    atomic_store(&calls_under_way, 1);
    sleep_control_set_ending(60000);
    assert_true(sleep_control_end_tracing());
    assert_true(sleep_control_begin_tracing());
    assert_true(is_awake());
    assert_false(sleep_control_service());
    assert_true(is_awake());
    atomic_store(&calls_under_way, 0);
    assert_int_equal(counter_get(COUNTER_sleeps), sleeps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_stays_awake_where_all_is_sampled, set_up),
        cmocka_unit_test_setup(test_sleeps_once_a_context_is_not_sampled, set_up),
        cmocka_unit_test_setup(test_sleeps_below_an_unsampled_session_where_contexts_are_attached, set_up),
        cmocka_unit_test_setup(test_wakes_for_a_sampled_context_and_until_it_ends, set_up),
        cmocka_unit_test_setup(test_counts_the_time_asleep, set_up),
        cmocka_unit_test_setup(test_remembers_when_it_slept, set_up),
        cmocka_unit_test_setup(test_never_sleeps_where_it_must_not, set_up),
        cmocka_unit_test_setup(test_stays_awake_for_an_sdk, set_up),
        cmocka_unit_test_setup(test_follows_the_program, set_up),
        cmocka_unit_test_setup(test_follows_cuda_profiler_start_and_stop, set_up),
        cmocka_unit_test_setup(test_threads_cannot_be_canceled_with_the_lock, set_up),
        cmocka_unit_test_setup(test_the_last_sleep_counts_too, set_up),
        cmocka_unit_test_setup(test_a_forked_child_has_the_contexts_of_one_thread, set_up),
        cmocka_unit_test_setup(test_is_left_alone_after_the_stop, set_up),
        cmocka_unit_test_setup(test_no_wake_up_is_lost, set_up),
        cmocka_unit_test_setup(test_a_stop_waits_for_calls_that_are_under_way, set_up),
        cmocka_unit_test_setup(test_a_stop_waits_no_longer_than_it_is_told, set_up),
        cmocka_unit_test_setup(test_the_pipeline_thread_does_not_end_a_stop_that_begins, set_up),
        cmocka_unit_test_setup(test_a_stop_that_begins_as_capture_falls_asleep_waits, set_up),
        cmocka_unit_test_setup(test_a_start_ends_the_wait, set_up),
        cmocka_unit_test_setup(test_a_stop_during_a_release_holds_after_it, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
