#include "command/overhead/overhead.h"

#include "support/test.h"

#include <stdlib.h>

static struct estimate of_first(size_t count)
{
    double values[ESTIMATE_VALUES_MAX];
    for (size_t i = 0; i < count; i++)
        values[i] = (double)((i * 7919) % count + 1); /* 1 to count, unordered */
    return estimate_of(values, count);
}

/* From the tables of the sign test's confidence interval. */
static void test_ranks_of_the_interval(void **state)
{
    static const struct {
        size_t count, low, high;
    } known[] = {{6, 1, 6},   {7, 1, 7},   {8, 1, 8},   {9, 2, 8},    {10, 2, 9},   {12, 3, 10},
                 {15, 4, 12}, {20, 6, 15}, {25, 8, 18}, {30, 10, 21}, {50, 18, 33}, {100, 40, 61}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct estimate found = of_first(known[i].count);
        assert_true(found.is_sure);
        assert_int_equal((int)found.low, known[i].low);
        assert_int_equal((int)found.high, known[i].high);
    }
}

static void test_too_few_values_have_a_range(void **state)
{
    for (size_t count = 1; count < 6; count++) {
        struct estimate found = of_first(count);
        assert_false(found.is_sure);
        assert_int_equal((int)found.low, 1);
        assert_int_equal((int)found.high, count);
    }
}

static void test_median(void **state)
{
    assert_true(of_first(1).median == 1);
    assert_true(of_first(2).median == 1.5);
    assert_true(of_first(11).median == 6);
    assert_true(of_first(20).median == 10.5);
}

/* The probabilities must not underflow for many values: the interval is about 2 / sqrt(n) wide. */
static void test_many_values(void **state)
{
    struct estimate found = of_first(ESTIMATE_VALUES_MAX);
    assert_true(found.is_sure);
    assert_in_range((int)found.low, 467, 470);
    assert_in_range((int)found.high, 531, 534);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_of_the_interval),
        cmocka_unit_test(test_too_few_values_have_a_range),
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_many_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
