#include "agent/correlate/totals/accounts.h"

#include "support/test.h"

static struct accounts *accounts;

static int setup(void **state)
{
    return accounts_create(&accounts) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    accounts_destroy(accounts);
    return 0;
}

static void test_a_handle_is_good_for_one_life(void **state)
{
    struct account *first = accounts_open(accounts, 0);
    uint32_t handle = first->handle;
    assert_int_not_equal(handle, 0);
    assert_ptr_equal(accounts_find(accounts, handle), first);
    accounts_close(accounts, first);
    assert_null(accounts_find(accounts, handle));
    struct account *next = accounts_open(accounts, 77);
    assert_ptr_equal(next, first); /* the freed slot */
    assert_int_equal(next->outer, 77);
    assert_null(accounts_find(accounts, handle));
    assert_ptr_equal(accounts_find(accounts, next->handle), next);
    assert_null(accounts_find(accounts, 0));
    assert_null(accounts_find(accounts, UINT32_MAX));
}

static void test_one_begins_empty(void **state)
{
    struct account *account = accounts_open(accounts, 0);
    struct activity_record record = {.kind = ACTIVITY_KERNEL, .start_ns = 1, .end_ns = 5};
    struct gpu_work work = {.record = &record};
    totals_add_work(accounts_pool(accounts), &account->totals, &work);
    account->due = 3;
    account->is_root = true;
    accounts_close(accounts, account);
    account = accounts_open(accounts, 0);
    assert_int_equal(account->totals.kernels, 0);
    assert_int_equal(totals_gpu_ns(accounts_pool(accounts), &account->totals), 0);
    assert_int_equal(account->due, 0);
    assert_false(account->is_root);
}

static void test_there_is_an_end(void **state)
{
    struct account *last = NULL;
    for (uint32_t i = 0; i < ACCOUNTS_MAX; i++) {
        last = accounts_open(accounts, 0);
        assert_non_null(last);
    }
    assert_null(accounts_open(accounts, 0));
    accounts_close(accounts, last);
    assert_ptr_equal(accounts_open(accounts, 0), last);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_handle_is_good_for_one_life),
        TEST(test_one_begins_empty),
        TEST(test_there_is_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
