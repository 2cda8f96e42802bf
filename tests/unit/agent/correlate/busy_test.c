#include "agent/correlate/totals/busy.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static struct busy_pool *pool;

static int setup(void **state)
{
    assert_int_equal(busy_pool_create(8, BUSY_INTERVALS_MAX, &pool), STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    free(pool);
    return 0;
}

static void test_what_overlaps_counts_once_in_any_order(void **state)
{
    struct busy_time busy = {0};
    assert_true(busy_add(pool, &busy, 50, 60));
    assert_true(busy_add(pool, &busy, 10, 20));
    assert_true(busy_add(pool, &busy, 15, 30));
    assert_true(busy_add(pool, &busy, 28, 52));
    assert_true(busy_add(pool, &busy, 12, 14));
    assert_int_equal(busy_ns(pool, &busy), 50);
    assert_int_equal(busy.count, 1);
    busy_clear(pool, &busy);
    assert_int_equal(busy_ns(pool, &busy), 0);
}

static void test_the_oldest_is_closed_where_there_is_no_room(void **state)
{
    struct busy_time busy = {0}, other = {0};
    for (uint64_t i = 0; i < 20; i++)
        assert_true(busy_add(pool, &busy, 100 + i * 10, 105 + i * 10));
    assert_int_equal(busy_ns(pool, &busy), 100);
    assert_false(busy_add(pool, &busy, 100, 110)); /* before the closed part */
    assert_int_equal(busy_ns(pool, &busy), 100);
    busy_clear(pool, &busy);
    for (uint64_t i = 0; i < 8; i++)
        assert_true(busy_add(pool, &other, 100 + i * 10, 105 + i * 10)); /* all cells were returned */
    assert_int_equal(other.closed_ns, 0);
}

static void test_a_list_has_a_limit_of_its_own(void **state)
{
    struct busy_pool *limited;
    struct busy_time busy = {0};
    assert_int_equal(busy_pool_create(8, 2, &limited), STATUS_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(busy_add(limited, &busy, 100 + i * 10, 105 + i * 10));
    assert_int_equal(busy.count, 2);
    assert_int_equal(busy.closed_ns, 5);
    assert_int_equal(busy_ns(limited, &busy), 15);
    free(limited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_overlaps_counts_once_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_oldest_is_closed_where_there_is_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_list_has_a_limit_of_its_own, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
