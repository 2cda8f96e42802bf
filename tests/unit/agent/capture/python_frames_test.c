/* Walks and describes the frames of an interpreter that this test builds in its own memory, in each known
 * layout. */
#include "agent/capture/stacks/python_frames.h"

#include "base/text/utf8.h"
#include "support/python_objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 5000

static struct {
    uint8_t *state;
    bool is_finalizing;
    struct python python;
} fake;

static void *fake_thread_state(void)
{
    return fake.state;
}

static int fake_is_finalizing(void)
{
    return fake.is_finalizing;
}

static void teardown(void)
{
    free_objects();
    memset(&fake, 0, sizeof fake);
}

static void setup(const struct python_layout *layout)
{
    make_functions(layout, "/srv/project/file.py");
    uint8_t *runtime = make(RUNTIME, at(PYTHON_RUNTIME_INTERPRETERS) + 8);
    uint8_t *interpreter = make(INTERPRETER, at(PYTHON_INTERPRETER_NEXT) + 8);
    fake.state = make(STATE, 256);
    put_pointer(runtime, PYTHON_RUNTIME_INTERPRETERS, interpreter);
    put_pointer(fake.state, PYTHON_STATE_INTERPRETER, interpreter);
    put(fake.state, PYTHON_STATE_THREAD, (uint64_t)pthread_self(), 8);
    set_frame(fake.state, made.frames[0]);
    fake.python = (struct python){.layout = layout,
                                  .thread_state = fake_thread_state,
                                  .is_finalizing = fake_is_finalizing,
                                  .runtime = (uintptr_t)runtime,
                                  .code_type = (uintptr_t)made.types[0],
                                  .string_type = (uintptr_t)made.types[1],
                                  .bytes_type = (uintptr_t)made.types[2],
                                  .has_one_interpreter = layout->minor < 13,
                                  .has_positions = !layout->is_free_threaded};
}

static void in_each_layout(void (*test)(void))
{
    in_layouts(setup, test, teardown);
}

static struct python_walk walk_to(struct python_frame *frames, uint32_t max)
{
    struct python_walk walk;
    memset(&walk, 0xff, sizeof walk);
    python_frames_walk(&fake.python, frames, max, &walk);
    return walk;
}

static struct python_walk walk_all(void)
{
    struct python_frame frames[FRAMES + 1];
    return walk_to(frames, FRAMES + 1);
}

static void expect_stack(enum python_stack stack, uint32_t count)
{
    struct python_walk walk = walk_all();
    assert_int_equal(walk.stack, stack);
    assert_int_equal(walk.count, count);
}

static void expect_text(const struct python_frame *frame, const char *name, uint32_t line)
{
    char file[64], got[64];
    struct python_frame_text text = {
        .file = file, .name = got, .file_max = sizeof file, .name_max = sizeof got};
    python_frame_describe(&fake.python, frame, &text);
    assert_int_equal(text.file_length, 20);
    assert_memory_equal(file, "/srv/project/file.py", 20);
    assert_int_equal(text.name_length, strlen(name));
    assert_memory_equal(got, name, strlen(name));
    assert_int_equal(text.first_line, 100);
    assert_int_equal(text.line, fake.python.has_positions ? line : 0);
}

static void check_texts(void)
{
    static const char *const names[FRAMES] = {"plain", "f\u00fcr", "\u6f22\u5b57\ufffdx", "\U0001f600x\ufffd",
                                              "plain"};
    static const uint32_t positions[FRAMES] = {0, 5, 9, UINT32_MAX, 4},
                          lines[FRAMES] = {100, 300, 298, 100, 100};
    struct python_frame frames[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        set_position(i, positions[i]);
    struct python_walk walk = walk_to(frames, FRAMES);
    assert_int_equal(walk.stack, PYTHON_STACK_FRAMES);
    assert_int_equal(walk.count, FRAMES);
    assert_false(walk.is_cut);
    for (int i = 0; i < FRAMES; i++) {
        assert_int_equal(frames[i].code, (uintptr_t)made.codes[i]);
        expect_text(&frames[i], names[i], lines[i]);
    }
    if (made.layout->minor >= 10) { /* an instruction without a line; one after the last entry */
        set_position(0, made.layout->minor == 10 ? 14 : 11);
        set_position(1, 1000);
        (void)walk_to(frames, FRAMES);
        expect_text(&frames[0], "plain", 0);
        expect_text(&frames[1], names[1], 0);
    }
}

static void test_texts(void **state)
{
    in_each_layout(check_texts);
}

static void check_stacks(void)
{
    uint8_t *runtime = (uint8_t *)fake.python.runtime; // NOLINT(performance-no-int-to-ptr)
    expect_stack(PYTHON_STACK_FRAMES, FRAMES);
    fake.is_finalizing = true;
    expect_stack(PYTHON_STACK_FINALIZING, 0);
    fake.is_finalizing = false;
    uint8_t *thread_state = fake.state;
    fake.state = NULL;
    expect_stack(PYTHON_STACK_NO_THREAD, 0);
    fake.state = thread_state;
    put(fake.state, PYTHON_STATE_THREAD, 77, 8);
    expect_stack(PYTHON_STACK_UNREADABLE, 0);
    put(fake.state, PYTHON_STATE_THREAD, (uint64_t)pthread_self(), 8);
    uint8_t *newer = make(INTERPRETER, 8);
    put_pointer(runtime, PYTHON_RUNTIME_INTERPRETERS, newer);
    bool is_one = fake.python.has_one_interpreter;
    expect_stack(is_one ? PYTHON_STACK_INTERPRETERS : PYTHON_STACK_FRAMES, is_one ? 0 : FRAMES);
}

static void test_stacks(void **state)
{
    in_each_layout(check_stacks);
}

static void check_interpreter_order(void)
{
    uint8_t *interpreter;
    memcpy(&interpreter, fake.state + at(PYTHON_STATE_INTERPRETER), sizeof interpreter);
    put_pointer(interpreter, PYTHON_INTERPRETER_NEXT, interpreter); /* this one is the newest of two */
    bool is_one = fake.python.has_one_interpreter;
    expect_stack(is_one ? PYTHON_STACK_INTERPRETERS : PYTHON_STACK_FRAMES, is_one ? 0 : FRAMES);
}

static void test_interpreter_order(void **state)
{
    in_each_layout(check_interpreter_order);
}

static void check_empty(void)
{
    uint8_t *holder = fake.state;
    enum python_field field = PYTHON_STATE_FRAME;
    if (at(PYTHON_CFRAME_FRAME) != PYTHON_NO_FIELD) {
        memcpy(&holder, fake.state + at(PYTHON_STATE_FRAME), sizeof holder);
        field = PYTHON_CFRAME_FRAME;
    }
    put_pointer(holder, field, NULL);
    expect_stack(PYTHON_STACK_EMPTY, 0);
}

static void test_empty(void **state)
{
    in_each_layout(check_empty);
}

static void check_own_frames(void)
{
    if (made.layout->minor >= 12) { /* frames of the interpreter have no code object that counts */
        made.frames[1][at(PYTHON_FRAME_OWNER)] = 3;
        made.frames[3][at(PYTHON_FRAME_OWNER)] = 4;
        put_pointer(made.frames[3], PYTHON_FRAME_CODE, NULL);
        expect_stack(PYTHON_STACK_FRAMES, FRAMES - 2);
    }
    put_pointer(made.frames[2], PYTHON_FRAME_CODE, made.types[0]); /* an object of another type */
    expect_stack(PYTHON_STACK_FRAMES, made.layout->minor >= 12 ? FRAMES - 3 : FRAMES - 1);
}

static void test_own_frames(void **state)
{
    in_each_layout(check_own_frames);
}

static void check_tags(void)
{
    if (made.layout->minor >= 14)
        put(made.frames[0], PYTHON_FRAME_CODE, (uintptr_t)made.codes[0] | 1, 8);
    struct python_frame frame;
    (void)walk_to(&frame, 1);
    assert_int_equal(frame.code, (uintptr_t)made.codes[0]);
}

static void test_tags(void **state)
{
    in_each_layout(check_tags);
}

static void check_cuts(void)
{
    struct python_frame frames[FRAMES];
    struct python_walk all = walk_to(frames, FRAMES), cut = walk_to(frames, FRAMES - 1);
    assert_false(all.is_cut);
    assert_true(cut.is_cut);
    assert_int_equal(cut.count, FRAMES - 1);
    put_pointer(made.frames[FRAMES - 2], PYTHON_FRAME_PREVIOUS, NULL);
    assert_int_not_equal(walk_to(frames, FRAMES - 1).hash, cut.hash);
    put_pointer(made.frames[FRAMES - 2], PYTHON_FRAME_PREVIOUS, made.frames[0]); /* a circle */
    struct python_walk circle = walk_to(frames, FRAMES);
    assert_true(circle.is_cut);
    assert_int_equal(circle.count, FRAMES);
    for (int i = 0; i < FRAMES; i++) /* a circle of frames that are skipped */
        put_pointer(made.frames[i], PYTHON_FRAME_CODE, made.types[0]);
    circle = walk_to(frames, FRAMES);
    assert_true(circle.is_cut);
    assert_int_equal(circle.count, 0);
}

static void test_cuts(void **state)
{
    in_each_layout(check_cuts);
}

static uint64_t first_identity(void)
{
    struct python_frame frame;
    (void)walk_to(&frame, 1);
    return frame.identity;
}

/* Another code object at the same address. */
static void check_identities(void)
{
    uint64_t before = first_identity(), hash = walk_all().hash;
    assert_int_equal(before, first_identity());
    static const enum python_field fields[] = {PYTHON_CODE_FILE, PYTHON_CODE_NAME, PYTHON_CODE_LINES};
    for (size_t i = 0; i < 3; i++) {
        uint8_t *kept;
        memcpy(&kept, made.codes[0] + at(fields[i]), sizeof kept);
        put_pointer(made.codes[0], fields[i], kept + 16);
        assert_int_not_equal(before, first_identity());
        put_pointer(made.codes[0], fields[i], kept);
    }
    uint8_t *name;
    memcpy(&name, made.codes[0] + at(PYTHON_CODE_NAME), sizeof name);
    if (made.layout->minor >= 12) {
        put(made.codes[0], PYTHON_CODE_VERSION, 8, 4);
        assert_int_not_equal(before, first_identity());
        put(made.codes[0], PYTHON_CODE_VERSION, 0, 4); /* no more versions: as before 3.12 */
        before = first_identity();
    }
    put(name, PYTHON_STRING_HASH, 1, 8);
    assert_int_not_equal(before, first_identity());
    before = first_identity();
    put(made.codes[0], PYTHON_CODE_FIRST_LINE, 101, 4);
    assert_int_not_equal(before, first_identity());
    assert_int_not_equal(hash, walk_all().hash);
    hash = walk_all().hash;
    set_position(2, 6);
    if (fake.python.has_positions)
        assert_int_not_equal(hash, walk_all().hash);
    else
        assert_int_equal(hash, walk_all().hash);
}

static void test_identities(void **state)
{
    in_each_layout(check_identities);
}

static void check_lengths(void)
{
    struct python_frame frames[FRAMES];
    char file[32], name[32];
    (void)walk_to(frames, FRAMES);
    for (size_t max = 0; max <= sizeof file; max++)
        for (int i = 0; i < FRAMES; i++) {
            struct python_frame_text text = {.file = file, .name = name, .file_max = max, .name_max = max};
            memset(file, '#', sizeof file);
            memset(name, '#', sizeof name);
            python_frame_describe(&fake.python, &frames[i], &text);
            assert_int_equal(text.file_length, max < 20 ? max : 20);
            assert_true(text.name_length <= max);
            for (size_t j = max; j < sizeof file; j++)
                assert_true(file[j] == '#' && name[j] == '#');
            if (max > 3 && max < 20) {
                assert_memory_equal(file, "...", 3);
                assert_memory_equal(file + 3, &"/srv/project/file.py"[20 - (max - 3)], max - 3);
            }
        }
}

static void test_lengths(void **state)
{
    in_each_layout(check_lengths);
}

/* Strings whose characters are elsewhere, subclasses of str, and a table that is no bytes object. */
static void check_unreadable(void)
{
    struct python_frame frame;
    uint8_t *file, *name;
    char bytes[2][64];
    memcpy(&file, made.codes[0] + at(PYTHON_CODE_FILE), sizeof file);
    memcpy(&name, made.codes[0] + at(PYTHON_CODE_NAME), sizeof name);
    put(file, PYTHON_STRING_STATE, 1u << at(PYTHON_KIND_BIT) | 1u << at(PYTHON_ASCII_BIT), 4);
    put_pointer(name, PYTHON_OBJECT_TYPE, fake.state);
    put_pointer(made.codes[0], PYTHON_CODE_LINES, name);
    assert_int_equal(walk_to(&frame, 1).stack, PYTHON_STACK_FRAMES);
    struct python_frame_text text = {.file = bytes[0], .name = bytes[1], .file_max = 64, .name_max = 64};
    python_frame_describe(&fake.python, &frame, &text);
    assert_int_equal(text.file_length, 0);
    assert_int_equal(text.name_length, 0);
    assert_int_equal(text.line, 0);
    assert_int_equal(text.first_line, 100);
}

static void test_unreadable(void **state)
{
    in_each_layout(check_unreadable);
}

/* ---- Damage ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

/* NULL, small, of the kernel, not canonical, or a freed object filled with a pattern. */
static uint64_t draw_wrong_pointer(void)
{
    static const uint64_t wrong[] = {0,
                                     1,
                                     8,
                                     0xfff8,
                                     0xffffffff80000000u,
                                     0x0001000000000000u,
                                     UINT64_MAX,
                                     0xdddddddddddddddd,
                                     0xa5a5a5a5a5a5a5a8u,
                                     0x8000000000000000u};
    return wrong[draw(sizeof wrong / sizeof *wrong)];
}

/* Any object of Python, perhaps of a wrong type. */
static uint64_t draw_object(void)
{
    for (;;) {
        const struct object *object = &made.objects[draw(made.count)];
        if (object->kind >= FRAME)
            return (uintptr_t)object->memory;
    }
}

static uint64_t draw_frame(void)
{
    return (uintptr_t)made.frames[draw(FRAMES)];
}

static uint64_t draw_word(void)
{
    static const uint64_t words[] = {0,     1,         2,          63,        255,       4095,
                                     65536, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    return draw(3) ? words[draw(sizeof words / sizeof *words)] : draw(UINT64_MAX);
}

static void damage_code(uint8_t *code)
{
    static const enum python_field pointers[] = {PYTHON_OBJECT_TYPE, PYTHON_CODE_FILE, PYTHON_CODE_NAME,
                                                 PYTHON_CODE_QUALNAME, PYTHON_CODE_LINES};
    switch (draw(3)) {
    case 0:
        put(code, pointers[draw(5)], draw(2) ? draw_object() : draw_wrong_pointer(), 8);
        break;
    case 1:
        put(code, PYTHON_CODE_FIRST_LINE, draw_word(), 4);
        break;
    default:
        put(code, PYTHON_CODE_VERSION, draw_word(), 4);
    }
}

static void damage_string(uint8_t *string, size_t size)
{
    size_t start = at(PYTHON_STRING_ASCII);
    switch (draw(4)) {
    case 0:
        put(string, PYTHON_STRING_LENGTH, draw_word(), 8);
        break;
    case 1: /* the kind says how wide the terminator is */
        put(string, PYTHON_STRING_STATE,
            (uint32_t)draw_word() & ~(7u << at(PYTHON_KIND_BIT)) & ~(1u << at(PYTHON_COMPACT_BIT)), 4);
        break;
    case 2:
        put_pointer(string, PYTHON_OBJECT_TYPE, fake.state);
        break;
    default: /* not the terminator */
        if (size > start + 8)
            string[start + draw(size - start - 8)] = (uint8_t)draw(256);
    }
}

static void damage_bytes(uint8_t *bytes, size_t size)
{
    size_t start = at(PYTHON_BYTES_START);
    if (draw(2))
        put(bytes, PYTHON_BYTES_LENGTH, draw(size - start), 8);
    else
        bytes[start + draw(size - start - 1)] = (uint8_t)draw(256);
}

static void damage(struct object *object)
{
    switch (object->kind) {
    case RUNTIME:
        put(object->memory, PYTHON_RUNTIME_INTERPRETERS, draw(2) ? draw_object() : draw_wrong_pointer(), 8);
        break;
    case INTERPRETER:
        put(object->memory, PYTHON_INTERPRETER_NEXT, draw_wrong_pointer(), 8);
        break;
    case STATE:
        if (draw(4) == 0)
            put(object->memory, PYTHON_STATE_THREAD, draw_word(), 8);
        else if (draw(2))
            put(object->memory, PYTHON_STATE_INTERPRETER, draw_wrong_pointer(), 8);
        else
            put(object->memory, PYTHON_STATE_FRAME, draw_wrong_pointer(), 8);
        break;
    case CFRAME:
        put(object->memory, PYTHON_CFRAME_FRAME, draw(2) ? draw_frame() : draw_wrong_pointer(), 8);
        break;
    case FRAME:
        if (draw(3) == 0)
            put(object->memory, PYTHON_FRAME_CODE, draw(2) ? draw_object() | draw(8) : draw_wrong_pointer(),
                8);
        else if (draw(2))
            put(object->memory, PYTHON_FRAME_PREVIOUS, draw(2) ? draw_frame() : draw_wrong_pointer(), 8);
        else
            put(object->memory, PYTHON_FRAME_POSITION, draw_word(), made.layout->minor < 11 ? 4 : 8);
        if (draw(4) == 0)
            put(object->memory, PYTHON_FRAME_OWNER, draw(256), 1);
        break;
    case CODE:
        damage_code(object->memory);
        break;
    case STRING:
        damage_string(object->memory, object->size);
        break;
    case BYTES:
        damage_bytes(object->memory, object->size);
        break;
    case TYPE:
        break;
    }
}

static void read_all(void)
{
    struct python_frame frames[FRAMES];
    struct python_walk walk = walk_to(frames, FRAMES);
    assert_true(walk.count <= FRAMES && walk.stack <= PYTHON_STACK_UNREADABLE);
    for (uint32_t i = 0; i < walk.count; i++) {
        char file[24 + 1], name[12 + 1];
        struct python_frame_text text = {
            .file = file, .name = name, .file_max = draw(sizeof file), .name_max = draw(sizeof name)};
        python_frame_describe(&fake.python, &frames[i], &text);
        assert_true(text.file_length <= text.file_max && text.name_length <= text.name_max);
        file[text.file_length] = name[text.name_length] = '\0';
        assert_true(utf8_is_valid(file) && utf8_is_valid(name));
    }
}

static void check_damage(void)
{
    static uint8_t *kept[OBJECTS];
    for (size_t i = 0; i < made.count; i++) {
        kept[i] = malloc(made.objects[i].size);
        memcpy(kept[i], made.objects[i].memory, made.objects[i].size);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t times = 1 + draw(4); times > 0; times--)
            damage(&made.objects[draw(made.count)]);
        read_all();
        for (size_t i = 0; i < made.count; i++)
            memcpy(made.objects[i].memory, kept[i], made.objects[i].size);
    }
    for (size_t i = 0; i < made.count; i++)
        free(kept[i]);
}

static void test_damage(void **state)
{
    in_each_layout(check_damage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_interpreter_order),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_own_frames),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
