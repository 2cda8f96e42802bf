#include "correlate/join/lingering.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct lingering *lingering;

static void emit(void *context, struct account *account, const void *body)
{
    (void)context, (void)account, (void)body;
}
static uint32_t seen[64], seen_count;

static int setup(void **state)
{
    (void)state;
    seen_count = 0;
    return lingering_create(1024, &lingering) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    lingering_destroy(lingering);
    return 0;
}

static bool push(uint32_t account, uint32_t bytes)
{
    struct lingering_head head = {.bytes = bytes, .account = account, .since_ns = 5, .emit = emit};
    void *body = lingering_push(lingering, &head);
    if (body)
        memset(body, (int)account, bytes);
    return body != NULL;
}

static bool visit(void *context, const struct lingering_head *head, const void *body)
{
    const uint8_t *bytes = body;
    for (uint32_t i = 0; i < head->bytes; i++)
        assert_int_equal(bytes[i], head->account);
    assert_int_equal((uintptr_t)body % 8, 0);
    assert_int_equal(head->since_ns, 5);
    assert_ptr_equal(head->emit, emit);
    seen[seen_count++] = head->account;
    return head->account % 2 == *(const uint32_t *)context;
}

static void test_they_are_visited_in_their_order_until_they_go(void **state)
{
    (void)state;
    uint32_t odd = 1, even = 0;
    assert_true(lingering_is_empty(lingering));
    for (uint32_t i = 1; i <= 6; i++)
        assert_true(push(i, 7 * i));
    lingering_sweep(lingering, visit, &odd);
    assert_int_equal(seen_count, 6);
    seen_count = 0;
    assert_true(push(8, 1));
    lingering_sweep(lingering, visit, &even);
    assert_int_equal(seen_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(seen[i], 2 * i + 2);
    assert_true(lingering_is_empty(lingering));
}

static void test_room_comes_back(void **state)
{
    (void)state;
    uint32_t odd = 1, pushed = 0;
    while (push(pushed + 1, 100))
        pushed++;
    assert_in_range(pushed, 6, 10);
    assert_false(push(99, 2000));
    lingering_sweep(lingering, visit, &odd);
    for (uint32_t i = 0; i < (pushed + 1) / 2; i++)
        assert_true(push(51, 100));
    seen_count = 0;
    lingering_sweep(lingering, visit, &odd);
    assert_int_equal(seen_count, pushed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_they_are_visited_in_their_order_until_they_go),
        TEST(test_room_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
