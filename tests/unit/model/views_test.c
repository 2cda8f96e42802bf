/* Which metrics a view selects, and the streams that views create. config_test.c tests the file's syntax. */
#include "model/metrics/views.h"

#include "model/metrics/histogram.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct streams *streams;

static void make(const struct view *views, size_t count, enum histogram_form form)
{
    assert_int_equal(streams_create(views, count, form, &streams), STATUS_OK);
}

static void test_without_views_each_metric_is_one_stream(void **state)
{
    make(NULL, 0, HISTOGRAM_EXPONENTIAL);
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        const struct metric_streams *of = &streams->of[metric];
        bool is_histogram = metric_table[metric].type == METRIC_HISTOGRAM;
        assert_int_equal(of->count, 1);
        assert_int_equal(of->shape_count, is_histogram);
        assert_string_equal(of->streams[0].info.name, metric_table[metric].name);
        assert_false(of->streams[0].is_merged);
        if (is_histogram)
            assert_ptr_equal(of->shapes[0], &histogram_default_exponential);
    }
    assert_int_equal(streams_bytes(streams), 0);
    free(streams);
}

static void test_requests_to_model_servers_have_buckets_of_their_own(void **state)
{
    static const struct {
        enum metric metric;
        unsigned count;
        double first, last;
    } wanted[] = {{METRIC_REQUEST_DURATION, 14, 0.01, 81.92},
                  {METRIC_REQUEST_FIRST_TOKEN, 16, 0.001, 10},
                  {METRIC_REQUEST_PER_TOKEN, 13, 0.01, 2.5},
                  {METRIC_REQUEST_QUEUE, 16, 0.001, 10},
                  {METRIC_ITERATION_DURATION, HISTOGRAM_BOUNDS, 1e-6, 10}};
    make(NULL, 0, HISTOGRAM_EXPLICIT);
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct histogram_shape *shape = streams->of[wanted[i].metric].shapes[0];
        struct histogram_shape again = {.form = HISTOGRAM_EXPLICIT};
        assert_int_equal(shape->bound_count, wanted[i].count);
        assert_true(shape->bounds[0] == wanted[i].first);
        assert_true(shape->bounds[shape->bound_count - 1] == wanted[i].last);
        assert_int_equal(histogram_set_bounds(&again, shape->bounds, shape->bound_count), STATUS_OK);
        assert_memory_equal(again.limits_ns, shape->limits_ns, sizeof again.limits_ns);
    }
    free(streams);
}

static unsigned selected(const struct view *view)
{
    unsigned count = 0;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
        count += view_selects(view, metric);
    return count;
}

static void test_a_view_selects_by_all_that_it_names(void **state)
{
    struct view view = {.instrument_type = ANY_METRIC_TYPE};
    assert_int_equal(selected(&view), METRIC_COUNT);
    view.instrument_name = "cuda.mem*";
    assert_int_equal(selected(&view), 6);
    view.unit = "By";
    assert_int_equal(selected(&view), 4);
    view.instrument_name = "cuda.memory.p?ak";
    assert_int_equal(selected(&view), 1);
    view.instrument_type = METRIC_GAUGE;
    assert_int_equal(selected(&view), 1);
    view.instrument_type = METRIC_SUM;
    assert_int_equal(selected(&view), 0);
    view.instrument_name = "CUDA.memory.peak";
    assert_int_equal(selected(&view), 0);
    view = (struct view){.instrument_type = ANY_METRIC_TYPE, .selects_nothing = true};
    assert_int_equal(selected(&view), 0);
}

static void test_what_can_not_be_is_told(void **state)
{
    static const struct {
        enum aggregation aggregation;
        bool can_sum, can_gauge, can_histogram;
    } cases[] = {{AGGREGATION_DEFAULT, true, true, true},
                 {AGGREGATION_DROP, true, true, true},
                 {AGGREGATION_SHAPE, false, false, true},
                 {AGGREGATION_LAST_VALUE, false, true, false},
                 {AGGREGATION_SUM, true, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct view view = {.aggregation = cases[i].aggregation};
        assert_int_equal(!view_obstacle(&view, METRIC_CALLS), cases[i].can_sum);
        assert_int_equal(!view_obstacle(&view, METRIC_QUEUE_SIZE), cases[i].can_sum);
        assert_int_equal(!view_obstacle(&view, METRIC_MEMORY_PEAK), cases[i].can_gauge);
        assert_int_equal(!view_obstacle(&view, METRIC_KERNEL_DURATION), cases[i].can_histogram);
    }
}

static void test_views_make_streams(void **state)
{
    char *excluded[] = {"hw.id"};
    struct view views[] = {
        {.instrument_name = "cuda.kernel.duration",
         .instrument_type = ANY_METRIC_TYPE,
         .name = "kernels",
         .description = "Kernels.",
         .aggregation = AGGREGATION_SUM},
        {.instrument_name = "cuda.kernel.*",
         .instrument_type = ANY_METRIC_TYPE,
         .aggregation = AGGREGATION_SHAPE,
         .shape = histogram_default_exponential,
         .keys.deny = {1, excluded}},
        {.instrument_name = "cuda.launch*",
         .instrument_type = ANY_METRIC_TYPE,
         .aggregation = AGGREGATION_DROP},
        {.instrument_name = "cuda.calls", .instrument_type = ANY_METRIC_TYPE, .series_max = 5},
        {.instrument_name = "cuda.call.errors", .instrument_type = ANY_METRIC_TYPE, .series_max = 5000},
    };
    make(views, sizeof views / sizeof *views, HISTOGRAM_EXPLICIT);
    const struct metric_streams *kernels = &streams->of[METRIC_KERNEL_DURATION];
    assert_int_equal(kernels->count, 2);
    assert_int_equal(kernels->shape_count, 2);
    assert_string_equal(kernels->streams[0].info.name, "kernels");
    assert_string_equal(kernels->streams[0].info.description, "Kernels.");
    assert_string_equal(kernels->streams[0].info.unit, "s");
    assert_int_equal(kernels->streams[0].info.type, METRIC_SUM);
    assert_int_equal(kernels->streams[0].info.value, METRIC_SECONDS);
    assert_false(kernels->streams[0].is_merged);
    assert_string_equal(kernels->streams[1].info.name, "cuda.kernel.duration");
    assert_ptr_equal(kernels->shapes[kernels->streams[1].shape], &views[1].shape);
    assert_true(kernels->streams[1].is_merged);
    assert_int_equal(kernels->streams[1].series_max, STREAM_SERIES_MAX);
    assert_int_equal(streams->of[METRIC_LAUNCHES].count, 0);
    assert_int_equal(streams->of[METRIC_LAUNCH_LATENCY].shape_count, 0);
    assert_int_equal(streams->of[METRIC_CALLS].streams[0].series_max, 5);
    assert_int_equal(streams->of[METRIC_CALL_ERRORS].streams[0].series_max, STREAM_OTHERS_MAX);
    assert_int_equal(streams->of[METRIC_CALL_TIME].count, 1);
    uint64_t series = STREAM_SERIES_MAX * (STREAM_SERIES_BYTES + sizeof(struct histogram));
    assert_true(streams_bytes(streams) > series + LIVE_STATS_KERNELS_MAX * sizeof(struct histogram));
    free(streams);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_views_each_metric_is_one_stream),
        cmocka_unit_test(test_requests_to_model_servers_have_buckets_of_their_own),
        cmocka_unit_test(test_a_view_selects_by_all_that_it_names),
        cmocka_unit_test(test_what_can_not_be_is_told),
        cmocka_unit_test(test_views_make_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
