/* The sums that show a user whether everything is accounted for. */
#include "base/accounting/balance.h"
#include "base/accounting/losses.h"
#include "support/test.h"

#include <string.h>

static int set_up(void **state)
{
    counters_reset();
    return 0;
}

static void test_every_loss_has_a_reason_and_an_advice(void **state)
{
    size_t count = 0;
    for (enum counter i = 0; i < COUNTER_COUNT; i++) {
        const struct loss *loss = loss_of(i);
        assert_int_equal(loss != NULL, counter_is_loss(i));
        assert_true(!loss || (*loss->why && *loss->advice));
        count += loss != NULL;
    }
    assert_int_equal(count, loss_count);
}

static void test_no_counter_stands_on_both_sides(void **state)
{
    for (size_t i = 0; balance_sources[i] != COUNTER_COUNT; i++)
        for (size_t j = 0; balance_fates[j] != COUNTER_COUNT; j++)
            assert_int_not_equal(balance_sources[i], balance_fates[j]);
}

static void test_each_source_is_owed_a_fate(void **state)
{
    struct balance balance = {.held = 0};
    for (size_t i = 0; balance_sources[i] != COUNTER_COUNT; i++) {
        counter_add(balance_sources[i], 1);
        balance_take(&balance, 0);
        assert_int_equal(balance_captured(&balance), i + 1);
        assert_int_equal(balance_unaccounted(&balance), i + 1);
    }
    uint64_t owed = balance_captured(&balance);
    for (size_t i = 0; balance_fates[i] != COUNTER_COUNT; i++) {
        counter_add(balance_fates[i], 1);
        balance_take(&balance, 0);
        assert_int_equal(balance_settled(&balance), i + 1);
        assert_int_equal(balance_unaccounted(&balance), (int64_t)owed - (int64_t)i - 1);
    }
    balance.held = 2;
    balance_take(&balance, 0);
    assert_int_equal(balance.held, 2);
    assert_int_equal(balance_unaccounted(&balance),
                     (int64_t)(balance_captured(&balance) - balance_settled(&balance)) - 2);
}

static void test_losses_before_capture_stand_in_no_sum(void **state)
{
    struct balance balance = {.held = 0};
    counter_add(COUNTER_lost_ring_full, 3);
    counter_add(COUNTER_lost_cupti_dropped, 4);
    balance_take(&balance, 0);
    assert_int_equal(balance_unaccounted(&balance), 0);
}

static void test_each_output_is_owed_every_span(void **state)
{
    struct balance balance = {.on_way = {0, 2}};
    counter_add(COUNTER_spans_created, 7);
    counter_output_delivered(0, 4);
    counter_output_lost(0, COUNTER_lost_refused, 3);
    counter_output_delivered(1, 4);
    balance_take(&balance, 2);
    assert_int_equal(balance_output_unaccounted(&balance, 0), 0);
    assert_int_equal(balance_output_unaccounted(&balance, 1), 1);
    counter_output_delivered(1, 2); /* one of them twice */
    balance_take(&balance, 2);
    assert_int_equal(balance_output_unaccounted(&balance, 1), -1);
}

/* The state of a thread when the host can wait no longer: a buffer is half read, and a span is lost that its
 * output does not know yet. */
static void test_a_closed_balance_adds_up(void **state)
{
    struct balance balance;
    counter_add(COUNTER_calls_captured, 10);
    counter_add(COUNTER_spans_created, 13);
    counter_output_delivered(0, 5);
    counter_output_lost(1, COUNTER_lost_unreachable, 2);
    counter_add(COUNTER_lost_queue_full, 1);
    balance_close(&balance, 2, true);
    assert_int_equal(balance_unaccounted(&balance), 0);
    assert_int_equal(balance.counters[COUNTER_activities_captured], 3);
    assert_int_equal(balance.counters[COUNTER_lost_unmade], 0);
    assert_int_equal(balance_output_unaccounted(&balance, 0), 0);
    assert_int_equal(balance_output_unaccounted(&balance, 1), 0);
    assert_int_equal(balance.outputs[0].lost, 8);
    assert_int_equal(balance.outputs[1].lost, 13);
    assert_int_equal(balance_lost(&balance), 8 + 13);
    assert_int_equal(counter_get(COUNTER_lost_deadline), 0);
    counter_add(COUNTER_calls_captured, 7);
    balance_close(&balance, 0, true);
    assert_int_equal(balance.counters[COUNTER_lost_unmade], 4);
    balance_close(&balance, 0, false);
    assert_int_equal(balance.counters[COUNTER_lost_unmade], 0);
}

/* Sums of spans do not include data points. */
static void test_points_that_met_no_fate_are_lost_at_the_end(void **state)
{
    struct balance balance;
    counters_reset();
    counter_add(COUNTER_points_made, 10);
    counter_output_delivered(METRICS_OUTPUT, 4);
    counter_output_lost(METRICS_OUTPUT, COUNTER_lost_deadline, 1);
    balance_close(&balance, 0, true);
    assert_int_equal(balance.counters[COUNTER_lost_points], 6);
    assert_int_equal(balance.counters[COUNTER_lost_deadline], 0);
    assert_int_equal(balance.counters[COUNTER_spans_delivered], 0);
    assert_int_equal(balance_unaccounted(&balance), 0);
}

static void test_samples_that_met_no_fate_are_lost_at_the_end(void **state)
{
    struct balance balance;
    counters_reset();
    counter_add(COUNTER_profile_samples_made, 10);
    counter_output_delivered(PROFILES_OUTPUT, 4);
    counter_output_lost(PROFILES_OUTPUT, COUNTER_lost_refused, 1);
    assert_int_equal(counter_output_get(PROFILES_OUTPUT).delivered, 4);
    balance_close(&balance, 0, true);
    assert_int_equal(balance.counters[COUNTER_lost_profile_samples], 6);
    assert_int_equal(balance.counters[COUNTER_lost_refused], 0);
    assert_int_equal(balance.counters[COUNTER_spans_delivered], 0);
    assert_int_equal(balance.counters[COUNTER_points_delivered], 0);
    assert_int_equal(balance_unaccounted(&balance), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_that_met_no_fate_are_lost_at_the_end),
        cmocka_unit_test(test_samples_that_met_no_fate_are_lost_at_the_end),
        cmocka_unit_test(test_every_loss_has_a_reason_and_an_advice),
        cmocka_unit_test(test_no_counter_stands_on_both_sides),
        cmocka_unit_test_setup(test_each_source_is_owed_a_fate, set_up),
        cmocka_unit_test_setup(test_a_closed_balance_adds_up, set_up),
        cmocka_unit_test_setup(test_losses_before_capture_stand_in_no_sum, set_up),
        cmocka_unit_test_setup(test_each_output_is_owed_every_span, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
