#include "analysis/code/range_lines.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void assert_text(struct frame_text text, const char *wanted)
{
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.at, wanted, text.len);
}

static void assert_number(const char *name, uint64_t wanted)
{
    uint64_t number;
    assert_true(range_lines_sequence(name, &number));
    assert_int_equal(number, wanted);
}

static void test_sequence_numbers(void **state)
{
    uint64_t number;
    assert_number("aten::mm, seq = 12", 12);
    assert_number("aten::mm, seq = 0, op_id = 40, sizes = [[2, 3], [3, 4]]", 0);
    assert_number("autograd::engine::evaluate_function: MmBackward0, seq = 123456789012345678",
                  123456789012345678);
    assert_false(range_lines_sequence("aten::mm, op_id = 40", &number));
    assert_false(range_lines_sequence("aten::mm, seq = -1", &number));
    assert_false(range_lines_sequence("aten::mm, seq = ", &number));
    assert_false(range_lines_sequence("aten::mm, seq = 12x", &number));
    assert_false(range_lines_sequence("aten::mm, seq = 1234567890123456789", &number));
    assert_false(range_lines_sequence("", &number));
}

static void assert_next(const char **text, uint32_t depth, const char *file, uint32_t line, const char *name)
{
    struct xla_frame frame;
    assert_true(range_lines_next_xla(text, &frame));
    assert_int_equal(frame.depth, depth);
    assert_text(frame.file, file);
    assert_int_equal(frame.line, line);
    assert_text(frame.name, name);
}

static void test_xla_frames(void **state)
{
    struct xla_frame frame;
    const char *text = "\n- /work/train.py:88:4[main]\n-- /work/model.py:31[f] dot_general[ x=(1, 0)]\n"
                       "-- /my work/a[1].py:7:1 add\n--- model.py:40\n";
    assert_next(&text, 1, "/work/train.py", 88, "main");
    assert_next(&text, 2, "/work/model.py", 31, "f");
    assert_next(&text, 2, "/my work/a[1].py", 7, "");
    assert_next(&text, 3, "model.py", 40, "");
    assert_false(range_lines_next_xla(&text, &frame));
}

static void test_other_lines(void **state)
{
    struct xla_frame frame;
    const char *text =
        "[error]\n-train.py:1\n- train.py\n- :3\n- a:b\n\n- train.py:1[f\n- a.py:9999999999\n- 1:2:3:4\n"
        "- last.py:3";
    assert_next(&text, 1, "train.py", 1, "");          /* the bracket does not end */
    assert_next(&text, 1, "a.py", 0, "");              /* no such line */
    assert_next(&text, 1, "1:2", 3, "");               /* the last two numbers */
    assert_false(range_lines_next_xla(&text, &frame)); /* cut: it does not end */
    assert_int_equal(*text, 0);
    text = "";
    assert_false(range_lines_next_xla(&text, &frame));
}

static void test_xla_operations(void **state)
{
    assert_text(range_lines_xla_operation("Thunk:#name=jit(f)/a,b,hlo_op=fusion.6,unique_hlo_op_id=1#"),
                "jit(f)/a,b");
    assert_text(range_lines_xla_operation("Thunk:#hlo_op=fusion.6,unique_hlo_op_id=1#"), "fusion.6");
    assert_text(range_lines_xla_operation("Thunk:#hlo_op=fusion.6#"), "fusion.6");
    assert_text(range_lines_xla_operation("Thunk:#"), "");
    assert_text(range_lines_xla_operation("XlaModule:#hlo_module=jit_f#"), "");
    assert_text(range_lines_xla_operation(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence_numbers),
        cmocka_unit_test(test_xla_frames),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_xla_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
