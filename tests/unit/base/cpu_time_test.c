#include "base/process/cpu_time.h"

#include "base/clock.h"
#include "base/process/agent_thread.h"
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>

#define WORK_NS (20 * NS_PER_MS)

static pthread_barrier_t barrier;
static uint64_t before_ns; /* CPU time of the process before the test */

static void *work(void *which)
{
    cpu_time_start(*(enum own_work *)which);
    while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < WORK_NS) {
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static int setup(void **state)
{
    cpu_time_forget();
    before_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    return pthread_barrier_init(&barrier, NULL, 2);
}

/* No thread has used more than the process. */
static void check(enum own_work which, uint64_t least_ns)
{
    uint64_t ns = cpu_time_ns(which);
    assert_in_range(ns, least_ns, clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns);
}

static void test_while_it_runs_and_after_its_end(void **state)
{
    pthread_t thread;
    enum own_work which = OWN_SENDER;
    assert_int_equal(agent_thread_start(&thread, 0, work, &which), 0);
    pthread_barrier_wait(&barrier);
    check(OWN_SENDER, WORK_NS);
    uint64_t running_ns = cpu_time_ns(OWN_SENDER);
    assert_int_equal(cpu_time_ns(OWN_PIPELINE), 0);
    assert_int_equal(cpu_time_ns(OWN_CONTROL), 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    check(OWN_SENDER, running_ns);
}

static void test_threads_of_one_kind_add_up(void **state)
{
    enum own_work which = OWN_PIPELINE;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(agent_thread_start(&thread, 0, work, &which), 0);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
    }
    check(OWN_PIPELINE, 3 * WORK_NS);
}

static void *end_at_once(void *unused)
{
    return unused;
}

/* Ended threads free their slots. A thread that never registered does not count. */
static void test_many_threads_one_after_the_other(void **state)
{
    enum own_work which = OWN_CONTROL;
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(agent_thread_start(&thread, 0, end_at_once, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(cpu_time_ns(OWN_CONTROL), 0);
    assert_int_equal(agent_thread_start(&thread, 0, work, &which), 0);
    pthread_barrier_wait(&barrier);
    check(OWN_CONTROL, WORK_NS);
    cpu_time_forget();
    assert_int_equal(cpu_time_ns(OWN_CONTROL), 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    assert_int_equal(cpu_time_ns(OWN_CONTROL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_while_it_runs_and_after_its_end, setup),
        cmocka_unit_test_setup(test_threads_of_one_kind_add_up, setup),
        cmocka_unit_test_setup(test_many_threads_one_after_the_other, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
