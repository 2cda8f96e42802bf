/* Stacks of code by their ID: text, the program's frame, bounded memory, damaged records. */
#include "agent/correlate/stacks/code_stacks.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct code_stacks *stacks;
static unsigned forgotten;

static union {
    struct code_record record;
    uint64_t words[CODE_RECORD_BYTES_MAX / 8];
} code;

static void forget(void)
{
    forgotten++;
}

static int setup(void **state)
{
    forgotten = 0;
    return code_stacks_create(forget, false, &stacks) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    free(stacks);
    return 0;
}

static void begin(uint64_t id)
{
    code.record = (struct code_record){
        .head = {sizeof code.record, RECORD_CODE, 0, 0}, .id = id, .flags = CODE_IS_DESCRIBED};
}

static void add_frame(const char *file, uint32_t line, const char *name, bool is_programs)
{
    struct code_frame frame = {line, (uint16_t)strlen(file), (uint8_t)strlen(name),
                               is_programs ? CODE_FRAME_IS_PROGRAMS : 0};
    uint8_t *to = (uint8_t *)&code + code.record.head.bytes;
    memcpy(to, &frame, sizeof frame);
    memcpy(to + sizeof frame, file, frame.file_bytes);
    memcpy(to + sizeof frame + frame.file_bytes, name, frame.name_bytes);
    code.record.head.bytes += (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
    code.record.frame_count++;
}

static struct code_stack *note(void)
{
    return code_stacks_note(stacks, &code.record);
}

static struct code_stack *note_known(uint64_t id)
{
    struct code_record known = {.head = {sizeof known, RECORD_CODE, 0, 0}, .id = id, .frame_count = 2};
    return code_stacks_note(stacks, &known);
}

static void test_a_stack_is_described_once(void **state)
{
    begin(0x1a2b);
    add_frame("torch/nn/functional.py", 12, "linear", false);
    add_frame("train.py", 88, "Trainer.step", true);
    add_frame("main.py", 3, "<module>", true);
    const struct code_stack *stack = note();
    assert_string_equal(stack->id, "0000000000001a2b");
    assert_string_equal(stack->text, "File \"torch/nn/functional.py\", line 12, in linear\n"
                                     "File \"train.py\", line 88, in Trainer.step\n"
                                     "File \"main.py\", line 3, in <module>");
    assert_string_equal(stack->file, "train.py");
    assert_string_equal(stack->function, "Trainer.step");
    assert_int_equal(stack->line, 88);
    assert_ptr_equal(note_known(0x1a2b), stack);
    assert_ptr_equal(note(), stack); /* another thread has described it, too */
}

static void test_without_a_frame_of_the_program_the_innermost_counts(void **state)
{
    begin(1);
    add_frame("torch/_tensor.py", 5, "backward", false);
    add_frame("torch/autograd/__init__.py", 7, "run", false);
    const struct code_stack *stack = note();
    assert_string_equal(stack->file, "torch/_tensor.py");
    assert_int_equal(stack->line, 5);
}

/* As native_code.c writes it: the program's is always the Python frame. */
static void test_the_native_caller_of_python(void **state)
{
    static const bool are_programs[][2] = {{true, true}, {false, true}, {false, false}};
    static const char *const files[] = {"a.py", "b.py", "a.py"};
    for (int i = 0; i < 3; i++) {
        begin((uint64_t)i + 1);
        add_frame("libgemm.so+0x1189", 0, "gemm+0x1c", false);
        ((struct code_frame *)(void *)code.record.frames)->flags = CODE_FRAME_IS_NATIVE;
        add_frame("a.py", 5, "f", are_programs[i][0]);
        add_frame("b.py", 7, "g", are_programs[i][1]);
        const struct code_stack *stack = note();
        assert_string_equal(stack->text, "gemm+0x1c (libgemm.so+0x1189)\n"
                                         "File \"a.py\", line 5, in f\n"
                                         "File \"b.py\", line 7, in g");
        assert_string_equal(stack->file, files[i]);
        assert_string_equal(stack->function, i == 1 ? "g" : "f");
        assert_int_equal(stack->line, i == 1 ? 7 : 5);
    }
}

static void test_a_cut_stack_says_so(void **state)
{
    begin(1);
    add_frame("a.py", 1, "f", true);
    code.record.flags |= CODE_IS_CUT;
    assert_string_equal(note()->text, "File \"a.py\", line 1, in f\n...");
}

static void test_a_stack_that_was_never_described_is_counted(void **state)
{
    uint64_t before = counter_get(COUNTER_code_unknown);
    assert_null(note_known(77));
    assert_int_equal(counter_get(COUNTER_code_unknown), before + 1);
}

static void test_all_are_forgotten_when_places_are_used_up(void **state)
{
    for (uint64_t id = 1; id <= CODE_STACKS_MAX; id++) {
        begin(id);
        add_frame("a.py", (uint32_t)id, "f", true);
        assert_non_null(note());
    }
    assert_int_equal(forgotten, 0);
    assert_int_equal(note_known(1)->line, 1);
    begin(CODE_STACKS_MAX + 1);
    add_frame("a.py", 9, "f", true);
    assert_int_equal(note()->line, 9);
    assert_int_equal(forgotten, 1);
    assert_null(note_known(1));
}

static void test_all_are_forgotten_when_text_is_used_up(void **state)
{
    char file[1000];
    memset(file, 'x', sizeof file - 1);
    file[sizeof file - 1] = '\0';
    uint64_t id = 0;
    while (!forgotten && id < CODE_STACKS_MAX) {
        begin(++id);
        for (int i = 0; i < 3; i++)
            add_frame(file, 1, "f", true);
        assert_int_equal(strlen(note()->file), sizeof file - 1);
    }
    assert_int_equal(forgotten, 1);
    assert_true(id > CODE_STACKS_TEXT_BYTES / 5000 && id < CODE_STACKS_TEXT_BYTES / 3000);
    assert_non_null(note_known(id)); /* the one that had no room */
}

static void fill(uint64_t first)
{
    unsigned before = forgotten;
    for (uint64_t id = first; forgotten == before; id++) {
        begin(id);
        add_frame("a.py", (uint32_t)id, "f", true);
        assert_non_null(note());
    }
}

static void test_those_of_graph_nodes_are_kept(void **state)
{
    assert_null(code_stacks_of_nodes(stacks, 3));
    for (uint64_t id = 2; id <= 6; id += 2) {
        begin(id);
        add_frame("graph.py", (uint32_t)id, "capture", true);
        note()->is_sent = id == 2;
    }
    assert_non_null(code_stacks_of_nodes(stacks, 2));
    assert_non_null(code_stacks_of_nodes(stacks, 6));
    fill(1000);
    assert_null(note_known(4)); /* no node has it */
    const struct code_stack *kept = note_known(6);
    assert_string_equal(kept->id, "0000000000000006");
    assert_string_equal(kept->text, "File \"graph.py\", line 6, in capture");
    assert_string_equal(kept->file, "graph.py");
    assert_string_equal(kept->function, "capture");
    assert_int_equal(kept->line, 6);
    assert_false(kept->is_sent);
    assert_true(note_known(2)->is_sent);
    assert_null(code_stacks_of_nodes(stacks, 1000));
    assert_non_null(code_stacks_of_nodes(stacks, 2)); /* it ran again */
    fill(100000);
    assert_int_equal(note_known(2)->line, 2);
    assert_null(note_known(6));
}

static void test_those_of_graph_nodes_take_half_of_the_memory(void **state)
{
    for (uint64_t id = 1; id <= CODE_STACKS_MAX; id++) {
        begin(id);
        add_frame("a.py", (uint32_t)id, "f", true);
        assert_non_null(note());
        assert_non_null(code_stacks_of_nodes(stacks, id));
    }
    fill(10000);
    for (uint64_t id = 1; id <= CODE_STACKS_MAX; id++) {
        const struct code_stack *stack = code_stacks_of_nodes(stacks, id);
        assert_int_equal(stack ? stack->line : 0, id <= CODE_STACKS_MAX / 2 ? id : 0);
    }
    assert_int_equal(note_known(10000)->line, 10000);
}

static void test_their_text_takes_half_of_the_memory(void **state)
{
    char file[1000];
    memset(file, 'x', sizeof file - 1);
    file[sizeof file - 1] = '\0';
    uint64_t id = 0, kept = 0;
    while (!forgotten && id < CODE_STACKS_MAX) {
        begin(++id);
        for (int i = 0; i < 3; i++)
            add_frame(file, (uint32_t)id, "f", true);
        assert_non_null(note());
        assert_non_null(code_stacks_of_nodes(stacks, id));
    }
    for (uint64_t i = 1; i < id; i++) {
        const struct code_stack *stack = code_stacks_of_nodes(stacks, i);
        kept += stack != NULL;
        assert_true(!stack || (stack->line == i && strlen(stack->file) == sizeof file - 1));
    }
    assert_in_range(kept, id / 2 - 2, id / 2 + 2);
}

static void test_a_record_that_ends_within_a_frame(void **state)
{
    begin(1);
    add_frame("a.py", 1, "f", true);
    add_frame("b.py", 2, "g", true);
    for (uint32_t bytes = sizeof code.record; bytes < code.record.head.bytes; bytes++) {
        union {
            struct code_record record;
            uint8_t bytes[256];
        } part;
        memset(&part, 0xff, sizeof part);
        memcpy(&part, &code, bytes);
        part.record.head.bytes = bytes;
        part.record.id = bytes;
        const struct code_stack *stack = code_stacks_note(stacks, &part.record);
        assert_non_null(stack);
        assert_null(strstr(stack->text, "b.py"));
    }
}

static int setup_with_frames(void **state)
{
    forgotten = 0;
    return code_stacks_create(forget, true, &stacks) == STATUS_OK ? 0 : -1;
}

static void expect_frame(const struct code_stack *stack, uint32_t *at, const char *file, uint32_t line,
                         const char *function, bool is_native)
{
    struct code_stack_frame frame;
    assert_true(code_stack_next(stack, at, &frame));
    assert_int_equal(frame.file.bytes, strlen(file));
    assert_memory_equal(frame.file.text, file, strlen(file));
    assert_int_equal(frame.function.bytes, strlen(function));
    assert_memory_equal(frame.function.text, function, strlen(function));
    assert_int_equal(frame.line, line);
    assert_int_equal((frame.flags & CODE_FRAME_IS_NATIVE) != 0, is_native);
}

static void test_the_frames_are_kept_as_they_came(void **state)
{
    uint32_t at = 0;
    struct code_stack_frame frame;
    begin(7);
    add_frame("odd\", line 3, in \n.py", 1, "f, in g", true);
    code.record.flags |= CODE_IS_CUT;
    code.record.head.bytes = (code.record.head.bytes + 7) & ~7u;
    assert_non_null(note());
    begin(8); /* after a stack whose text ends at any byte */
    add_frame("libx.so+0x1189", 0, "at::add+0x1c", false);
    ((struct code_frame *)(void *)code.record.frames)->flags |= CODE_FRAME_IS_NATIVE;
    add_frame("b.py", 2, "g", true);
    assert_non_null(note());
    expect_frame(code_stacks_find(stacks, 7), &at, "odd\", line 3, in \n.py", 1, "f, in g", false);
    assert_false(code_stack_next(code_stacks_find(stacks, 7), &at, &frame)); /* only padding is left */
    at = 0;
    expect_frame(code_stacks_find(stacks, 8), &at, "libx.so+0x1189", 0, "at::add", true);
    expect_frame(code_stacks_find(stacks, 8), &at, "b.py", 2, "g", false);
    assert_false(code_stack_next(code_stacks_find(stacks, 8), &at, &frame));
    assert_null(code_stacks_find(stacks, 9));
}

static void test_without_need_no_frames_are_kept(void **state)
{
    uint32_t at = 0;
    struct code_stack_frame frame;
    begin(1);
    add_frame("a.py", 1, "f", true);
    assert_false(code_stack_next(note(), &at, &frame));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_stack_is_described_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_frame_of_the_program_the_innermost_counts, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_native_caller_of_python, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_cut_stack_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stack_that_was_never_described_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_are_forgotten_when_places_are_used_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_are_forgotten_when_text_is_used_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_of_graph_nodes_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_of_graph_nodes_take_half_of_the_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_their_text_takes_half_of_the_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_that_ends_within_a_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_that_ends_within_a_frame, setup_with_frames, teardown),
        cmocka_unit_test_setup_teardown(test_all_are_forgotten_when_places_are_used_up, setup_with_frames,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_frames_are_kept_as_they_came, setup_with_frames, teardown),
        cmocka_unit_test_setup_teardown(test_without_need_no_frames_are_kept, setup, teardown),
    };
    return cmocka_run_group_tests_name("code_stacks", tests, NULL, NULL);
}
