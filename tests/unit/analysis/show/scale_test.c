#include "analysis/show/scale.h"

#include "support/test.h"

#include <math.h>

#define SPANS_MAX 64

static struct trace_span spans[SPANS_MAX];

/* A trace from pairs of start and end. */
static struct trace trace_from(const uint64_t *times, size_t count)
{
    struct trace trace = {.spans = spans, .span_count = count, .start_ns = UINT64_MAX};
    for (size_t i = 0; i < count; i++) {
        spans[i] = (struct trace_span){.start_ns = times[2 * i], .end_ns = times[2 * i + 1]};
        trace.start_ns = times[2 * i] < trace.start_ns ? times[2 * i] : trace.start_ns;
        trace.end_ns = times[2 * i + 1] > trace.end_ns ? times[2 * i + 1] : trace.end_ns;
    }
    return trace;
}

/* A slow creation of the context, then ten short spans. */
static const uint64_t late_work[] = {0,         200300000, 0,         200000000, 200000000,
                                     200030000, 200030000, 200060000, 200060000, 200090000,
                                     200090000, 200120000, 200120000, 200150000, 200150000,
                                     200180000, 200180000, 200210000, 200210000, 200240000};

static void test_work_behind_a_long_wait_gets_the_room(void **state)
{
    struct trace trace = trace_from(late_work, sizeof late_work / sizeof *late_work / 2);
    struct scale scale;
    scale_init(&scale, &trace, 60, false);
    assert_int_equal(scale.cut_count, 1);
    assert_true(scale.cuts[0].from_ns == 0 && scale.cuts[0].to_ns == 200000000);
    assert_true(scale_position(&scale, 200000000) == SCALE_CUT_CELLS);
    double middle = scale_position(&scale, 200150000);
    assert_true(middle > 30 && middle < 32);
    assert_int_equal(scale_cut_at(&scale, 0), 0);
    assert_int_equal(scale_cut_at(&scale, SCALE_CUT_CELLS), -1);
    assert_int_equal(scale_segment_cell(&scale, 0), SCALE_CUT_CELLS);
}

static void test_linear_means_linear(void **state)
{
    struct trace trace = trace_from(late_work, sizeof late_work / sizeof *late_work / 2);
    struct scale scale;
    scale_init(&scale, &trace, 60, true);
    assert_int_equal(scale.cut_count, 0);
    assert_true(fabs(scale_position(&scale, 100150000) - 30) < 0.01);
}

static void test_evenly_spread_and_tiny_traces_are_not_cut(void **state)
{
    uint64_t even[2 * 20];
    for (size_t i = 0; i < 20; i++) {
        even[2 * i] = i * 1000;
        even[2 * i + 1] = i * 1000 + 900;
    }
    struct trace trace = trace_from(even, 20);
    struct scale scale;
    scale_init(&scale, &trace, 60, false);
    assert_int_equal(scale.cut_count, 0);
    const uint64_t three[] = {0, 1000, 1000, 1010, 1010, 1020};
    trace = trace_from(three, 3);
    scale_init(&scale, &trace, 60, false);
    assert_int_equal(scale.cut_count, 0);
}

static void test_positions_never_fall_and_stay_inside(void **state)
{
    struct trace trace = trace_from(late_work, sizeof late_work / sizeof *late_work / 2);
    struct scale scale;
    scale_init(&scale, &trace, 37, false);
    double last = 0;
    for (uint64_t ns = 0; ns <= 200400000; ns += 10007) {
        double position = scale_position(&scale, ns);
        assert_true(position >= last && position <= 37);
        last = position;
    }
    assert_true(fabs(scale_position(&scale, trace.end_ns) - 37) < 1e-6);
}

static void test_a_trace_without_length_has_a_scale(void **state)
{
    const uint64_t instant[] = {5, 5};
    struct trace trace = trace_from(instant, 1);
    struct scale scale;
    scale_init(&scale, &trace, 40, false);
    assert_true(scale_position(&scale, 5) == 0);
    assert_true(scale_step_ns(&scale, 9) > 0);
}

static void test_steps_are_round(void **state)
{
    struct scale scale = {.ns_per_cell = 123};
    assert_int_equal(scale_step_ns(&scale, 9), 2000);
    scale.ns_per_cell = 0.01;
    assert_int_equal(scale_step_ns(&scale, 9), 1);
    scale.ns_per_cell = 1e18;
    assert_true(scale_step_ns(&scale, 1) >= 1000000000000000000ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_behind_a_long_wait_gets_the_room),
        cmocka_unit_test(test_linear_means_linear),
        cmocka_unit_test(test_evenly_spread_and_tiny_traces_are_not_cut),
        cmocka_unit_test(test_positions_never_fall_and_stay_inside),
        cmocka_unit_test(test_a_trace_without_length_has_a_scale),
        cmocka_unit_test(test_steps_are_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
