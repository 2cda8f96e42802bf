#include "agent/correlate/join/entry_queue.h"

#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define PUSHED_NS 5

struct item {
    uint32_t number, bytes;
    uint8_t filler[];
};

static struct entry_queue *queue;
static uint32_t seen[64], seen_count;

static int setup(void **state)
{
    seen_count = 0;
    return entry_queue_create(1024, &queue) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    free(queue);
    return 0;
}

static bool push(uint32_t number, uint32_t bytes)
{
    struct item *item = entry_queue_push(queue, sizeof *item + bytes, PUSHED_NS);
    if (!item)
        return false;
    *item = (struct item){number, bytes};
    memset(item->filler, (int)number, bytes);
    return true;
}

static bool visit(void *context, const void *entry, uint64_t pushed_ns)
{
    const struct item *item = entry;
    for (uint32_t i = 0; i < item->bytes; i++)
        assert_int_equal(item->filler[i], item->number);
    assert_int_equal((uintptr_t)entry % 8, 0);
    assert_int_equal(pushed_ns, PUSHED_NS);
    seen[seen_count++] = item->number;
    return item->number % 2 == *(const uint32_t *)context;
}

static void they_are_visited_in_their_order_until_they_go(void **state)
{
    uint32_t odd = 1, even = 0;
    assert_int_equal(entry_queue_count(queue), 0);
    for (uint32_t i = 1; i <= 6; i++)
        assert_true(push(i, 7 * i));
    entry_queue_sweep(queue, visit, &odd);
    assert_int_equal(seen_count, 6);
    seen_count = 0;
    assert_true(push(8, 1));
    entry_queue_sweep(queue, visit, &even);
    assert_int_equal(seen_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(seen[i], 2 * i + 2);
    assert_int_equal(entry_queue_count(queue), 0);
}

static void room_comes_back(void **state)
{
    uint32_t odd = 1, pushed = 0;
    while (push(pushed + 1, 100))
        pushed++;
    assert_in_range(pushed, 6, 10);
    assert_false(push(99, 2000));
    entry_queue_sweep(queue, visit, &odd);
    for (uint32_t i = 0; i < (pushed + 1) / 2; i++)
        assert_true(push(51, 100));
    seen_count = 0;
    entry_queue_sweep(queue, visit, &odd);
    assert_int_equal(seen_count, pushed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_are_visited_in_their_order_until_they_go),
        TEST(room_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
