#include "analysis/code/forward_lines.h"

#include "cli/util/int_map.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>

enum { PROCESS = 3, THREAD = 7, OTHER_THREAD = 8 };

static void note(struct forward_lines *lines, uint32_t thread, uint64_t number, uint64_t start_ns,
                 uint32_t origin)
{
    struct forward_op op = {
        .number = number, .start_ns = start_ns, .process = PROCESS, .thread = thread, .origin = origin};
    forward_lines_note(lines, &op);
}

static void test_last_operator(void **state)
{
    struct forward_lines lines = {NULL};
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 100), MAP_NONE);
    note(&lines, THREAD, 12, 1, 20);
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 100), 20);
    note(&lines, THREAD, 12, 1, 21); /* the first call counts */
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 100), 20);
    note(&lines, THREAD, 12, 2, MAP_NONE); /* the next operator, and a call in it */
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 100), MAP_NONE);
    note(&lines, THREAD, 12, 2, 22);
    note(&lines, THREAD, 12, 1, 23); /* of the operator before */
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 100), 22);
    assert_int_equal(forward_lines_find(&lines, PROCESS, 13, 100), MAP_NONE);
    assert_int_equal(forward_lines_find(&lines, PROCESS + 1, 12, 100), MAP_NONE);
    forward_lines_deinit(&lines);
    forward_lines_deinit(&lines);
}

static void test_threads_with_the_same_number(void **state)
{
    struct forward_lines lines = {NULL};
    note(&lines, THREAD, 12, 1, 20);
    note(&lines, OTHER_THREAD, 12, 60, 30);
    note(&lines, OTHER_THREAD, 12, 50, MAP_NONE);
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 49), 20);
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 51), MAP_NONE);
    note(&lines, THREAD, 12, 70, 21);
    assert_int_equal(forward_lines_find(&lines, PROCESS, 12, 100), MAP_NONE);
    forward_lines_deinit(&lines);
}

/* The latest numbers are kept. */
static void test_limit(void **state)
{
    struct forward_lines lines = {NULL};
    for (uint32_t number = 0; number < FORWARD_LINES_MAX + 10; number++)
        note(&lines, THREAD, number, number, number + 10);
    assert_int_equal(forward_lines_find(&lines, PROCESS, 9, UINT64_MAX - 1), MAP_NONE);
    for (uint32_t number = 10; number < FORWARD_LINES_MAX + 10; number++)
        assert_int_equal(forward_lines_find(&lines, PROCESS, number, UINT64_MAX - 1), number + 10);
    forward_lines_deinit(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_operator),
        cmocka_unit_test(test_threads_with_the_same_number),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
