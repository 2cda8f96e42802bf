#include "support/correlate_harness.h"
#include "agent/correlate/gpu_join.h"

/* Returns the parent span. */
static const struct kept *session_of(const struct kept *child)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (memcmp(spans[i].span.span_id, child->span.parent_span_id, 8) == 0)
            return &spans[i];
    fail_msg("%s is below nothing", child->name);
    return NULL;
}

static void take_overhead(struct agent_overhead *stats)
{
    *stats = (struct agent_overhead){.callback_ns = 70, .callback_calls = 3, .pipeline_ns = 500};
}

/* Each session span has the cost of its own time. */
static void test_sessions_say_what_tracing_took(void **state)
{
    struct activity_record record = make(ACTIVITY_OVERHEAD, 0, 1000, 1200);
    settings.session.spans_max = 1;
    struct correlate_options options = usual_options();
    options.take_overhead = take_overhead;
    begin_as(&options);
    set_field(&record, "cuda.overhead.kind", 131072);
    gpu_join_add(correlate, &record);
    record.start_ns = 2000;
    record.end_ns = 2050;
    gpu_join_add(correlate, &record);
    correlate_finish(correlate);
    struct kept *sessions[2] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < span_count; i++)
        if (attr(&spans[i], "cuda.session.number") && count < 2)
            sessions[count++] = &spans[i];
    assert_int_equal(count, 2);
    assert_int_equal(attr_int(sessions[0], "cuspan.cupti.instrumentation_time"), 200);
    assert_int_equal(attr_int(sessions[1], "cuspan.cupti.instrumentation_time"), 50);
    assert_int_equal(attr_int(sessions[0], "cuspan.own.callback_time"), 70);
    assert_int_equal(attr_int(sessions[0], "cuspan.own.pipeline_time"), 500);
    assert_int_equal(attr_int(sessions[1], "cuspan.own.callback_time"), 0);
}

/* In a replay: its cost is not the recorded run's. */
static void test_without_figures_of_its_own(void **state)
{
    struct activity_record record = make(ACTIVITY_OVERHEAD, 0, 1000, 1200);
    begin();
    gpu_join_add(correlate, &record);
    correlate_finish(correlate);
    assert_null(attr(only("program"), "cuspan.own.pipeline_time"));
}

static void test_a_session_is_cut_by_spans(void **state)
{
    settings.session.spans_max = 3;
    begin();
    for (uint32_t id = 1; id <= 7; id++)
        call_full(CALL_RUNTIME, "cudaStreamSynchronize", id, 1000 * id, 1000 * id + 10, 0);
    correlate_finish(correlate);
    struct kept *sessions[3];
    uint32_t found = 0;
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "program") == 0)
            sessions[found++] = &spans[i];
    assert_int_equal(found, 3);
    expect_text(sessions[0], "cuda.session.end_reason", "spans");
    expect_text(sessions[2], "cuda.session.end_reason", "exit");
    assert_int_equal(attr_int(sessions[0], "cuda.session.spans"), 3);
    assert_int_equal(attr_int(sessions[2], "cuda.session.spans"), 1);
    assert_int_equal(sessions[0]->span.link_count, 0);
    assert_int_equal(sessions[1]->span.link_count, 1);
    assert_memory_equal(sessions[1]->links[0].trace_id, sessions[0]->span.trace_id, 16);
    assert_memory_equal(sessions[1]->links[0].span_id, sessions[0]->span.span_id, 8);
    assert_memory_equal(sessions[2]->links[0].trace_id, sessions[1]->span.trace_id, 16);
    assert_memory_not_equal(sessions[0]->span.trace_id, sessions[1]->span.trace_id, 16);
    uint8_t traces[16][16];
    uint32_t total;
    assert_int_equal(correlate_traces(correlate, traces, 16, &total), 3);
    assert_int_equal(total, 3);
    assert_memory_equal(traces[1], sessions[1]->span.trace_id, 16);
    assert_int_equal(correlate_traces(correlate, traces, 2, &total), 2);
    assert_int_equal(counter_get(COUNTER_sessions), 3);
}

static void test_a_session_is_cut_by_age(void **state)
{
    settings.session.age_max_ms = 1000;
    begin();
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", 1, 0, 10, 0);
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", 2, NS_PER_SECOND + 1, NS_PER_SECOND + 10, 0);
    assert_int_equal(span_count, 3);
    expect_text(only("program"), "cuda.session.end_reason", "age");
    assert_int_equal(only("program")->span.end_ns, BASE_NS + 10);
}

static void test_an_idle_session_is_cut_by_the_tick_and_none_is_begun(void **state)
{
    settings.session.age_max_ms = 1000;
    begin();
    launch(1, 0);
    tick_after(20);
    assert_int_equal(span_count, 1);
    clock_source = later_clock;
    tick_after(20);
    assert_int_equal(span_count, 1); /* the session waits for its kernel */
    /* The kernel belongs to its call's trace. No session starts for it. */
    kernel("late", 1, 2 * NS_PER_SECOND, 2 * NS_PER_SECOND + 5);
    expect_child(only("late"), only("cudaLaunchKernel"));
    tick_after(20);
    assert_int_equal(only("program")->span.end_ns, BASE_NS + 2 * NS_PER_SECOND + 5);
    correlate_finish(correlate);
    only("program");
    assert_int_equal(counter_get(COUNTER_sessions), 1);
}

static void test_work_of_a_session_that_was_cut_stays_in_its_trace(void **state)
{
    settings.session.spans_max = 1;
    begin();
    launch(1, 1000);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 2000, 2001, 0);
    kernel("late", 1, 3000, 3001);
    expect_child(only("late"), only("cudaLaunchKernel"));
    assert_memory_not_equal(only("late")->span.trace_id, only("cudaMalloc")->span.trace_id, 16);
    correlate_finish(correlate);
    assert_int_equal(span_count, 5);
    assert_int_equal(session_of(only("cudaMalloc"))->span.end_ns,
                     BASE_NS + 2001); /* not extended over the other session's work */
    assert_int_equal(session_of(only("cudaLaunchKernel"))->span.end_ns, BASE_NS + 3001);
}

static void test_the_process_s_context_is_the_parent(void **state)
{
    assert_true(
        trace_context_parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1", &parent));
    begin();
    memset(parent.trace_state, 'x', 3); /* copied */
    launch(1, 1000);
    kernel("k", 1, 1500, 1600);
    correlate_finish(correlate);
    assert_memory_equal(only("program")->span.trace_id, parent.trace_id, 16);
    assert_memory_equal(only("program")->span.parent_span_id, parent.span_id, 8);
    assert_int_equal(only("program")->span.flags, 0x301);
    assert_string_equal(only("program")->span.trace_state, "v=1");
    assert_string_equal(only("cudaLaunchKernel")->span.trace_state, "v=1");
    assert_string_equal(only("k")->span.trace_state, "v=1");
    assert_int_equal(only("k")->span.flags, 0x101);
}

static void test_an_idle_process_sends_nothing(void **state)
{
    begin();
    tick_after(1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_sessions), 0);
}

static void test_what_is_not_sampled_is_counted(void **state)
{
    settings.sampler = SAMPLER_ALWAYS_OFF;
    begin();
    launch(1, 1000);
    kernel("k", 1, 1500, 1600);
    kernel("k", 2, 1500, 1600);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 3);
    assert_int_equal(counter_get(COUNTER_spans_created), 0);
    assert_int_equal(counters_lost(), 0);
}

static void test_the_parent_s_flag_goes_before_the_sampler(void **state)
{
    assert_true(
        trace_context_parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", NULL, &parent));
    begin();
    launch(1, 1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    correlate_destroy(correlate);
    settings.sampler_parent_based = false;
    begin();
    launch(1, 1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 2);
    assert_int_equal(only("program")->span.flags, 0x301);
}

static void test_a_ratio_of_sessions(void **state)
{
    settings.sampler = SAMPLER_TRACE_ID_RATIO;
    settings.sampler_ratio = 0.5;
    settings.session.spans_max = 1;
    settings.session.age_max_ms = 1;
    begin();
    for (uint32_t id = 1; id <= 200; id++) {
        launch(id, id * 10 * NS_PER_MS);
        kernel("k", id, id * 10 * NS_PER_MS + 1, id * 10 * NS_PER_MS + 2);
    }
    correlate_finish(correlate);
    assert_int_equal(span_count % 3, 0); /* call, kernel and session: all or none */
    assert_in_range(span_count / 3, 60, 140);
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 400 - span_count / 3 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sessions_say_what_tracing_took),
        TEST(test_without_figures_of_its_own),
        TEST(test_a_session_is_cut_by_spans),
        TEST(test_a_session_is_cut_by_age),
        TEST(test_an_idle_session_is_cut_by_the_tick_and_none_is_begun),
        TEST(test_work_of_a_session_that_was_cut_stays_in_its_trace),
        TEST(test_the_process_s_context_is_the_parent),
        TEST(test_an_idle_process_sends_nothing),
        TEST(test_what_is_not_sampled_is_counted),
        TEST(test_the_parent_s_flag_goes_before_the_sampler),
        TEST(test_a_ratio_of_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
