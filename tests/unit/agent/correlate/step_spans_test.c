/* Tests how work is divided into steps, and the spans of steps and ranks. */
#include "support/correlate_harness.h"

#include "agent/correlate/trace/sampler.h"
#include "agent/correlate/trace/steps.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/call_spans.h"

static struct step_rules rules;

static void begin_in_a_job(int64_t rank)
{
    rules = (struct step_rules){.job = 7, .own = 9, .rank = rank, .world_size = 2};
    struct correlate_options options = usual_options();
    options.steps = &rules;
    begin_as(&options);
}

static void step(int64_t number, uint64_t time, enum step_kind kind)
{
    struct step_boundary at = {
        .time = BASE_NS + time, .number = number, .kind = (uint8_t)kind, .source = STEP_BY_OPTIMIZER};
    session_spans_step(correlate, &at);
}

static struct step_identity identity_of(int64_t number)
{
    struct step_boundary at = {.number = number, .kind = STEP_TRAIN};
    return step_identify(&rules, &at);
}

static struct kept *rank_span(const char *name, int64_t number)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, name) == 0 && attr(&spans[i], "training.step.number") &&
            attr_int(&spans[i], "training.step.number") == number)
            return &spans[i];
    fail_msg("no %s of step %d", name, (int)number);
    return NULL;
}

static void expect_no(const char *name)
{
    for (uint32_t i = 0; i < span_count; i++)
        assert_string_not_equal(spans[i].name, name);
}

static void sync_until(const struct thread_info *on, uint32_t id, uint64_t start, uint64_t end)
{
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaStreamSynchronize")},
        .start_ns = BASE_NS + start,
        .end_ns = BASE_NS + end,
        .correlation_id = id,
        .context_id = 1};
    call_spans_add(correlate, on, &record);
}

static void sync_on(const struct thread_info *on, uint32_t id, uint64_t start)
{
    sync_until(on, id, start, start + 10);
}

static const struct kept *call_at(uint64_t start)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (spans[i].span.start_ns == BASE_NS + start && strcmp(spans[i].name, "cudaStreamSynchronize") == 0)
            return &spans[i];
    fail_msg("no call at %d", (int)start);
    return NULL;
}

static void test_each_step_is_a_trace(void **state)
{
    begin_in_a_job(0);
    sync_on(&thread, 1, 1000); /* before the first step: the session */
    step(1, 2000, STEP_TRAIN);
    sync_on(&thread, 2, 2100);
    step(2, 3000, STEP_TRAIN);
    sync_on(&thread, 3, 3100);
    correlate_finish(correlate);
    struct kept *first = rank_span("rank 0", 1), *second = rank_span("rank 0", 2);
    expect_child(call_at(1000), only("program"));
    expect_child(call_at(2100), first);
    expect_child(call_at(3100), second);
    struct step_identity id = identity_of(1);
    assert_memory_equal(first->span.trace_id, id.trace_id, 16);
    assert_memory_equal(first->span.parent_span_id, id.span_id, 8);
    expect_text(first, "training.step.source", "optimizer");
    expect_text(first, "training.step.kind", "train");
    assert_memory_equal(only("step 1")->span.span_id, id.span_id, 8);
    expect_child(first, only("step 1"));
    expect_child(second, only("step 2"));
    /* From where the step begins, which shows the time before its first call. */
    assert_int_equal(first->span.start_ns, BASE_NS + 2000);
    assert_int_equal(second->span.start_ns, BASE_NS + 3000);
    assert_memory_not_equal(first->span.trace_id, second->span.trace_id, 16);
}

/* The other ranks send their own spans only. */
static void test_only_rank_0_sends_the_step(void **state)
{
    begin_in_a_job(1);
    step(5, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    correlate_finish(correlate);
    struct step_identity id = identity_of(5);
    assert_memory_equal(rank_span("rank 1", 5)->span.parent_span_id, id.span_id, 8);
    expect_no("step 5");
}

static void test_a_process_alone_has_traces_of_its_own(void **state)
{
    static const uint8_t none[8];
    begin_in_a_job(-1);
    step(5, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    correlate_finish(correlate);
    struct kept *span = rank_span("program", 5);
    assert_memory_equal(span->span.parent_span_id, none, 8);
    expect_child(call_at(1100), span);
    expect_no("step 5");
}

/* The ring of a thread is drained after that of another one, which is in the next step already. */
static void test_a_late_thread_keeps_its_step(void **state)
{
    begin_in_a_job(0);
    step(1, 1000, STEP_TRAIN);
    step(2, 2000, STEP_TRAIN);
    sync_on(&thread, 1, 2500);
    sync_on(&other_thread, 2, 1500); /* the same round */
    tick_after(1);
    sync_on(&other_thread, 3, 1600); /* the next round */
    tick_after(1);
    assert_int_equal(attr_int(rank_span("rank 0", 1), "cuda.session.spans"), 2);
    sync_on(&other_thread, 4, 1700); /* too late to count, but in the trace */
    correlate_finish(correlate);
    struct kept *first = rank_span("rank 0", 1);
    expect_child(call_at(1500), first);
    expect_child(call_at(1600), first);
    expect_child(call_at(1700), first);
    expect_child(call_at(2500), rank_span("rank 0", 2));
    expect_text(first, "cuda.session.end_reason", "step");
}

static uint64_t clock_ns;

static uint64_t moved_clock(void)
{
    return clock_ns;
}

/* Rounds do not decide, because a replay has more or fewer of them than the program had. */
static void test_a_call_that_returns_in_the_next_step_counts_for_some_time(void **state)
{
    uint64_t last = 2000 + STEPS_GRACE_NS;
    begin_in_a_job(0);
    clock_source = moved_clock;
    clock_ns = BASE_NS + last;
    step(1, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    step(2, 2000, STEP_TRAIN);
    for (int i = 0; i < 3; i++)
        tick_after(1);
    sync_until(&thread, 2, 1200, last);
    sync_until(&other_thread, 3, 1300, last + 1); /* the step is open, but this is too late */
    clock_ns++;
    tick_after(1);
    tick_after(1);
    struct kept *first = rank_span("rank 0", 1);
    assert_int_equal(first->span.end_ns, BASE_NS + last);
    assert_int_equal(attr_int(first, "cuda.total.calls"), 2);
    expect_child(call_at(1300), first);
}

/* Also if that time has not passed at exit. */
static void test_a_step_that_has_ended_does_not_end_at_exit(void **state)
{
    begin_in_a_job(0);
    clock_source = moved_clock;
    clock_ns = BASE_NS + 2500;
    sync_on(&thread, 1, 500);
    step(1, 1000, STEP_TRAIN);
    sync_on(&thread, 2, 1100);
    step(2, 2000, STEP_TRAIN);
    sync_on(&thread, 3, 2100);
    tick_after(1);
    tick_after(1);
    correlate_finish(correlate);
    expect_text(only("program"), "cuda.session.end_reason", "step");
    expect_text(rank_span("rank 0", 1), "cuda.session.end_reason", "step");
    expect_text(rank_span("rank 0", 2), "cuda.session.end_reason", "exit");
}

static void test_gpu_work_follows_its_call_across_a_boundary(void **state)
{
    begin_in_a_job(0);
    step(1, 1000, STEP_TRAIN);
    launch(11, 1500);
    step(2, 2000, STEP_TRAIN);
    launch(12, 2100);
    tick_after(1);
    tick_after(1);
    kernel("saxpy", 11, 2300, 2900);
    correlate_finish(correlate);
    struct kept *first = rank_span("rank 0", 1);
    assert_memory_equal(only("saxpy")->span.trace_id, first->span.trace_id, 16);
    assert_int_equal(first->span.end_ns, BASE_NS + 2900); /* ends with its last GPU work */
    assert_int_equal(only("step 1")->span.end_ns, BASE_NS + 2900);
}

static void test_work_with_a_context_belongs_to_it(void **state)
{
    begin_in_a_job(0);
    step(1, 1000, STEP_TRAIN);
    attach(3);
    sync_on(&thread, 1, 1100);
    correlate_finish(correlate);
    expect_below(call_at(1100), 3, SPAN_OF(3));
    expect_no("rank 0");
}

static void test_unsampled_steps_have_no_spans(void **state)
{
    begin_in_a_job(0);
    rules.threshold = sampler_threshold(1.0 / 4);
    rules.is_limited = true;
    for (int64_t number = 0; number < 32; number++) {
        step(number, 1000 * (uint64_t)(number + 1), STEP_TRAIN);
        sync_on(&thread, 0, 1000 * (uint64_t)(number + 1) + 100);
        tick_after(1);
    }
    correlate_finish(correlate);
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < span_count; i++) {
        if (strcmp(spans[i].name, "rank 0") != 0)
            continue;
        ranks++;
        assert_true(step_is_sampled(&rules, attr_int(&spans[i], "training.step.number"), STEP_TRAIN));
    }
    assert_int_equal(ranks, 8);
    assert_int_equal(span_count, 8 * 3); /* step, rank and call */
}

static uint64_t awake_since;

static bool slept_until_awake_since(uint64_t from_ns, uint64_t until_ns)
{
    (void)until_ns;
    return from_ns < BASE_NS + awake_since;
}

/* A job that samples one step in 4 and sleeps until `awake`. Returns a number that is sampled. */
static int64_t begin_asleep(uint64_t awake)
{
    struct correlate_options options = usual_options();
    rules = (struct step_rules){.job = 7,
                                .own = 9,
                                .rank = 1,
                                .world_size = 2,
                                .threshold = sampler_threshold(1.0 / 4),
                                .is_limited = true};
    awake_since = awake;
    options.steps = &rules;
    options.slept_between = slept_until_awake_since;
    begin_as(&options);
    int64_t number = 8;
    while (!step_is_sampled(&rules, number, STEP_TRAIN))
        number++;
    return number;
}

/* The program submits a step in 1 us, and the GPU works 2 us for it: when the sampled step begins, the GPU is
 * still in the one before. Without the end of that work, the rank would seem idle for 1.8 us. */
static void test_a_program_that_runs_ahead(void **state)
{
    int64_t sampled = begin_asleep(2000);
    step(sampled - 2, 1000, STEP_TRAIN);
    step(sampled - 1, 2000, STEP_TRAIN);
    launch(11, 2100);
    launch(12, 2800);
    step(sampled, 3000, STEP_TRAIN);
    launch(13, 3100);
    tick_after(1);
    step(sampled + 1, 4000, STEP_TRAIN);
    launch(14, 4100);
    tick_after(1);
    tick_after(1);
    kernel("before", 11, 3000, 4000);
    kernel("last before", 12, 4000, 4800);
    kernel("sampled", 13, 4800, 6700);
    kernel("after", 14, 6700, 8000);
    correlate_finish(correlate);
    struct kept *rank = rank_span("rank 1", sampled);
    assert_int_equal(rank->span.start_ns, BASE_NS + 3000);
    assert_int_equal(rank->span.end_ns, BASE_NS + 6700);
    assert_int_equal(attr_int(rank, "training.step.gpu_backlog"), 1800);
    expect_no("before");
    expect_no("last before");
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void test_an_idle_gpu_has_no_backlog(void **state)
{
    int64_t sampled = begin_asleep(2000);
    step(sampled - 1, 2000, STEP_TRAIN);
    launch(11, 2100);
    kernel("before", 11, 2200, 2900);
    step(sampled, 3000, STEP_TRAIN);
    launch(12, 3100);
    kernel("sampled", 12, 3200, 3300);
    correlate_finish(correlate);
    assert_int_equal(attr_int(rank_span("rank 1", sampled), "training.step.gpu_backlog"), 0);
}

/* Capture slept when the step before submitted its last work, so the end of that work is unknown. */
static void expect_no_backlog(bool has_early_work)
{
    int64_t sampled = begin_asleep(2900);
    step(sampled - 1, 2000, STEP_TRAIN);
    if (has_early_work) {
        launch(11, 2100);
        kernel("before", 11, 2200, 2300);
    }
    step(sampled, 3000, STEP_TRAIN);
    launch(12, 3100);
    kernel("sampled", 12, 3200, 3300);
    correlate_finish(correlate);
    assert_null(attr(rank_span("rank 1", sampled), "training.step.gpu_backlog"));
}

static void test_the_backlog_is_unknown_after_a_sleep(void **state)
{
    expect_no_backlog(false);
}

static void test_the_backlog_is_unknown_if_only_early_work_is_known(void **state)
{
    expect_no_backlog(true);
}

/* A boundary without work in between changes nothing: an evaluation that does nothing, or no step. */
static void test_the_backlog_of_the_last_step_with_work(void **state)
{
    begin_in_a_job(0);
    step(1, 1000, STEP_TRAIN);
    launch(11, 1100);
    step(1, 2000, STEP_EVALUATION);
    step(0, 2100, STEP_NONE);
    step(2, 2200, STEP_TRAIN);
    launch(12, 2300);
    kernel("first", 11, 1200, 2500);
    kernel("second", 12, 2500, 2600);
    correlate_finish(correlate);
    assert_int_equal(attr_int(rank_span("rank 0", 2), "training.step.gpu_backlog"), 300);
    assert_null(attr(rank_span("rank 0", 1), "training.step.gpu_backlog")); /* nothing is known before it */
}

static void test_the_tracestate_is_honest(void **state)
{
    char want[64];
    begin_in_a_job(0);
    rules.threshold = sampler_threshold(1.0 / 64);
    rules.is_limited = rules.always_first = true;
    int64_t number = 5;
    while (!step_is_sampled(&rules, number, STEP_TRAIN))
        number++;
    step(3, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    step(number, 2000, STEP_TRAIN);
    sync_on(&thread, 2, 2100);
    snprintf(want, sizeof want, "ot=th:0;rv:%014llx", (unsigned long long)identity_of(3).randomness);
    assert_string_equal(call_at(1100)->span.trace_state, want); /* taken with probability 1 */
    snprintf(want, sizeof want, "ot=th:fc;rv:%014llx", (unsigned long long)identity_of(number).randomness);
    assert_string_equal(call_at(2100)->span.trace_state, want);
    assert_int_equal(call_at(2100)->span.flags & 3, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
}

static void test_evaluation_and_checkpoints_divide_a_step(void **state)
{
    begin_in_a_job(0);
    step(8, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    step(8, 2000, STEP_EVALUATION);
    sync_on(&thread, 2, 2100);
    step(8, 3000, STEP_TRAIN);
    sync_on(&thread, 3, 3100);
    step(8, 4000, STEP_NONE);
    sync_on(&thread, 4, 4100);
    correlate_finish(correlate);
    uint32_t roots = 0;
    for (uint32_t i = 0; i < span_count; i++)
        roots += strcmp(spans[i].name, "step 8") == 0;
    assert_int_equal(roots, 2); /* of the training step, once, and of the evaluation */
    assert_memory_equal(call_at(1100)->span.trace_id, call_at(3100)->span.trace_id, 16);
    assert_memory_not_equal(call_at(1100)->span.trace_id, call_at(2100)->span.trace_id, 16);
    expect_child(call_at(4100), only("program"));
}

/* Far more than are kept in one round: nothing is lost. */
static void test_many_steps_in_one_round(void **state)
{
    begin_in_a_job(1);
    for (int64_t number = 1; number <= 160; number++)
        step(number, 1000 * (uint64_t)number, STEP_TRAIN);
    for (uint64_t number = 1; number <= 160; number++)
        sync_on(&thread, 0, 1000 * number + 1);
    correlate_finish(correlate);
    assert_int_equal(span_count, 320);
    for (int64_t number = 1; number <= 160; number++)
        expect_child(call_at(1000 * (uint64_t)number + 1), rank_span("rank 1", number));
}

static void test_tracing_ends_within_a_step(void **state)
{
    begin_in_a_job(0);
    step(1, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    session_spans_end(correlate, "stop");
    expect_text(rank_span("rank 0", 1), "cuda.session.end_reason", "stop");
    assert_int_equal(correlate_held(correlate), 0);
}

static void test_a_rank_links_to_its_process(void **state)
{
    memset(parent.trace_id, 0x55, 16);
    memset(parent.span_id, 0x66, 8);
    parent.flags = TRACE_FLAG_SAMPLED;
    begin_in_a_job(0);
    step(1, 1000, STEP_TRAIN);
    sync_on(&thread, 1, 1100);
    correlate_finish(correlate);
    assert_int_equal(only("step 1")->span.link_count, 0);
    struct kept *rank = only("rank 0");
    assert_int_equal(rank->span.link_count, 1);
    assert_memory_equal(rank->links[0].trace_id, parent.trace_id, 16);
    assert_memory_equal(rank->links[0].span_id, parent.span_id, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_each_step_is_a_trace),
                                       TEST(test_only_rank_0_sends_the_step),
                                       TEST(test_a_process_alone_has_traces_of_its_own),
                                       TEST(test_a_late_thread_keeps_its_step),
                                       TEST(test_a_call_that_returns_in_the_next_step_counts_for_some_time),
                                       TEST(test_a_step_that_has_ended_does_not_end_at_exit),
                                       TEST(test_gpu_work_follows_its_call_across_a_boundary),
                                       TEST(test_work_with_a_context_belongs_to_it),
                                       TEST(test_unsampled_steps_have_no_spans),
                                       TEST(test_a_program_that_runs_ahead),
                                       TEST(test_an_idle_gpu_has_no_backlog),
                                       TEST(test_the_backlog_is_unknown_after_a_sleep),
                                       TEST(test_the_backlog_is_unknown_if_only_early_work_is_known),
                                       TEST(test_the_backlog_of_the_last_step_with_work),
                                       TEST(test_the_tracestate_is_honest),
                                       TEST(test_evaluation_and_checkpoints_divide_a_step),
                                       TEST(test_many_steps_in_one_round),
                                       TEST(test_tracing_ends_within_a_step),
                                       TEST(test_a_rank_links_to_its_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
