/* The unit and kind of a hardware counter's values, derived from its name. */
#include "model/gpu_counter_names.h"

#include "support/test.h"

#define HALF_A_SECOND 5e8

static void expect(const char *setting, enum gpu_counter_kind kind, double value, double level)
{
    assert_int_equal(gpu_counter_kind(setting), kind);
    assert_true(gpu_counter_level(setting, value, HALF_A_SECOND) == level);
}

static void test_counts_are_by_the_second(void **state)
{
    expect("dram__bytes_read.sum", GPU_COUNTER_THROUGHPUT, 100, 200);
    expect("reads=dram__bytes_read.sum", GPU_COUNTER_THROUGHPUT, 100, 200);
    expect("dram.read", GPU_COUNTER_THROUGHPUT, 100, 200);
    expect("pcie__write_bytes.sum", GPU_COUNTER_THROUGHPUT, 1, 2);
    expect("instructions", GPU_COUNTER_RATE, 100, 200);
    expect("sm__cycles_active.avg", GPU_COUNTER_RATE, 100, 200);
}

static void test_rates_are_rates_already(void **state)
{
    expect("dram__bytes_read.sum.per_second", GPU_COUNTER_THROUGHPUT, 100, 100);
    expect("sm__inst_executed.sum.per_second", GPU_COUNTER_RATE, 100, 100);
}

static void test_percentages_are_shares(void **state)
{
    expect("dram.utilization", GPU_COUNTER_RATIO, 50, 0.5);
    expect("bytes=sm__warps_active.avg.pct_of_peak_sustained_active", GPU_COUNTER_RATIO, 50, 0.5);
    expect("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", GPU_COUNTER_RATIO, 50, 0.5);
    expect("l2.hit_rate", GPU_COUNTER_RATIO, 50, 0.5);
}

static void test_what_is_by_cycle_is_as_it_is(void **state)
{
    expect("sm__inst_executed.sum.per_cycle_active", GPU_COUNTER_RATIO, 3, 3);
    expect("smsp__thread_inst_executed_per_inst_executed.ratio", GPU_COUNTER_RATIO, 31, 31);
    expect("dram__bytes_read.sum.peak_sustained", GPU_COUNTER_RATIO, 7, 7);
}

static void test_every_plain_name_has_a_kind_of_its_unit(void **state)
{
    for (size_t i = 0; i < gpu_counter_name_count; i++) {
        const struct gpu_counter_name *name = &gpu_counter_names[i];
        enum gpu_counter_kind kind = name->unit[0] == 'B'   ? GPU_COUNTER_THROUGHPUT
                                     : name->unit[0] == '%' ? GPU_COUNTER_RATIO
                                                            : GPU_COUNTER_RATE;
        assert_int_equal(gpu_counter_kind(name->name), kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_by_the_second),
        cmocka_unit_test(test_rates_are_rates_already),
        cmocka_unit_test(test_percentages_are_shares),
        cmocka_unit_test(test_what_is_by_cycle_is_as_it_is),
        cmocka_unit_test(test_every_plain_name_has_a_kind_of_its_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
