#include "model/batch.h"

#include "support/test.h"

#include <string.h>

static void test_release_gives_back_all_chunks(void **state)
{
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(3, &pool), STATUS_OK);
    struct chunk *first = chunk_take(pool);
    first->next = chunk_take(pool);
    struct batch *batch = (struct batch *)(void *)first->data; /* as encode places it */
    *batch = (struct batch){.pool = pool, .chunks = first};
    assert_int_equal(chunk_pool_free(pool), 1);
    batch_release(batch);
    assert_int_equal(chunk_pool_free(pool), 3);
    chunk_pool_destroy(pool);
}

static void test_release_of_nothing(void **state)
{
    batch_release(NULL);
    struct batch empty = {0};
    batch_release(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_gives_back_all_chunks),
        cmocka_unit_test(test_release_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
