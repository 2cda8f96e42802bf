/* Tests the ring of an engine's latest iterations. */
#include "agent/correlate/totals/iteration_summaries.h"

#include "support/test.h"

#include <string.h>

static struct iteration_summaries summaries;

static int setup(void **state)
{
    memset(&summaries, 0, sizeof summaries);
    return 0;
}

static void add(int64_t number, uint32_t members)
{
    iteration_summaries_add(&summaries, 7, number);
    for (uint32_t i = 0; i < members; i++)
        iteration_summaries_add_member(&summaries, i, REQUEST_DECODE, i + 1);
}

static void test_the_latest_are_found(void **state)
{
    for (int64_t number = 1; number <= SUMMARIES_KEPT + 5; number++)
        add(number, 0);
    assert_null(iteration_summaries_find(&summaries, 7, 5));
    assert_int_equal(iteration_summaries_find(&summaries, 7, 6)->number, 6);
    assert_int_equal(iteration_summaries_find(&summaries, 7, SUMMARIES_KEPT + 5)->number, SUMMARIES_KEPT + 5);
    assert_null(iteration_summaries_find(&summaries, 8, 6)); /* another engine's */
}

static void test_members_are_kept(void **state)
{
    add(1, 3);
    add(2, 1);
    const struct iteration_summary *first = iteration_summaries_find(&summaries, 7, 1);
    assert_int_equal(first->member_count, 3);
    const struct summary_member *member = iteration_summaries_member(&summaries, first, 2);
    assert_int_equal(member->request, 2);
    assert_int_equal(member->phase, REQUEST_DECODE);
    assert_int_equal(member->tokens, 3);
    iteration_summaries_add_member(&summaries, ENGINE_REQUESTS_MAX - 1, REQUEST_PREFILL, UINT32_MAX);
    member = iteration_summaries_member(&summaries, iteration_summaries_find(&summaries, 7, 2), 1);
    assert_int_equal(member->request, ENGINE_REQUESTS_MAX - 1);
    assert_int_equal(member->phase, REQUEST_PREFILL);
    assert_int_equal(member->tokens, SUMMARY_TOKENS_MAX);
}

static void test_without_its_members_it_is_gone(void **state)
{
    add(1, 1);
    for (int64_t number = 2; number < 2 + SUMMARIES_MEMBERS_KEPT / SUMMARY_MEMBERS_MAX; number++) {
        assert_non_null(iteration_summaries_find(&summaries, 7, 1));
        add(number, SUMMARY_MEMBERS_MAX + 10);
    }
    assert_null(iteration_summaries_find(&summaries, 7, 1));
    assert_int_equal(iteration_summaries_find(&summaries, 7, 2)->member_count, SUMMARY_MEMBERS_MAX + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_the_latest_are_found, setup),
                                       cmocka_unit_test_setup(test_members_are_kept, setup),
                                       cmocka_unit_test_setup(test_without_its_members_it_is_gone, setup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
