/* Tests how steps are measured: their durations, and how the GPU spent them. */
#include "support/correlate_harness.h"

#include "agent/correlate/totals/step_stats.h"
#include "agent/correlate/trace/sampler.h"
#include "model/metrics/histogram.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/gpu_join.h"

#include <stdlib.h>

#define ALL_REDUCE "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLi"

static struct step_rules rules;
static uint32_t call_id;

static int setup_steps(void **state)
{
    rules = (struct step_rules){.job = 7, .own = 9, .rank = 1, .world_size = 2};
    call_id = 0;
    return setup_metrics(state, &rules);
}

#define METRICS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_steps, teardown_metrics)

static void step(int64_t number, uint64_t time, enum step_kind kind)
{
    struct step_boundary at = {.time = time ? BASE_NS + time : 0,
                               .number = number,
                               .kind = (uint8_t)kind,
                               .source = STEP_BY_OPTIMIZER};
    session_spans_step(correlate, &at);
}

/* A call at this time, and its kernel. */
static void run(const char *name, uint64_t call, uint64_t start, uint64_t end)
{
    launch(++call_id, call);
    kernel(name, call_id, start, end);
}

static void copy(uint64_t call, uint64_t start, uint64_t end)
{
    call_full(CALL_RUNTIME, "cudaMemcpyAsync", ++call_id, call, call + 10, 0);
    struct activity_record record = make(ACTIVITY_MEMCPY, call_id, start, end);
    gpu_join_add(correlate, &record);
}

static const struct step_times *times(void)
{
    const struct step_times *steps = correlate_live_stats(correlate)->steps;
    assert_non_null(steps);
    return steps;
}

static void settle(void)
{
    tick_after(1);
    tick_after(1);
    tick_after(20);
}

static void expect_durations(enum step_kind kind, uint64_t count, uint64_t sum_ns)
{
    const struct histogram *histogram = times()->durations[kind][STEP_BY_OPTIMIZER];
    assert_int_equal(histogram ? histogram->count : 0, count);
    assert_int_equal(histogram ? histogram->sum_ns : 0, sum_ns);
    assert_int_equal(times()->sums[kind].count, count);
    assert_int_equal(times()->sums[kind].total_ns, sum_ns);
}

static void expect_measured(int64_t number, uint64_t compute, uint64_t exposed, uint64_t copies,
                            uint64_t idle, uint64_t communication)
{
    for (unsigned i = 0; i < MEASURED_STEPS_KEPT && i < times()->measured_count; i++) {
        const struct measured_step *found = &times()->measured[i];
        if (found->number != number)
            continue;
        assert_int_equal(found->parts_ns[STEP_COMPUTE], compute);
        assert_int_equal(found->parts_ns[STEP_EXPOSED_COMMUNICATION], exposed);
        assert_int_equal(found->parts_ns[STEP_COPIES], copies);
        assert_int_equal(found->parts_ns[STEP_IDLE], idle);
        assert_int_equal(found->communication_ns, communication);
        return;
    }
    fail_msg("step %d is not measured", (int)number);
}

static void test_every_step_has_a_duration(void **state)
{
    rules.threshold = sampler_threshold(1.0 / 4);
    rules.is_limited = true;
    for (int64_t number = 0; number <= 32; number++)
        step(number, 1000 * (uint64_t)(number + 1), STEP_TRAIN);
    expect_durations(STEP_TRAIN, 32, 32000);
    assert_int_equal(times()->rank, 1);
    assert_int_equal(times()->number, 32);
    assert_int_equal(times()->measured_count, 0);
}

static void test_an_evaluation_is_no_time_of_its_step(void **state)
{
    step(8, 1000, STEP_TRAIN);
    step(8, 2000, STEP_EVALUATION);
    step(8, 5000, STEP_TRAIN);
    expect_durations(STEP_TRAIN, 0, 0);
    step(9, 5500, STEP_TRAIN);
    expect_durations(STEP_TRAIN, 1, 1500);
    expect_durations(STEP_EVALUATION, 1, 3000);
    step(9, 6000, STEP_CHECKPOINT);
    step(9, 8000, STEP_NONE);
    expect_durations(STEP_TRAIN, 2, 2000);
    expect_durations(STEP_CHECKPOINT, 1, 2000);
    step(10, 90000, STEP_TRAIN); /* the time in between belongs to no step */
    step(11, 90100, STEP_TRAIN);
    expect_durations(STEP_TRAIN, 3, 2100);
}

/* It began before capture, so its duration is unknown. */
static void test_the_step_in_progress_at_the_start(void **state)
{
    step(1, 0, STEP_TRAIN);
    step(2, 5000, STEP_TRAIN);
    step(3, 6000, STEP_TRAIN);
    expect_durations(STEP_TRAIN, 1, 1000);
}

static void test_the_parts_of_a_step(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1500);
    run(ALL_REDUCE, 1020, 1400, 1800); /* 100 ns of it hidden, 300 exposed */
    copy(1030, 1700, 2000);            /* 200 beside the collective */
    run("_Z3muli", 1040, 2200, 2300);
    step(6, 2100, STEP_TRAIN);
    settle();
    expect_measured(5, 500, 300, 200, 300, 400); /* idle: 1000 to 1100 and 2000 to 2200 */
    const struct step_times *steps = times();
    assert_int_equal(steps->parts[STEP_TRAIN][STEP_EXPOSED_COMMUNICATION]->sum_ns, 300);
    assert_int_equal(steps->parts[STEP_TRAIN][STEP_IDLE]->count, 1);
    assert_int_equal(steps->communication[STEP_TRAIN]->sum_ns, 400);
    assert_int_equal(counter_get(COUNTER_steps_unmeasured), 0);
}

/* The CPU begins step 6 while the GPU still works for step 5. */
static void test_a_program_that_runs_ahead(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 9000);
    step(6, 1200, STEP_TRAIN);
    run("_Z3addi", 1210, 9100, 9600);
    step(7, 1400, STEP_TRAIN);
    settle();
    expect_measured(5, 7900, 0, 0, 100, 0);
    expect_measured(6, 500, 0, 0, 100, 0); /* from 9000 on */
}

/* Step 3 of the next epoch does not follow step 470, behind whose end the GPU did work that is unknown. */
static void test_numbers_that_begin_again(void **state)
{
    step(470, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1200);
    step(471, 2000, STEP_NONE);
    step(3, 50000, STEP_TRAIN);
    run("_Z3addi", 50010, 50100, 50600);
    step(4, 51000, STEP_TRAIN);
    settle();
    expect_measured(3, 500, 0, 0, 100, 0); /* from its boundary on */
}

static void test_a_step_with_lost_records_is_not_measured(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1200);
    counter_add_alone(COUNTER_lost_cupti_dropped, 3);
    step(6, 2000, STEP_TRAIN);
    settle();
    assert_int_equal(times()->measured_count, 0);
    assert_int_equal(counter_get(COUNTER_steps_unmeasured), 1);
}

/* The pipeline learns of the steps only after the loss. It was before step 6, and all its work is there. */
static void test_losses_before_the_pipeline_knows_the_step(void **state)
{
    struct step_boundary fifth = {.time = BASE_NS + 1000, .number = 5, .source = STEP_BY_OPTIMIZER};
    struct step_boundary sixth = {
        .time = BASE_NS + 2000, .number = 6, .source = STEP_BY_OPTIMIZER, .lost = 3};
    counter_add_alone(COUNTER_lost_ring_full, 3);
    session_spans_step(correlate, &fifth);
    run("_Z3addi", 1010, 1100, 1200);
    session_spans_step(correlate, &sixth);
    run("_Z3addi", 2010, 2100, 2200);
    step(7, 3000, STEP_TRAIN);
    settle();
    assert_int_equal(times()->measured_count, 1);
    assert_int_equal(times()->measured[0].number, 6);
    assert_int_equal(counter_get(COUNTER_steps_unmeasured), 1);
}

/* CUPTI has a buffer for each thread: kernels of the backward pass can arrive before those of the forward
 * pass. Each takes 1 ns. */
static void add_kernels(struct step_stats *stats, uint32_t handle, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        struct activity_record record = make(ACTIVITY_KERNEL, 1, 1000 + 2 * i, 1001 + 2 * i);
        step_stats_add_work(stats, handle, &(struct gpu_work){.record = &record});
    }
}

static void measure_kernels(uint64_t count, bool is_exact)
{
    const struct step at = {.at = {.number = 5, .time = BASE_NS + 1000}};
    const struct step_end end = {
        .end_ns = BASE_NS + 1000000, .ready_ns = BASE_NS + 1000, .is_complete = true};
    const struct step_stats_options options = {.rules = &rules, .settings = &settings};
    struct step_stats *stats;
    struct measured_step parts;
    assert_int_equal(step_stats_create(&options, &stats), STATUS_OK);
    uint32_t handle = step_stats_open(stats, &at);
    add_kernels(stats, handle, count / 2, count - count / 2);
    add_kernels(stats, handle, 0, count / 2);
    assert_int_equal(step_stats_close(stats, handle, &end, &parts), is_exact);
    assert_true(!is_exact || parts.parts_ns[STEP_COMPUTE] == count);
    assert_int_equal(step_stats_read(stats)->measured_count, is_exact);
    assert_int_equal(counter_get(COUNTER_steps_unmeasured), !is_exact);
    step_stats_destroy(stats);
}

static void test_many_kernels_in_any_order(void **state)
{
    measure_kernels(20000, true);
}

static void test_more_kernels_than_intervals(void **state)
{
    measure_kernels(STEP_STATS_INTERVALS, false);
}

/* Step 5 is not sampled, but capture is awake: its GPU work is known to end at 9000. */
static void test_a_sampled_step_behind_one_that_is_not(void **state)
{
    rules.threshold = sampler_threshold(1.0 / 4);
    rules.is_limited = true;
    int64_t number = 5;
    while (step_is_sampled(&rules, number, STEP_TRAIN) || !step_is_sampled(&rules, number + 1, STEP_TRAIN))
        number++;
    step(number, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 9000);
    step(number + 1, 1200, STEP_TRAIN);
    run("_Z3addi", 1210, 9100, 9600);
    step(number + 2, 1400, STEP_TRAIN);
    settle();
    assert_int_equal(times()->measured_count, 1);
    expect_measured(number + 1, 500, 0, 0, 100, 0);
    assert_int_equal(attr_int(only("rank 1"), "training.step.gpu_backlog"), 9000 - 1200);
}

/* Without metrics: the analysis of ranks needs them if a step has too many spans. */
static void test_the_parts_are_on_the_span_of_the_rank(void **state)
{
    correlate_destroy(correlate);
    settings.metrics.is_on = false;
    struct correlate_options options = usual_options();
    options.steps = &rules;
    begin_as(&options);
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1500);
    run(ALL_REDUCE, 1020, 1400, 1800);
    copy(1030, 1700, 2000);
    step(6, 2100, STEP_TRAIN);
    settle();
    const struct kept *rank = only("rank 1");
    assert_int_equal(attr_int(rank, "training.step.compute_time"), 400);
    assert_int_equal(attr_int(rank, "training.step.exposed_time"), 300);
    assert_int_equal(attr_int(rank, "training.step.copy_time"), 200);
}

static void test_records_in_any_order(void **state)
{
    step(5, 1000, STEP_TRAIN);
    launch(1, 1010);
    launch(2, 1020);
    step(6, 1200, STEP_TRAIN);
    launch(3, 1210);
    step(7, 1400, STEP_TRAIN);
    tick_after(1);
    tick_after(1);
    kernel("_Z3addi", 3, 9100, 9600);
    kernel("_Z3addi", 2, 5000, 9000);
    tick_after(20);
    assert_int_equal(times()->measured_count, 0); /* step 6 is complete, but step 5 is not */
    kernel("_Z3addi", 1, 1100, 5000);
    settle();
    expect_measured(5, 7900, 0, 0, 100, 0);
    expect_measured(6, 500, 0, 0, 100, 0);
}

/* Its exemplar leads to the span of the rank. */
static void test_exemplars_are_spans_of_the_rank(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1500);
    step(6, 3000, STEP_TRAIN);
    settle();
    const struct step_times *steps = times();
    const struct histogram *durations = steps->durations[STEP_TRAIN][STEP_BY_OPTIMIZER];
    uint32_t found = 0;
    for (unsigned i = 0; i < HISTOGRAM_EXEMPLARS; i++) {
        const struct exemplar *exemplar = &durations->exemplars[i];
        if (!exemplar->time_ns)
            continue;
        found++;
        assert_int_equal(exemplar->value_ns, 2000);
        assert_memory_equal(exemplar->trace_id, only("rank 1")->span.trace_id, 16);
        assert_memory_equal(exemplar->span_id, only("rank 1")->span.span_id, 8);
    }
    assert_int_equal(found, 1);
    correlate_begin_interval(correlate, false);
    assert_int_equal(durations->count, 1);
    correlate_begin_interval(correlate, true);
    assert_int_equal(durations->count, 0);
}

/* A call whose GPU record never comes. The step is given up after correlation.wait_ms. */
static void test_a_missing_record(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1500);
    launch(++call_id, 1020);
    step(6, 3000, STEP_TRAIN);
    settle();
    assert_int_equal(times()->measured_count, 0);
    tick_after(200);
    expect_measured(5, 400, 0, 0, 100, 0);
}

/* A step without GPU work has no parts. */
static void test_a_step_without_work_is_counted(void **state)
{
    step(5, 1000, STEP_TRAIN);
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", ++call_id, 1100, 1200, 0);
    step(6, 3000, STEP_TRAIN);
    settle();
    expect_durations(STEP_TRAIN, 1, 2000);
    assert_int_equal(times()->measured_count, 0);
    assert_int_equal(counter_get(COUNTER_steps_unmeasured), 1);
}

static void test_a_client_sees_the_steps(void **state)
{
    struct live_stats_view *view = calloc(1, sizeof *view);
    correlate_snapshot(correlate, monotonic_ns, view);
    assert_false(view->has_steps);
    for (int64_t number = 1; number <= MEASURED_STEPS_KEPT + 3; number++) {
        step(number, 1000 * (uint64_t)number, STEP_TRAIN);
        run("_Z3addi", 1000 * (uint64_t)number + 10, 1000 * (uint64_t)number + 100,
            1000 * (uint64_t)number + 400);
    }
    settle();
    correlate_snapshot(correlate, monotonic_ns, view);
    assert_true(view->has_steps);
    assert_int_equal(view->steps.number, MEASURED_STEPS_KEPT + 3);
    assert_int_equal(view->steps.sum.count, MEASURED_STEPS_KEPT + 2);
    assert_int_equal(view->steps.last_ns, 1000);
    assert_int_equal(view->steps.measured_count, MEASURED_STEPS_KEPT);
    assert_int_equal(view->steps.measured[0].number, MEASURED_STEPS_KEPT + 2);
    assert_int_equal(view->steps.measured[0].parts_ns[STEP_COMPUTE], 300);
    assert_int_equal(view->steps.measured[0].parts_ns[STEP_IDLE], 100); /* from its boundary on */
    assert_true(view->steps.measured[0].is_whole);
    free(view);
}

static const struct measured_step *measured(int64_t number)
{
    static struct live_stats_view view;
    correlate_snapshot(correlate, monotonic_ns, &view);
    for (uint32_t i = 0; i < view.steps.measured_count; i++)
        if (view.steps.measured[i].number == number)
            return &view.steps.measured[i];
    fail_msg("step %d is not measured", (int)number);
    return NULL;
}

/* The end of step 6 is that of the call that waits for its work. */
static void test_the_end_of_a_step_on_the_host(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1500);
    step(6, 2000, STEP_TRAIN);
    run("_Z3addi", 2010, 2100, 2500);
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", ++call_id, 2100, 2700, 0);
    step(7, 9000, STEP_TRAIN);
    settle();
    expect_measured(6, 400, 0, 0, 300, 0);
}

#define US 1000ull

/* Without the wait, what the long call takes beyond 50 us, and most of the gap that ends with the collective.
 * The other thread's call comes late. */
static void test_the_time_of_the_host(void **state)
{
    step(5, 1000 * US, STEP_TRAIN);
    run("_Z3addi", 1010 * US, 1020 * US, 1030 * US);
    step(6, 2000 * US, STEP_TRAIN);
    run("_Z3addi", 2010 * US, 2020 * US, 2030 * US);
    run(ALL_REDUCE, 2060 * US, 2070 * US, 2490 * US);
    call_full(CALL_RUNTIME, "cudaMalloc", ++call_id, 2500 * US, 2700 * US, 0);
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", ++call_id, 2800 * US, 3000 * US, 0);
    run("_Z3addi", 2040 * US, 2045 * US, 2050 * US);
    step(7, 4000 * US, STEP_TRAIN);
    settle();
    const struct measured_step *found = measured(6);
    uint64_t launched = 60 * US + 100;
    assert_true(found->has_host);
    assert_int_equal(found->host_ns, launched + 150 * US + 50 * US + 100 * US);
    assert_false(measured(5)->has_host); /* when it began on the GPU is unknown */
}

/* A step with more calls than there is room for. The room is there again for the next one. */
static void test_too_many_calls(void **state)
{
    step(5, 1000, STEP_TRAIN);
    run("_Z3addi", 1010, 1100, 1200);
    step(6, 2000, STEP_TRAIN);
    run("_Z3addi", 2010, 2100, 2200);
    for (uint64_t i = 0; i <= STEP_STATS_CALLS; i++, span_count = 0)
        call_full(CALL_RUNTIME, "cudaMalloc", ++call_id, 3000 + i, 3001 + i, 0);
    step(7, 100000, STEP_TRAIN);
    settle();
    run("_Z3addi", 100010, 100100, 100200);
    step(8, 200000, STEP_TRAIN);
    settle();
    assert_false(measured(6)->has_host);
    assert_true(measured(7)->has_host);
}

static void test_whole_steps(void **state)
{
    for (int64_t number = 1; number <= 3; number++) {
        step(number, 1000 * (uint64_t)number, STEP_TRAIN);
        run("_Z3addi", 1000 * (uint64_t)number + 10, 1000 * (uint64_t)number + 100,
            1000 * (uint64_t)number + 400);
    }
    step(3, 3500, STEP_EVALUATION);
    settle();
    assert_false(measured(1)->is_whole); /* the first one */
    assert_true(measured(2)->is_whole);
    assert_false(measured(3)->is_whole); /* goes on */
    step(3, 5000, STEP_TRAIN);
    run("_Z3addi", 5010, 5100, 5200);
    step(4, 6000, STEP_TRAIN);
    run("_Z3addi", 6010, 6100, 6200);
    settle();
    assert_false(measured(3)->is_whole);
    session_spans_end(correlate, "exit");
    settle();
    assert_false(measured(4)->is_whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {METRICS_TEST(test_every_step_has_a_duration),
                                       METRICS_TEST(test_an_evaluation_is_no_time_of_its_step),
                                       METRICS_TEST(test_the_step_in_progress_at_the_start),
                                       METRICS_TEST(test_the_parts_of_a_step),
                                       METRICS_TEST(test_numbers_that_begin_again),
                                       METRICS_TEST(test_a_step_with_lost_records_is_not_measured),
                                       METRICS_TEST(test_losses_before_the_pipeline_knows_the_step),
                                       METRICS_TEST(test_many_kernels_in_any_order),
                                       METRICS_TEST(test_more_kernels_than_intervals),
                                       METRICS_TEST(test_a_program_that_runs_ahead),
                                       METRICS_TEST(test_a_sampled_step_behind_one_that_is_not),
                                       METRICS_TEST(test_the_parts_are_on_the_span_of_the_rank),
                                       METRICS_TEST(test_records_in_any_order),
                                       METRICS_TEST(test_exemplars_are_spans_of_the_rank),
                                       METRICS_TEST(test_a_missing_record),
                                       METRICS_TEST(test_a_step_without_work_is_counted),
                                       METRICS_TEST(test_a_client_sees_the_steps),
                                       METRICS_TEST(test_the_end_of_a_step_on_the_host),
                                       METRICS_TEST(test_the_time_of_the_host),
                                       METRICS_TEST(test_too_many_calls),
                                       METRICS_TEST(test_whole_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
