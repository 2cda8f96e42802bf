#include "analysis/ranks/ranks.h"

#include "analysis/ranks/ranks_series.h"
#include "cli/util/sort.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define EPOCH_NS 1780000000000000000ull

/* The time on the clock of `host` at a true time. */
static uint64_t shown(unsigned host, double true_ns)
{
    static const double offsets[] = {1e6, -4e6, 2.5e6}, drifts[] = {5e-6, -20e-6, 12e-6};
    return EPOCH_NS + (uint64_t)(int64_t)(true_ns + offsets[host] + drifts[host] * true_ns);
}

static void add(struct ranks *ranks, uint32_t rank, uint64_t key, double start_ns, double end_ns)
{
    ranks_add_collective(ranks, rank,
                         &(struct ranks_collective){.key = key,
                                                    .communicator = 1 + key % 2,
                                                    .operation = RANKS_ALL_REDUCE,
                                                    .participants = 2,
                                                    .bytes = 1000,
                                                    .start_ns = shown(rank, start_ns),
                                                    .end_ns = shown(rank, end_ns)});
}

/* Hosts 0 and 2 share collectives, and hosts 1 and 2. Host 2 is always late by 3 ms. */
static void test_offsets_are_found_through_a_third_host(void **state)
{
    struct ranks *ranks = ranks_create(NULL);
    static const char *const hosts[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++)
        ranks_add(ranks, i, hosts[i], NULL);
    for (uint64_t i = 0; i < 400; i++) {
        double start = 1e9 + (double)i * 5e6, end = start + 3.1e6;
        add(ranks, i % 2 ? 0 : 1, i, start, end);
        add(ranks, 2, i, start + 3e6, end + (double)(i * 7919 % 1000));
    }
    struct ranks_report report;
    ranks_finish(ranks, &report);
    assert_int_equal(report.clock_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct ranks_clock_row *row = &report.clocks[i];
        assert_true(row->is_known);
        assert_int_equal(row->contradictions, 0);
        for (double later = 0; later < 2e9; later += 5e8) {
            double true_ns = (double)(row->origin_ns - EPOCH_NS) - 1e6 + later;
            double wanted = (double)(int64_t)(shown(i, true_ns) - shown(0, true_ns));
            assert_true(fabs(row->offset_ns + row->drift * later - wanted) < 2000);
        }
    }
    ranks_report_deinit(&report);
    ranks_destroy(ranks);
}

/* A GPU's clock is off by 2 us all the time, which the noise of the end times does not show. */
static void test_the_uncertainty_covers_the_gpus_clock(void **state)
{
    struct ranks *ranks = ranks_create(NULL);
    ranks_add(ranks, 0, "a", NULL);
    ranks_add(ranks, 1, "b", NULL);
    for (uint64_t i = 0; i < 100; i++) {
        double start = 1e9 + (double)i * 5e6, end = start + 1e5;
        add(ranks, 0, i, start, end);
        add(ranks, 1, i, start, end + 2000);
    }
    struct ranks_report report;
    ranks_finish(ranks, &report);
    const struct ranks_clock_row *row = &report.clocks[1];
    double wanted = (double)(int64_t)(shown(1, 1e9) - shown(0, 1e9));
    assert_true(fabs(row->offset_ns - wanted) > 1900);
    assert_true(fabs(row->offset_ns - wanted) <= row->uncertainty_ns);
    assert_true(row->uncertainty_ns < 5000);
    ranks_report_deinit(&report);
    ranks_destroy(ranks);
}

/* Too few collectives for a drift, two of them at the start. The offset holds for the time of all. */
static void test_the_uncertainty_covers_a_drift_that_is_unknown(void **state)
{
    static const double starts[] = {1e9, 1.2e9, 7e9};
    struct ranks *ranks = ranks_create(NULL);
    ranks_add(ranks, 0, "a", NULL);
    ranks_add(ranks, 1, "b", NULL);
    for (uint64_t i = 0; i < 3; i++)
        for (uint32_t rank = 0; rank < 2; rank++)
            add(ranks, rank, i, starts[i], starts[i] + 1e5);
    struct ranks_report report;
    ranks_finish(ranks, &report);
    const struct ranks_clock_row *row = &report.clocks[1];
    for (size_t i = 0; i < 3; i++) {
        double wanted = (double)(int64_t)(shown(1, starts[i]) - shown(0, starts[i]));
        assert_true(fabs(row->offset_ns + row->drift * (starts[i] - 1e9) - wanted) <= row->uncertainty_ns);
    }
    ranks_report_deinit(&report);
    ranks_destroy(ranks);
}

static void test_a_host_without_common_collectives_is_unknown(void **state)
{
    struct ranks *ranks = ranks_create(NULL);
    ranks_add(ranks, 0, "a", NULL);
    ranks_add(ranks, 1, "b", NULL);
    struct ranks_report report;
    ranks_finish(ranks, &report);
    assert_true(report.clocks[0].is_known);
    assert_false(report.clocks[1].is_known);
    ranks_report_deinit(&report);
    ranks_destroy(ranks);
}

static void test_a_series_is_bounded_and_keeps_its_shape(void **state)
{
    struct ranks_series series = {0};
    for (int i = 0; i < 1000; i++)
        ranks_series_add(&series, 999 - i);
    assert_float_equal(ranks_series_quantile(&series, 0.5), 499.5, 1e-9);
    for (int i = 1000; i < 100000; i++)
        ranks_series_add(&series, i);
    assert_true(series.count <= RANKS_SERIES_MAX && series.count > RANKS_SERIES_MAX / 4);
    assert_true(fabs(ranks_series_quantile(&series, 0.5) - 50000) < 6000);
    ranks_series_deinit(&series);
}

static void test_median_and_deviation(void **state)
{
    double values[] = {9, 1, 3, 2};
    assert_float_equal(sort_median(values, 4), 2.5, 1e-9);
    assert_float_equal(sort_mad(values, 4, 2.5), 1, 1e-9);
    assert_float_equal(sort_median(values, 0), 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offsets_are_found_through_a_third_host),
        cmocka_unit_test(test_the_uncertainty_covers_the_gpus_clock),
        cmocka_unit_test(test_the_uncertainty_covers_a_drift_that_is_unknown),
        cmocka_unit_test(test_a_host_without_common_collectives_is_unknown),
        cmocka_unit_test(test_a_series_is_bounded_and_keeps_its_shape),
        cmocka_unit_test(test_median_and_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
