#include "base/buffers/chunk.h"

#include "support/test.h"

#include <pthread.h>
#include <stdio.h>

/* Sanitizers end the process when calloc would fail; this test needs it to fail. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

EXPORTED const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_a_pool_gives_as_many_as_it_has(void **state)
{
    struct chunk_pool *pool;
    struct chunk *taken[3];
    assert_int_equal(chunk_pool_create(3, &pool), STATUS_OK);
    assert_int_equal(chunk_pool_size(pool), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chunk_pool_free(pool), 3 - i);
        taken[i] = chunk_take(pool);
        assert_non_null(taken[i]);
    }
    assert_ptr_not_equal(taken[0], taken[1]);
    assert_ptr_not_equal(taken[1], taken[2]);
    assert_null(chunk_take(pool));
    assert_int_equal(chunk_pool_free(pool), 0);
    chunk_give_back(pool, taken[1]);
    assert_ptr_equal(chunk_take(pool), taken[1]);
    for (int i = 0; i < 3; i++)
        chunk_give_back(pool, taken[i]);
    assert_int_equal(chunk_pool_free(pool), 3);
    chunk_pool_destroy(pool);
}

static void test_a_taken_chunk_is_empty_and_alone(void **state)
{
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(2, &pool), STATUS_OK);
    struct chunk *chunk = chunk_take(pool);
    chunk->begin = 5;
    chunk->end = 100;
    chunk->data[CHUNK_BYTES - 1] = 1;
    chunk_give_back(pool, chunk);
    chunk = chunk_take(pool);
    assert_int_equal(chunk->begin, 0);
    assert_int_equal(chunk->end, 0);
    assert_null(chunk->next);
    chunk_give_back(pool, chunk);
    chunk_pool_destroy(pool);
}

static void test_a_list_goes_back_at_once(void **state)
{
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(4, &pool), STATUS_OK);
    struct chunk *a = chunk_take(pool), *b = chunk_take(pool), *c = chunk_take(pool);
    a->next = b;
    b->next = c;
    chunk_give_back(pool, a);
    assert_int_equal(chunk_pool_free(pool), 4);
    for (int i = 0; i < 4; i++)
        assert_non_null(chunk_take(pool));
    assert_null(chunk_take(pool));
    chunk_pool_destroy(pool);
}

static void test_nothing_goes_back(void **state)
{
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(1, &pool), STATUS_OK);
    chunk_give_back(pool, NULL);
    assert_int_equal(chunk_pool_free(pool), 1);
    chunk_pool_destroy(pool);
    chunk_pool_destroy(NULL);
}

static void test_too_large_a_pool_is_refused(void **state)
{
    struct chunk_pool *pool = NULL;
    assert_int_equal(chunk_pool_create(SIZE_MAX / CHUNK_BYTES, &pool), STATUS_NO_MEMORY);
    assert_int_equal(chunk_pool_create(SIZE_MAX, &pool), STATUS_NO_MEMORY);
    assert_null(pool);
}

static void *take_and_give(void *context)
{
    struct chunk_pool *pool = context;
    for (int i = 0; i < 20000; i++) {
        struct chunk *first = chunk_take(pool), *second = chunk_take(pool);
        if (first)
            first->data[0]++; /* two owners would be a race */
        if (first && second)
            first->next = second;
        else if (second)
            chunk_give_back(pool, second);
        chunk_give_back(pool, first);
    }
    return NULL;
}

static void test_threads_share_a_pool(void **state)
{
    struct chunk_pool *pool;
    pthread_t threads[4];
    assert_int_equal(chunk_pool_create(5, &pool), STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, pool), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(chunk_pool_free(pool), 5);
    chunk_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pool_gives_as_many_as_it_has),
        cmocka_unit_test(test_a_taken_chunk_is_empty_and_alone),
        cmocka_unit_test(test_a_list_goes_back_at_once),
        cmocka_unit_test(test_nothing_goes_back),
        cmocka_unit_test(test_too_large_a_pool_is_refused),
        cmocka_unit_test(test_threads_share_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
