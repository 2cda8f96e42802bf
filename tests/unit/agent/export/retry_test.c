#include "agent/export/otlp/retry.h"

#include "base/clock.h"
#include "support/test.h"

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
        cmocka_unit_test(test_four_statuses_are_worth_another_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
