#include "support/correlate_harness.h"
#include "support/stderr_text.h"
#include "agent/correlate/gpu_join.h"

enum { ILLEGAL_ADDRESS = 700, ASSERTED = 710 };

static void synchronize(uint64_t end, int32_t result)
{
    call_full(CALL_RUNTIME, "cudaDeviceSynchronize", 0, end - 100, end, result);
}

static void kernel_without_end(const char *name, uint32_t id, uint64_t start)
{
    struct activity_record record = make_kernel(name, id, start, 0);
    record.end_ns = 0;
    gpu_join_add(correlate, &record);
}

static void kernel_without_times(const char *name, uint32_t id)
{
    kernel(name, id, -BASE_NS, -BASE_NS);
}

static void test_stopped_work_without_times_is_lost_to_the_error(void **state)
{
    begin();
    launch(1, 1000);
    launch(2, 1200);
    stderr_begin();
    synchronize(5000, ASSERTED);
    kernel_without_times("asserts", 1);
    kernel_without_times("queued behind it", 2);
    char *text = stderr_end();
    assert_int_equal(times_in(text, "cudaErrorAssert"), 1);
    assert_int_equal(times_in(text, "\n"), 1);
    free(text);
    assert_int_equal(counter_get(COUNTER_lost_context_error), 2);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 0);
    assert_int_equal(counters_lost(), 2);
}

static void test_stopped_work_with_a_start_ends_when_a_call_reported_the_error(void **state)
{
    begin();
    launch(1, 1000);
    synchronize(5000, ASSERTED);
    synchronize(9000, ASSERTED);
    kernel_without_end("asserts", 1, 1500);
    const struct kept *work = only("asserts");
    expect_child(work, only("cudaLaunchKernel"));
    assert_int_equal(work->span.start_ns, BASE_NS + 1500);
    assert_int_equal(work->span.end_ns, BASE_NS + 5000);
    assert_int_equal(work->span.status, SPAN_STATUS_ERROR);
    assert_string_equal(work->span.status_message, "cudaErrorAssert");
    expect_text(work, "error.type", "cudaErrorAssert");
    assert_int_equal(attr_int(work, "cuda.error.code"), ASSERTED);
    assert_int_equal(attr_int(work, "cuda.unfinished"), 1);
    assert_int_equal(counters_lost(), 0);
}

/* Threads' calls are drained ring by ring, so the first report may come last. */
static void test_the_earliest_report_counts(void **state)
{
    begin();
    launch(1, 1000);
    synchronize(9000, ILLEGAL_ADDRESS);
    synchronize(5000, ILLEGAL_ADDRESS);
    kernel_without_end("wild", 1, 1500);
    assert_int_equal(only("wild")->span.end_ns, BASE_NS + 5000);
}

/* The same for an error that leaves the context usable, such as an invalid value. */
static void test_other_contexts_errors_explain_nothing(void **state)
{
    begin();
    launch(1, 1000);
    synchronize(5000, 1);
    kernel_without_times("no buffer", 1);
    struct activity_record record = make_kernel("elsewhere", 2, 0, 0);
    launch(2, 6000);
    synchronize(7000, ASSERTED);
    record.start_ns = record.end_ns = 0;
    record.context_id = 2;
    gpu_join_add(correlate, &record);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 2);
    assert_int_equal(counter_get(COUNTER_lost_context_error), 0);
}

/* cudaDeviceReset makes the device usable again, possibly with the same context ID. */
static void test_work_launched_after_the_error_is_not_stopped_by_it(void **state)
{
    begin();
    synchronize(5000, ASSERTED);
    launch(1, 6000);
    kernel_without_times("no buffer", 1);
    launch(2, 6200);
    kernel("later", 2, 7000, 7100);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 1);
    assert_int_equal(only("later")->span.status, SPAN_STATUS_UNSET);
}

static void test_driver_calls_report_errors_too(void **state)
{
    begin();
    launch(1, 1000);
    call_full(CALL_DRIVER, "cuCtxSynchronize", 0, 4000, 5000, ILLEGAL_ADDRESS);
    kernel_without_end("wild", 1, 1500);
    expect_text(only("wild"), "error.type", "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/* Work that ended before the error keeps its own end. */
static void test_work_with_both_times_is_whole(void **state)
{
    begin();
    launch(1, 1000);
    synchronize(5000, ASSERTED);
    kernel("done", 1, 1500, 1900);
    assert_int_equal(only("done")->span.end_ns, BASE_NS + 1900);
    assert_int_equal(only("done")->span.status, SPAN_STATUS_UNSET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_stopped_work_without_times_is_lost_to_the_error),
        TEST(test_stopped_work_with_a_start_ends_when_a_call_reported_the_error),
        TEST(test_the_earliest_report_counts),
        TEST(test_other_contexts_errors_explain_nothing),
        TEST(test_work_launched_after_the_error_is_not_stopped_by_it),
        TEST(test_driver_calls_report_errors_too),
        TEST(test_work_with_both_times_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
