#include "analysis/stat/base/samples.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>

#define GROUPS 5
#define VALUES 40000

static uint64_t random_state = 7;

static uint64_t draw(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* From 0 to 2^bits, more small ones than large ones. */
static uint64_t draw_value(unsigned bits)
{
    return draw() >> (draw() % bits) & ((1ull << bits) - 1);
}

/* Compares with sorted lists. `error`: the allowed share. */
static void check_groups(struct samples *samples, uint64_t lists[GROUPS][VALUES], const size_t counts[GROUPS],
                         double error)
{
    samples_sort(samples);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint64_t *list = lists[g], total = 0;
        size_t count = counts[g];
        qsort(list, count, sizeof *list, compare);
        for (size_t i = 0; i < count; i++)
            total += list[i];
        struct spread spread = samples_spread(samples, g);
        assert_int_equal(spread.count, count);
        assert_int_equal(spread.total, total);
        assert_int_equal(spread.min, list[0]);
        assert_int_equal(spread.max, list[count - 1]);
        double median = (double)list[(count * 50 + 99) / 100 - 1],
               p99 = (double)list[(count * 99 + 99) / 100 - 1];
        assert_true((double)spread.median >= median * (1 - error) &&
                    (double)spread.median <= median * (1 + error));
        assert_true((double)spread.p99 >= p99 * (1 - error) && (double)spread.p99 <= p99 * (1 + error));
        assert_int_equal(samples_median(samples, g), spread.median);
    }
}

static void fill(struct samples *samples, uint64_t lists[GROUPS][VALUES], size_t counts[GROUPS],
                 unsigned bits)
{
    for (size_t i = 0; i < VALUES; i++) {
        uint32_t group = (uint32_t)(draw() % GROUPS);
        uint64_t value = draw_value(bits);
        lists[group][counts[group]++] = value;
        samples_add(samples, group, value);
    }
}

static uint64_t lists[GROUPS][VALUES];

static void values_are_counted_exactly(void **state)
{
    struct samples samples = {0};
    size_t counts[GROUPS] = {0};
    fill(&samples, lists, counts, 20);
    assert_true(samples_error(&samples) == 0);
    check_groups(&samples, lists, counts, 0);
    samples_deinit(&samples);
}

static void too_many_distinct_values_are_rounded(void **state)
{
    for (size_t distinct_max = 10000; distinct_max >= 400; distinct_max /= 5) {
        struct samples samples = {.distinct_max = distinct_max};
        size_t counts[GROUPS] = {0};
        fill(&samples, lists, counts, 30);
        double error = samples_error(&samples);
        assert_true(error > 0 && error <= 0.25);
        if (distinct_max == 10000)
            assert_true(error < 0.01);
        assert_true(samples.count <= distinct_max + 1);
        check_groups(&samples, lists, counts, error);
        samples_deinit(&samples);
    }
}

/* Like a table of `stat --by`: the large ones are rounded when all together have too many slots. */
static void many_tables_share_a_limit(void **state)
{
    enum { TABLES = 40 };
    static uint64_t all[TABLES][GROUPS][VALUES];
    static size_t counts[TABLES][GROUPS];
    struct samples tables[TABLES] = {0}, small = {0};
    size_t slots = 0, rounded = 0;
    samples_slots_max = 1 << 18; /* of 40 tables of 65,536 */
    for (size_t t = 0; t < TABLES; t++) {
        fill(&tables[t], all[t], counts[t], 30);
        slots += tables[t].capacity;
        rounded += samples_error(&tables[t]) > 0;
    }
    for (uint64_t value = 0; value < 1000; value++)
        samples_add(&small, 0, value << 20);
    assert_true(samples_error(&small) == 0);
    assert_in_range(rounded, TABLES / 2, TABLES - 1);         /* the first ones are exact */
    assert_true(slots <= samples_slots_max + TABLES * 16384); /* of values with 7 bits */
    for (size_t t = 0; t < TABLES; t++) {
        double error = samples_error(&tables[t]);
        assert_true(error < 0.01);
        check_groups(&tables[t], all[t], counts[t], error);
        samples_deinit(&tables[t]);
    }
    samples_deinit(&small);
    struct samples later = {0};
    size_t later_counts[GROUPS] = {0};
    fill(&later, lists, later_counts, 30); /* there is room again */
    assert_true(samples_error(&later) == 0);
    samples_deinit(&later);
    samples_slots_max = SAMPLES_SLOTS_MAX;
}

static void groups_without_samples_are_zero(void **state)
{
    struct samples samples = {0};
    size_t at = 0;
    struct spread spread;
    samples_sort(&samples);
    assert_false(samples_next(&samples, &at, &spread));
    samples_add(&samples, 3, 0);
    samples_sort(&samples);
    assert_int_equal(samples_spread(&samples, 2).count, 0);
    assert_int_equal(samples_spread(&samples, 4).count, 0);
    assert_int_equal(samples_median(&samples, 2), 0);
    assert_int_equal(samples_spread(&samples, 3).count, 1);
    assert_int_equal(samples_total(&samples), 0);
    samples_deinit(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted_exactly),
        cmocka_unit_test(too_many_distinct_values_are_rounded),
        cmocka_unit_test(many_tables_share_a_limit),
        cmocka_unit_test(groups_without_samples_are_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
