#include "agent/export/otlp/retry.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_pauses_double_up_to_the_longest(void **state)
{
    struct retry retry;
    retry_init(&retry, 100, 42);
    uint64_t whole_ms = 100;
    for (int i = 0; i < 20; i++) {
        uint64_t pause_ns = retry_next_ns(&retry);
        assert_in_range(pause_ns, whole_ms * NS_PER_MS / 2, whole_ms * NS_PER_MS);
        whole_ms = whole_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : whole_ms * 2;
    }
    retry_reset(&retry);
    assert_in_range(retry_next_ns(&retry), 50 * NS_PER_MS, 100 * NS_PER_MS);
}

static void test_pauses_differ_between_processes(void **state)
{
    struct retry one;
    struct retry other;
    retry_init(&one, 1000, 1);
    retry_init(&other, 1000, 7);
    int same = 0;
    for (int i = 0; i < 8; i++)
        same += retry_next_ns(&one) == retry_next_ns(&other);
    assert_in_range(same, 0, 2);
}

static void test_no_initial_pause_means_the_default(void **state)
{
    struct retry retry;
    retry_init(&retry, 0, 3);
    assert_in_range(retry_next_ns(&retry), RETRY_INITIAL_MS * NS_PER_MS / 2, RETRY_INITIAL_MS * NS_PER_MS);
}

static void test_a_servers_delay_is_a_minimum(void **state)
{
    struct retry retry;
    bool asked;
    retry_init(&retry, 100, 42);
    assert_in_range(retry_pause_ns(&retry, 0, &asked), 50 * NS_PER_MS, 100 * NS_PER_MS);
    assert_false(asked);
    assert_in_range(retry_pause_ns(&retry, 1, &asked), 100 * NS_PER_MS, 200 * NS_PER_MS);
    assert_false(asked);
    assert_int_equal(retry_pause_ns(&retry, 3 * NS_PER_SECOND, &asked), 3 * NS_PER_SECOND);
    assert_true(asked);
    assert_in_range(retry_pause_ns(&retry, 0, &asked), 400 * NS_PER_MS, 800 * NS_PER_MS);
    assert_false(asked);
    assert_int_equal(retry_pause_ns(&retry, UINT64_MAX, &asked), RETRY_SERVER_MAX_MS * NS_PER_MS);
    assert_true(asked);
}

static uint64_t delay_s(const char *text, int64_t now_s)
{
    uint64_t delay_ns = 12345;
    if (!retry_after_parse(text, now_s, &delay_ns)) {
        assert_int_equal(delay_ns, 12345);
        return UINT64_MAX;
    }
    assert_int_equal(delay_ns % NS_PER_SECOND, 0);
    return delay_ns / NS_PER_SECOND;
}

static void test_retry_after_in_seconds(void **state)
{
    assert_int_equal(delay_s("0", 0), 0);
    assert_int_equal(delay_s("7", 0), 7);
    assert_int_equal(delay_s(" 120 ", 0), 120);
    assert_int_equal(delay_s("86400", 0), RETRY_SERVER_MAX_MS / 1000);
    assert_int_equal(delay_s("99999999999999999999999999", 0), RETRY_SERVER_MAX_MS / 1000);
}

static void test_retry_after_as_a_date(void **state)
{
    const int64_t then_s = 784111777; /* the RFC's own example */
    assert_int_equal(delay_s("Sun, 06 Nov 1994 08:49:37 GMT", then_s - 30), 30);
    assert_int_equal(delay_s("Sunday, 06-Nov-94 08:49:37 GMT", then_s - 30), 30);
    assert_int_equal(delay_s("Sun Nov  6 08:49:37 1994", then_s - 30), 30);
    assert_int_equal(delay_s("Sun, 06 Nov 1994 08:49:37 GMT", then_s + 30), 0);
    assert_int_equal(delay_s("Sun, 06 Nov 1994 08:49:37 GMT", 0), RETRY_SERVER_MAX_MS / 1000);
}

static void test_retry_after_that_is_neither(void **state)
{
    static const char *const wrong[] = {"",
                                        "soon",
                                        "-5",
                                        "5 minutes",
                                        "1.5",
                                        "Sun, 06 Foo 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:37 CET",
                                        "Sun, 06 Nov 1994 25:00:00 GMT",
                                        "Sun, 06 Nov"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(delay_s(wrong[i], 0), UINT64_MAX);
}

static void test_four_statuses_are_worth_another_try(void **state)
{
    for (long status = 100; status < 600; status++)
        assert_int_equal(retry_http_status(status), status == 429 || (status >= 502 && status <= 504));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_double_up_to_the_longest),
        cmocka_unit_test(test_pauses_differ_between_processes),
        cmocka_unit_test(test_no_initial_pause_means_the_default),
        cmocka_unit_test(test_a_servers_delay_is_a_minimum),
        cmocka_unit_test(test_retry_after_in_seconds),
        cmocka_unit_test(test_retry_after_as_a_date),
        cmocka_unit_test(test_retry_after_that_is_neither),
        cmocka_unit_test(test_four_statuses_are_worth_another_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
