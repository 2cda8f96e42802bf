#include "agent/core/pipeline/discard_sink.h"

#include "base/accounting/counters.h"
#include "support/test.h"

static unsigned calls, activities;

static void on_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    (void)thread, (void)call;
    assert_ptr_equal(context, &calls);
    calls++;
}

static void on_activity(void *context, const struct activity_record *activity)
{
    (void)activity;
    assert_ptr_equal(context, &calls);
    activities++;
}

static const struct capture_sink sink = {.context = &calls, .on_call = on_call, .on_activity = on_activity};

static void pass_100_of_each(const struct capture_sink *to)
{
    for (int i = 0; i < 100; i++) {
        to->on_call(to->context, NULL, NULL);
        to->on_activity(to->context, NULL);
    }
}

static int setup(void **state)
{
    counters_reset();
    calls = activities = 0;
    return 0;
}

static void test_before_the_deadline_all_records_pass(void **state)
{
    struct capture_sink limited = discard_sink_after(&sink, UINT64_MAX);
    pass_100_of_each(&limited);
    assert_int_equal(calls, 100);
    assert_int_equal(activities, 100);
    assert_int_equal(counter_get(COUNTER_lost_unmade), 0);
}

static void test_after_the_deadline_all_are_counted(void **state)
{
    struct capture_sink limited = discard_sink_after(&sink, 0);
    pass_100_of_each(&limited);
    assert_int_equal(calls + activities, 0);
    assert_int_equal(counter_get(COUNTER_lost_unmade), 200);
}

static void test_a_broken_agent_counts_them_as_its_own_fault(void **state)
{
    pass_100_of_each(&discard_sink);
    assert_int_equal(counter_get(COUNTER_lost_broken), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_before_the_deadline_all_records_pass, setup),
        cmocka_unit_test_setup(test_after_the_deadline_all_are_counted, setup),
        cmocka_unit_test_setup(test_a_broken_agent_counts_them_as_its_own_fault, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
