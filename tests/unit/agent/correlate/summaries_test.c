#include "agent/correlate/totals/summaries.h"

#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct summaries *summaries;
static uint8_t context[24];

static int setup(void **state)
{
    return summaries_create(&summaries) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    free(summaries);
    return 0;
}

static const uint8_t *of(uint32_t number)
{
    memset(context, 1, sizeof context);
    memcpy(context + 16, &number, sizeof number);
    return context;
}

static void test_a_request_is_found_by_its_context(void **state)
{
    struct summary *one = summaries_add(summaries, of(1), 10), *two = summaries_add(summaries, of(2), 10);
    assert_ptr_equal(summaries_find(summaries, of(1)), one);
    assert_ptr_equal(summaries_find(summaries, of(2)), two);
    assert_null(summaries_find(summaries, of(3)));
    of(1);
    context[0] = 7; /* another trace */
    assert_null(summaries_find(summaries, context));
    assert_ptr_equal(summaries_at(summaries, summaries_index(summaries, two)), two);
    assert_null(summaries_at(summaries, 0));
}

static void test_they_stand_in_the_order_of_their_activity(void **state)
{
    struct summary *one = summaries_add(summaries, of(1), 10), *two = summaries_add(summaries, of(2), 20),
                   *three = summaries_add(summaries, of(3), 30);
    summaries_touch(summaries, one, 40);
    assert_int_equal(one->active_ns, 40);
    assert_ptr_equal(summaries_idlest(summaries), two);
    assert_ptr_equal(summaries_next_idle(summaries, two), three);
    assert_ptr_equal(summaries_next_idle(summaries, three), one);
    assert_null(summaries_next_idle(summaries, one));
    summaries_remove(summaries, three, true);
    assert_ptr_equal(summaries_next_idle(summaries, two), one);
    summaries_remove(summaries, two, true);
    assert_ptr_equal(summaries_idlest(summaries), one);
    summaries_remove(summaries, one, true);
    assert_null(summaries_idlest(summaries));
}

static void test_a_further_one_has_the_next_number(void **state)
{
    for (uint32_t number = 1; number <= 3; number++) {
        struct summary *summary = summaries_add(summaries, of(5), 10);
        assert_int_equal(summary->number, number);
        summaries_remove(summaries, summary, true);
    }
    struct summary *empty = summaries_add(summaries, of(6), 10);
    summaries_remove(summaries, empty, false); /* not sent */
    assert_int_equal(summaries_add(summaries, of(6), 10)->number, 1);
}

static void test_the_table_has_an_end(void **state)
{
    for (uint32_t i = 0; i < SUMMARIES_MAX; i++)
        assert_non_null(summaries_add(summaries, of(i), i));
    assert_null(summaries_add(summaries, of(SUMMARIES_MAX), 1));
    for (uint32_t i = 0; i < SUMMARIES_MAX; i++)
        assert_non_null(summaries_find(summaries, of(i)));
    for (uint32_t i = 0; i < SUMMARIES_MAX; i += 2)
        summaries_remove(summaries, summaries_find(summaries, of(i)), true);
    for (uint32_t i = 0; i < SUMMARIES_MAX; i++)
        assert_int_equal(summaries_find(summaries, of(i)) != NULL, i % 2);
    assert_non_null(summaries_add(summaries, of(SUMMARIES_MAX), 1));
}

/* Both IDs may come from one number. */
static const uint8_t *of_one_number(uint32_t number)
{
    memset(context, 0, sizeof context);
    memcpy(context + 12, &number, sizeof number);
    memcpy(context + 20, &number, sizeof number);
    return context;
}

static void test_ids_that_tell_of_each_other_are_told_apart(void **state)
{
    uint32_t remembered = 0;
    for (uint32_t i = 1; i <= 1000; i++)
        summaries_remove(summaries, summaries_add(summaries, of_one_number(i), 1), true);
    for (uint32_t i = 1; i <= 1000; i++)
        remembered += summaries_add(summaries, of_one_number(i), 2)->number == 2;
    assert_in_range(remembered, 900, 1000);
    assert_false(summaries_are_many(summaries));
    for (uint32_t i = 1001; i <= SUMMARIES_MAX / 2 + 1; i++)
        assert_non_null(summaries_add(summaries, of_one_number(i), 3));
    assert_true(summaries_are_many(summaries));
    summaries_remove(summaries, summaries_find(summaries, of_one_number(1)), false);
    assert_false(summaries_are_many(summaries));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_request_is_found_by_its_context),
        TEST(test_they_stand_in_the_order_of_their_activity),
        TEST(test_a_further_one_has_the_next_number),
        TEST(test_the_table_has_an_end),
        TEST(test_ids_that_tell_of_each_other_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
