#include "agent/correlate/totals/session_overhead.h"

#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct agent_overhead stats;
static struct session_overhead cost;
static struct span span;
static void (*measured)(struct agent_overhead *);

static void take(struct agent_overhead *to)
{
    *to = stats;
}

static int setup(void **state)
{
    counters_reset();
    stats = (struct agent_overhead){.callback_ns = 0};
    cost = (struct session_overhead){0};
    measured = take;
    return 0;
}

static void write_span(void)
{
    memset(&span, 0, sizeof span);
    session_overhead_write(&cost, measured, &span);
}

/* -1: not present. */
static int64_t attr(const char *name)
{
    for (uint32_t i = 0; i < span.attr_count; i++)
        if (strcmp(span.attrs[i].key->name, name) == 0)
            return span.attrs[i].i;
    return -1;
}

static void add(uint64_t kind, uint64_t ns)
{
    struct activity_record record = {.start_ns = 1000, .end_ns = 1000 + ns};
    session_overhead_add(&record, kind);
}

static void test_cuptis_time_by_kind(void **state)
{
    add(65536, 1);
    add(131072, 20);
    add(131072, 30);
    add(196608, 400);
    add(458752, 5000);
    add(524288, 60000);
    add(0, 70000);
    write_span();
    assert_int_equal(attr("cuspan.cupti.flush_time"), 1);
    assert_int_equal(attr("cuspan.cupti.instrumentation_time"), 50);
    assert_int_equal(attr("cuspan.cupti.resource_time"), 400);
    assert_int_equal(attr("cuspan.cupti.request_time"), 5000);
    assert_int_equal(attr("cuspan.cupti.other_time"), 130000);
}

static void test_the_drivers_own_work_is_no_cost_of_tracing(void **state)
{
    add(1, 10);      /* driver_compiler */
    add(262144, 10); /* runtime_triggered_module_loading */
    add(327680, 10); /* lazy_function_loading */
    add(393216, 10); /* command_buffer_full */
    measured = NULL;
    write_span();
    assert_int_equal(span.attr_count, 0);
}

static void test_each_span_has_what_came_since(void **state)
{
    stats = (struct agent_overhead){.callback_ns = 1000, .callback_calls = 2, .pipeline_ns = 50};
    add(65536, 7);
    write_span();
    assert_int_equal(attr("cuspan.own.callback_time"), 1000);
    assert_int_equal(attr("cuspan.own.callback_calls"), 2);
    assert_int_equal(attr("cuspan.own.pipeline_time"), 50);
    assert_int_equal(attr("cuspan.own.sender_time"), 0);
    stats = (struct agent_overhead){
        .callback_ns = 1500, .callback_calls = 3, .pipeline_ns = 90, .sender_ns = 4, .control_ns = 5};
    add(65536, 8);
    write_span();
    assert_int_equal(attr("cuspan.own.callback_time"), 500);
    assert_int_equal(attr("cuspan.own.callback_calls"), 1);
    assert_int_equal(attr("cuspan.own.pipeline_time"), 40);
    assert_int_equal(attr("cuspan.own.sender_time"), 4);
    assert_int_equal(attr("cuspan.own.control_time"), 5);
    assert_int_equal(attr("cuspan.cupti.flush_time"), 8);
}

/* An estimate may decrease: the spans' sum is never more than its maximum. */
static void test_an_estimate_that_falls(void **state)
{
    int64_t sum = 0;
    const uint64_t estimates[] = {1000, 900, 950, 1200};
    for (size_t i = 0; i < 4; i++) {
        stats = (struct agent_overhead){.callback_ns = estimates[i], .callback_calls = i + 1};
        write_span();
        assert_true(attr("cuspan.own.callback_time") >= 0);
        sum += attr("cuspan.own.callback_time");
    }
    assert_int_equal(sum, 1200);
}

static void test_unknown_is_not_zero(void **state)
{
    write_span();
    assert_int_equal(attr("cuspan.own.callback_time"), -1);
    assert_int_equal(attr("cuspan.own.callback_calls"), -1);
    assert_int_equal(attr("cuspan.own.pipeline_time"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_cuptis_time_by_kind, setup),
        cmocka_unit_test_setup(test_the_drivers_own_work_is_no_cost_of_tracing, setup),
        cmocka_unit_test_setup(test_each_span_has_what_came_since, setup),
        cmocka_unit_test_setup(test_an_estimate_that_falls, setup),
        cmocka_unit_test_setup(test_unknown_is_not_zero, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
