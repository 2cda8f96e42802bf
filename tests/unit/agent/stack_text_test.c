#include "agent/pipeline/stack_text.h"

#include "capture/callbacks/call_stack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
    struct stack_record record;
    uint64_t frames[STACK_FRAMES_MAX];
} stack;

#define IN_STACKS __attribute__((noinline, visibility("default")))

IN_STACKS uint32_t walk_here(void);
IN_STACKS uint32_t walk_here(void)
{
    uint32_t bytes = call_stack_walk(&stack.record);
    __asm__ volatile("" ::: "memory");
    return bytes;
}

IN_STACKS uint32_t go_down(int depth);
IN_STACKS uint32_t go_down(int depth)
{
    uint32_t bytes = depth ? go_down(depth - 1) : walk_here();
    __asm__ volatile("" ::: "memory");
    return bytes;
}

IN_STACKS void a_function_whose_name_is_so_long_that_eight_of_its_frames_have_no_room(void);
IN_STACKS void a_function_whose_name_is_so_long_that_eight_of_its_frames_have_no_room(void) {}

static uint32_t frames_of(uint32_t bytes)
{
    return (bytes - (uint32_t)sizeof stack.record) / 8;
}

static void test_the_caller_is_innermost(void **state)
{
    (void)state;
    errno = 77;
    uint32_t bytes = walk_here();
    assert_int_equal(errno, 77);
    assert_true(frames_of(bytes) >= 2);
    assert_int_equal(stack.record.head.bytes, bytes);
    assert_int_equal(stack.record.head.type, RECORD_STACK);
    const char *text = stack_text_of(&stack.record);
    const char *found = strstr(text, "walk_here+0x"), *first_end = strchr(text, '\n');
    assert_non_null(found);
    assert_true(found == text || found == first_end + 1); /* a sanitizer's backtrace() comes first */
    assert_non_null(strstr(text, " (stack_text_test+0x"));
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(frames_of(go_down(500)), STACK_FRAMES_MAX);
    const char *text = stack_text_of(&stack.record);
    unsigned lines = 1;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, STACKS_SHOWN_MAX);
    assert_true(strlen(text) < STACKS_TEXT_BYTES);
}

static void put(uint32_t count)
{
    stack.record.head.bytes = (uint32_t)(sizeof stack.record + count * sizeof(uint64_t));
}

static void test_addresses_that_nobody_knows(void **state)
{
    (void)state;
    stack.record.frames[0] = 0x1234;
    stack.record.frames[1] = (uint64_t)(uintptr_t)walk_here + 1;
    put(2);
    const char *text = stack_text_of(&stack.record);
    assert_int_equal(strncmp(text, "0x1234\nwalk_here+0x1 (stack_text_test+0x", 39), 0);
    put(0);
    assert_string_equal(stack_text_of(&stack.record), "");
}

/* A return address may be past the end of a function that never returns, where the next function starts. */
static void test_a_call_at_a_functions_end_is_that_functions(void **state)
{
    (void)state;
    stack.record.frames[0] = (uint64_t)(uintptr_t)go_down;
    put(1);
    assert_null(strstr(stack_text_of(&stack.record), "go_down"));
}

static void test_one_stack_has_one_text(void **state)
{
    (void)state;
    stack.record.frames[0] = 0x1000;
    put(1);
    const char *first = stack_text_of(&stack.record);
    stack.record.frames[0] = 0x2000;
    assert_string_equal(stack_text_of(&stack.record), "0x2000");
    stack.record.frames[0] = 0x1000;
    assert_ptr_equal(stack_text_of(&stack.record), first);
    assert_string_equal(first, "0x1000");
}

static void test_more_stacks_than_are_kept(void **state)
{
    (void)state;
    char wanted[32];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= 4 * STACKS_KEPT; i++) {
            stack.record.frames[0] = i * 16;
            put(1);
            snprintf(wanted, sizeof wanted, "0x%x", i * 16);
            assert_string_equal(stack_text_of(&stack.record), wanted);
        }
    }
}

static void test_lines_are_whole_or_not_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STACK_FRAMES_MAX; i++)
        stack.record.frames[i] =
            (uint64_t)(uintptr_t)a_function_whose_name_is_so_long_that_eight_of_its_frames_have_no_room + 1;
    put(STACK_FRAMES_MAX);
    const char *text = stack_text_of(&stack.record);
    assert_true(strlen(text) < STACKS_TEXT_BYTES);
    assert_int_equal(text[strlen(text) - 1], ')');
    assert_true(strlen(text) > STACKS_TEXT_BYTES / 2);
}

static void test_without_memory_there_is_no_text(void **state)
{
    (void)state;
    assert_string_equal(stack_text_of(&stack.record), "");
    assert_true(call_stack_start());
    assert_int_equal(stack_text_init(), STATUS_OK); /* for the tests below */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_memory_there_is_no_text),
        cmocka_unit_test(test_the_caller_is_innermost),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_addresses_that_nobody_knows),
        cmocka_unit_test(test_a_call_at_a_functions_end_is_that_functions),
        cmocka_unit_test(test_one_stack_has_one_text),
        cmocka_unit_test(test_more_stacks_than_are_kept),
        cmocka_unit_test(test_lines_are_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
