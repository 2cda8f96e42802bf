#include "agent/capture/coexist/buffer_stall.h"

#include "support/test.h"

#define ROOM 1000
#define MANY (ROOM + 1025)

static void test_quiet_while_buffers_come(void **state)
{
    struct buffer_stall buffer_stall = {0};
    for (uint64_t i = 1; i < 100; i++)
        assert_false(buffer_stall_check(&buffer_stall, i, i, (uint32_t)i * MANY, ROOM));
}

static void test_said_once_when_they_stop(void **state)
{
    struct buffer_stall buffer_stall = {0};
    assert_false(buffer_stall_check(&buffer_stall, 1, 0, 0, ROOM));
    assert_false(buffer_stall_check(&buffer_stall, 1, 4, MANY, ROOM)); /* too few flushes */
    assert_false(buffer_stall_check(&buffer_stall, 1, 5, MANY - 1, ROOM));
    assert_true(buffer_stall_check(&buffer_stall, 1, 5, MANY, ROOM));
    assert_false(buffer_stall_check(&buffer_stall, 1, 6, 2 * MANY, ROOM));
    assert_false(buffer_stall_check(&buffer_stall, 2, 7, 2 * MANY, ROOM)); /* buffers arrive again */
    assert_true(buffer_stall_check(&buffer_stall, 2, 12, 3 * MANY, ROOM));
}

static void test_what_is_done_meanwhile_does_not_count(void **state)
{
    struct buffer_stall buffer_stall = {0};
    assert_false(buffer_stall_check(&buffer_stall, 1, 0, 10 * MANY, ROOM));
    assert_false(buffer_stall_check(&buffer_stall, 1, 50, 10 * MANY + ROOM, ROOM));
    assert_false(buffer_stall_check(&buffer_stall, 1, 60, MANY, ROOM)); /* abandoned calls no longer wait */
    assert_false(buffer_stall_check(&buffer_stall, 1, 70, MANY + ROOM, ROOM));
    assert_true(buffer_stall_check(&buffer_stall, 1, 80, 2 * MANY, ROOM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quiet_while_buffers_come),
                                       cmocka_unit_test(test_said_once_when_they_stop),
                                       cmocka_unit_test(test_what_is_done_meanwhile_does_not_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
