#include "analysis/code/stack_lines.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void assert_text(struct frame_text text, const char *wanted)
{
    char copy[512];
    assert_true(text.len < sizeof copy);
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    assert_string_equal(copy, wanted);
}

static void assert_frame(const char **text, enum frame_kind kind, const char *file, const char *name,
                         uint32_t line)
{
    struct stack_frame frame;
    assert_true(stack_lines_next(text, &frame));
    assert_int_equal(frame.kind, kind);
    assert_text(frame.file, file);
    assert_text(frame.name, name);
    assert_int_equal(frame.line, line);
}

static void assert_only(const char *text, enum frame_kind kind, const char *file, const char *name,
                        uint32_t line)
{
    struct stack_frame frame;
    assert_frame(&text, kind, file, name, line);
    assert_false(stack_lines_next(&text, &frame));
}

static void test_all_forms(void **state)
{
    const char *text = "  File \"train.py\", line 88, in Model.forward\n"
                       "  libtorch_cpu.so+0x1189 at::add(at::Tensor const&, int)+0x1c\n"
                       "  libc.so.6+0x29d8f\n"
                       "load_weights+0x1c (trainer+0x1189)\n"
                       "operator+(A const&, B)+0x2 (lib with blank.so+0x9)\n"
                       "trainer+0x1189\n"
                       "\n \t\r\n"
                       "  ...\n";
    struct stack_frame frame;
    assert_frame(&text, FRAME_PYTHON, "train.py", "Model.forward", 88);
    assert_frame(&text, FRAME_NATIVE, "libtorch_cpu.so", "at::add(at::Tensor const&, int)", 0);
    assert_frame(&text, FRAME_NATIVE, "libc.so.6", "", 0);
    assert_frame(&text, FRAME_NATIVE, "trainer", "load_weights", 0);
    assert_frame(&text, FRAME_NATIVE, "lib with blank.so", "operator+(A const&, B)", 0);
    assert_frame(&text, FRAME_NATIVE, "trainer", "", 0);
    assert_true(stack_lines_next(&text, &frame));
    assert_int_equal(frame.kind, FRAME_CUT);
    assert_false(stack_lines_next(&text, &frame));
    assert_false(stack_lines_next(&text, &frame));
}

static void test_difficult_names(void **state)
{
    assert_only("  File \"a\"b.py\", line 3, in f", FRAME_PYTHON, "a\"b.py", "f", 3);
    assert_only("  File \"a.py\", line 3, in f\", line 9, in g", FRAME_PYTHON, "a.py", "f\", line 9, in g",
                3);
    assert_only("  File \"a\", line x, in b.py\", line 7, in f", FRAME_PYTHON, "a\", line x, in b.py", "f",
                7);
    assert_only("  File \"a.py\", line 3", FRAME_PYTHON, "a.py", "", 3);
    assert_only("  File \"\", line 0, in ", FRAME_NATIVE, "", "File \"\", line 0, in", 0);
    assert_only("  File \"a.py\", line 99999999999999999999, in f", FRAME_PYTHON, "a.py", "f", 0);
    assert_only("  File \"a.py", FRAME_NATIVE, "", "File \"a.py", 0);
    assert_only("\xff\xfe no frame", FRAME_NATIVE, "", "\xff\xfe no frame", 0);
    assert_only("a (b)", FRAME_NATIVE, "", "a (b)", 0);
    assert_only("f()", FRAME_NATIVE, "", "f()", 0);
    assert_only("x+0x", FRAME_NATIVE, "", "x+0x", 0);
    assert_only("x+0xzz+0x1f", FRAME_NATIVE, "x+0xzz", "", 0);
    assert_only("m+0x1 f+0x1 g", FRAME_NATIVE, "m", "f+0x1 g", 0);
    assert_only("+0x1", FRAME_NATIVE, "", "", 0);
    assert_only(")", FRAME_NATIVE, "", ")", 0);
}

/* Nothing is read behind the text. */
static void test_every_prefix(void **state)
{
    static const char whole[] =
        "  File \"a.py\", line 3, in f\n  m+0x1 _ZN5torch8autograd9generated11MmBackward05applyE\n"
        "f+0x1 (m+0x2)\n  ...";
    for (size_t len = 0; len < sizeof whole; len++) {
        char *copy = malloc(len + 1);
        memcpy(copy, whole, len);
        copy[len] = 0;
        const char *at = copy;
        struct stack_frame frame;
        size_t frames = 0;
        while (stack_lines_next(&at, &frame)) {
            frames++;
            assert_true(frame.name.at >= copy && frame.name.at + frame.name.len <= copy + len);
            assert_true(frame.file.at >= copy && frame.file.at + frame.file.len <= copy + len);
            stack_lines_autograd(&frame);
        }
        assert_true(frames <= 4);
        free(copy);
    }
}

static void assert_node(const char *symbol, const char *wanted)
{
    struct stack_frame frame = {.kind = FRAME_NATIVE, .name = {symbol, strlen(symbol)}};
    assert_text(stack_lines_autograd(&frame), wanted);
}

static void test_autograd(void **state)
{
    assert_node("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "MmBackward0");
    assert_node("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "AccumulateGrad");
    assert_node("_ZN5torch8autograd9generated11MmBackward05applyEOSt6vectorIN2at6TensorESaIS5_EE",
                "MmBackward0");
    assert_node("_ZN5torch8autograd14AccumulateGrad5applyEOSt6vector", "AccumulateGrad");
    assert_node("torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)", "");
    assert_node("torch::autograd::Node::apply(std::vector<at::Tensor>&&)", "");
    assert_node("mine::Backward::apply(int)", "");
    assert_node("torch::autograd::Engine::thread_main()", "");
    assert_node("_ZN5torch8autograd6Engine11thread_mainE", "");
    assert_node("_ZN5torch8autograd99Short5applyE", "");
    assert_node("_ZN5torch8autograd0", "");
    assert_node("_ZN5torch8autograd", "");
    assert_node("", "");
    struct stack_frame python = {.kind = FRAME_PYTHON, .name = {"torch::autograd::X::apply(", 26}};
    assert_text(stack_lines_autograd(&python), "");
}

static void test_autograd_ranges(void **state)
{
    assert_text(stack_lines_autograd_range("MmBackward0, seq = 12"), "MmBackward0");
    assert_text(stack_lines_autograd_range("autograd::engine::evaluate_function: AddmmBackward0"),
                "AddmmBackward0");
    assert_text(stack_lines_autograd_range("torch::autograd::AccumulateGrad"),
                "torch::autograd::AccumulateGrad");
    assert_text(stack_lines_autograd_range(
                    "autograd::engine::evaluate_function: torch::autograd::CopySlices, op_id = 7"),
                "torch::autograd::CopySlices");
    assert_text(stack_lines_autograd_range("MmBackward0, op_id = 7"), "MmBackward0");
    assert_text(stack_lines_autograd_range("Backward pass"), "");
    assert_text(stack_lines_autograd_range("aten::mm, seq = 12"), "");
    assert_text(stack_lines_autograd_range("step 12"), "");
    assert_text(stack_lines_autograd_range(""), "");
}

static void test_libraries(void **state)
{
    assert_true(stack_lines_is_library("/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py"));
    assert_true(stack_lines_is_library("site-packages/torch/nn/modules/module.py"));
    assert_true(stack_lines_is_library("/usr/lib/python3/dist-packages/numpy/core.py"));
    assert_true(stack_lines_is_library("/usr/lib/python3.11/threading.py"));
    assert_true(stack_lines_is_library("/usr/lib/python3.13t/threading.py"));
    assert_true(stack_lines_is_library("lib/python3.9/runpy.py"));
    assert_true(stack_lines_is_library("<frozen importlib._bootstrap>"));
    assert_true(stack_lines_is_library("/tmp/torchinductor_me/ab/cabc.py"));
    assert_false(stack_lines_is_library("train.py"));
    assert_false(stack_lines_is_library("/home/me/my-site-packages/train.py"));
    assert_false(stack_lines_is_library("/home/me/lib/python3.py"));
    assert_false(stack_lines_is_library("/home/me/lib/python3.12"));
    assert_false(stack_lines_is_library("glib/python3.12/x.py"));
    assert_false(stack_lines_is_library("<stdin>"));
    assert_false(stack_lines_is_library("<string>"));
    assert_false(stack_lines_is_library(""));
    assert_true(stack_lines_is_library("build/python.zip/cuspan/_asyncio_hooks.py"));
}

static void test_autograd_engine(void **state)
{
    static const struct {
        const char *name;
        bool is_engine;
    } cases[] = {
        {"torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", true},
        {"_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrINS0_9GraphTaskEE", true},
        {"at::native::add_kernel(at::TensorIteratorBase&, c10::Scalar const&)", false},
        {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stack_frame frame = {.kind = FRAME_NATIVE, .name = {cases[i].name, strlen(cases[i].name)}};
        assert_int_equal(stack_lines_is_autograd_engine(&frame), cases[i].is_engine);
        frame.kind = FRAME_PYTHON;
        assert_false(stack_lines_is_autograd_engine(&frame));
    }
}

static void test_executed_text(void **state)
{
    assert_true(stack_lines_is_executed("<string>"));
    assert_true(stack_lines_is_executed("<eval_with_key>.12"));
    assert_true(stack_lines_is_executed("<__array_function__ internals>"));
    assert_false(stack_lines_is_executed("<frozen importlib._bootstrap>"));
    assert_false(stack_lines_is_executed("<stdin>"));
    assert_false(stack_lines_is_executed("<ipython-input-1-0a1b>"));
    assert_false(stack_lines_is_executed("train.py"));
    assert_false(stack_lines_is_executed(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_forms),       cmocka_unit_test(test_difficult_names),
        cmocka_unit_test(test_every_prefix),    cmocka_unit_test(test_autograd),
        cmocka_unit_test(test_autograd_ranges), cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_executed_text),   cmocka_unit_test(test_autograd_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
