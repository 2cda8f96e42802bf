/* Tests when records are enabled and disabled, those of graphs above all, with a fake CUPTI. */
#include "agent/capture/switches.h"

#include "base/clock.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/sleep/mode.h"
#include "model/cuda/activities.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static char handle; /* the subscriber's */

static struct {
    _Atomic unsigned enables;   /* of graph records */
    _Atomic bool is_enabling;   /* inside that call */
    _Atomic bool holds_back;    /* that call waits until this is false */
    _Atomic bool are_graphs_on; /* it has returned */
    bool refuses;               /* it fails */
    bool waits_for_callbacks;   /* cuptiUnsubscribe() waits for those in progress */
    bool are_kernels_on;
    _Atomic bool is_flushing;      /* inside a flush */
    _Atomic bool holds_flush;      /* which waits until this is false */
    _Atomic unsigned during_flush; /* kinds switched meanwhile */
    _Atomic unsigned switched;     /* kinds */
    unsigned enables_while_on;     /* callbacks of calls and resources, while capture says that it is on */
    unsigned out_of_order;         /* other kinds switched while kernel records were disabled */
    uint8_t calls[CALL_RUNTIME + 1][2048]; /* enabled callbacks */
} fake;

static uint32_t subscribe(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback, void *userdata,
                          struct cupti_subscriber_params *params)
{
    *subscriber = (cupti_subscriber_handle)(void *)&handle;
    return CUPTI_OK;
}

/* Another tool sets its clock. */
static void *be_in_a_callback(void *unused)
{
    switches_pause(true);
    switches_pause(false);
    return unused;
}

static uint32_t unsubscribe(cupti_subscriber_handle subscriber)
{
    pthread_t thread;
    if (fake.waits_for_callbacks && pthread_create(&thread, NULL, be_in_a_callback, NULL) == 0)
        pthread_join(thread, NULL);
    return CUPTI_OK;
}

static uint32_t enable_callback(uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain,
                                uint32_t cbid)
{
    if (domain <= CALL_RUNTIME && cbid < 2048)
        fake.calls[domain][cbid] = enable != 0;
    if (domain != CUPTI_DOMAIN_STATE)
        fake.enables_while_on += enable && atomic_load(&mode_now) == MODE_ON;
    return CUPTI_OK;
}

static uint32_t set_attribute(cupti_subscriber_handle subscriber, uint32_t attr, size_t *size, void *value)
{
    return CUPTI_OK;
}

static uint32_t register_callbacks(cupti_subscriber_handle subscriber, cupti_request_v2_fn *request,
                                   cupti_complete_v2_fn *complete)
{
    return CUPTI_OK;
}

/* Kernel records must be enabled first and disabled last (docs/cupti.md). */
static void note_order(uint32_t kind, bool is_on)
{
    fake.switched++;
    fake.during_flush += atomic_load(&fake.is_flushing);
    if (kind == ACTIVITY_KERNEL)
        fake.are_kernels_on = is_on;
    else
        fake.out_of_order += !fake.are_kernels_on;
}

static uint32_t enable_activity(cupti_subscriber_handle subscriber, uint32_t kind,
                                struct cupti_activity_config *config)
{
    note_order(kind, true);
    if (kind != ACTIVITY_GRAPH_TRACE)
        return CUPTI_OK;
    atomic_fetch_add(&fake.enables, 1);
    atomic_store(&fake.is_enabling, true);
    while (atomic_load(&fake.holds_back))
        sched_yield();
    errno = EDOM;
    atomic_store(&fake.are_graphs_on, !fake.refuses);
    atomic_store(&fake.is_enabling, false);
    return fake.refuses ? CUPTI_NOT_COMPATIBLE : CUPTI_OK;
}

static uint32_t disable_activity(cupti_subscriber_handle subscriber, uint32_t kind,
                                 struct cupti_activity_config *config)
{
    note_order(kind, false);
    if (kind == ACTIVITY_GRAPH_TRACE)
        atomic_store(&fake.are_graphs_on, false);
    return CUPTI_OK;
}

static uint32_t subscribe_classic(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback,
                                  void *userdata)
{
    return subscribe(subscriber, callback, userdata, NULL);
}

static uint32_t set_attribute_classic(uint32_t attr, size_t *size, void *value)
{
    return CUPTI_OK;
}

static uint32_t register_callbacks_classic(cupti_request_fn *request, cupti_complete_fn *complete)
{
    return CUPTI_OK;
}

static uint32_t set_thread_id_type(uint32_t type)
{
    return CUPTI_OK;
}

static uint32_t enable_activity_classic(uint32_t kind)
{
    return enable_activity(NULL, kind, NULL);
}

static uint32_t disable_activity_classic(uint32_t kind)
{
    return disable_activity(NULL, kind, NULL);
}

static uint32_t flush_all(uint32_t flag)
{
    atomic_store(&fake.is_flushing, true);
    while (atomic_load(&fake.holds_flush))
        sched_yield();
    atomic_store(&fake.is_flushing, false);
    return CUPTI_OK;
}

static uint32_t num_dropped(cuda_context_handle context, uint32_t stream, size_t *dropped)
{
    *dropped = 0;
    return CUPTI_OK;
}

static uint32_t result_text(uint32_t result, const char **text)
{
    *text = "a fake result";
    return CUPTI_OK;
}

static struct cupti cupti = {
    .version = 130500,
    .has_subscriber_api = true,
    .cuptiSubscribe_v2 = subscribe,
    .cuptiUnsubscribe = unsubscribe,
    .cuptiEnableCallback = enable_callback,
    .cuptiActivitySetAttribute_v2 = set_attribute,
    .cuptiActivityRegisterCallbacks_v2 = register_callbacks,
    .cuptiActivityEnable_v2 = enable_activity,
    .cuptiActivityDisable_v2 = disable_activity,
    .cuptiSubscribe = subscribe_classic,
    .cuptiActivitySetAttribute = set_attribute_classic,
    .cuptiActivityRegisterCallbacks = register_callbacks_classic,
    .cuptiSetThreadIdType = set_thread_id_type,
    .cuptiActivityEnable = enable_activity_classic,
    .cuptiActivityDisable = disable_activity_classic,
    .cuptiActivityFlushAll = flush_all,
    .cuptiActivityGetNumDroppedRecords = num_dropped,
    .cuptiGetResultString = result_text,
};

static struct settings settings;

static int setup(void **state)
{
    memset(&fake, 0, sizeof fake);
    callbacks_on_graph = NULL;
    cupti.version = CUPTI_VERSION_13_5;
    settings = (struct settings){.detail = DETAIL_DEFAULT,
                                 .capture = {.runtime = true, .driver = true, .resource = true}};
    return callbacks_init(true) != STATUS_OK;
}

static int teardown(void **state)
{
    atomic_store(&fake.holds_back, false);
    atomic_store(&fake.holds_flush, false);
    switches_off();
    return 0;
}

static void turn_on(void)
{
    struct error err;
    assert_int_equal(switches_on(&cupti, &settings, &err), STATUS_OK);
}

/* A program that waits until cuspan_is_on() loses no call. */
static void test_it_is_on_when_all_callbacks_are_enabled(void **state)
{
    struct error err;
    turn_on();
    assert_int_equal(atomic_load(&mode_now), MODE_ON);
    assert_int_equal(fake.enables_while_on, 0);
    switches_off();
    assert_int_equal(switches_on_again(&err), STATUS_OK);
    assert_int_equal(fake.enables_while_on, 0);
}

static void test_the_first_graph_enables_its_records_at_once(void **state)
{
    turn_on();
    switches_follow();
    assert_int_equal(fake.enables, 0);
    errno = ENOENT;
    callbacks_on_graph();
    assert_int_equal(errno, ENOENT);
    assert_true(fake.are_graphs_on);
    callbacks_on_graph();
    switches_follow();
    assert_int_equal(fake.enables, 1);
}

/* CUPTI crashes if they are enabled late. */
static void test_an_older_cupti_has_them_from_the_start(void **state)
{
    settings.cupti.api = CUPTI_API_CLASSIC;
    cupti.version = CUPTI_VERSION_13_0;
    turn_on();
    assert_true(fake.are_graphs_on);
    assert_null(callbacks_on_graph);
}

static void test_records_that_are_always_enabled_wait_for_no_graph(void **state)
{
    settings.cupti.graph_records = GRAPH_RECORDS_ALWAYS;
    turn_on();
    assert_true(fake.are_graphs_on);
    assert_null(callbacks_on_graph);
}

static void test_no_records_of_graphs_where_nodes_are_traced(void **state)
{
    settings.detail = DETAIL_GRAPH_NODES;
    turn_on();
    assert_null(callbacks_on_graph);
    assert_int_equal(fake.enables, 0);
}

static bool has_callback(enum call_domain domain, const char *name)
{
    uint32_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint32_t cbid = 1; cbid < count; cbid++) {
        const struct call_info *info = call_info(domain, cbid);
        if (info && strcmp(call_name(info), name) == 0 && fake.calls[domain][cbid])
            return true;
    }
    return false;
}

/* A runtime call that the user does not trace must not hide the driver call inside it. */
static void test_callbacks_that_announce_graphs(void **state)
{
    settings.capture.driver = false;
    turn_on();
    assert_true(has_callback(CALL_RUNTIME, "cudaStreamBeginCapture"));
    assert_true(has_callback(CALL_DRIVER, "cuStreamBeginCapture"));
    assert_false(has_callback(CALL_DRIVER, "cuLaunchKernel"));
    switches_off();
    memset(fake.calls, 0, sizeof fake.calls);
    settings.capture.runtime = false;
    settings.capture.driver = true;
    turn_on();
    assert_false(has_callback(CALL_RUNTIME, "cudaStreamBeginCapture"));
    assert_true(has_callback(CALL_DRIVER, "cuStreamBeginCapture"));
}

static void *make_graph(void *unused)
{
    callbacks_on_graph();
    return atomic_load(&fake.are_graphs_on) ? unused : NULL;
}

static pthread_t start(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_graph, &fake), 0);
    return thread;
}

/* Whether graph records were enabled when the thread continued. */
static bool join(pthread_t thread)
{
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    return result != NULL;
}

/* A thread inside CUPTI's call, until release(). */
static pthread_t start_first(void)
{
    atomic_store(&fake.holds_back, true);
    pthread_t first = start();
    while (!atomic_load(&fake.is_enabling))
        sched_yield();
    return first;
}

static void *release_soon(void *unused)
{
    struct timespec time = {.tv_nsec = 20000000};
    nanosleep(&time, NULL);
    atomic_store(&fake.holds_back, false);
    return unused;
}

static void test_other_threads_wait_until_records_are_enabled(void **state)
{
    turn_on();
    pthread_t first = start_first(), others[4], releaser;
    for (size_t i = 0; i < 4; i++)
        others[i] = start();
    assert_int_equal(pthread_create(&releaser, NULL, release_soon, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_true(join(others[i]));
    assert_true(join(first));
    pthread_join(releaser, NULL);
    assert_int_equal(fake.enables, 1);
}

static void test_a_stop_ends_the_wait(void **state)
{
    pthread_t releaser;
    turn_on();
    pthread_t first = start_first(), other = start();
    atomic_store(&mode_now, MODE_OFF); /* as switches_off() does before it waits for the lock */
    assert_false(join(other));
    assert_true(atomic_load(&fake.is_enabling));
    atomic_store(&mode_now, MODE_ON);
    other = start(); /* waits again: the other one had no reason to give up permanently */
    assert_int_equal(pthread_create(&releaser, NULL, release_soon, NULL), 0);
    assert_true(join(other));
    pthread_join(releaser, NULL);
    join(first);
}

static void test_a_cupti_that_hangs_is_waited_for_once(void **state)
{
    turn_on();
    pthread_t first = start_first();
    assert_false(join(start())); /* after GRAPHS_WAIT_MS */
    uint64_t before_ns = clock_monotonic_ns();
    for (int i = 0; i < 100; i++)
        callbacks_on_graph();
    assert_true(clock_monotonic_ns() - before_ns < 100 * NS_PER_SECOND); /* 200 s with a wait each */
    atomic_store(&fake.holds_back, false);
    join(first);
}

static void test_refused_records_are_not_tried_again(void **state)
{
    fake.refuses = true;
    turn_on();
    callbacks_on_graph();
    callbacks_on_graph();
    switches_follow(); /* logs it */
    assert_int_equal(fake.enables, 1);
}

static void test_nothing_is_enabled_after_the_end(void **state)
{
    turn_on();
    switches_quiet();
    callbacks_on_graph();
    switches_off();
    callbacks_on_graph();
    assert_int_equal(fake.enables, 0);
}

/* Graphs may have been instantiated meanwhile. */
static void test_they_stay_disabled_after_a_release(void **state)
{
    struct error err;
    turn_on();
    switches_off();
    assert_int_equal(switches_on_again(&err), STATUS_OK);
    callbacks_on_graph();
    assert_int_equal(fake.enables, 0);
}

/* The callback may wait for the lock of the thread that unsubscribes. */
static void test_the_end_waits_for_no_callback_that_waits_for_it(void **state)
{
    turn_on();
    fake.waits_for_callbacks = true;
    switches_off();
}

static void pause_for_another_tool(void)
{
    switches_pause(true);
    switches_pause(false);
}

static void make_first_graph(void)
{
    callbacks_on_graph();
}

static void *flush(void *unused)
{
    switches_flush(false);
    return unused;
}

static void *release_flush_soon(void *unused)
{
    struct timespec time = {.tv_nsec = 20000000};
    nanosleep(&time, NULL);
    atomic_store(&fake.holds_flush, false);
    return unused;
}

/* A thread inside CUPTI's flush, until `holds_flush` is false. */
static pthread_t start_flush(void)
{
    pthread_t thread;
    atomic_store(&fake.holds_flush, true);
    assert_int_equal(pthread_create(&thread, NULL, flush, NULL), 0);
    while (!atomic_load(&fake.is_flushing))
        sched_yield();
    return thread;
}

/* CUPTI crashes, or never returns. */
static void test_no_records_are_switched_during_a_flush(void **state)
{
    static void (*const ways[])(void) = {pause_for_another_tool, make_first_graph, switches_quiet,
                                         switches_off};
    settings.cupti.api = CUPTI_API_CLASSIC;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pthread_t releaser;
        turn_on();
        unsigned before = atomic_load(&fake.switched);
        pthread_t flushing = start_flush();
        assert_int_equal(pthread_create(&releaser, NULL, release_flush_soon, NULL), 0);
        ways[i]();
        assert_true(atomic_load(&fake.switched) > before);
        assert_int_equal(atomic_load(&fake.during_flush), 0);
        pthread_join(flushing, NULL);
        pthread_join(releaser, NULL);
        switches_off();
    }
}

static void test_a_flush_that_hangs_is_waited_for_once(void **state)
{
    settings.cupti.api = CUPTI_API_CLASSIC;
    turn_on();
    pthread_t flushing = start_flush();
    pause_for_another_tool(); /* after TURN_WAIT_MS */
    assert_true(atomic_exchange(&fake.during_flush, 0) > 0);
    uint64_t before_ns = clock_monotonic_ns();
    for (int i = 0; i < 100; i++)
        pause_for_another_tool();
    assert_true(clock_monotonic_ns() - before_ns < 50 * NS_PER_SECOND); /* 100 s with a wait each */
    atomic_store(&fake.holds_flush, false);
    pthread_join(flushing, NULL);
    atomic_store(&fake.during_flush, 0);
    test_no_records_are_switched_during_a_flush(state); /* from now on again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_end_waits_for_no_callback_that_waits_for_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_it_is_on_when_all_callbacks_are_enabled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_first_graph_enables_its_records_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_older_cupti_has_them_from_the_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_that_are_always_enabled_wait_for_no_graph, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_no_records_of_graphs_where_nodes_are_traced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_callbacks_that_announce_graphs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_threads_wait_until_records_are_enabled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stop_ends_the_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_cupti_that_hangs_is_waited_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_records_are_not_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_enabled_after_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_they_stay_disabled_after_a_release, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_records_are_switched_during_a_flush, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_flush_that_hangs_is_waited_for_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
