/* Tests the spans of steps that have more than their rank's share. */
#include "support/correlate_harness.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/call_spans.h"

#define WORLD 64
#define SHARE 16 /* of each rank */
#define CALLS 40 /* launches in a step */
#define STEP  100000

static struct step_rules rules;

static void begin_with(int64_t rank, uint32_t spans_max)
{
    rules =
        (struct step_rules){.job = 7, .own = 9, .rank = rank, .world_size = WORLD, .spans_max = spans_max};
    struct correlate_options options = usual_options();
    options.steps = &rules;
    begin_as(&options);
}

static void begin_in_a_job(int64_t rank)
{
    begin_with(rank, WORLD * SHARE);
}

static struct step_identity identity_of(int64_t number)
{
    struct step_boundary at = {.number = number, .kind = STEP_TRAIN};
    return step_identify(&rules, &at);
}

static void begin_step(int64_t number)
{
    struct step_boundary at = {.time = BASE_NS + (uint64_t)number * STEP,
                               .number = number,
                               .kind = STEP_TRAIN,
                               .source = STEP_BY_OPTIMIZER};
    session_spans_step(correlate, &at);
}

static uint32_t id_of(int64_t number, uint32_t call)
{
    return (uint32_t)number * 1000 + call;
}

static void call_all(int64_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        launch(id_of(number, i), (uint64_t)number * STEP + 100 * (i + 1));
}

/* Each tenth kernel is long. */
static void work_all(int64_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t start = (uint64_t)number * STEP + 50 + 2000 * (i + 1);
        kernel(i % 10 ? "short" : "long", id_of(number, i), start, start + (i % 10 ? 100 : 1500));
    }
}

static uint32_t spans_in(const uint8_t trace_id[16], const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < span_count; i++)
        count +=
            memcmp(spans[i].span.trace_id, trace_id, 16) == 0 && (!name || strcmp(spans[i].name, name) == 0);
    return count;
}

static const struct kept *rank_span(int64_t number)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (attr(&spans[i], "cuda.session.spans") && attr_int(&spans[i], "training.step.number") == number)
            return &spans[i];
    fail_msg("no span of a rank in step %d", (int)number);
    return NULL;
}

/* Step 1 shows how large steps are, step 2 is foreseen. */
static void two_steps(void)
{
    for (int64_t number = 1; number <= 2; number++) {
        begin_step(number);
        call_all(number, CALLS);
        tick_after(1);
    }
    begin_step(3);
    tick_after(1);
    tick_after(1);
    work_all(1, CALLS);
    work_all(2, CALLS);
    correlate_finish(correlate);
}

/* All records are accounted for: as src/base/accounting/balance.c, but capture's part is given. */
static void expect_balance(uint64_t captured)
{
    uint64_t made = counter_get(COUNTER_sessions) + counter_get(COUNTER_roots) +
                    counter_get(COUNTER_collectives) + counter_get(COUNTER_step_copies);
    assert_int_equal(captured + made, counter_get(COUNTER_spans_created) +
                                          counter_get(COUNTER_spans_left_out) +
                                          counter_get(COUNTER_spans_unsampled));
    assert_int_equal(span_count, counter_get(COUNTER_spans_created));
}

static void test_the_longest_work_stands_for_a_step(void **state)
{
    begin_in_a_job(7);
    two_steps();
    struct step_identity second = identity_of(2);
    const struct kept *rank = rank_span(2);
    uint32_t sent = spans_in(second.trace_id, NULL);
    assert_in_range(sent, SHARE / 2, SHARE - 1); /* the step's own span is that of rank 0 */
    assert_int_equal(spans_in(second.trace_id, "cudaLaunchKernel"), 0);
    assert_int_equal(spans_in(second.trace_id, "long"), CALLS / 10);
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "long") == 0 && spans[i].span.start_ns > BASE_NS + 2 * STEP)
            expect_child(&spans[i], rank);
    assert_int_equal(attr_int(rank, "training.step.left_out"), 2 * CALLS - (sent - 1));
    assert_int_equal(attr_int(rank, "cuda.total.calls"), CALLS);
    assert_int_equal(attr_int(rank, "cuda.total.kernels"), CALLS);
    assert_int_equal(rank->span.end_ns, BASE_NS + 2 * STEP + 50 + 2000 * CALLS + 100);
    assert_int_equal(counters_lost(), 0);
    expect_balance(4 * CALLS);
}

/* The first step is not foreseen: its first calls have spans, and then its longest work. */
static void test_a_surprise(void **state)
{
    begin_in_a_job(7);
    two_steps();
    struct step_identity first = identity_of(1);
    assert_int_equal(spans_in(first.trace_id, "cudaLaunchKernel"), SHARE - SHARE / 4 - 2);
    assert_in_range(spans_in(first.trace_id, "long"), 1, 4);
    assert_in_range(spans_in(first.trace_id, NULL), SHARE - 4, SHARE);
}

/* The first of these nodes are left out. */
static void test_the_text_of_a_stack_is_on_a_span_that_is_sent(void **state)
{
    union {
        struct code_record record;
        uint8_t bytes[64];
    } code = {.record = {.head = {40, RECORD_CODE, 0, 0},
                         .id = 71,
                         .frame_count = 1,
                         .flags = CODE_IS_DESCRIBED | CODE_IS_OF_NODES}};
    struct code_frame frame = {.line = 9, .file_bytes = 4, .name_bytes = 1};
    struct resource_record node = {
        .head = {sizeof node, RECORD_RESOURCE, 0, CUPTI_RESOURCE_GRAPHNODE_CREATED},
        .time_ns = BASE_NS + 10,
        .handle = 100,
        .nodes = 1,
        .code = 71};
    memcpy(code.record.frames, &frame, sizeof frame);
    memcpy(code.record.frames + sizeof frame, "a.pyf", 5);
    settings.detail = DETAIL_GRAPH_NODES;
    settings.capture.launch_stacks = LAUNCH_STACKS_PYTHON;
    begin_in_a_job(7);
    call_spans_code(correlate, &code.record);
    call_spans_resource(correlate, &thread, &node);
    begin_step(1);
    call_all(1, CALLS);
    tick_after(1);
    begin_step(2);
    call_all(2, CALLS);
    tick_after(1);
    begin_step(3);
    tick_after(1);
    tick_after(1);
    work_all(1, CALLS);
    uint32_t with_stack = 0, with_text = 0;
    for (uint32_t i = CALLS; i-- > 0;) {
        uint64_t start = 2 * STEP + 50 + 2000 * (i + 1);
        struct activity_record record =
            make_kernel("node", id_of(2, i), start, start + (i % 10 ? 100 : 1500));
        record.graph_node_id = 100;
        gpu_join_add(correlate, &record);
    }
    correlate_finish(correlate);
    for (uint32_t i = 0; i < span_count; i++) {
        with_stack += attr(&spans[i], "cuspan.stack.id") != NULL;
        with_text += attr(&spans[i], "code.stacktrace") != NULL;
    }
    settings.detail = DETAIL_DEFAULT;
    settings.capture.launch_stacks = LAUNCH_STACKS_NONE;
    assert_in_range(with_stack, 1, CALLS - 1);
    assert_int_equal(with_text, 1);
}

static void test_a_small_step_is_complete(void **state)
{
    begin_in_a_job(7);
    for (int64_t number = 1; number <= 2; number++) {
        begin_step(number);
        call_all(number, 7);
        work_all(number, 7);
        tick_after(1);
    }
    correlate_finish(correlate);
    assert_int_equal(spans_in(identity_of(2).trace_id, NULL), 15); /* and the step's: all of the share */
    assert_null(attr(rank_span(2), "training.step.left_out"));
    expect_balance(28);
}

/* Rank 2 sends all of its step 2 in a trace of its own, and copies of the chosen spans. */
static void test_a_rank_in_full_detail(void **state)
{
    begin_in_a_job(2);
    two_steps();
    struct step_identity second = identity_of(2);
    uint8_t detail[16];
    step_detail_trace(&rules, &second, detail);
    assert_memory_not_equal(detail, second.trace_id, 16);
    assert_int_equal(spans_in(detail, NULL), 2 * CALLS + 1);
    assert_int_equal(spans_in(detail, "cudaLaunchKernel"), CALLS);
    const struct kept *rank = rank_span(2), *root = only("step 2, rank 2");
    assert_memory_equal(rank->span.trace_id, second.trace_id, 16);
    assert_memory_equal(rank->span.parent_span_id, second.span_id, 8);
    assert_memory_equal(rank->links[0].trace_id, detail, 16);
    assert_memory_equal(rank->links[0].span_id, root->span.span_id, 8);
    assert_memory_equal(root->links[0].span_id, rank->span.span_id, 8);
    assert_int_equal(spans_in(second.trace_id, "long"), CALLS / 10);
    for (uint32_t i = 0; i < span_count; i++)
        if (attr(&spans[i], "training.step.copy"))
            expect_child(&spans[i], rank);
        else if (strcmp(spans[i].name, "cudaLaunchKernel") == 0 &&
                 spans[i].span.start_ns > BASE_NS + 2 * STEP)
            expect_child(&spans[i], root);
    assert_int_equal(spans_in(second.trace_id, NULL), 1 + counter_get(COUNTER_step_copies));
    assert_int_equal(attr_int(rank, "training.step.left_out"), 2 * CALLS - counter_get(COUNTER_step_copies));
    expect_balance(4 * CALLS);
}

/* Ranges are left out with the calls in them, and their GPU work has the rank as its parent. */
static void test_ranges(void **state)
{
    begin_in_a_job(7);
    for (int64_t number = 1; number <= 2; number++) {
        begin_step(number);
        push_range(SPAN_OF(number), (uint64_t)number * STEP + 10, "forward");
        call_all(number, CALLS);
        say(&thread, RECORD_MARK, 0, (uint64_t)number * STEP + 8000, "mark", 0, 0);
        end_range(SPAN_OF(number), (uint64_t)number * STEP + 9000);
        tick_after(1);
    }
    work_all(1, CALLS);
    work_all(2, CALLS);
    correlate_finish(correlate);
    struct step_identity first = identity_of(1), second = identity_of(2);
    assert_int_equal(spans_in(first.trace_id, "forward"), 1);
    assert_int_equal(spans_in(second.trace_id, "forward"), 0);
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "long") == 0 && spans[i].span.start_ns > BASE_NS + 2 * STEP)
            expect_child(&spans[i], rank_span(2));
    assert_int_equal(attr_int(rank_span(2), "training.step.left_out"),
                     2 * CALLS + 2 - (spans_in(second.trace_id, NULL) - 1));
    assert_int_equal(attr_int(rank_span(2), "cuda.total.kernels"), CALLS);
    expect_balance(4 * CALLS + 4 - counter_get(COUNTER_marks_as_events));
}

static void test_a_failed_call_is_kept(void **state)
{
    begin_in_a_job(7);
    begin_step(1);
    call_all(1, CALLS);
    tick_after(1);
    begin_step(2);
    call_all(2, CALLS);
    call_full(CALL_RUNTIME, "cudaMalloc", 2900, 2 * STEP + 9000, 2 * STEP + 9010, 2);
    correlate_finish(correlate);
    const struct kept *failed = only("cudaMalloc");
    expect_child(failed, rank_span(2));
    assert_int_equal(failed->span.status, SPAN_STATUS_ERROR);
}

/* An evaluation divides the step, whose parts share one share. */
static void test_both_parts_of_a_step(void **state)
{
    begin_in_a_job(7);
    begin_step(1);
    call_all(1, 12);
    struct step_boundary at = {.time = BASE_NS + STEP + 5000, .number = 1, .kind = STEP_EVALUATION};
    session_spans_step(correlate, &at);
    at.time += 1000;
    at.kind = STEP_TRAIN;
    session_spans_step(correlate, &at);
    for (uint32_t i = 12; i < 24; i++)
        launch(id_of(1, i), STEP + 7000 + 100 * i);
    work_all(1, 24);
    correlate_finish(correlate);
    assert_in_range(spans_in(identity_of(1).trace_id, NULL), SHARE - 4, SHARE);
}

static void boundary(int64_t number, uint64_t offset, enum step_kind kind)
{
    struct step_boundary at = {.time = BASE_NS + (uint64_t)number * STEP + offset,
                               .number = number,
                               .kind = (uint8_t)kind,
                               .source = STEP_BY_OPTIMIZER};
    session_spans_step(correlate, &at);
}

/* A checkpoint near the end of step 1 does not hide how large the step was. */
static void test_the_step_before_is_divided(void **state)
{
    begin_in_a_job(7);
    begin_step(1);
    call_all(1, CALLS);
    boundary(1, 8000, STEP_CHECKPOINT);
    boundary(1, 9000, STEP_TRAIN);
    launch(id_of(1, CALLS), STEP + 9100);
    tick_after(1);
    begin_step(2);
    call_all(2, CALLS);
    work_all(1, CALLS + 1);
    work_all(2, CALLS);
    correlate_finish(correlate);
    assert_int_equal(spans_in(identity_of(2).trace_id, "cudaLaunchKernel"), 0);
}

/* The trace of all spans is full: chosen work is in the step's trace alone. */
static void test_a_trace_in_full_detail_is_limited(void **state)
{
    begin_with(2, WORLD * 2);
    for (int64_t number = 1; number <= 2; number++) {
        begin_step(number);
        call_all(number, 2 * WORLD);
        tick_after(1);
    }
    work_all(2, 2 * WORLD);
    correlate_finish(correlate);
    struct step_identity second = identity_of(2);
    uint8_t detail[16];
    step_detail_trace(&rules, &second, detail);
    assert_in_range(spans_in(detail, NULL), WORLD, 2 * WORLD);
    uint32_t sent = spans_in(detail, NULL) - 1 + spans_in(second.trace_id, NULL) - 1;
    assert_int_equal(attr_int(rank_span(2), "training.step.left_out"),
                     4 * WORLD - (spans_in(second.trace_id, NULL) - 1));
    assert_true(sent > 0);
    expect_balance(6 * WORLD);
}

/* There are more ranks than spans: another subset of ranks takes part in each sampled step. */
static void test_subsets_of_ranks(void **state)
{
    uint32_t parts = 0;
    begin_with(5, WORLD);
    for (int64_t number = 1; number <= 30; number++) {
        begin_step(number);
        call_all(number, 3);
        tick_after(1);
        parts += step_share_of(&rules, number).takes_part;
    }
    work_all(30, 3);
    correlate_finish(correlate);
    assert_in_range(parts, 9, 12);
    for (int64_t number = 1; number <= 30; number++)
        assert_int_equal(spans_in(identity_of(number).trace_id, "rank 5"),
                         step_share_of(&rules, number).takes_part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_the_longest_work_stands_for_a_step),
                                       TEST(test_a_surprise),
                                       TEST(test_the_text_of_a_stack_is_on_a_span_that_is_sent),
                                       TEST(test_a_small_step_is_complete),
                                       TEST(test_a_rank_in_full_detail),
                                       TEST(test_ranges),
                                       TEST(test_a_failed_call_is_kept),
                                       TEST(test_both_parts_of_a_step),
                                       TEST(test_the_step_before_is_divided),
                                       TEST(test_a_trace_in_full_detail_is_limited),
                                       TEST(test_subsets_of_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
