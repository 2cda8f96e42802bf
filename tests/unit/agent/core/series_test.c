/* From a metric's points to those of its streams. The test receives them instead of the outputs. */
#include "agent/core/metrics/series.h"

#include "model/metrics/histogram.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attr_key key_kernel = ATTR_KEY("cuda.kernel.short_name");
static const struct attr_key key_device = ATTR_KEY("cuda.device.id");

static struct {
    char name[64];
    uint8_t type;
    bool is_delta;
    struct metric_point point;
    uint64_t count, sum_ns; /* of a histogram */
} left[1000];
static uint32_t left_count;

void outputs_add_metrics(struct outputs *outputs, const struct metric_points *points)
{
    (void)outputs;
    for (uint32_t i = 0; i < points->count; i++, left_count++) {
        snprintf(left[left_count].name, sizeof left->name, "%s", points->info->name);
        left[left_count].type = points->info->type;
        left[left_count].is_delta = points->is_delta;
        left[left_count].point = points->points[i];
        if (points->info->type != METRIC_HISTOGRAM)
            continue;
        left[left_count].count = points->points[i].histogram->count;
        left[left_count].sum_ns = points->points[i].histogram->sum_ns;
    }
}

static struct streams *streams;
static struct series *series;
static struct view views[2];

static void make(size_t count)
{
    for (size_t i = 0; i < count; i++)
        views[i].instrument_type = ANY_METRIC_TYPE;
    left_count = 0;
    assert_int_equal(streams_create(views, count, HISTOGRAM_EXPLICIT, &streams), STATUS_OK);
    assert_int_equal(series_create(streams, &series), STATUS_OK);
}

static int teardown(void **state)
{
    series_destroy(series);
    free(streams);
    memset(views, 0, sizeof views);
    return 0;
}

static void put(struct metric_point *point, const char *kernel, int64_t device)
{
    point->attrs[0] = (struct span_attr){
        .key = &key_kernel, .type = ATTR_STRING, .s = kernel, .len = (uint32_t)strlen(kernel)};
    point->attrs[1] = (struct span_attr){.key = &key_device, .type = ATTR_INT, .i = device};
    point->attr_count = 2;
}

static void add(enum metric metric, const char *kernel, int64_t device, uint64_t value)
{
    struct metric_point point = {.i = value};
    put(&point, kernel, device);
    series_add(series, NULL, metric, false, &point, 1);
}

static void add_duration(const char *kernel, int64_t device, uint64_t duration_ns)
{
    const struct metric_streams *of = &streams->of[METRIC_KERNEL_DURATION];
    struct histogram *histogram;
    assert_int_equal(histogram_create(of->shapes, of->shape_count, &histogram), STATUS_OK);
    for (struct histogram *h = histogram; h; h = h->next)
        histogram_add(h, duration_ns);
    struct metric_point point = {.histogram = histogram};
    put(&point, kernel, device);
    series_add(series, NULL, METRIC_KERNEL_DURATION, true, &point, 1);
    histogram_destroy(histogram); /* already checked */
}

static void test_without_views_all_leaves_as_it_is(void **state)
{
    make(0);
    add(METRIC_CALLS, "a", 0, 7);
    add_duration("a", 1, 5000);
    series_end(series, NULL, METRIC_CALLS, false);
    assert_int_equal(left_count, 2);
    assert_string_equal(left[0].name, "cuda.calls");
    assert_int_equal(left[0].point.i, 7);
    assert_int_equal(left[0].point.attr_count, 2);
    assert_string_equal(left[1].name, "cuda.kernel.duration");
    assert_int_equal(left[1].sum_ns, 5000);
    assert_true(left[1].is_delta);
}

static void test_what_is_the_same_without_an_attribute_is_one(void **state)
{
    char *denied[] = {"cuda.kernel.*"};
    views[0] = (struct view){.keys.deny = {1, denied}};
    make(1);
    for (int export = 0; export < 2; export ++) {
        left_count = 0;
        add_duration("a", 0, 5000);
        add_duration("b", 1, 70);
        add_duration("c", 0, 300);
        assert_int_equal(left_count, 0);
        series_end(series, NULL, METRIC_KERNEL_DURATION, true);
        assert_int_equal(left_count, 2);
        assert_int_equal(left[0].count, 2);
        assert_int_equal(left[0].sum_ns, 5300);
        assert_int_equal(left[0].point.attr_count, 1);
        assert_ptr_equal(left[0].point.attrs[0].key, &key_device);
        assert_int_equal(left[1].sum_ns, 70);
    }
    left_count = 0;
    add_duration("b", 1, 9);
    series_end(series, NULL, METRIC_KERNEL_DURATION, true);
    assert_int_equal(left_count, 1);
    assert_int_equal(left[0].sum_ns, 9);
}

static void test_sums_add_up_and_gauges_have_the_last_value(void **state)
{
    char *allowed[] = {"cuda.device.id"};
    views[0] = (struct view){.keys.allow = {1, allowed}};
    make(1);
    add(METRIC_CALLS, "a", 0, 3);
    add(METRIC_CALLS, "b", 0, 4);
    series_end(series, NULL, METRIC_CALLS, false);
    add(METRIC_MEMORY_PEAK, "a", 0, 3);
    add(METRIC_MEMORY_PEAK, "b", 0, 4);
    series_end(series, NULL, METRIC_MEMORY_PEAK, false);
    struct metric_point point = {.d = 0.5};
    series_add(series, NULL, METRIC_HW_ENERGY, false, &point, 1);
    series_add(series, NULL, METRIC_HW_ENERGY, false, &point, 1);
    series_end(series, NULL, METRIC_HW_ENERGY, false);
    assert_int_equal(left_count, 3);
    assert_int_equal(left[0].point.i, 7);
    assert_int_equal(left[1].point.i, 4);
    assert_true(left[2].point.d == 1.0);
}

/* The first series keep their places in later exports. */
static void test_series_beyond_the_limit_are_one(void **state)
{
    views[0] = (struct view){.series_max = 3};
    make(1);
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int export = 0; export < 2; export ++) {
        left_count = 0;
        for (int i = 0; i < 4; i++)
            add(METRIC_CALLS, names[export ? 3 - i : i], 0, 1u << (export ? 3 - i : i));
        series_end(series, NULL, METRIC_CALLS, false);
        assert_int_equal(left_count, 3);
        assert_string_equal(left[0].point.attrs[0].s, "a");
        assert_int_equal(left[0].point.i, 1);
        assert_string_equal(left[1].point.attrs[0].s, "b");
        assert_int_equal(left[2].point.attr_count, 1);
        assert_string_equal(left[2].point.attrs[0].key->name, "otel.metric.overflow");
        assert_int_equal(left[2].point.i, 12);
    }
}

/* Two attributes that are parts of one text: a hash of their concatenated bytes is the same. */
static void test_series_are_told_apart_by_their_attributes(void **state)
{
    const struct attr_key *second = &key_device;
    int64_t device = 5;
    char text[1 + sizeof second + sizeof device] = "a";
    memcpy(text + 1, &second, sizeof second);
    memcpy(text + 1 + sizeof second, &device, sizeof device);
    views[0] = (struct view){.series_max = 10};
    make(1);
    add(METRIC_CALLS, "a", device, 1);
    struct metric_point point = {.i = 2, .attr_count = 1};
    point.attrs[0] =
        (struct span_attr){.key = &key_kernel, .type = ATTR_STRING, .s = text, .len = sizeof text};
    series_add(series, NULL, METRIC_CALLS, false, &point, 1);
    series_end(series, NULL, METRIC_CALLS, false);
    assert_int_equal(left_count, 2);
    assert_int_equal(left[0].point.i, 1);
    assert_int_equal(left[1].point.i, 2);
}

/* They need more space than a series has. */
static void test_series_with_very_long_attributes_are_with_the_others(void **state)
{
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    views[0] = (struct view){.series_max = 10};
    make(1);
    add(METRIC_CALLS, "a", 0, 1);
    add(METRIC_CALLS, text, 0, 2);
    series_end(series, NULL, METRIC_CALLS, false);
    assert_int_equal(left_count, 2);
    assert_ptr_equal(left[1].point.attrs[0].key, &key_metric_overflow);
    assert_int_equal(left[1].point.i, 2);
}

static void test_a_limit_of_one_is_all_together(void **state)
{
    views[0] = (struct view){.series_max = 1};
    make(1);
    add_duration("a", 0, 1);
    add_duration("b", 0, 2);
    series_end(series, NULL, METRIC_KERNEL_DURATION, true);
    assert_int_equal(left_count, 1);
    assert_int_equal(left[0].sum_ns, 3);
    assert_ptr_equal(left[0].point.attrs[0].key, &key_metric_overflow);
}

static void test_more_series_than_leave_at_once_all_leave(void **state)
{
    char names[STREAM_OTHERS_MAX + 50][8];
    uint64_t sum = 0;
    views[0] = (struct view){.series_max = 100000};
    make(1);
    for (uint64_t i = 0; i < STREAM_OTHERS_MAX + 50; i++) {
        snprintf(names[i], sizeof *names, "%d", (int)i);
        add(METRIC_CALLS, names[i], 0, i + 1);
    }
    series_end(series, NULL, METRIC_CALLS, false);
    assert_int_equal(left_count, STREAM_OTHERS_MAX);
    for (uint32_t i = 0; i < left_count; i++)
        sum += left[i].point.i;
    assert_int_equal(sum, (STREAM_OTHERS_MAX + 50) * (STREAM_OTHERS_MAX + 51) / 2);
}

static void test_a_metric_can_be_two_streams(void **state)
{
    views[0] = (struct view){.instrument_name = "cuda.kernel.duration", .aggregation = AGGREGATION_SUM};
    views[1] = (struct view){.instrument_name = "cuda.kernel.duration",
                             .aggregation = AGGREGATION_SHAPE,
                             .shape = histogram_default_exponential};
    views[0].name = "total";
    make(2);
    add_duration("a", 0, 5000);
    assert_int_equal(left_count, 2);
    assert_string_equal(left[0].name, "total");
    assert_int_equal(left[0].type, METRIC_SUM);
    assert_int_equal(left[0].point.i, 5000);
    assert_string_equal(left[1].name, "cuda.kernel.duration");
    assert_int_equal(left[1].count, 1);
}

static void test_what_is_dropped_does_not_leave(void **state)
{
    views[0] = (struct view){.instrument_name = "cuda.calls", .aggregation = AGGREGATION_DROP};
    make(1);
    add(METRIC_CALLS, "a", 0, 3);
    series_end(series, NULL, METRIC_CALLS, false);
    add(METRIC_CALL_ERRORS, "a", 0, 3);
    assert_int_equal(left_count, 1);
    assert_string_equal(left[0].name, "cuda.call.errors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_without_views_all_leaves_as_it_is, teardown),
        cmocka_unit_test_teardown(test_what_is_the_same_without_an_attribute_is_one, teardown),
        cmocka_unit_test_teardown(test_sums_add_up_and_gauges_have_the_last_value, teardown),
        cmocka_unit_test_teardown(test_series_beyond_the_limit_are_one, teardown),
        cmocka_unit_test_teardown(test_series_are_told_apart_by_their_attributes, teardown),
        cmocka_unit_test_teardown(test_series_with_very_long_attributes_are_with_the_others, teardown),
        cmocka_unit_test_teardown(test_a_limit_of_one_is_all_together, teardown),
        cmocka_unit_test_teardown(test_more_series_than_leave_at_once_all_leave, teardown),
        cmocka_unit_test_teardown(test_a_metric_can_be_two_streams, teardown),
        cmocka_unit_test_teardown(test_what_is_dropped_does_not_leave, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
