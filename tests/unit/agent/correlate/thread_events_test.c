#include "support/correlate_harness.h"
#include "agent/correlate/call_spans.h"

static void test_a_call_belongs_to_its_threads_context(void **state)
{
    begin();
    attach(5);
    call_full(CALL_RUNTIME, "cudaLaunchKernel", 1, 1000, 1100, 0);
    attach(0); /* detached: its work still arrives later */
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 2000, 2100, 0);
    kernel("late", 1, 5000, 5100);
    correlate_finish(correlate);
    expect_below(only("cudaLaunchKernel"), 5, SPAN_OF(5));
    expect_child(only("late"), only("cudaLaunchKernel"));
    expect_child(only("cudaMalloc"), only("program"));
    assert_int_equal(only("cudaLaunchKernel")->span.flags,
                     TRACE_FLAG_SAMPLED); /* whether it is remote is unknown */
    assert_int_equal(only("late")->span.flags, 0x100 | TRACE_FLAG_SAMPLED);
    assert_int_equal(attr_int(only("program"), "cuda.session.spans"), 1);
}

static void test_contexts_are_of_one_thread(void **state)
{
    begin();
    attach(5);
    attach_flags(&other_thread, 6, TRACE_FLAG_SAMPLED, "");
    launch(1, 1000);
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaMalloc")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    call_spans_add(correlate, &other_thread, &record);
    expect_below(only("cudaLaunchKernel"), 5, SPAN_OF(5));
    expect_below(only("cudaMalloc"), 6, SPAN_OF(6));
    span_count = 0;
    call_spans_add(correlate, &next_thread, &record); /* the same slot, another thread */
    correlate_finish(correlate);
    expect_child(only("cudaMalloc"), only("program"));
}

static void test_what_is_not_sampled_is_dropped_and_no_orphan(void **state)
{
    begin();
    attach_flags(&thread, 5, 0, "");
    push_range(77, 900, "range");
    launch(1, 1000);
    end_range(77, 1200);
    kernel("work", 1, 2000, 2100);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 3);
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void test_the_tracestate_goes_along(void **state)
{
    begin();
    attach_flags(&thread, 5, TRACE_FLAG_SAMPLED, "vendor=a");
    launch(1, 1000);
    assert_string_equal(only("cudaLaunchKernel")->span.trace_state, "vendor=a");
    for (unsigned i = 0; i < 600; i++) /* more requests than are remembered */
        attach_flags(&thread, (uint8_t)(6 + i % 2), TRACE_FLAG_SAMPLED, "other=b");
    kernel("work", 1, 2000, 2100);
    assert_null(only("work")->span.trace_state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_belongs_to_its_threads_context),
        TEST(test_contexts_are_of_one_thread),
        TEST(test_what_is_not_sampled_is_dropped_and_no_orphan),
        TEST(test_the_tracestate_goes_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
