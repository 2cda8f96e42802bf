/* When a stack is described and when its ID is enough: by recorded stacks, as in a replay. How often native
 * ones are taken. */
#include "capture/stacks/launch_stacks.h"

#include "base/accounting/counters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SET 2048 /* IDs that differ by a multiple of it share a set of two places */

static const struct settings recorded = {
    .capture = {.launch_stacks = LAUNCH_STACKS_PYTHON, .launch_stacks_period = 1}};
static struct host_thread threads[2];
static union {
    struct code_record record;
    uint8_t bytes[64];
} current, written;
static bool has_code;

static const struct code_record *replay(void)
{
    return has_code ? &current.record : NULL;
}

static int setup(void **state)
{
    (void)state;
    has_code = true;
    current.record = (struct code_record){.head = {.bytes = 48, .type = RECORD_CODE},
                                          .frame_count = 1,
                                          .flags = CODE_IS_DESCRIBED | CODE_IS_CUT};
    memset(current.record.frames, 'x', 48 - sizeof current.record);
    return launch_stacks_start(&recorded, replay) == STATUS_OK ? 0 : -1;
}

/* Whether the thread described the stack. */
static bool describes(struct host_thread *thread, uint64_t id)
{
    struct launch_stack stack;
    current.record.id = id;
    assert_true(launch_stacks_take(thread, false, &stack));
    memset(&written, 0, sizeof written);
    uint32_t bytes = launch_stacks_write(&stack, &written.record);
    assert_in_range(bytes, sizeof written.record, stack.bytes_max);
    assert_int_equal(written.record.head.bytes, bytes);
    assert_int_equal(written.record.head.type, RECORD_CODE);
    assert_int_equal(written.record.id, id);
    bool is_described = written.record.flags & CODE_IS_DESCRIBED;
    assert_int_equal(written.record.flags & CODE_IS_CUT, CODE_IS_CUT);
    assert_int_equal(bytes, is_described ? 48 : sizeof written.record);
    if (is_described)
        assert_memory_equal(written.record.frames, current.record.frames, 48 - sizeof current.record);
    return is_described;
}

static void test_a_thread_describes_a_stack_once(void **state)
{
    (void)state;
    assert_true(describes(&threads[0], 1));
    assert_false(describes(&threads[0], 1));
    assert_true(describes(&threads[0], 2));
    assert_false(describes(&threads[0], 1));
    assert_true(describes(&threads[1], 1));
    assert_false(describes(&threads[1], 1));
}

static void test_after_all_is_forgotten_it_describes_again(void **state)
{
    (void)state;
    assert_true(describes(&threads[0], 10));
    launch_stacks_forget();
    assert_true(describes(&threads[0], 10));
    assert_false(describes(&threads[0], 10));
}

static void test_after_another_start_it_describes_again(void **state)
{
    (void)state;
    assert_true(describes(&threads[0], 20));
    assert_int_equal(launch_stacks_start(&recorded, replay), STATUS_OK);
    assert_true(describes(&threads[0], 20));
}

static void test_of_three_stacks_in_a_set_the_oldest_gives_way(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        assert_true(describes(&threads[0], 100 + i * SET));
    assert_false(describes(&threads[0], 100 + 2 * SET));
    assert_false(describes(&threads[0], 100 + SET));
    assert_true(describes(&threads[0], 100));
}

static void test_a_call_without_a_recorded_stack_has_none(void **state)
{
    (void)state;
    struct launch_stack stack;
    has_code = false;
    assert_false(launch_stacks_take(&threads[0], false, &stack));
}

/* Those that were taken or counted as unknown: nobody learns the rules here. */
static unsigned native_stacks_of(const struct settings *settings, bool is_asked, unsigned calls)
{
    static struct launch_stack stack;
    unsigned count = 0;
    uint64_t before = counter_get(COUNTER_code_unknown);
    assert_int_equal(launch_stacks_start(settings, NULL), STATUS_OK);
    for (unsigned i = 0; i < calls; i++)
        count += launch_stacks_take(&threads[1], is_asked, &stack);
    return count + (unsigned)(counter_get(COUNTER_code_unknown) - before);
}

static void test_one_call_in_a_period_is_taken(void **state)
{
    (void)state;
    threads[1].serial = 7;
    struct settings settings = {.capture = {.launch_stacks = LAUNCH_STACKS_ALL, .launch_stacks_period = 1}};
    assert_int_equal(native_stacks_of(&settings, false, 100), 100);
    settings.capture.launch_stacks_period = 10;
    unsigned count = native_stacks_of(&settings, false, 10000);
    assert_in_range(count, 900, 1100); /* the same in each run: the numbers come from `serial` */
    threads[1].calls_until_code = 17;
    assert_int_equal(native_stacks_of(&settings, true, 100), 100); /* an allocation, a graph's node */
    assert_int_equal(threads[1].calls_until_code, 17);
}

static void test_only_allocations_have_native_stacks(void **state)
{
    (void)state;
    struct settings settings = {.capture = {.launch_stacks = LAUNCH_STACKS_PYTHON,
                                            .launch_stacks_period = 1,
                                            .allocation_stacks = true}};
    assert_int_equal(native_stacks_of(&settings, false, 100), 0);
    assert_int_equal(native_stacks_of(&settings, true, 100), 100);
    settings.capture.allocation_stacks = false;
    assert_int_equal(native_stacks_of(&settings, true, 100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_thread_describes_a_stack_once, setup),
        cmocka_unit_test_setup(test_after_all_is_forgotten_it_describes_again, setup),
        cmocka_unit_test_setup(test_after_another_start_it_describes_again, setup),
        cmocka_unit_test_setup(test_of_three_stacks_in_a_set_the_oldest_gives_way, setup),
        cmocka_unit_test_setup(test_a_call_without_a_recorded_stack_has_none, setup),
        cmocka_unit_test(test_one_call_in_a_period_is_taken),
        cmocka_unit_test(test_only_allocations_have_native_stacks),
    };
    return cmocka_run_group_tests_name("launch_stacks", tests, NULL, NULL);
}
