#include "command/overhead/overhead.h"

#include "analysis/stat/base/stat.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static struct overhead overhead;
static struct stat_report report;

static int setup(void **state)
{
    overhead = (struct overhead){.options = {.rounds = 6}};
    overhead.options.is_wanted[LEVEL_NONE] = overhead.options.is_wanted[LEVEL_DEFAULT] = true;
    report = (struct stat_report){.count = 0};
    return 0;
}

static int teardown(void **state)
{
    stat_report_deinit(&report);
    overhead.options.has_figure = false; /* unused options */
    overhead_deinit(&overhead);
    return 0;
}

static void add(enum overhead_level level, uint32_t round, uint64_t wall_ms, uint64_t callback_ms)
{
    struct overhead_run run = {.level = level,
                               .round = round,
                               .wall_ns = wall_ms * MS,
                               .figure = (double)wall_ms,
                               .has_callbacks = level != LEVEL_NONE,
                               .has_agent = level != LEVEL_NONE,
                               .callback_ns = callback_ms * MS,
                               .spans = 10,
                               .lost = 1};
    overhead_add(&overhead, &run);
}

/* A cell of the row for programs. */
static const struct stat_value *cell(enum overhead_level level, const char *key)
{
    const struct stat_table *table = &report.tables[0];
    for (size_t row = 0; row < table->row_count; row++)
        for (size_t c = 0; c < table->column_count; c++)
            if (strcmp(table->values[row * table->column_count].text, overhead_level_name(level)) == 0 &&
                strcmp(table->columns[c].key, key) == 0)
                return &table->values[row * table->column_count + c];
    fail_msg("no %s", key);
    return NULL;
}

/* The machine becomes slower from round to round: only pairs of one round are compared. */
static void test_pairs_of_the_same_round(void **state)
{
    for (uint32_t round = 0; round < 6; round++) {
        add(LEVEL_NONE, round, 100 << round, 0);
        add(LEVEL_DEFAULT, round, 110 << round, 4 << round);
    }
    overhead_tables(&overhead, false, &report);
    assert_true(cell(LEVEL_DEFAULT, "wall_ratio")->d > 1.0999 &&
                cell(LEVEL_DEFAULT, "wall_ratio")->d < 1.1001);
    assert_true(cell(LEVEL_DEFAULT, "wall_ratio_low")->d > 1.0999);
    assert_true(cell(LEVEL_DEFAULT, "wall_ratio_high")->d < 1.1001);
    assert_true(cell(LEVEL_DEFAULT, "wall_confidence_share")->d == 0.95);
    assert_int_equal(cell(LEVEL_DEFAULT, "spans")->i, 10);
    assert_int_equal(cell(LEVEL_DEFAULT, "lost")->i, 6);
    assert_int_equal(report.tables[1].row_count, 12);
}

static void test_own_and_rest_are_the_whole(void **state)
{
    for (uint32_t round = 0; round < 6; round++) {
        add(LEVEL_NONE, round, 100, 0);
        add(LEVEL_DEFAULT, round, 130, 10);
    }
    overhead_tables(&overhead, false, &report);
    assert_int_equal(cell(LEVEL_DEFAULT, "whole_ns")->i, 30 * MS);
    assert_int_equal(cell(LEVEL_DEFAULT, "callback_ns")->i, 10 * MS);
    assert_int_equal(cell(LEVEL_DEFAULT, "rest_ns")->i, 20 * MS);
}

/* As with many threads, or when noise hides the cost. */
static void test_own_is_never_above_the_whole(void **state)
{
    for (uint32_t round = 0; round < 6; round++) {
        add(LEVEL_NONE, round, 100, 0);
        add(LEVEL_DEFAULT, round, round < 4 ? 105 : 90, 40);
    }
    overhead_tables(&overhead, false, &report);
    assert_int_equal(cell(LEVEL_DEFAULT, "callback_ns")->i, 5 * MS);
    assert_int_equal(cell(LEVEL_DEFAULT, "rest_ns")->i, 0);
}

static void test_faster_than_without(void **state)
{
    for (uint32_t round = 0; round < 6; round++) {
        add(LEVEL_NONE, round, 100, 0);
        add(LEVEL_DEFAULT, round, 90, 40);
    }
    overhead_tables(&overhead, false, &report);
    assert_int_equal(cell(LEVEL_DEFAULT, "whole_ns")->i, 0);
    assert_int_equal(cell(LEVEL_DEFAULT, "callback_ns")->i, 0);
    assert_int_equal(cell(LEVEL_DEFAULT, "rest_ns")->i, 0);
}

static void test_a_rate_is_turned_round(void **state)
{
    overhead.options.has_figure = overhead.options.is_rate = true;
    for (uint32_t round = 0; round < 6; round++) {
        add(LEVEL_NONE, round, 120, 0);
        add(LEVEL_DEFAULT, round, 100, 0);
    }
    overhead_tables(&overhead, false, &report);
    assert_true(cell(LEVEL_DEFAULT, "figure_ratio")->d == 1.2);
}

static void test_a_round_without_its_partner_is_left_out(void **state)
{
    add(LEVEL_NONE, 0, 100, 0);
    add(LEVEL_DEFAULT, 0, 150, 0);
    add(LEVEL_DEFAULT, 1, 900, 0);
    overhead_tables(&overhead, false, &report);
    assert_true(cell(LEVEL_DEFAULT, "wall_ratio")->d == 1.5);
    assert_true(cell(LEVEL_DEFAULT, "wall_confidence_share")->is_missing);
}

static void test_a_level_that_failed_has_no_figures(void **state)
{
    add(LEVEL_NONE, 0, 100, 0);
    overhead.failure[LEVEL_DEFAULT] = strdup("the program died");
    overhead_tables(&overhead, false, &report);
    assert_string_equal(cell(LEVEL_DEFAULT, "failure")->text, "the program died");
    assert_true(cell(LEVEL_DEFAULT, "wall_ratio")->is_missing);
    assert_true(cell(LEVEL_DEFAULT, "wall_ns")->is_missing);
}

static void test_for_people(void **state)
{
    for (uint32_t round = 0; round < 6; round++) {
        add(LEVEL_NONE, round, 100, 0);
        add(LEVEL_DEFAULT, round, 100 + round, 1);
    }
    overhead_tables(&overhead, true, &report);
    assert_int_equal(report.count, 1);
    assert_string_equal(cell(LEVEL_DEFAULT, "wall")->text, "1.025 (1.000 to 1.050)");
    assert_true(cell(LEVEL_NONE, "wall")->is_missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pairs_of_the_same_round, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_and_rest_are_the_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_is_never_above_the_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faster_than_without, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rate_is_turned_round, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_round_without_its_partner_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_level_that_failed_has_no_figures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_for_people, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
