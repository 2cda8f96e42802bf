#include "agent/correlate/totals/program_stats.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "model/metrics/histogram.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE_NS 1700000000000000000ull

static struct allocations *allocations;
static struct program_stats *store;
static struct devices devices;
static struct live_stats_view view;
static struct streams *streams;
static struct view views[2];
static size_t view_count;

static void make_with(bool has_metrics, enum exemplar_filter exemplars)
{
    assert_int_equal(allocations_create(&allocations), STATUS_OK);
    struct program_stats_options options = {
        .allocations = allocations, .has_metrics = has_metrics, .exemplars = exemplars};
    counters_reset();
    assert_int_equal(streams_create(views, view_count, HISTOGRAM_EXPLICIT, &streams), STATUS_OK);
    options.streams = streams;
    assert_int_equal(program_stats_create(&options, &store), STATUS_OK);
}

static void make(bool has_metrics)
{
    make_with(has_metrics, EXEMPLAR_TRACE_BASED);
}

static void done(void)
{
    program_stats_destroy(store);
    allocations_destroy(allocations);
    free(streams);
    store = NULL;
    view_count = 0;
}

static void add_work(uint16_t kind, const char *name, uint32_t device, uint64_t start, uint64_t length)
{
    static uint64_t number;
    struct activity_record record = {.kind = kind,
                                     .device_id = device,
                                     .context_id = device + 1,
                                     .start_ns = BASE_NS + start,
                                     .end_ns = BASE_NS + start + length};
    struct kernel_name kernel = {
        .text = name, .text_len = name ? (uint32_t)strlen(name) : 0, .number = ++number};
    struct gpu_work work = {.record = &record,
                            .name = name ? &kernel : NULL,
                            .call_start_ns = BASE_NS + start - 500,
                            .bytes = 64,
                            .copy_kind = 2};
    program_stats_add_work(store, &work);
}

static void test_work_adds_up_by_device_and_name(void **state)
{
    make(true);
    assert_true(program_stats_tick(store, 0));
    add_work(ACTIVITY_KERNEL, "gemm", 0, 1000, 100);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 1050, 100);
    add_work(ACTIVITY_KERNEL, "relu", 0, 2000, 10);
    add_work(ACTIVITY_KERNEL, "gemm", 1, 1000, 1000);
    add_work(ACTIVITY_MEMCPY, NULL, 0, 3000, 20);
    add_work(ACTIVITY_MEMSET, NULL, 0, 4000, 5);
    const struct live_stats *stats = program_stats_read(store);
    const struct device_stats *device = stats->devices[0];
    assert_int_equal(device->kernels.count, 3);
    assert_int_equal(device->kernels.total_ns, 210);
    assert_int_equal(device->busy_ns, 150 + 10 + 20 + 5);
    assert_int_equal(device->copies[2].sum.count, 1);
    assert_int_equal(device->copies[2].bytes, 64);
    assert_int_equal(device->fills.sum.total_ns, 5);
    assert_int_equal(device->latency->count, 3);
    assert_int_equal(device->latency->sum_ns, 1500);
    assert_int_equal(stats->kernel_count, 3);
    assert_int_equal(stats->devices[1]->kernels.count, 1);
    program_stats_snapshot(store, &devices, &view);
    assert_int_equal(view.device_count, 2);
    assert_int_equal(view.kernel_count, 2);
    assert_string_equal(view.kernels[0].name, "gemm");
    assert_int_equal(view.kernels[0].sum.count, 3);
    assert_int_equal(view.kernels[0].sum.total_ns, 1200);
    done();
}

static void test_names_beyond_the_bound_count_together(void **state)
{
    char name[400];
    make(true);
    for (unsigned i = 0; i < LIVE_STATS_KERNELS_MAX + 20; i++) {
        snprintf(name, sizeof name, "kernel_%u", i);
        add_work(ACTIVITY_KERNEL, name, 0, i, 1);
    }
    add_work(ACTIVITY_KERNEL, "kernel_0", 0, 9999, 1);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    const struct live_stats *stats = program_stats_read(store);
    assert_int_equal(stats->kernel_count, LIVE_STATS_KERNELS_MAX);
    assert_int_equal(stats->devices[0]->others.sum.count, 20);
    assert_int_equal(stats->kernels[0]->sum.count, 2);
    assert_int_equal(counter_get(COUNTER_kernels_unnamed), 20);
    program_stats_snapshot(store, &devices, &view);
    assert_int_equal(view.kernel_count, LIVE_STATS_VIEW_KERNELS);
    assert_int_equal(view.others.count, 20 + LIVE_STATS_KERNELS_MAX - LIVE_STATS_VIEW_KERNELS);
    done();
}

static void test_names_that_are_cut_alike_are_one(void **state)
{
    char name[400];
    make(true);
    memset(name, 'x', sizeof name);
    name[300] = 0;
    add_work(ACTIVITY_KERNEL, name, 0, 0, 1);
    name[250] = 0;
    add_work(ACTIVITY_KERNEL, name, 0, 0, 1);
    assert_int_equal(program_stats_read(store)->kernel_count, 1);
    assert_int_equal(strlen(program_stats_read(store)->kernels[0]->name), LIVE_STATS_NAME_BYTES - 1);
    done();
}

static void test_nothing_is_counted_until_somebody_looks(void **state)
{
    make(false);
    assert_false(program_stats_tick(store, 100));
    program_stats_snapshot(store, &devices, &view);
    assert_false(view.is_on);
    program_stats_lease(store, 100, 200);
    assert_true(program_stats_tick(store, 150));
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 7);
    assert_null(program_stats_read(store)->kernels[0]->histogram);
    program_stats_lease(store, 160, 260); /* continues */
    program_stats_snapshot(store, &devices, &view);
    assert_true(view.is_on);
    assert_int_equal(view.devices[0].kernels, 1);
    assert_false(program_stats_tick(store, 260));
    program_stats_lease(store, 300, 400); /* starts again */
    program_stats_snapshot(store, &devices, &view);
    assert_int_equal(view.device_count, 0);
    assert_int_equal(view.kernel_count, 0);
    done();
}

static void test_an_exemplar_is_of_the_work_before_it(void **state)
{
    static const uint8_t trace_id[16] = {1}, span_id[8] = {2};
    make(true);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1500);
    program_stats_exemplify(store, trace_id, span_id);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 5000, 3000); /* not sampled */
    struct histogram *h = program_stats_read(store)->kernels[0]->histogram;
    assert_int_equal(h->exemplars[1].value_ns, 1500);
    assert_int_equal(h->exemplars[1].time_ns, BASE_NS + 1500);
    assert_memory_equal(h->exemplars[1].trace_id, trace_id, 16);
    assert_int_equal(h->exemplars[2].time_ns, 0);
    assert_int_equal(program_stats_read(store)->devices[0]->latency->exemplars[0].value_ns, 500);
    program_stats_begin_interval(store, false);
    assert_int_equal(h->exemplars[1].time_ns, 0);
    assert_int_equal(h->count, 2);
    program_stats_begin_interval(store, true);
    assert_int_equal(h->count, 0);
    assert_int_equal(program_stats_read(store)->kernels[0]->sum.count, 2);
    done();
}

static void test_exemplars_of_all_work_keep_those_with_a_span(void **state)
{
    static const uint8_t trace_id[16] = {1}, span_id[8] = {2};
    make_with(true, EXEMPLAR_ALWAYS_ON);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1500);
    const struct exemplar *exemplar = &program_stats_read(store)->kernels[0]->histogram->exemplars[1];
    assert_int_equal(exemplar->value_ns, 1500);
    assert_int_equal(exemplar->time_ns, BASE_NS + 1500);
    assert_false(exemplar_has_span(exemplar));
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1600);
    assert_int_equal(exemplar->value_ns, 1600);
    program_stats_exemplify(store, trace_id, span_id);
    assert_true(exemplar_has_span(exemplar));
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1700); /* not sampled */
    assert_int_equal(exemplar->value_ns, 1600);
    program_stats_begin_interval(store, false);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1800);
    assert_int_equal(exemplar->value_ns, 1800);
    assert_false(exemplar_has_span(exemplar));
    done();
}

static void test_there_are_exemplars_of_nothing_on_request(void **state)
{
    static const uint8_t trace_id[16] = {1}, span_id[8] = {2};
    make_with(true, EXEMPLAR_ALWAYS_OFF);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1500);
    program_stats_exemplify(store, trace_id, span_id);
    assert_int_equal(program_stats_read(store)->kernels[0]->histogram->exemplars[1].time_ns, 0);
    done();
}

static void test_a_duration_is_counted_in_each_shape(void **state)
{
    static const uint8_t trace_id[16] = {1}, span_id[8] = {2};
    static const double bounds[] = {1e-6};
    for (int i = 0; i < 2; i++)
        views[i] = (struct view){.instrument_name = "cuda.kernel.duration",
                                 .instrument_type = ANY_METRIC_TYPE,
                                 .aggregation = AGGREGATION_SHAPE,
                                 .shape = histogram_default_exponential};
    views[1].shape = histogram_default_explicit;
    assert_int_equal(histogram_set_bounds(&views[1].shape, bounds, 1), STATUS_OK);
    view_count = 2;
    make(true);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1500);
    program_stats_exemplify(store, trace_id, span_id);
    struct histogram *first = program_stats_read(store)->kernels[0]->histogram;
    assert_int_equal(first->used, 1);
    assert_int_equal(first->next->buckets[1], 1);
    assert_null(first->next->next);
    assert_int_equal(first->exemplars[1].value_ns, 1500);
    assert_int_equal(first->next->exemplars[1].value_ns, 1500);
    assert_null(program_stats_read(store)->devices[0]->latency->next);
    program_stats_begin_interval(store, true);
    assert_int_equal(first->next->count, 0);
    done();
}

static void test_of_what_is_dropped_there_is_no_histogram(void **state)
{
    views[0] = (struct view){.instrument_name = "cuda.*.duration",
                             .instrument_type = ANY_METRIC_TYPE,
                             .aggregation = AGGREGATION_DROP};
    view_count = 1;
    make(true);
    add_work(ACTIVITY_KERNEL, "gemm", 0, 0, 1500);
    add_work(ACTIVITY_MEMCPY, NULL, 0, 0, 1500);
    struct live_stats *stats = program_stats_read(store);
    assert_null(stats->kernels[0]->histogram);
    assert_null(stats->devices[0]->copies[2].histogram);
    assert_int_equal(stats->devices[0]->copies[2].bytes, 64);
    assert_non_null(stats->devices[0]->latency);
    program_stats_begin_interval(store, true);
    done();
}

static void test_calls_are_told_apart(void **state)
{
    struct call_info launch = {.group = CALL_GROUP_LAUNCH}, sync = {.group = CALL_GROUP_SYNC};
    struct call_record call = {.start_ns = 10, .end_ns = 30};
    make(true);
    program_stats_add_call(store, &launch, &call);
    call.result = 1;
    program_stats_add_call(store, &sync, &call);
    program_stats_snapshot(store, &devices, &view);
    assert_int_equal(view.calls, 2);
    assert_int_equal(view.errors, 1);
    assert_int_equal(view.launches, 1);
    assert_int_equal(view.call_ns, 40);
    assert_int_equal(view.waiting_ns, 20);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_adds_up_by_device_and_name),
        cmocka_unit_test(test_names_beyond_the_bound_count_together),
        cmocka_unit_test(test_names_that_are_cut_alike_are_one),
        cmocka_unit_test(test_nothing_is_counted_until_somebody_looks),
        cmocka_unit_test(test_an_exemplar_is_of_the_work_before_it),
        cmocka_unit_test(test_exemplars_of_all_work_keep_those_with_a_span),
        cmocka_unit_test(test_there_are_exemplars_of_nothing_on_request),
        cmocka_unit_test(test_a_duration_is_counted_in_each_shape),
        cmocka_unit_test(test_of_what_is_dropped_there_is_no_histogram),
        cmocka_unit_test(test_calls_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
