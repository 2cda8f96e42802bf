/* When a stack is described and when its ID is enough: by recorded stacks, as in a replay. How often native
 * ones are taken. The native caller of Python frames: the walks are fakes. */
#include "agent/capture/stacks/launch_stacks.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

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

/* The results of the fakes. 0 frames: no Python; caller 0: its rules are not known yet. */
static struct {
    uint32_t frames, frames_max;
    uint64_t caller;
    uint32_t generation;
    unsigned native_walks;
} fake;

enum status __wrap_python_find(struct python *python, struct error *err);
enum status __wrap_python_find(struct python *python, struct error *err)
{
    (void)err;
    python->has_positions = true;
    return STATUS_OK;
}

void __wrap_python_frames_walk(const struct python *python, struct python_frame *frames, uint32_t max,
                               struct python_walk *walk);
void __wrap_python_frames_walk(const struct python *python, struct python_frame *frames, uint32_t max,
                               struct python_walk *walk)
{
    (void)python;
    memset(frames, 0, fake.frames * sizeof *frames);
    fake.frames_max = max;
    *walk = (struct python_walk){
        .hash = 99, .count = fake.frames, .stack = fake.frames ? PYTHON_STACK_FRAMES : PYTHON_STACK_EMPTY};
}

void __wrap_python_frame_describe(const struct python *python, const struct python_frame *frame,
                                  struct python_frame_text *text);
void __wrap_python_frame_describe(const struct python *python, const struct python_frame *frame,
                                  struct python_frame_text *text)
{
    (void)python;
    (void)frame;
    text->file_length = (size_t)snprintf(text->file, text->file_max, "a.py");
    text->name_length = (size_t)snprintf(text->name, text->name_max, "f");
    text->line = 88;
}

void __real_native_frames_walk(struct native_stack *stack, enum native_from from, uint64_t *frames,
                               uint32_t max, struct native_walk *walk);
void __wrap_native_frames_walk(struct native_stack *stack, enum native_from from, uint64_t *frames,
                               uint32_t max, struct native_walk *walk);
void __wrap_native_frames_walk(struct native_stack *stack, enum native_from from, uint64_t *frames,
                               uint32_t max, struct native_walk *walk)
{
    if (from != NATIVE_CALLER) {
        __real_native_frames_walk(stack, from, frames, max, walk);
        return;
    }
    assert_int_equal(max, 1);
    *frames = fake.caller;
    *walk = (struct native_walk){.count = fake.caller != 0, .generation = fake.generation};
    fake.native_walks++;
}

static int setup(void **state)
{
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
    assert_true(describes(&threads[0], 1));
    assert_false(describes(&threads[0], 1));
    assert_true(describes(&threads[0], 2));
    assert_false(describes(&threads[0], 1));
    assert_true(describes(&threads[1], 1));
    assert_false(describes(&threads[1], 1));
}

static void test_after_all_is_forgotten_it_describes_again(void **state)
{
    assert_true(describes(&threads[0], 10));
    launch_stacks_forget();
    assert_true(describes(&threads[0], 10));
    assert_false(describes(&threads[0], 10));
}

static void test_after_another_start_it_describes_again(void **state)
{
    assert_true(describes(&threads[0], 20));
    assert_int_equal(launch_stacks_start(&recorded, replay), STATUS_OK);
    assert_true(describes(&threads[0], 20));
}

static void test_of_three_stacks_in_a_set_the_oldest_gives_way(void **state)
{
    for (uint64_t i = 0; i < 3; i++)
        assert_true(describes(&threads[0], 100 + i * SET));
    assert_false(describes(&threads[0], 100 + 2 * SET));
    assert_false(describes(&threads[0], 100 + SET));
    assert_true(describes(&threads[0], 100));
}

static void test_a_call_without_a_recorded_stack_has_none(void **state)
{
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
    struct settings settings = {.capture = {.launch_stacks = LAUNCH_STACKS_PYTHON,
                                            .launch_stacks_period = 1,
                                            .allocation_stacks = true}};
    assert_int_equal(native_stacks_of(&settings, false, 100), 0);
    assert_int_equal(native_stacks_of(&settings, true, 100), 100);
    settings.capture.allocation_stacks = false;
    assert_int_equal(native_stacks_of(&settings, true, 100), 0);
}

struct python_taken {
    uint64_t id, caller; /* 0: none */
    uint32_t bytes;
};

/* Takes and writes a stack of two Python frames. */
static struct python_taken take_python(bool is_asked)
{
    static struct launch_stack stack;
    static union {
        struct code_record record;
        uint8_t bytes[CODE_RECORD_BYTES_MAX];
    } room;
    struct python_taken taken = {.id = 0};
    fake.frames = 2;
    assert_true(launch_stacks_take(&threads[0], is_asked, &stack));
    fake.frames = 0;
    assert_int_equal(stack.kind, STACK_PYTHON);
    memset(&room, 0xff, sizeof room);
    taken.bytes = launch_stacks_write(&stack, &room.record);
    assert_int_equal(taken.bytes, room.record.head.bytes);
    assert_int_equal(taken.bytes % 8, 0);
    assert_int_equal(room.record.frame_count, 2);
    bool is_described = room.record.flags & CODE_IS_DESCRIBED;
    assert_int_equal(is_described, taken.bytes > sizeof room.record);
    if (!is_described)
        assert_int_equal(room.record.flags, 0);
    if (room.record.flags & CODE_HAS_CALLER)
        memcpy(&taken.caller, room.record.frames, sizeof taken.caller); /* its address */
    struct code_frame frame;
    memcpy(&frame, room.record.frames + (taken.caller ? sizeof(struct code_caller) : 0), sizeof frame);
    assert_int_equal(frame.line, is_described ? 88 : UINT32_MAX);
    taken.id = room.record.id;
    return taken;
}

static void test_a_native_caller_is_part_of_a_python_stack(void **state)
{
    const uint32_t known = sizeof(struct code_record);
    struct settings settings = {.capture = {.launch_stacks = LAUNCH_STACKS_ALL, .launch_stacks_period = 1}};
    assert_int_equal(launch_stacks_start(&settings, NULL), STATUS_OK);
    fake.caller = 0; /* unknown: a stack of its own */
    struct python_taken first = take_python(false), second;
    assert_int_equal(fake.frames_max, CODE_FRAMES_MAX - 1);
    assert_int_equal(first.id, 99);
    assert_true(first.bytes > known && first.caller == 0);
    assert_int_equal(take_python(false).bytes, known);
    fake.caller = 0x1234;
    first = take_python(false);
    assert_true(first.id != 99 && first.bytes > known);
    assert_int_equal(first.caller, 0x1234);
    second = take_python(true); /* a node of a graph */
    assert_int_equal(second.id, first.id);
    assert_int_equal(second.bytes, known);
    fake.caller = 0x1238;
    second = take_python(false);
    assert_true(second.id != first.id && second.bytes > known);
    assert_int_equal(second.caller, 0x1238);
    fake.caller = 0x1234;
    fake.generation = 1; /* a library was unloaded: it may be another function */
    second = take_python(false);
    assert_true(second.id != first.id && second.bytes > known);
    assert_int_equal(second.caller, 0x1234);
}

static void test_only_all_has_native_callers(void **state)
{
    struct settings settings = {.capture = {.launch_stacks = LAUNCH_STACKS_PYTHON,
                                            .launch_stacks_period = 1,
                                            .allocation_stacks = true}};
    fake.caller = 0x1234;
    fake.native_walks = 0;
    assert_int_equal(launch_stacks_start(&settings, NULL), STATUS_OK);
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        struct python_taken taken = take_python(is_asked);
        assert_int_equal(taken.id, 99);
        assert_true(taken.caller == 0);
        assert_int_equal(fake.frames_max, CODE_FRAMES_MAX);
    }
    assert_int_equal(fake.native_walks, 0);
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
        cmocka_unit_test(test_a_native_caller_is_part_of_a_python_stack),
        cmocka_unit_test(test_only_all_has_native_callers),
    };
    return cmocka_run_group_tests_name("launch_stacks", tests, NULL, NULL);
}
