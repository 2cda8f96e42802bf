/* Reads the threads, frames and texts of an interpreter that this test builds in its own memory, in each
 * known layout; whole, damaged, and as a library that is loaded. */
#include "agent/watch/stacks/python_look.h"

#include "base/text/utf8.h"
#include "support/python_objects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATES 3

/* States 0 and 1 are of the first interpreter. */
static struct {
    uint8_t *runtime, *interpreters[2], *states[STATES], *gil;
    struct python_process python;
} fake;

static struct thread_stacks result;
static struct python_texts texts;

/* IDs of the states' threads; the last one has the ID of this thread, by pthread_self() too. */
static int32_t tids[STATES];

static void make_states(void)
{
    for (int i = 0; i < STATES; i++) {
        int32_t own = (int32_t)syscall(SYS_gettid);
        tids[i] = own - (STATES - 1 - i);
        fake.states[i] = make(STATE, 512);
        put_pointer(fake.states[i], PYTHON_STATE_INTERPRETER, fake.interpreters[i == 2]);
        put(fake.states[i], PYTHON_STATE_TID, (uint64_t)tids[i], 8);
        /* Before 3.11 only this thread's ID can be read. */
        put(fake.states[i], PYTHON_STATE_THREAD, i == 2 ? (uint64_t)pthread_self() : 0, 8);
    }
    put_pointer(fake.interpreters[0], PYTHON_INTERPRETER_THREADS, fake.states[0]);
    put_pointer(fake.interpreters[1], PYTHON_INTERPRETER_THREADS, fake.states[2]);
    put_pointer(fake.states[0], PYTHON_STATE_NEXT, fake.states[1]);
}

/* Function 4's are longer than the reader takes. */
static void put_long_texts(void)
{
    char text[300];
    memset(text, 'p', sizeof text);
    const uint8_t *name = make_string(text, sizeof text, 0);
    put_pointer(made.codes[4], PYTHON_CODE_FILE, make_string(text, sizeof text, 0));
    put_pointer(made.codes[4], PYTHON_CODE_NAME, name);
    put_pointer(made.codes[4], PYTHON_CODE_QUALNAME, name);
}

static void setup(const struct python_layout *layout)
{
    make_functions(layout, "/srv/file.py");
    put_long_texts();
    fake.runtime = make(RUNTIME, 2048);
    for (int i = 0; i < 2; i++)
        fake.interpreters[i] = make(INTERPRETER, 8192);
    put_pointer(fake.runtime, PYTHON_RUNTIME_INTERPRETERS, fake.interpreters[0]);
    put_pointer(fake.interpreters[0], PYTHON_INTERPRETER_NEXT, fake.interpreters[1]);
    make_states();
    set_frame(fake.states[0], made.frames[0]);
    if (at(PYTHON_RUNTIME_GIL) != PYTHON_NO_FIELD) {
        fake.gil = fake.runtime + at(PYTHON_RUNTIME_GIL);
    } else {
        fake.gil = make(RUNTIME, 64);
        for (int i = 0; i < 2; i++)
            put_pointer(fake.interpreters[i], PYTHON_INTERPRETER_GIL, fake.gil);
    }
    fake.python = (struct python_process){.layout = *layout,
                                          .runtime = (uintptr_t)fake.runtime,
                                          .code_type = (uintptr_t)made.types[0],
                                          .string_type = (uintptr_t)made.types[1],
                                          .bytes_type = (uintptr_t)made.types[2]};
}

static void clear_result(void)
{
    memset(&result, 0, sizeof result);
    memset(&texts, 0, sizeof texts);
    result.text_bytes = 1;
}

static void teardown(void)
{
    free_objects();
    memset(&fake, 0, sizeof fake);
    clear_result();
}

static void in_each_layout(void (*test)(void))
{
    in_layouts(setup, test, teardown);
}

static struct python_stack_walk walk(int state)
{
    struct python_stack_walk found;
    memset(&found, 0xff, sizeof found);
    python_look_walk(&fake.python, (uint64_t)(uintptr_t)fake.states[state], &found);
    return found;
}

static struct stack_python_frame describe(int number, enum stack_detail detail)
{
    struct stack_python_frame frame;
    struct python_stack_walk found = walk(0);
    assert_true((uint32_t)number < found.count);
    python_look_describe(&fake.python, &texts, found.frames[number].code, found.frames[number].position,
                         detail, &result, &frame);
    return frame;
}

static const char *name_of(const struct stack_python_frame *frame)
{
    return frame->function == STACK_NO_CODE ? "?"
                                            : thread_stacks_text(&result, result.codes[frame->function].name);
}

static const char *file_of(const struct stack_python_frame *frame)
{
    return frame->function == STACK_NO_CODE ? "?"
                                            : thread_stacks_text(&result, result.codes[frame->function].file);
}

/* ---- Threads ----------------------------------------------------------------------------------------------
 */

static uint32_t list(struct python_thread *threads, uint32_t max, bool *is_incomplete)
{
    return python_look_list(&fake.python, tids, STATES, threads, max, is_incomplete);
}

static void threads(void)
{
    struct python_thread found[8];
    bool is_incomplete;
    bool has_tids = at(PYTHON_STATE_TID) != PYTHON_NO_FIELD;
    assert_int_equal(list(found, 8, &is_incomplete), has_tids ? 3 : 1);
    assert_false(is_incomplete);
    const struct python_thread *last = &found[has_tids ? 2 : 0];
    assert_int_equal(last->tid, tids[2]);
    assert_int_equal(last->state, (uintptr_t)fake.states[2]);
    assert_false(last->holds_gil);
    put_pointer(fake.gil, PYTHON_GIL_HOLDER, fake.states[2]);
    list(found, 8, &is_incomplete);
    assert_false(last->holds_gil); /* it had it */
    put(fake.gil, PYTHON_GIL_LOCKED, 1, 4);
    list(found, 8, &is_incomplete);
    assert_true(last->holds_gil);
    if (has_tids) {
        assert_int_equal(found[0].tid, tids[0]);
        assert_int_equal(found[1].tid, tids[1]);
        assert_false(found[0].holds_gil);
        assert_int_equal(list(found, 1, &is_incomplete), 1);
    }
    /* In the child of a fork, the ID may be the parent's. */
    put(fake.states[2], PYTHON_STATE_TID, 0x7fffffff, 8);
    assert_int_equal(list(found, 8, &is_incomplete), has_tids ? 3 : 1);
    assert_int_equal(last->tid, tids[2]);
    put(fake.states[2], PYTHON_STATE_THREAD, 0x10000, 8);
    assert_int_equal(list(found, 8, &is_incomplete), has_tids ? 2 : 0);
    assert_false(is_incomplete);
}

static void damaged_lists(void)
{
    struct python_thread found[8];
    bool is_incomplete;
    put_pointer(fake.states[1], PYTHON_STATE_NEXT, fake.states[0]); /* a circle */
    list(found, 8, &is_incomplete);
    put_pointer(fake.states[1], PYTHON_STATE_NEXT, fake.states[2]); /* of another interpreter */
    list(found, 8, &is_incomplete);
    assert_true(is_incomplete);
    put(fake.states[1], PYTHON_STATE_NEXT, 0xdead, 8);
    list(found, 8, &is_incomplete);
    assert_true(is_incomplete);
    put(fake.states[1], PYTHON_STATE_NEXT, 0, 8);
    put_pointer(fake.interpreters[1], PYTHON_INTERPRETER_NEXT, fake.interpreters[0]); /* a circle */
    list(found, 8, &is_incomplete);
    assert_false(is_incomplete);
    put(fake.interpreters[0], PYTHON_INTERPRETER_NEXT, 0xdead, 8);
    list(found, 8, &is_incomplete);
    assert_true(is_incomplete);
    put(fake.runtime, PYTHON_RUNTIME_INTERPRETERS, 0, 8); /* not initialized, or finalized */
    assert_int_equal(list(found, 8, &is_incomplete), 0);
    assert_false(is_incomplete);
}

static void test_threads(void **state)
{
    in_each_layout(threads);
}

static void test_damaged_lists(void **state)
{
    in_each_layout(damaged_lists);
}

/* ---- Frames -----------------------------------------------------------------------------------------------
 */

static void frames(void)
{
    struct python_stack_walk found = walk(0);
    assert_int_equal(found.end, STACK_PYTHON_COMPLETE);
    assert_int_equal(found.count, FRAMES);
    for (int i = 0; i < FRAMES; i++)
        assert_int_equal(found.frames[i].code, (uintptr_t)made.codes[i]);
    set_frame(fake.states[0], NULL);
    assert_int_equal(walk(0).end, STACK_PYTHON_IDLE);
    set_frame(fake.states[0], made.frames[0]);

    struct python_stack_walk again = walk(0);
    assert_true(python_look_is_same(&found, &again));
    set_position(0, 6); /* only the innermost frame has moved */
    again = walk(0);
    assert_true(python_look_is_same(&found, &again));
    set_position(1, 6);
    again = walk(0);
    assert_false(python_look_is_same(&found, &again));
    set_position(1, 5);
    set_frame(fake.states[0], made.frames[1]);
    again = walk(0);
    assert_false(python_look_is_same(&found, &again));
    set_frame(fake.states[0], made.frames[0]);

    /* The interpreter's own frames, by their owner or because they have no code. */
    put(made.frames[1], PYTHON_FRAME_OWNER, 3, 1);
    assert_int_equal(walk(0).count, at(PYTHON_FRAME_OWNER) == PYTHON_NO_FIELD ? FRAMES : FRAMES - 1);
    put(made.frames[1], PYTHON_FRAME_OWNER, 0, 1);
    put_pointer(made.frames[1], PYTHON_FRAME_CODE, made.types[0]);
    assert_int_equal(walk(0).count, FRAMES - 1);
    assert_int_equal(walk(0).end, STACK_PYTHON_COMPLETE);
}

static void damaged_frames(void)
{
    put_pointer(made.frames[4], PYTHON_FRAME_PREVIOUS, made.frames[0]); /* a circle */
    struct python_stack_walk found = walk(0);
    assert_int_equal(found.end, STACK_PYTHON_CUT);
    assert_int_equal(found.count, STACK_PYTHON_FRAMES_MAX);
    for (int i = 0; i < FRAMES; i++)
        put_pointer(made.frames[i], PYTHON_FRAME_CODE, made.types[0]); /* a circle without code */
    found = walk(0);
    assert_int_equal(found.end, STACK_PYTHON_UNREADABLE);
    assert_int_equal(found.count, 0);
    put_pointer(made.frames[0], PYTHON_FRAME_CODE, made.codes[0]);
    put(made.frames[0], PYTHON_FRAME_PREVIOUS, 0xdead, 8);
    found = walk(0);
    assert_int_equal(found.end, STACK_PYTHON_UNREADABLE);
    assert_int_equal(found.count, 1);
    put(fake.states[0], PYTHON_STATE_FRAME, 0xdead, 8);
    assert_int_equal(walk(0).end, STACK_PYTHON_UNREADABLE);
    python_look_walk(&fake.python, 0xdead, &found);
    assert_int_equal(found.end, STACK_PYTHON_UNREADABLE);
    assert_int_equal(found.count, 0);
}

static void test_frames(void **state)
{
    in_each_layout(frames);
}

static void test_damaged_frames(void **state)
{
    in_each_layout(damaged_frames);
}

/* ---- Texts ------------------------------------------------------------------------------------------------
 */

static void expect_line(uint32_t instruction, uint32_t line)
{
    set_position(0, instruction);
    struct stack_python_frame frame = describe(0, STACK_DETAIL_FULL);
    assert_int_equal(frame.line, line);
}

static void descriptions(void)
{
    static const char *const names[] = {"plain", "f\u00fcr", "\u6f22\u5b57\ufffdx", "\U0001f600x\ufffd"};
    put(made.codes[2], PYTHON_CODE_LINES, 0xdead, 8); /* each function has a table of its own, or none */
    for (int i = 0; i < 4; i++) {
        struct stack_python_frame frame = describe(i, STACK_DETAIL_FULL);
        assert_string_equal(name_of(&frame), names[i]);
        assert_string_equal(file_of(&frame), "/srv/file.py");
        assert_int_equal(frame.line, i == 2 ? 0 : 300);
        assert_int_equal(result.codes[frame.function].first_line, 100);
        assert_int_equal(result.codes[frame.function].address, (uintptr_t)made.codes[i]);
    }
    struct stack_python_frame frame = describe(4, STACK_DETAIL_FULL);
    assert_int_equal(strlen(name_of(&frame)), STACK_NAME_BYTES);
    assert_int_equal(strlen(file_of(&frame)), STACK_FILE_BYTES);
    assert_memory_equal(file_of(&frame), "...pp", 5);
    assert_int_equal(result.code_count, FRAMES);
    uint32_t bytes = result.text_bytes;
    expect_line(0, 100);
    expect_line(9, 298);
    if (made.layout->minor >= 10)
        expect_line(made.layout->minor == 10 ? 14 : 11, 0);
    assert_int_equal(result.code_count, FRAMES); /* known already */
    assert_int_equal(result.text_bytes, bytes);

    clear_result();
    set_position(0, 5);
    frame = describe(0, STACK_DETAIL_FUNCTIONS);
    assert_string_equal(name_of(&frame), "plain");
    assert_string_equal(file_of(&frame), "");
    assert_int_equal(frame.line, 0);
    assert_int_equal(result.codes[frame.function].first_line, 0);
}

/* A thread of its own has a copy of the instructions. */
static void copied_instructions(void)
{
    if (at(PYTHON_FRAME_COPY) == PYTHON_NO_FIELD)
        return;
    static uint8_t copy[64];
    uint8_t *copies = make(CODE, at(PYTHON_COPIES_FIRST) + 3 * 8);
    memcpy(copies, &(uint64_t){3}, 8);
    memcpy(copies + at(PYTHON_COPIES_FIRST) + 16, &(const uint8_t *){copy}, 8);
    put_pointer(made.codes[0], PYTHON_CODE_COPIES, copies);
    put(made.frames[0], PYTHON_FRAME_COPY, 2, 4);
    put_pointer(made.frames[0], PYTHON_FRAME_POSITION, copy + 2 * 9);
    struct stack_python_frame frame = describe(0, STACK_DETAIL_FULL);
    assert_int_equal(frame.line, 298);
    put(made.frames[0], PYTHON_FRAME_COPY, 7, 4); /* there is none */
    frame = describe(0, STACK_DETAIL_FULL);
    put(made.codes[0], PYTHON_CODE_COPIES, 0xdead, 8);
    frame = describe(0, STACK_DETAIL_FULL);
    assert_string_equal(name_of(&frame), "plain");
}

static uint8_t *string_of(const uint8_t *code, enum python_field field)
{
    uint8_t *string;
    memcpy(&string, code + at(field), sizeof string);
    return string;
}

static void damaged_texts(void)
{
    uint8_t *name = string_of(made.codes[0], PYTHON_CODE_NAME),
            *file = string_of(made.codes[0], PYTHON_CODE_FILE);
    struct stack_python_frame frame;
#define BROKEN(statement, expected)                                                                          \
    do {                                                                                                     \
        clear_result();                                                                                      \
        statement;                                                                                           \
        frame = describe(0, STACK_DETAIL_FULL);                                                              \
        assert_string_equal(name_of(&frame), expected);                                                      \
    } while (0)
    BROKEN(put_pointer(name, PYTHON_OBJECT_TYPE, made.types[2]), "");
    BROKEN(put_pointer(name, PYTHON_OBJECT_TYPE, made.types[1]), "plain");
    BROKEN(put(name, PYTHON_STRING_LENGTH, UINT64_MAX, 8),
           "plain"); /* ends at its terminator, or is not readable */
    put(name, PYTHON_STRING_LENGTH, 3, 8);
    BROKEN(put(file, PYTHON_STRING_LENGTH, 0, 8), "pla");
    assert_string_equal(file_of(&frame), "");
    BROKEN(put(name, PYTHON_STRING_STATE, 0, 4), "");
    BROKEN(put(name, PYTHON_STRING_STATE, UINT32_MAX, 4), "");
    BROKEN(put(made.codes[0], PYTHON_CODE_QUALNAME, 0xdead, 8);
           put(made.codes[0], PYTHON_CODE_NAME, 0xdead, 8), "");
    assert_int_equal(frame.line, 300);
    BROKEN(put_pointer(made.codes[0], PYTHON_CODE_LINES, name), "");
    assert_int_equal(frame.line, 0);
    BROKEN(put(made.codes[0], PYTHON_CODE_LINES, 0xdead, 8), "");
    assert_int_equal(frame.line, 0);

    /* The object is another one by now. */
    clear_result();
    python_look_describe(&fake.python, &texts, (uintptr_t)made.types[0], 0, STACK_DETAIL_FULL, &result,
                         &frame);
    assert_int_equal(frame.function, STACK_NO_CODE);
    python_look_describe(&fake.python, &texts, 0xdead, 0, STACK_DETAIL_FULL, &result, &frame);
    assert_int_equal(frame.function, STACK_NO_CODE);
}

static void full_results(void)
{
    result.code_count = STACK_CODES_MAX;
    struct stack_python_frame frame = describe(1, STACK_DETAIL_FULL);
    assert_int_equal(frame.function, STACK_NO_CODE);
    assert_int_equal(frame.line, 300);
    clear_result();
    result.text_bytes = STACK_TEXT_BYTES - 5;
    frame = describe(0, STACK_DETAIL_FULL);
    assert_int_equal(frame.function, 0);
    assert_string_equal(name_of(&frame), "");
    assert_int_equal(result.text_bytes, STACK_TEXT_BYTES - 5);
    clear_result();
    texts.known_count = UINT32_MAX / 2;
    frame = describe(0, STACK_DETAIL_FULL);
    assert_int_equal(frame.function, STACK_NO_CODE);
}

static void test_descriptions(void **state)
{
    in_each_layout(descriptions);
}

static void test_copied_instructions(void **state)
{
    in_each_layout(copied_instructions);
}

static void test_damaged_texts(void **state)
{
    in_each_layout(damaged_texts);
}

static void test_full_results(void **state)
{
    in_each_layout(full_results);
}

/* ---- Random damage
 * ----------------------------------------------------------------------------------------- */

static uint64_t next_random(void)
{
    static uint64_t random = 88172645463325252u;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
}

static uint64_t read_in_all[5];

/* Reads everything after words of any objects were replaced, by others' addresses or by anything. */
static void random_damage(void)
{
    static uint8_t saved[OBJECTS][8192];
    for (size_t i = 0; i < made.count; i++)
        memcpy(saved[i], made.objects[i].memory, made.objects[i].size);
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 1 + round % 6; i++) {
            size_t number = next_random() % made.count, other = next_random() % made.count;
            size_t offset = next_random() % (made.objects[number].size / 8) * 8;
            uint64_t value = next_random() % 2 ? next_random() >> next_random() % 64
                                               : (uint64_t)(uintptr_t)made.objects[other].memory;
            if (offset + 8 <= made.objects[number].size)
                memcpy(made.objects[number].memory + offset, &value, 8);
        }
        struct python_thread found[8];
        bool is_incomplete;
        uint32_t count = list(found, 8, &is_incomplete);
        assert_true(count <= 8);
        clear_result();
        for (int state = 0; state < STATES; state++) {
            struct python_stack_walk walked = walk(state);
            assert_true(walked.count <= STACK_PYTHON_FRAMES_MAX && walked.end <= STACK_PYTHON_UNREADABLE);
            read_in_all[walked.end]++;
            for (uint32_t i = 0; i < walked.count; i++) {
                struct stack_python_frame frame;
                python_look_describe(&fake.python, &texts, walked.frames[i].code, walked.frames[i].position,
                                     STACK_DETAIL_FULL, &result, &frame);
                assert_true(utf8_is_valid(name_of(&frame)) && utf8_is_valid(file_of(&frame)));
                /* One string may be a name and a path. */
                assert_true(strlen(name_of(&frame)) <= STACK_FILE_BYTES &&
                            strlen(file_of(&frame)) <= STACK_FILE_BYTES);
            }
        }
        for (size_t i = 0; i < made.count; i++)
            memcpy(made.objects[i].memory, saved[i], made.objects[i].size);
    }
}

static void test_random_damage(void **state)
{
    in_each_layout(random_damage);
    assert_true(read_in_all[STACK_PYTHON_COMPLETE] > 500 && read_in_all[STACK_PYTHON_UNREADABLE] > 50);
}

/* ---- The interpreter
 * ---------------------------------------------------------------------------------------- */

static struct {
    uint64_t *runtime, *code, *frame, *string;
    uint64_t *version; /* from 3.11 on */
} loaded;

static void pose(const struct python_layout *layout)
{
    memset(loaded.runtime, 0, 256 * sizeof *loaded.runtime);
    *loaded.version = 0x03000000u | (unsigned)layout->minor << 16 | 0x4f0;
    if (layout->minor >= 13) {
        memcpy(loaded.runtime, "xdebugpy", 8);
        loaded.runtime[1] = *loaded.version;
        loaded.runtime[2] = layout->is_free_threaded;
        for (int field = 0; field < PYTHON_FIELDS; field++)
            if (layout->debug_word[field])
                loaded.runtime[layout->debug_word[field]] = layout->at[field];
    }
    size_t size = layout->at[PYTHON_TYPE_SIZE] / 8;
    loaded.code[size] = layout->at[PYTHON_CODE_OBJECT_SIZE];
    loaded.frame[size] = layout->at[PYTHON_FRAME_OBJECT_SIZE];
    loaded.string[size] = layout->at[PYTHON_STRING_OBJECT_SIZE];
}

static void test_interpreter(void **state)
{
    static struct process_map map;
    struct python_process python = {.runtime = 0};
    process_map_read(&map);
    assert_false(python_look_find(&python, &map));
    assert_int_equal(python.runtime, 0);
    void *library = dlopen(FAKE_PYTHON, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    loaded.runtime = dlsym(library, "_PyRuntime");
    loaded.code = dlsym(library, "PyCode_Type");
    loaded.frame = dlsym(library, "PyFrame_Type");
    loaded.string = dlsym(library, "PyUnicode_Type");
    loaded.version = dlsym(library, "Py_Version");
    process_map_read(&map);
    for (unsigned minor = 11; minor <= PYTHON_NEWEST_MINOR; minor++)
        for (int free_threaded = 0; free_threaded < 2; free_threaded++) {
            const struct python_layout *layout = python_layout_find(minor, free_threaded);
            if (!layout)
                continue;
            pose(layout);
            assert_true(python_look_find(&python, &map));
            assert_int_equal(python.layout.minor, minor);
            assert_int_equal(python.layout.is_free_threaded, free_threaded);
            assert_memory_equal(python.layout.at, layout->at, sizeof layout->at);
            assert_int_equal(python.runtime, (uintptr_t)loaded.runtime);
            assert_true(python_look_find(&python, &map)); /* the known one */
            if (minor < 13)
                continue;
            /* Its own offsets count, and those of another version do not. */
            loaded.runtime[layout->debug_word[PYTHON_STATE_NEXT]] = 24;
            assert_true(python_look_find(&python, &map));
            assert_int_equal(python.layout.at[PYTHON_STATE_NEXT], 24);
            loaded.runtime[layout->debug_word[PYTHON_STATE_NEXT]] = PYTHON_NO_FIELD;
            assert_false(python_look_find(&python, &map));
            pose(layout);
            loaded.runtime[1] += 1 << 16;
            assert_false(python_look_find(&python, &map));
            pose(layout);
            loaded.runtime[0]++;
            assert_false(python_look_find(&python, &map));
        }
    const struct python_layout *layout = python_layout_find(12, false);
    pose(layout);
    assert_true(python_look_find(&python, &map));
    uint64_t *const sizes[] = {loaded.code, loaded.frame, loaded.string};
    for (int i = 0; i < 3; i++) {
        sizes[i][layout->at[PYTHON_TYPE_SIZE] / 8]++;
        assert_false(python_look_find(&python, &map));
        assert_int_equal(python.library, 0);
        sizes[i][layout->at[PYTHON_TYPE_SIZE] / 8]--;
    }
    static const uint64_t versions[] = {0,          0x020c00f0, 0x040c00f0, 0x030800f0,
                                        0x031000f0, 0x03ff00f0, UINT64_MAX};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        *loaded.version = versions[i];
        assert_false(python_look_find(&python, &map));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_damaged_lists),
        cmocka_unit_test(test_frames),        cmocka_unit_test(test_damaged_frames),
        cmocka_unit_test(test_descriptions),  cmocka_unit_test(test_copied_instructions),
        cmocka_unit_test(test_damaged_texts), cmocka_unit_test(test_full_results),
        cmocka_unit_test(test_random_damage), cmocka_unit_test(test_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
