#include "agent/correlate/join/gpu_counted.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char read[] = "dram.read", own[] = "reads=lts__t_sectors_op_read.sum";
static char busy[] = "dram.utilization", rate[] = "mine=sm__inst_executed.sum.per_second";
static char *metrics[] = {read, own}, *rates[] = {busy, read, rate};
static const struct settings settings = {.counters.metrics = {2, metrics}};
static struct span span;

static struct gpu_counted *create(void)
{
    struct gpu_counted *counted;
    assert_int_equal(gpu_counted_create(&settings, &counted), STATUS_OK);
    assert_non_null(counted);
    return counted;
}

static void add(struct gpu_counted *counted, uint32_t correlation_id, uint32_t count, double first,
                double second)
{
    struct {
        struct gpu_counters_record record;
        double values[3];
    } counts = {.record = {.correlation_id = correlation_id, .count = count}, .values = {first, second, 7}};
    gpu_counted_add(counted, &counts.record);
}

static void test_nothing_is_made_where_nothing_is_counted(void **state)
{
    static const struct settings none;
    struct gpu_counted *counted;
    assert_int_equal(gpu_counted_create(&none, &counted), STATUS_OK);
    assert_null(counted);
    free(counted);
}

static void test_counts_are_put_on_their_span_once(void **state)
{
    struct gpu_counted *counted = create();
    add(counted, 8, 2, 4096, 3);
    add(counted, 9, 2, 1, 2);
    span.attr_count = 0;
    gpu_counted_put(counted, 7, &span);
    assert_int_equal(span.attr_count, 0);
    gpu_counted_put(counted, 8, &span);
    assert_int_equal(span.attr_count, 2);
    assert_string_equal(span.attrs[0].key->name, "cuda.counter.dram.read");
    assert_int_equal(span.attrs[0].type, ATTR_DOUBLE);
    assert_true(span.attrs[0].d == 4096);
    assert_string_equal(span.attrs[1].key->name, "cuda.counter.reads");
    assert_int_equal(span.attrs[1].key->len, strlen("cuda.counter.reads"));
    assert_true(span.attrs[1].d == 3);
    gpu_counted_put(counted, 8, &span);
    assert_int_equal(span.attr_count, 2);
    free(counted);
}

static void test_what_could_not_be_had_is_left_out(void **state)
{
    struct gpu_counted *counted = create();
    span.attr_count = 0;
    add(counted, 8, 2, NAN, 3);
    gpu_counted_put(counted, 8, &span);
    assert_int_equal(span.attr_count, 1);
    assert_string_equal(span.attrs[0].key->name, "cuda.counter.reads");
    add(counted, 9, 3, 1, INFINITY); /* from a recording, with one more counter than the settings name */
    gpu_counted_put(counted, 9, &span);
    assert_int_equal(span.attr_count, 2);
    free(counted);
}

static void test_one_that_must_go_is_counted(void **state)
{
    struct gpu_counted *counted = create();
    uint64_t lost = counter_get(COUNTER_gpu_counts_lost);
    add(counted, 5, 2, 1, 1);
    add(counted, 5 + GPU_COUNTED_MAX, 2, 2, 2);
    assert_int_equal(counter_get(COUNTER_gpu_counts_lost), lost + 1);
    span.attr_count = 0;
    gpu_counted_put(counted, 5, &span);
    gpu_counted_put(counted, 0, &span);
    assert_int_equal(span.attr_count, 0);
    gpu_counted_put(counted, 5 + GPU_COUNTED_MAX, &span);
    assert_int_equal(span.attr_count, 2);
    free(counted);
}

static void test_values_that_will_come_are_awaited(void **state)
{
    struct gpu_counted *counted = create();
    uint64_t lost = counter_get(COUNTER_gpu_counts_lost);
    assert_false(gpu_counted_awaits(counted, 8));
    assert_false(gpu_counted_awaits(counted, 0));
    add(counted, 8, 0, 0, 0);
    assert_true(gpu_counted_awaits(counted, 8));
    assert_false(gpu_counted_awaits(counted, 8 + GPU_COUNTED_MAX));
    add(counted, 8, 2, 4096, 3);
    assert_false(gpu_counted_awaits(counted, 8));
    add(counted, 8, 0, 0, 0); /* counts do not pass the rings, so they may arrive first */
    assert_false(gpu_counted_awaits(counted, 8));
    span.attr_count = 0;
    gpu_counted_put(counted, 8, &span);
    assert_int_equal(span.attr_count, 2);
    add(counted, 9, 0, 0, 0);
    gpu_counted_put(counted, 9, &span); /* it waited without result */
    assert_int_equal(span.attr_count, 2);
    assert_false(gpu_counted_awaits(counted, 9));
    assert_int_equal(counter_get(COUNTER_gpu_counts_lost), lost);
    free(counted);
}

/* Counters over 80 ns, of which the kernel ran 50. */
static void test_rates_are_by_the_kernel_s_time(void **state)
{
    static const struct settings of_rates = {.counters.metrics = {3, rates}};
    struct {
        struct gpu_counters_record record;
        double values[3];
    } counts = {.record = {.correlation_id = 8, .count = 3, .range_ns = 80}, .values = {10, 4096, 1e9}};
    struct gpu_counted *counted;
    assert_int_equal(gpu_counted_create(&of_rates, &counted), STATUS_OK);
    gpu_counted_add(counted, &counts.record);
    span = (struct span){.start_ns = 1000, .end_ns = 1050};
    gpu_counted_put(counted, 8, &span);
    assert_true(fabs(span.attrs[0].d - 16) < 1e-9);
    assert_true(span.attrs[1].d == 4096);
    assert_true(fabs(span.attrs[2].d - 1.6e9) < 1);
    counts.record.range_ns = 0;
    gpu_counted_add(counted, &counts.record);
    span.attr_count = 0;
    gpu_counted_put(counted, 8, &span);
    assert_true(span.attrs[0].d == 10);
    free(counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_made_where_nothing_is_counted),
        cmocka_unit_test(test_counts_are_put_on_their_span_once),
        cmocka_unit_test(test_what_could_not_be_had_is_left_out),
        cmocka_unit_test(test_one_that_must_go_is_counted),
        cmocka_unit_test(test_values_that_will_come_are_awaited),
        cmocka_unit_test(test_rates_are_by_the_kernel_s_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
