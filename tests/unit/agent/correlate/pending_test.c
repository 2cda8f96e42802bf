#include "agent/correlate/join/pending.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "model/settings/settings.h"
#include "support/test.h"

#include <stdio.h>

#define HOUR (3600 * NS_PER_SECOND)

static struct pending_table *table;

static int setup(void **state)
{
    counters_reset();
    return pending_create(16, &table) != STATUS_OK; /* four sets of four */
}

static int teardown(void **state)
{
    pending_destroy(table);
    return 0;
}

static struct pending_call *insert(uint32_t id, uint64_t start_ns, uint32_t flags)
{
    struct pending_call *call = pending_insert(table, id, flags);
    assert_non_null(call);
    assert_int_equal(call->correlation_id, id);
    call->start_ns = start_ns;
    assert_int_equal(call->flags, flags);
    return call;
}

static void test_what_went_in_is_found(void **state)
{
    assert_null(pending_find(table, 1, 100));
    for (uint32_t id = 1; id <= 16; id++)
        insert(id, 100 + id, PENDING_EXPECTED);
    for (uint32_t id = 1; id <= 16; id++)
        assert_int_equal(pending_find(table, id, 200)->start_ns, 100 + id);
    assert_null(pending_find(table, 17, 200));
    assert_int_equal(counter_get(COUNTER_pending_evicted), 0);
    assert_non_null(pending_find(table, 5, 1)); /* the record starts before its call: skewed clocks */
}

static void test_the_oldest_launch_that_waits(void **state)
{
    assert_null(pending_oldest(table));
    insert(1, 10, PENDING_EXPECTED); /* a copy of 0 bytes has no record */
    insert(2, 20, PENDING_EXPECTED | PENDING_KERNEL | PENDING_ANSWERED);
    assert_null(pending_oldest(table));
    insert(3, 40, PENDING_EXPECTED | PENDING_KERNEL);
    insert(4, 30, PENDING_EXPECTED | PENDING_KERNEL);
    assert_int_equal(pending_oldest(table)->correlation_id, 4);
    pending_answer(table, pending_find(table, 4, 40));
    assert_int_equal(pending_oldest(table)->correlation_id, 3);
}

static void test_calls_that_still_wait_go_last(void **state)
{
    insert(4, 1, PENDING_EXPECTED); /* all of one set */
    insert(5, 2, PENDING_EXPECTED | PENDING_ANSWERED);
    insert(6, 3, 0);
    insert(7, 4, PENDING_EXPECTED);
    insert(20, 5, PENDING_EXPECTED);
    assert_null(
        pending_find(table, 5, 10)); /* it has its record, and is older than the one that expects none */
    insert(36, 6, PENDING_EXPECTED);
    assert_null(pending_find(table, 6, 10));
    assert_int_equal(counter_get(COUNTER_pending_evicted), 0);
    insert(52, 7, PENDING_EXPECTED); /* all wait: the oldest is given up, and counted */
    assert_null(pending_find(table, 4, 10));
    assert_int_equal(counter_get(COUNTER_pending_evicted), 1);
    assert_non_null(pending_find(table, 7, 10));
    assert_non_null(pending_find(table, 20, 10));
    assert_non_null(pending_find(table, 36, 10));
    assert_non_null(pending_find(table, 52, 10));
}

static void test_an_id_that_comes_round_takes_its_old_place(void **state)
{
    struct pending_call *call = insert(UINT32_MAX, 1, PENDING_EXPECTED | PENDING_ANSWERED);
    assert_ptr_equal(insert(UINT32_MAX, 2 * HOUR, PENDING_EXPECTED), call);
    assert_int_equal(counter_get(COUNTER_pending_evicted), 0);
    assert_int_equal(pending_find(table, UINT32_MAX, 2 * HOUR)->start_ns, 2 * HOUR);
    insert(UINT32_MAX, 4 * HOUR, PENDING_EXPECTED);
    assert_int_equal(counter_get(COUNTER_pending_evicted), 1);
}

static void test_an_entry_of_long_ago_is_no_match(void **state)
{
    insert(7, 1000, PENDING_EXPECTED);
    assert_non_null(pending_find(table, 7, 1000 + HOUR - 1));
    assert_null(pending_find(table, 7, 1000 + HOUR));
}

static void test_sizes(void **state)
{
    struct pending_table *small;
    assert_int_equal(pending_create(0, &small), STATUS_OK); /* one set at least */
    struct pending_call *call = pending_insert(small, 9, 0);
    call->start_ns = 1;
    assert_non_null(pending_find(small, 9, 1));
    pending_destroy(small);
    pending_destroy(NULL);
    assert_true(sizeof(struct pending_call) <= SETTINGS_PENDING_BYTES); /* the memory budget's assumption */
}

static void test_a_call_that_expects_nothing_pushes_nobody_out(void **state)
{
    struct pending_call *first = insert(4, 1, PENDING_EXPECTED);
    for (uint32_t id = 5; id <= 7; id++)
        insert(id, id, PENDING_EXPECTED);
    assert_int_equal(pending_waiting(table), 4);
    assert_null(pending_insert(table, 20, 0));
    assert_int_equal(counter_get(COUNTER_pending_evicted), 0);
    pending_answer(table, first);
    pending_answer(table, first);
    assert_int_equal(pending_waiting(table), 3);
    assert_ptr_equal(insert(20, 20, 0), first);
    assert_int_equal(pending_waiting(table), 3);
    insert(36, 36, PENDING_EXPECTED);
    insert(52, 52, PENDING_EXPECTED); /* instead of 5 */
    assert_int_equal(pending_waiting(table), 4);
    assert_int_equal(counter_get(COUNTER_pending_evicted), 1);
}

static void test_graph_launches_without_a_record_are_lost(void **state)
{
    insert(1, 1, PENDING_EXPECTED | PENDING_GRAPH);
    insert(2, 2, PENDING_EXPECTED | PENDING_GRAPH | PENDING_ANSWERED);
    insert(3, 3, PENDING_EXPECTED | PENDING_GRAPH | PENDING_UNSAMPLED);
    insert(4, 4, PENDING_EXPECTED); /* a copy of no bytes */
    for (uint32_t id = 20; id <= 52; id += 16)
        insert(id, id, PENDING_EXPECTED | PENDING_GRAPH);
    insert(68, 68, PENDING_EXPECTED); /* instead of 4 */
    assert_int_equal(counter_get(COUNTER_lost_graph_record), 0);
    insert(84, 84, PENDING_EXPECTED); /* instead of 20 */
    assert_int_equal(counter_get(COUNTER_lost_graph_record), 1);
    pending_finish(table);
    assert_int_equal(counter_get(COUNTER_lost_graph_record), 4); /* 1, 36 and 52 as well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_went_in_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_graph_launches_without_a_record_are_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_oldest_launch_that_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls_that_still_wait_go_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_id_that_comes_round_takes_its_old_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_entry_of_long_ago_is_no_match, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_call_that_expects_nothing_pushes_nobody_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
