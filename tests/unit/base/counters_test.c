#include "base/accounting/counters.h"

#include "support/test.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    counters_reset();
    return 0;
}

static void test_counting(void **state)
{
    counter_add(COUNTER_spans_created, 2);
    counter_add(COUNTER_spans_created, 3);
    assert_int_equal(counter_get(COUNTER_spans_created), 5);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 0);
    counters_reset();
    assert_int_equal(counter_get(COUNTER_spans_created), 0);
}

static void test_the_largest_stays(void **state)
{
    counter_max(COUNTER_clock_skew_max_ns, 10);
    counter_max(COUNTER_clock_skew_max_ns, 7);
    assert_int_equal(counter_get(COUNTER_clock_skew_max_ns), 10);
    counter_max(COUNTER_clock_skew_max_ns, 11);
    assert_int_equal(counter_get(COUNTER_clock_skew_max_ns), 11);
}

static void test_only_losses_are_lost(void **state)
{
    uint64_t sum = 0;
    for (enum counter i = 0; i < COUNTER_COUNT; i++) {
        counter_add(i, 1 + i);
        sum += counter_is_loss(i) ? 1 + i : 0;
    }
    assert_true(sum > 0);
    assert_int_equal(counters_lost(), sum);
    assert_false(counter_is_loss(COUNTER_clock_skew_max_ns));
    assert_true(counter_is_loss(COUNTER_lost_deadline));
}

static void test_outputs_are_counted_apart_and_together(void **state)
{
    counter_output_delivered(0, 5);
    counter_output_delivered(OUTPUTS_MAX - 1, 2);
    counter_output_lost(1, COUNTER_lost_refused, 3);
    counter_output_lost(1, COUNTER_lost_deadline, 4);
    assert_int_equal(counter_output_get(0).delivered, 5);
    assert_int_equal(counter_output_get(0).lost, 0);
    assert_int_equal(counter_output_get(1).delivered, 0);
    assert_int_equal(counter_output_get(1).lost, 7);
    assert_int_equal(counter_output_get(OUTPUTS_MAX - 1).delivered, 2);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 7);
    assert_int_equal(counter_get(COUNTER_lost_refused), 3);
    assert_int_equal(counters_lost(), 7);
    counters_reset();
    assert_int_equal(counter_output_get(0).delivered, 0);
    assert_int_equal(counter_output_get(1).lost, 0);
}

/* Reports and documents use the names. */
static void test_each_counter_says_what_it_is(void **state)
{
    assert_string_equal(counter_name(COUNTER_lost_ring_full), "lost_ring_full");
    for (enum counter i = 0; i < COUNTER_COUNT; i++) {
        assert_true(strlen(counter_help(i)) > 0);
        assert_int_equal(strncmp(counter_name(i), "lost_", 5) == 0, counter_is_loss(i));
        for (const char *c = counter_name(i); *c; c++)
            assert_true(islower((unsigned char)*c) || *c == '_');
        for (enum counter j = 0; j < i; j++)
            assert_string_not_equal(counter_name(i), counter_name(j));
    }
}

static void *count(void *unused)
{
    for (uint64_t i = 1; i <= 50000; i++) {
        counter_add(COUNTER_calls_captured, 1);
        counter_max(COUNTER_clock_skew_max_ns, i);
    }
    return unused;
}

static void test_threads_lose_no_count(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counter_get(COUNTER_calls_captured), 200000);
    assert_int_equal(counter_get(COUNTER_clock_skew_max_ns), 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counting, setup),
        cmocka_unit_test_setup(test_the_largest_stays, setup),
        cmocka_unit_test_setup(test_only_losses_are_lost, setup),
        cmocka_unit_test_setup(test_outputs_are_counted_apart_and_together, setup),
        cmocka_unit_test_setup(test_each_counter_says_what_it_is, setup),
        cmocka_unit_test_setup(test_threads_lose_no_count, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
