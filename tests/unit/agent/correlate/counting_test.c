#include "support/correlate_harness.h"
#include "agent/correlate/totals/summaries.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/call_spans.h"

/* For tests with more spans than are kept. */
static uint32_t counted_spans, counted_incomplete;

static void count_span(void *context, const struct span *span)
{
    (void)context;
    counted_spans++;
    for (uint32_t i = 0; i < span->attr_count; i++)
        counted_incomplete += strcmp(span->attrs[i].key->name, "cuda.total.incomplete") == 0;
}

/* Counts spans instead of keeping them. */
static void begin_counting_spans(void)
{
    struct correlate_options options = usual_options();
    options.sink.on_span = count_span;
    counted_spans = counted_incomplete = 0;
    begin_as(&options);
}

static void test_ranges_and_the_session_count_what_is_inside(void **state)
{
    begin();
    push_range(100, 900, "outer");
    launch(1, 1000);
    push_range(200, 1150, "inner");
    launch(2, 1200);
    call_full(CALL_RUNTIME, "cudaDeviceSynchronize", 3, 1400, 1700, 700);
    end_range(200, 1800);
    end_range(100, 1900);
    launch(4, 2000);
    kernel("_Z3addi", 2, 1500, 1600);
    kernel("_Z3muli", 1, 1550, 1900);
    kernel("_Z3addi", 4, 2500, 2600);
    correlate_finish(correlate);
    const struct kept *inner = only("inner"), *outer = only("outer"), *session = only("program");
    assert_int_equal(attr_int(inner, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(inner, "cuda.total.errors"), 1);
    assert_int_equal(attr_int(inner, "cuda.total.sync_time"), 300);
    assert_int_equal(attr_int(inner, "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(inner, "cuda.total.gpu_time"), 100);
    assert_int_equal(attr_int(inner, "cuda.total.start_delay"), 300);
    assert_int_equal(inner->span.status, SPAN_STATUS_UNSET); /* the call's span has the error */
    assert_int_equal(attr_int(outer, "cuda.total.calls"), 3);
    assert_int_equal(attr_int(outer, "cuda.total.kernels"), 2);
    assert_int_equal(attr_int(outer, "cuda.total.gpu_time"), 400);
    assert_int_equal(attr_int(outer, "cuda.total.launch_time"), 200);
    assert_memory_equal(attr_item(outer, "cuda.total.slowest.kernels", 0)->s, "mul", 3);
    assert_memory_equal(attr_item(outer, "cuda.total.slowest.kernels", 1)->s, "add", 3);
    assert_int_equal(attr_int(session, "cuda.total.calls"), 4);
    assert_int_equal(attr_int(session, "cuda.total.kernels"), 3);
    assert_int_equal(attr_int(session, "cuda.total.gpu_time"), 500);
    assert_int_equal(attr_item(session, "cuda.total.slowest.durations", 1)->i, 100);
    assert_int_equal(session->span.status, SPAN_STATUS_UNSET);
    assert_int_equal(counter_get(COUNTER_totals_incomplete), 0);
}

static void test_a_request_s_work_is_not_the_session_s(void **state)
{
    begin();
    launch(1, 1000);
    attach(5);
    push_range(100, 1500, "range");
    launch(2, 2000);
    end_range(100, 2500);
    kernel("a", 1, 3000, 3100);
    kernel("b", 2, 3200, 3400);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("program"), "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(only("program"), "cuda.total.gpu_time"), 100);
    assert_int_equal(attr_int(only("range"), "cuda.total.gpu_time"), 200);
}

static void test_a_range_waits_for_its_work_only_so_long(void **state)
{
    begin();
    say(&thread, RECORD_RANGE_BEGIN, 100, 900, "range", RANGE_ON_THREAD, 42);
    say(&thread, RECORD_MARK, 0, 950, "half", 0, 43);
    launch(1, 1000);
    say(&thread, RECORD_RANGE_END, 100, 1100, "done", 0, 44);
    tick_after(90); /* wait_ms is 100 */
    assert_int_equal(span_count, 1);
    tick_after(20);
    const struct kept *range = only("range");
    assert_int_equal(range->span.end_ns, BASE_NS + 1100);
    assert_int_equal(attr_int(range, "answer"), 42); /* kept while it waited */
    assert_int_equal(range->span.attrs[4].i, 44);
    assert_string_equal(range->events[0].name, "half");
    assert_int_equal(range->events[0].attrs[0].i, 43);
    assert_int_equal(attr_int(range, "cuda.total.calls"), 1);
    assert_int_equal(attr_int(range, "cuda.total.kernels"), 0);
    kernel("late", 1, 2000, 2100); /* arrives as usual */
    expect_child(only("late"), only("cudaLaunchKernel"));
}

static void test_where_many_ranges_wait_the_oldest_go_early(void **state)
{
    settings.correlation.pending_max = 65536;
    settings.session.spans_max = UINT32_MAX;
    begin_counting_spans();
    for (uint32_t id = 1; id <= 20000; id++) {
        push_range(id, 1000 * id, "range");
        launch(id, 1000 * id + 100);
        end_range(id, 1000 * id + 500);
    }
    assert_in_range(counter_get(COUNTER_totals_incomplete), 1000, 19999);
    assert_int_equal(counter_get(COUNTER_lost_range), 0);
    correlate_finish(correlate);
    assert_int_equal(counted_spans, 2 * 20000 + 1);
    assert_int_equal(counted_incomplete,
                     counter_get(COUNTER_totals_incomplete) + 1); /* and the session around it */
}

static void use_summary(void)
{
    settings.detail = DETAIL_SUMMARY;
    settings.summary.idle_ms = 1000;
    settings.cupti.flush_interval_ms = 500;
}

static void begin_summary(void)
{
    use_summary();
    begin();
}

static void test_a_request_has_one_span(void **state)
{
    begin_summary();
    attach_flags(&thread, 5, TRACE_FLAG_SAMPLED, "vendor=a");
    launch(1, 1000);
    struct activity_record copy = make(ACTIVITY_MEMCPY, 2, 4000, 4500);
    set_field(&copy, "cuda.memcpy.bytes", 4096);
    call_full(CALL_RUNTIME, "cudaMemcpyAsync", 2, 1200, 1250, 0);
    kernel("_Z3addi", 1, 3000, 4100);
    gpu_join_add(correlate, &copy);
    tick_after(500);
    assert_int_equal(span_count, 0); /* the thread may continue */
    attach(0);
    tick_after(20);
    assert_int_equal(span_count, 0); /* or return at once */
    tick_after(100);
    assert_int_equal(span_count, 1);
    const struct kept *summary = only("cuda summary");
    expect_below(summary, 5, SPAN_OF(5));
    assert_string_equal(summary->span.trace_state, "vendor=a");
    assert_int_equal(summary->span.flags, TRACE_FLAG_SAMPLED);
    assert_int_equal(summary->span.start_ns, BASE_NS + 1000);
    assert_int_equal(summary->span.end_ns, BASE_NS + 4500);
    assert_int_equal(summary->span.status, SPAN_STATUS_UNSET);
    assert_int_equal(attr_int(summary, "cuda.summary.number"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(summary, "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.copies"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.copy_bytes"), 4096);
    assert_int_equal(attr_int(summary, "cuda.total.gpu_time"), 1500);
    assert_int_equal(attr_int(summary, "cuda.total.start_delay"), 2000 + 2800);
    assert_int_equal(attr_int(summary, "cuda.total.launch_time"), 100);
    correlate_finish(correlate);
    assert_int_equal(span_count, 1);
    assert_int_equal(counter_get(COUNTER_spans_created), 1);
}

static void test_a_summary_waits_for_the_gpu(void **state)
{
    begin_summary();
    attach(5);
    launch(1, 1000);
    attach(0);
    tick_after(1400); /* idle_ms plus flush_interval_ms */
    assert_int_equal(span_count, 0);
    kernel("a", 1, 2000, 2100);
    tick_after(90);
    assert_int_equal(span_count, 0);
    tick_after(20);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.kernels"), 1);
}

static void test_an_idle_summary_leaves_and_late_work_makes_a_further_one(void **state)
{
    begin_summary();
    attach_flags(&thread, 5, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM, "");
    launch(1, 1000);
    launch(2, 1200);
    kernel("a", 2, 2000, 2100);
    tick_after(1490);
    assert_int_equal(span_count, 0);
    tick_after(20); /* the thread still holds it, and one kernel is missing */
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.kernels"), 1);
    span_count = 0;
    kernel("late", 1, 9000, 9500);
    launch(3, 9600);
    attach(0);
    tick_after(1600);
    const struct kept *further = only("cuda summary");
    expect_below(further, 5, SPAN_OF(5));
    assert_int_equal(further->span.flags, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    assert_int_equal(attr_int(further, "cuda.summary.number"), 2);
    assert_int_equal(attr_int(further, "cuda.total.calls"), 1);
    assert_int_equal(attr_int(further, "cuda.total.gpu_time"), 500);
    assert_int_equal(attr_int(further, "cuda.total.start_delay"), 8000);
    assert_int_equal(further->span.start_ns, BASE_NS + 9000);
    span_count = 0;
    kernel("latest", 3, 19000, 19500);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.summary.number"), 3);
}

static void test_threads_of_one_request_have_one_summary(void **state)
{
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaMalloc")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    begin_summary();
    attach(5);
    attach_flags(&other_thread, 5, TRACE_FLAG_SAMPLED, "");
    call_full(CALL_RUNTIME, "cudaMalloc", 1, 1000, 1100, 0);
    call_spans_add(correlate, &other_thread, &record);
    attach(6);
    call_full(CALL_RUNTIME, "cudaMalloc", 3, 2000, 2100, 0);
    tick_after(200);
    assert_int_equal(span_count, 0); /* the other thread holds it */
    attach_flags(&other_thread, 0, 0, "");
    tick_after(200);
    const struct kept *summary = only("cuda summary");
    expect_below(summary, 5, SPAN_OF(5));
    assert_int_equal(attr_int(summary, "cuda.total.calls"), 2);
    span_count = 0;
    call_spans_add(correlate, &next_thread, &record); /* in the other thread's slot, without a request */
    correlate_finish(correlate);
    expect_below(only("cuda summary"), 6, SPAN_OF(6));
    assert_int_equal(attr_int(only("program"), "cuda.total.calls"), 1);
}

static void test_a_thread_that_is_gone_holds_nothing(void **state)
{
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaMalloc")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    begin_summary();
    attach_flags(&other_thread, 5, TRACE_FLAG_SAMPLED, "");
    call_spans_add(correlate, &other_thread, &record);
    call_spans_add(correlate, &next_thread, &record); /* takes its slot */
    tick_after(200);
    expect_below(only("cuda summary"), 5, SPAN_OF(5));
}

static void test_ranges_of_a_request_are_spans_and_count_with_it(void **state)
{
    begin_summary();
    attach(5);
    push_range(100, 900, "outer");
    push_range(200, 950, "inner");
    launch(1, 1000);
    end_range(200, 1200);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 2);
    end_range(100, 1500);
    attach(0);
    kernel("work", 1, 2000, 2100);
    tick_after(200);
    assert_int_equal(span_count, 3);
    expect_below(only("outer"), 5, SPAN_OF(5));
    expect_below(only("inner"), 5, 100);
    assert_int_equal(attr_int(only("inner"), "cuda.total.calls"), 1);
    assert_int_equal(attr_int(only("inner"), "cuda.total.gpu_time"), 100);
    assert_int_equal(attr_int(only("outer"), "cuda.total.calls"), 2);
    assert_int_equal(attr_int(only("outer"), "cuda.total.gpu_time"), 100);
    assert_int_equal(only("outer")->span.status, SPAN_STATUS_UNSET);
    const struct kept *summary = only("cuda summary");
    expect_below(summary, 5, SPAN_OF(5));
    assert_int_equal(attr_int(summary, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(summary, "cuda.total.errors"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.kernels"), 1);
    expect_text(summary, "error.type", "cudaErrorMemoryAllocation");
    assert_int_equal(summary->span.status, SPAN_STATUS_ERROR);
    assert_string_equal(summary->span.status_message, "cudaErrorMemoryAllocation");
}

static void test_work_in_a_long_range_counts_in_a_further_summary(void **state)
{
    begin_summary();
    attach(5);
    push_range(100, 900, "range");
    call_full(CALL_RUNTIME, "cudaMalloc", 1, 1000, 1100, 0);
    tick_after(1100);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.calls"), 1);
    span_count = 0;
    launch(2, 2000);
    kernel("work", 2, 2500, 2600);
    end_range(100, 3000);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("range"), "cuda.total.calls"), 2);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.calls"), 1);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.summary.number"), 2);
}

static void test_a_request_without_work_has_no_summary(void **state)
{
    begin_summary();
    attach(5);
    push_range(100, 900, "range");
    end_range(100, 1000);
    attach(6);
    attach_flags(&other_thread, 7, 0, ""); /* not sampled */
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaLaunchKernel")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    call_spans_add(correlate, &other_thread, &record);
    kernel("work", 2, 2000, 2100);
    tick_after(5000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 1);
    only("range");
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 2);
}

static void test_work_of_no_request_is_the_sessions(void **state)
{
    settings.session.age_max_ms = 1000;
    begin_summary();
    launch(1, 1000);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1200, 1300, 2);
    clock_source = later_clock;
    tick_after(20); /* due, but a kernel is missing */
    assert_int_equal(span_count, 0);
    kernel("work", 1, 2000, 2200);
    kernel("nobody's", 99, 2000, 2200);
    tick_after(20);
    const struct kept *session = only("program");
    assert_int_equal(attr_int(session, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(session, "cuda.total.gpu_time"), 200);
    assert_int_equal(attr_int(session, "cuda.session.spans"), 0);
    assert_int_equal(session->span.end_ns, BASE_NS + 2200);
    assert_int_equal(session->span.status, SPAN_STATUS_ERROR);
    expect_text(session, "error.type", "cudaErrorMemoryAllocation");
    span_count = 0;
    kernel("more", 1, 5000, 5300); /* its session span is sent */
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("program"), "cuda.total.gpu_time"), 300 + 200); /* with the orphan */
    assert_int_equal(attr_int(only("program"), "cuda.total.calls"), 0);
    assert_int_equal(counter_get(COUNTER_orphans), 1);
}

static void test_events_and_cuptis_own_work_have_no_place_in_a_summary(void **state)
{
    struct resource_record loaded = {.head = {sizeof loaded, RECORD_RESOURCE, 0, 6},
                                     .time_ns = BASE_NS + 500};
    struct activity_record overhead = make(ACTIVITY_OVERHEAD, 0, 100, 200);
    begin_summary();
    call_spans_resource(correlate, &thread, &loaded);
    gpu_join_add(correlate, &overhead);
    attach(5);
    launch(1, 400);
    correlate_finish(correlate);
    assert_int_equal(only("cuda summary")->span.event_count, 0);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.gpu_time"), 0);
}

static void test_beyond_the_table_the_idlest_leave_early(void **state)
{
    struct context_record context = {.head = {sizeof context, RECORD_CONTEXT, 0, 0},
                                     .time_ns = BASE_NS,
                                     .flags = TRACE_FLAG_SAMPLED,
                                     .trace_id = {1}};
    settings.correlation.pending_max = 65536;
    use_summary();
    begin_counting_spans();
    for (uint32_t i = 1; i <= SUMMARIES_MAX + 100; i++) {
        memcpy(context.span_id, &i, sizeof i);
        thread_events_context(correlate, &thread, &context);
        launch(i, 1000 * i);
    }
    assert_int_equal(counter_get(COUNTER_summaries_early), 100);
    assert_int_equal(counted_spans, 100);
    kernel("late", 1, 1500, 1600); /* a new summary, for which another one is evicted */
    assert_int_equal(counter_get(COUNTER_summaries_early), 101);
    correlate_finish(correlate);
    assert_int_equal(counted_spans, SUMMARIES_MAX + 101);
}

static void test_where_summaries_are_many_they_leave_sooner(void **state)
{
    struct context_record context = {.head = {sizeof context, RECORD_CONTEXT, 0, 0},
                                     .time_ns = BASE_NS,
                                     .flags = TRACE_FLAG_SAMPLED,
                                     .trace_id = {1}};
    settings.correlation.pending_max = 65536;
    use_summary();
    begin_counting_spans();
    for (uint32_t i = 1; i <= SUMMARIES_MAX / 2 + 10; i++) {
        assert_false(correlate_wants_records(correlate) && i <= SUMMARIES_MAX / 2);
        memcpy(context.span_id, &i, sizeof i);
        thread_events_context(correlate, &thread, &context);
        launch(i, 1000 * i);
    }
    tick_after(20);
    assert_true(correlate_wants_records(correlate));
    assert_false(correlate_wants_records(correlate)); /* at most once an interval */
    for (uint32_t i = 1; i <= 100; i++)
        kernel("work", i, 1000 * i + 500, 1000 * i + 600);
    assert_int_equal(counted_spans, 0);
    tick_after(20);                          /* less than the settling time */
    assert_in_range(counted_spans, 10, 100); /* until fewer are left */
    assert_int_equal(counter_get(COUNTER_summaries_early), 0);
}

static void test_more_ranges_than_accounts(void **state)
{
    use_summary();
    begin_counting_spans();
    for (uint8_t i = 1; i < 200; i++) {
        attach(i);
        launch(i, 1000);
    }
    for (uint64_t id = 1000; id < 1000 + 2 * RANGES_OPEN_MAX; id++)
        push_range(id, 900, "range");
    launch(900, 2000);
    kernel("work", 900, 3000, 3100);
    correlate_finish(correlate);
    assert_int_equal(counted_spans, 199 + RANGES_OPEN_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ranges_and_the_session_count_what_is_inside),
        TEST(test_a_request_s_work_is_not_the_session_s),
        TEST(test_a_range_waits_for_its_work_only_so_long),
        TEST(test_where_many_ranges_wait_the_oldest_go_early),
        TEST(test_a_request_has_one_span),
        TEST(test_a_summary_waits_for_the_gpu),
        TEST(test_an_idle_summary_leaves_and_late_work_makes_a_further_one),
        TEST(test_threads_of_one_request_have_one_summary),
        TEST(test_a_thread_that_is_gone_holds_nothing),
        TEST(test_ranges_of_a_request_are_spans_and_count_with_it),
        TEST(test_work_in_a_long_range_counts_in_a_further_summary),
        TEST(test_a_request_without_work_has_no_summary),
        TEST(test_work_of_no_request_is_the_sessions),
        TEST(test_events_and_cuptis_own_work_have_no_place_in_a_summary),
        TEST(test_beyond_the_table_the_idlest_leave_early),
        TEST(test_where_summaries_are_many_they_leave_sooner),
        TEST(test_more_ranges_than_accounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
