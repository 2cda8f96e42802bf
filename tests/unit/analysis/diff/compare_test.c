/* The expected figures were computed by hand or by another program (Python), as noted. */
#include "analysis/diff/compare.h"

#include "support/test.h"

#include <math.h>

#define LEVEL       0.05
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* `list` must be ascending. */
#define RUN(...) run_of((const uint64_t[]){__VA_ARGS__}, COUNT(((const uint64_t[]){__VA_ARGS__})))

static struct run_item run_of(const uint64_t *list, size_t count)
{
    struct run_item run;
    struct samples samples = {0};
    for (size_t i = 0; i < count; i++)
        samples_add(&samples, 0, list[i]);
    samples_sort(&samples);
    struct spread spread = samples_spread(&samples, 0);
    run_item_of(&run, samples.items, &spread);
    samples_deinit(&samples);
    return run;
}

static void expect_near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-6 * (1 + fabs(wanted)))
        fail_msg("%.9g, not %.9g", got, wanted);
}

/* One run per side. */
static struct comparison compare_two(struct run_item base, struct run_item new)
{
    static struct run_item runs[SIDE_COUNT];
    const size_t counts[SIDE_COUNT] = {1, 1};
    runs[SIDE_BASE] = base;
    runs[SIDE_NEW] = new;
    struct comparison c = {.runs = {&runs[SIDE_BASE], &runs[SIDE_NEW]}};
    assert_int_equal(compare_all(&c, 1, counts, LEVEL), COMPARE_VALUES);
    return c;
}

static void test_a_run_keeps_ranks_that_are_evenly_spaced(void **state)
{
    uint64_t values[320];
    struct run_item run;
    for (size_t i = 0; i < 320; i++)
        values[i] = i + 1;
    run = run_of(values, 320);
    assert_int_equal(run.count, 320);
    assert_int_equal(run.total, 51360);
    assert_int_equal(run.median, 160);
    assert_int_equal(run.value_count, RUN_VALUES_MAX);
    for (size_t i = 0; i < RUN_VALUES_MAX; i++)
        assert_int_equal(run.values[i], 10 * i + 6);
    run = run_of(values, 3);
    assert_int_equal(run.value_count, 3);
    assert_int_equal(run.values[2], 3);
    run = run_of(values, 0);
    assert_int_equal(run.count, 0);
    for (size_t i = 0; i < 320; i++)
        values[i] = i < 200 ? 7 : 9;
    run = run_of(values, 320);
    assert_int_equal(run.values[19], 7); /* ranks 190 and above */
    assert_int_equal(run.values[20], 9);
}

static void test_executions_are_compared_by_mann_and_whitney(void **state)
{
    struct comparison apart = compare_two(RUN(1, 2, 3, 4, 5, 6, 7, 8), RUN(9, 10, 11, 12, 13, 14, 15, 16));
    assert_true(apart.is_tested);
    expect_near(apart.p, 0.000939105699);
    struct comparison tied = compare_two(RUN(1, 1, 2, 2, 3, 3, 3, 4), RUN(2, 3, 3, 4, 4, 4, 5, 5));
    expect_near(tied.p, 0.030902243177);
    expect_near(compare_two(RUN(7, 7, 7, 7, 7), RUN(7, 7, 7, 7, 7)).p, 1);
}

static void test_too_few_executions_are_not_tested(void **state)
{
    assert_false(compare_two(RUN(1, 2, 3), RUN(100, 200, 300)).is_tested);
    struct comparison enough = compare_two(RUN(1, 2, 3, 4), RUN(100, 200, 300, 400));
    assert_true(enough.is_tested);
    assert_true(enough.p <= LEVEL);
}

static void test_the_change_is_the_median_of_all_ratios(void **state)
{
    struct comparison c = compare_two(RUN(10, 20, 40), RUN(20, 40, 80));
    expect_near(c.ratio, 2); /* of 2 4 8, 1 2 4, 0.5 1 2 */
    expect_near(c.median[SIDE_BASE], 20);
    expect_near(c.median[SIDE_NEW], 40);
    assert_true(c.ratio_low <= c.ratio && c.ratio <= c.ratio_high);
    assert_true(isinf(compare_two(RUN(0, 0), RUN(1, 1)).ratio));
    expect_near(compare_two(RUN(0), RUN(0)).ratio, 1);
    struct comparison gone = compare_two(RUN(1), (struct run_item){0});
    assert_false(gone.is_tested);
    expect_near(gone.ratio, 0);
}

/* In samples of the same mixture of two times, the medians lie in different modes. */
static void test_two_modes_are_no_change(void **state)
{
    struct comparison c = compare_two(RUN(100, 100, 100, 100, 100, 140, 140, 140, 140),
                                      RUN(100, 100, 100, 100, 140, 140, 140, 140, 140));
    expect_near(c.median[SIDE_NEW], 140);
    expect_near(c.median[SIDE_BASE], 100);
    expect_near(c.ratio, 1);
}

static void test_with_many_tests_each_must_say_more(void **state)
{
    struct run_item low = RUN(1, 2, 3, 4, 5, 6, 7, 8), high = RUN(9, 10, 11, 12, 13, 14, 15, 16);
    const size_t counts[SIDE_COUNT] = {1, 1};
    struct comparison items[4];
    for (size_t i = 0; i < 4; i++)
        items[i] = (struct comparison){.runs = {&low, i ? &low : &high}};
    compare_all(items, 4, counts, LEVEL);
    expect_near(items[0].p, 4 * 0.000939105699);
    expect_near(items[1].p, 1);
}

/* Two runs of the new side, of which one is like the base. */
static void test_runs_that_disagree_are_noise(void **state)
{
    struct run_item low = RUN(11, 12, 13, 14, 15, 16, 17, 18), high = RUN(31, 32, 33, 34, 35, 36, 37, 38);
    const struct run_item base[] = {low, low}, mixed[] = {low, high}, new[] = {high, high};
    const size_t counts[SIDE_COUNT] = {2, 2};
    struct comparison items[] = {{.runs = {base, mixed}}, {.runs = {base, new}}};
    compare_all(items, 2, counts, LEVEL);
    expect_near(items[0].p, 1);
    assert_true(items[1].p < 0.001);
}

static void fill(struct run_item *runs, size_t count, uint64_t from, uint64_t step)
{
    for (size_t i = 0; i < count; i++)
        runs[i] = RUN(from + step * i);
}

static void test_many_runs_are_permuted(void **state)
{
    struct run_item base[4], new[4], same[4];
    const size_t counts[SIDE_COUNT] = {4, 4};
    fill(base, 4, 1000, 3);
    fill(new, 4, 1200, 3);
    fill(same, 4, 1001, 3);
    struct comparison items[] = {{.runs = {base, new}}, {.runs = {base, same}}};
    assert_int_equal(compare_all(items, 2, counts, LEVEL), COMPARE_RUNS);
    expect_near(items[0].p, 2.0 / 70); /* the labeling and its mirror image, out of 8 over 4 */
    assert_true(items[0].is_tested);
    assert_true(fabs(items[0].ratio - 1.2) < 0.002);
    assert_true(items[1].p > LEVEL);
}

/* Each item must reach the maximum over all items. */
static void test_a_wilder_item_hides_a_tame_one(void **state)
{
    struct run_item base[4], new[4], wild_base[4], wild_new[4];
    const size_t counts[SIDE_COUNT] = {4, 4};
    fill(base, 4, 1000, 10);
    fill(new, 4, 1031, 10);
    for (size_t i = 0; i < 4; i++) { /* far apart under another labeling */
        wild_base[i] = RUN(i % 2 ? 1000 : 2000);
        wild_new[i] = RUN(i % 2 ? 1000 : 2000);
    }
    struct comparison alone = {.runs = {base, new}};
    struct comparison both[] = {{.runs = {base, new}}, {.runs = {wild_base, wild_new}}};
    compare_all(&alone, 1, counts, LEVEL);
    compare_all(both, 2, counts, LEVEL);
    expect_near(alone.p, 2.0 / 70);
    expect_near(both[0].p, alone.p + 2.0 / 70); /* that labeling and its mirror image */
}

static void test_runs_that_lack_the_item_do_not_count(void **state)
{
    struct run_item base[5], new[5];
    const size_t counts[SIDE_COUNT] = {5, 5};
    fill(base, 5, 1000, 3);
    fill(new, 5, 1300, 3);
    new[2] = (struct run_item){0};
    struct comparison item = {.runs = {base, new}};
    compare_all(&item, 1, counts, LEVEL);
    assert_true(item.is_tested && item.p <= LEVEL);
    new[3] = (struct run_item){0};
    compare_all(&item, 1, counts, LEVEL);
    assert_false(item.is_tested);
    expect_near(item.p, 1);
}

/* More labelings than are enumerated: a sample is drawn, the same each time. */
static void test_very_many_runs_are_drawn(void **state)
{
    struct run_item base[12], new[12];
    const size_t counts[SIDE_COUNT] = {12, 12};
    fill(base, 12, 1000, 3);
    fill(new, 12, 1200, 3);
    struct comparison item = {.runs = {base, new}}, again = item;
    compare_all(&item, 1, counts, LEVEL);
    compare_all(&again, 1, counts, LEVEL);
    expect_near(item.p, 1e-4); /* only itself, out of 10,000 */
    expect_near(again.p, item.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_keeps_ranks_that_are_evenly_spaced),
        cmocka_unit_test(test_executions_are_compared_by_mann_and_whitney),
        cmocka_unit_test(test_too_few_executions_are_not_tested),
        cmocka_unit_test(test_the_change_is_the_median_of_all_ratios),
        cmocka_unit_test(test_two_modes_are_no_change),
        cmocka_unit_test(test_with_many_tests_each_must_say_more),
        cmocka_unit_test(test_runs_that_disagree_are_noise),
        cmocka_unit_test(test_many_runs_are_permuted),
        cmocka_unit_test(test_a_wilder_item_hides_a_tame_one),
        cmocka_unit_test(test_runs_that_lack_the_item_do_not_count),
        cmocka_unit_test(test_very_many_runs_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
