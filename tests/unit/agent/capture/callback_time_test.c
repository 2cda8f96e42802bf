#include "agent/capture/callbacks/callback_time.h"

#include "base/clock.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <stdlib.h>
#include <string.h>

#define CALLS 1000000
#define TICKS ticks_of_a_call() /* far more than a counter reading, far less than an interruption */

static struct host_thread thread;

static uint64_t ticks_of_a_call(void)
{
#if defined(__aarch64__)
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / 250000 / 8 * 8; /* 4 us */
#else
    return 4000;
#endif
}

static int setup(void **state)
{
    memset(&thread, 0, sizeof thread);
    thread.time.random = 12345;
    thread.calls_until_turn = 1;
    thread_self = &thread;
    thread_timed = NULL;
    callback_time_init();
    return 0;
}

/* A call with two callbacks, as callbacks.c makes them. Each takes `ticks` if it is timed. */
static void call(uint64_t ticks)
{
    bool was_timed = thread_timed != NULL;
    if (was_timed) {
        thread_self = &thread;
        callback_time_add(&thread, ticks);
        assert_null(thread_self);
        thread_self = &thread;
    }
    if (--thread.calls_until_turn == 0)
        callback_time_turn(&thread);
    if (was_timed)
        callback_time_add(&thread, ticks);
    assert_ptr_equal(thread_known(), &thread);
}

/* Converts ticks by a rate measured here. */
static double ns_of(double ticks)
{
    uint64_t begin_ns = clock_monotonic_ns(), begin = clock_read_counter();
    while (clock_monotonic_ns() - begin_ns < 20 * NS_PER_MS) {
    }
    return ticks * (double)(clock_monotonic_ns() - begin_ns) / (double)(clock_read_counter() - begin);
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static void test_nothing_is_known_at_first(void **state)
{
    struct callback_time_sum sum = callback_time_get();
    assert_int_equal(sum.timed_calls, 0);
    assert_int_equal(sum.call_ns, 0);
}

static void test_short_programs_have_a_figure(void **state)
{
    for (int i = 0; i < 20; i++)
        call(TICKS);
    assert_in_range(callback_time_get().timed_calls, 1, 10);
}

static void test_one_in_about_a_thousand_is_timed(void **state)
{
    for (int i = 0; i < CALLS; i++)
        call(TICKS);
    assert_in_range(callback_time_get().timed_calls, CALLS / 1024 * 9 / 10, CALLS / 1024 * 11 / 10);
}

/* Both callbacks of a call count. */
static void test_time_of_a_call(void **state)
{
    for (int i = 0; i < 100000; i++)
        call(TICKS);
    double want = ns_of(2 * TICKS);
    assert_true((double)callback_time_get().call_ns > want * 0.9);
    assert_true((double)callback_time_get().call_ns < want * 1.02);
}

/* Every eighth call takes nine times as long, like the last one of a program's loop. */
static void test_loops_do_not_bias_it(void **state)
{
    for (int i = 0; i < CALLS; i++)
        call(i % 8 == 7 ? 9 * TICKS / 4 : TICKS / 4);
    double want = ns_of(2 * TICKS / 4 * 2);
    assert_true((double)callback_time_get().call_ns > want * 0.8);
    assert_true((double)callback_time_get().call_ns < want * 1.2);
}

static void test_interrupted_calls_are_left_out(void **state)
{
    for (int i = 0; i < 100000; i++)
        call(TICKS);
    struct callback_time_sum before = callback_time_get();
    for (int i = 0; i < 100000; i++)
        call((uint64_t)1 << 32);
    struct callback_time_sum after = callback_time_get();
    assert_int_equal(after.timed_calls, before.timed_calls);
    assert_in_range(after.call_ns, before.call_ns * 9 / 10, before.call_ns * 11 / 10 + 1);
}

/* Readings alone leave only their jitter. */
static void test_the_readings_are_taken_off(void **state)
{
    uint64_t reading = callback_time_of_reading();
    if (!is_under_qemu()) /* which takes longer, or less than one tick */
        assert_true(reading > 0 && ns_of((double)reading) < 1000);
    for (int i = 0; i < 100000; i++)
        call(reading);
    assert_true(callback_time_get().timed_calls > 50);
    assert_int_equal(callback_time_get().call_ns, 0);
    for (int i = 0; i < 100000; i++)
        call(reading / 2); /* a faster pair counts as zero */
    assert_int_equal(callback_time_get().call_ns, 0);
    callback_time_reset();
    for (int i = 0; i < 100000; i++)
        call(reading + TICKS);
    double want = ns_of(2 * TICKS);
    assert_true((double)callback_time_get().call_ns > want * 0.98);
    assert_true((double)callback_time_get().call_ns < want * 1.02);
}

#define ATTEMPTS 1000 /* other load slows some attempts; a fault slows all of them */

#define LINES     4096
#define LINE_HOPS 64
#define ATTEMPTS  1000 /* other load slows some attempts; a fault slows all of them */

static void wait_for_loads(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb ld\n\tisb" ::: "memory");
#endif
}

/* Follows a pointer chain through uncached memory: timing that starts behind it without serializing would
 * include part of its latency. */
static void test_what_came_before_is_not_timed(void **state)
{
    if (is_under_qemu())
        skip();
    static struct line {
        struct line *next;
        char rest[16320];
    } lines[LINES];
    for (uint32_t i = 0; i < LINES; i++)
        lines[i].next = &lines[(i * 1597u + 1) % LINES];
    const struct line *volatile at = lines;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t settled[101];
        for (int i = 0; i < 101; i++) {
            const struct line *hop = at;
            for (int j = 0; j < LINE_HOPS; j++)
                hop = hop->next;
            uint64_t begin = clock_read_counter_settled();
            at = hop;
            wait_for_loads();
            settled[i] = clock_read_counter() - begin;
        }
        qsort(settled, 101, sizeof *settled, compare);
        if (settled[50] < 8 * callback_time_of_reading())
            return;
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_is_known_at_first, setup),
        cmocka_unit_test_setup(test_short_programs_have_a_figure, setup),
        cmocka_unit_test_setup(test_one_in_about_a_thousand_is_timed, setup),
        cmocka_unit_test_setup(test_time_of_a_call, setup),
        cmocka_unit_test_setup(test_loops_do_not_bias_it, setup),
        cmocka_unit_test_setup(test_interrupted_calls_are_left_out, setup),
        cmocka_unit_test_setup(test_the_readings_are_taken_off, setup),
        cmocka_unit_test_setup(test_what_came_before_is_not_timed, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
