#include "base/clock.h"

#include "support/test.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The offset added to CLOCK_REALTIME. The test's clock_gettime replaces libc's. */
static int64_t step_ns;

int clock_gettime(clockid_t id, struct timespec *time)
{
    long failed = syscall(SYS_clock_gettime, id, time);
    if (id == CLOCK_REALTIME) {
        int64_t ns = (int64_t)time->tv_sec * (int64_t)NS_PER_SECOND + time->tv_nsec + step_ns;
        time->tv_sec = ns / (int64_t)NS_PER_SECOND;
        time->tv_nsec = ns % (int64_t)NS_PER_SECOND;
    }
    return (int)failed;
}

#define CLOSE_NS (20 * NS_PER_MS)

static uint64_t fake_clock(void)
{
    return 12345;
}

/* Reads both clocks within a millisecond: a busy machine may stop this thread between two readings. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t after_ns;
    do {
        *ns = clock_read_ns(CLOCK_REALTIME);
        *ticks = clock_ticks();
        after_ns = clock_read_ns(CLOCK_REALTIME);
    } while (after_ns - *ns > NS_PER_MS);
}

static void expect_close(uint64_t a, uint64_t b)
{
    assert_true((a > b ? a - b : b - a) < CLOSE_NS);
}

static void test_a_replay_s_clock_takes_the_place(void **state)
{
    clock_source = fake_clock;
    clock_init();
    clock_calibrate();
    assert_false(clock_has_counter);
    assert_int_equal(clock_now_ns(), 12345);
    assert_int_equal(clock_ticks(), 12345);
    assert_int_equal(clock_ticks_to_ns(99), 99);
    assert_true(clock_monotonic_ns() != 12345); /* deadlines are never replayed */
    clock_source = NULL;
}

static void test_now_is_now(void **state)
{
    uint64_t first = clock_read_ns(CLOCK_REALTIME);
    uint64_t now = clock_now_ns();
    assert_in_range(now, first, clock_read_ns(CLOCK_REALTIME));
    uint64_t before = clock_monotonic_ns();
    assert_true(clock_monotonic_ns() >= before);
}

static void test_without_a_counter_ticks_are_ns(void **state)
{
    clock_has_counter = false;
    clock_calibrate();
    uint64_t first = clock_read_ns(CLOCK_REALTIME);
    uint64_t ticks = clock_ticks();
    assert_int_equal(clock_ticks_to_ns(ticks), ticks);
    assert_in_range(ticks, first, clock_read_ns(CLOCK_REALTIME));
}

static void test_ticks_become_the_time_at_which_they_were_taken(void **state)
{
    clock_init();
    if (!clock_has_counter)
        skip(); /* this machine's kernel uses another clock source */
    uint64_t first, first_ns;
    read_both(&first, &first_ns);
    usleep(1000);
    clock_calibrate(); /* a slope measured over a millisecond is inaccurate */
    expect_close(clock_ticks_to_ns(first), first_ns);
    for (int i = 0; i < 8; i++) {
        usleep(20000);
        uint64_t ticks, ns;
        read_both(&ticks, &ns);
        clock_calibrate();
        expect_close(clock_ticks_to_ns(ticks), ns);
        expect_close(clock_ticks_to_ns(first), first_ns); /* before the anchor, too */
        uint64_t later = clock_ticks();
        assert_true(clock_ticks_to_ns(later) >= clock_ticks_to_ns(ticks));
    }
}

/* Setting the clock during calibration must not distort all later times. */
static void test_a_clock_that_is_set_spoils_nothing(void **state)
{
    static const int64_t steps_ns[] = {50 * (int64_t)NS_PER_MS, (int64_t)NS_PER_SECOND,
                                       -(int64_t)NS_PER_SECOND};
    for (size_t i = 0; i < sizeof steps_ns / sizeof *steps_ns; i++) {
        step_ns = 0;
        clock_init();
        if (!clock_has_counter)
            skip();
        usleep(6000);
        step_ns = steps_ns[i];
        clock_calibrate();
        usleep(60000);
        clock_calibrate();
        uint64_t begin, begin_ns, end, end_ns;
        read_both(&begin, &begin_ns);
        usleep(100000);
        read_both(&end, &end_ns);
        expect_close(clock_ticks_to_ns(begin), begin_ns);
        expect_close(clock_ticks_to_ns(end) - clock_ticks_to_ns(begin), end_ns - begin_ns);
    }
    step_ns = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replay_s_clock_takes_the_place),
        cmocka_unit_test(test_now_is_now),
        cmocka_unit_test(test_without_a_counter_ticks_are_ns),
        cmocka_unit_test(test_ticks_become_the_time_at_which_they_were_taken),
        cmocka_unit_test(test_a_clock_that_is_set_spoils_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
