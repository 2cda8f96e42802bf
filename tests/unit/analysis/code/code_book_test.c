#include "analysis/code/code_book.h"
#include "analysis/stat/sections.h"

#include "support/cli_trace.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CALL(id, parent, start, attrs)                                                                       \
    SPAN(TRACE_A, id, parent, "cudaLaunchKernel", start, "900000000",                                        \
         ATTRS(ATTR_TEXT("cuda.api", "runtime") attrs))
#define WORK(id, parent, name, attrs)                                                                        \
    SPAN(TRACE_A, id, parent, name, "500000000", "500000100",                                                \
         ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "7") attrs))
#define ID(text)   "," ATTR_TEXT("cuspan.stack.id", text)
#define TEXT(text) "," ATTR_TEXT("code.stacktrace", text)
#define PLACE(file, line, name)                                                                              \
    "," ATTR_TEXT("code.file.path", file) "," ATTR_NUMBER("code.line.number",                                \
                                                          line) "," ATTR_TEXT("code.function.name", name)

struct fixture {
    struct trace trace;
    struct stat stat;
};

static void open_fixture(struct fixture *fixture, const char *text)
{
    fixture->trace = trace_of(text);
    stat_init(&fixture->stat);
    stat_learn(&fixture->stat, &fixture->trace);
}

static void close_fixture(struct fixture *fixture)
{
    stat_deinit(&fixture->stat);
    trace_deinit(&fixture->trace);
}

static uint32_t origin_of(struct fixture *fixture, uint64_t id)
{
    uint32_t span = trace_find_span(&fixture->trace, id);
    assert_int_not_equal(span, TRACE_NONE);
    return code_book_origin(fixture->stat.code, &fixture->stat, &fixture->trace.spans[span]);
}

/* "train.py:88 forward < train.py:9 main": the place, and its callers if the text is known; or the label. */
static void assert_origin(struct fixture *fixture, uint64_t id, const char *wanted)
{
    char text[1024];
    struct code_stack stack = code_book_stack(fixture->stat.code, &fixture->stat, origin_of(fixture, id));
    if (stack.label) {
        assert_string_equal(stack.label, wanted);
        return;
    }
    const struct code_frame *frame = code_book_frame(fixture->stat.code, stack.place);
    char *place = code_frame_place(frame);
    int used = snprintf(text, sizeof text, "%s %s", place, frame->name);
    free(place);
    for (size_t i = stack.self + 1; i < stack.depth; i++) {
        frame = code_book_frame(fixture->stat.code, stack.frames[i]);
        place = code_frame_place(frame);
        used += snprintf(text + used, sizeof text - (size_t)used, " < %s %s", place, frame->name);
        free(place);
    }
    assert_string_equal(text, wanted);
}

static void test_attributes_of_the_call(void **state)
{
    struct fixture f;
    open_fixture(
        &f,
        LINE(PROCESS_RESOURCE,
             CALL("00000000000000a1", "", "000000000",
                  PLACE("train.py", "88", "forward")) "," CALL("00000000000000a2", "", "000000001", ""))
            LINE(GPU_RESOURCE, WORK("00000000000000b1", "00000000000000a1", "k", "") "," WORK(
                                   "00000000000000b2", "00000000000000a1", "k",
                                   PLACE("graph.py", "3",
                                         "capture")) "," WORK("00000000000000b3", "00000000000000a2", "k",
                                                              "") "," WORK("00000000000000b4", "", "k", "")));
    assert_true(code_book_has_stacks(f.stat.code));
    assert_origin(&f, 0xa1, "train.py:88 forward");
    assert_origin(&f, 0xb1, "train.py:88 forward");
    assert_int_equal(origin_of(&f, 0xa1), origin_of(&f, 0xb1));
    assert_origin(&f, 0xb2, "graph.py:3 capture"); /* its own come first */
    assert_origin(&f, 0xb3, "(not sampled)");
    assert_int_equal(origin_of(&f, 0xb4), ORIGIN_NO_CALL);
    close_fixture(&f);
}

static void test_no_stacks(void **state)
{
    struct fixture f;
    open_fixture(&f, LINE(PROCESS_RESOURCE, CALL("00000000000000a1", "", "000000000", "")
                          /* of an instrumented program, not of CUDA */
                          "," SPAN(TRACE_A, "00000000000000a2", "", "handler", "000000000", "000000001",
                                   ATTRS(ATTR_TEXT("code.function.name", "handler")))));
    assert_false(code_book_has_stacks(f.stat.code));
    assert_int_equal(origin_of(&f, 0xa1), ORIGIN_NOT_SAMPLED);
    close_fixture(&f);
}

#define STACK                                                                                                \
    "  File \\\"/v/site-packages/torch/nn.py\\\", line 5, in linear\\n  File \\\"model.py\\\", line 31, in " \
    "forward\\n  File \\\"train.py\\\", line 9, in main\\n"

/* The text is on a later span than the first one of its stack. */
static void test_texts_come_late(void **state)
{
    struct fixture f;
    open_fixture(
        &f,
        LINE(
            PROCESS_RESOURCE,
            CALL("00000000000000a1", "", "000000000", ID("00000000000000ff") PLACE("model.py", "31", "forward")) "," CALL(
                "00000000000000a2", "", "000000001",
                ID("00000000000000fe")) "," CALL("00000000000000a3", "", "000000002",
                                                 ID("00000000000000ff") TEXT(
                                                     STACK)) "," CALL("00000000000000a4", "", "000000003",
                                                                      ID("00000000000000fe") TEXT(
                                                                          STACK)) "," CALL("00000000000000a"
                                                                                           "5",
                                                                                           "", "000000004",
                                                                                           ID("0000000000000"
                                                                                              "0fd")
                                                                                               PLACE(
                                                                                                   "model."
                                                                                                   "py",
                                                                                                   "31",
                                                                                                   "forwar"
                                                                                                   "d")) "," CALL("00000000000000a6",
                                                                                                                  "",
                                                                                                                  "000000005",
                                                                                                                  ID("00000000000000fc"))));
    assert_origin(&f, 0xa1, "model.py:31 forward < train.py:9 main");
    assert_int_equal(origin_of(&f, 0xa3), origin_of(&f, 0xa1));
    assert_origin(&f, 0xa2, "model.py:31 forward < train.py:9 main"); /* the program's frame by its path */
    assert_origin(&f, 0xa5, "model.py:31 forward");                   /* no text */
    assert_origin(&f, 0xa6, "(unknown stack)");
    close_fixture(&f);
}

/* The attribute's path may be relative where the text has the full one. The name and the line tell the frame.
 */
static void test_paths_may_differ(void **state)
{
    struct fixture f;
    open_fixture(&f, LINE(PROCESS_RESOURCE,
                          CALL("00000000000000a1", "", "000000000",
                               ID("00000000000000ff") PLACE("torch/nn.py", "5", "linear")
                                   TEXT(STACK)) "," CALL("00000000000000a2", "", "000000001",
                                                         ID("00000000000000fe") PLACE("elsewhere.py", "9",
                                                                                      "other") TEXT(STACK))));
    assert_origin(&f, 0xa1, "torch/nn.py:5 linear < model.py:31 forward < train.py:9 main");
    assert_origin(&f, 0xa2, "elsewhere.py:9 other < train.py:9 main"); /* not in the text: by the path */
    close_fixture(&f);
}

/* An ID is a hash of addresses: another process may use it for another stack. */
static void test_ids_belong_to_processes(void **state)
{
    struct fixture f;
    open_fixture(
        &f,
        LINE(PROCESS_RESOURCE, CALL("00000000000000a1", "", "000000000", ID("00000000000000ff") TEXT(STACK)))
            LINE("\"resource\":{\"attributes\":[{\"key\":\"process.pid\",\"value\":{\"intValue\":\"43\"}}]}",
                 CALL("00000000000000a2", "", "000000001", ID("00000000000000ff"))));
    assert_origin(&f, 0xa1, "model.py:31 forward < train.py:9 main");
    assert_origin(&f, 0xa2, "(unknown stack)");
    close_fixture(&f);
}

#define NODE                                                                                                 \
    "  libtorch_cpu.so+0x1 torch::autograd::generated::MmBackward0::apply(int)+0x5\\n  libc.so.6+0x2\\n"

static void test_without_python(void **state)
{
    struct fixture f;
    open_fixture(&f, LINE(PROCESS_RESOURCE,
                          CALL("00000000000000a1", "", "000000000", ID("0000000000000000")) "," CALL(
                              "00000000000000a2", "", "000000001",
                              ID("0000000000000001") TEXT(
                                  "  libc.so.6+0x1\\n")) "," CALL("00000000000000a3", "", "000000002",
                                                                  ID("0000000000000002") TEXT(
                                                                      NODE)) "," CALL("00000000000000a4",
                                                                                      "", "000000003", ID("0000000000000003") TEXT(NODE) "," ATTR_TEXT("code.function.name", "at::mm")) "," CALL("00000000000000a5", "", "000000004", ID("0000000000000004") TEXT("  solver+0x1 solve()+0x5\\n  solver+0x9 main+0x1\\n") "," ATTR_TEXT("code.function.name", "solve()")) "," CALL("00000000000000a6",
                                                                                                                                                                                                                                                                                                                                                                                  "",
                                                                                                                                                                                                                                                                                                                                                                                  "000000005",
                                                                                                                                                                                                                                                                                                                                                                                  ID("0000000000000005") TEXT(NODE
                                                                                                                                                                                                                                                                                                                                                                                                                  STACK)) "," SPAN(TRACE_A,
                                                                                                                                                                                                                                                                                                                                                                                                                                   "00000000000000c1",
                                                                                                                                                                                                                                                                                                                                                                                                                                   "",
                                                                                                                                                                                                                                                                                                                                                                                                                                   "autograd::engine::evaluate_function: AddmmBackward0", "000000000", "900000001", "") "," SPAN(TRACE_A,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "00000000000000c2",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "00000000000000c1", "inner", "000000000", "900000001", "") "," CALL("00000000000000a7",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "00000000000000c2",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "000000006",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     ID("0000000000000000")) "," CALL("00000000000000a8",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "00000000000000c2", "000000007", "") "," CALL("00000000000000a9", "00000000000000c2", "000000008", PLACE("custom.py", "4", "backward"))));
    assert_origin(&f, 0xa1, "(no Python)");
    assert_origin(&f, 0xa2, "(no Python)");
    assert_origin(&f, 0xa3, "(backward: MmBackward0)");
    assert_origin(&f, 0xa4, "(backward: MmBackward0)");
    assert_origin(&f, 0xa5, "solver solve() < solver main");
    assert_origin(&f, 0xa6, "model.py:31 forward < train.py:9 main");
    assert_origin(&f, 0xa7, "(backward: AddmmBackward0)");
    assert_origin(&f, 0xa8, "(backward: AddmmBackward0)");
    assert_origin(&f, 0xa9, "custom.py:4 backward");
    close_fixture(&f);
}

#define THREAD(id) "," ATTR_NUMBER("cuspan.thread.id", id)
#define RANGE(id, name, start, end, thread)                                                                  \
    SPAN(TRACE_A, id, "", name, start, end, ATTRS(ATTR_TEXT("cuda.range.kind", "nvtx") THREAD(thread)))

/* Operator c1 has the line, c2 a stack without Python, as only a damaged file can say. */
static void test_forward_lines(void **state)
{
    struct fixture f;
    open_fixture(
        &f,
        LINE(PROCESS_RESOURCE, RANGE("00000000000000c1", "aten::mm, seq = 1", "000000000", "000000010", "1"))
            LINE(PROCESS_RESOURCE,
                 CALL("00000000000000a1", "00000000000000c1", "000000001",
                      THREAD("1") ID("00000000000000ff") PLACE("model.py", "31", "forward") TEXT(STACK)))
                LINE(PROCESS_RESOURCE,
                     RANGE("00000000000000c2", "aten::mm, seq = 2", "000000011", "000000020", "1"))
                    LINE(PROCESS_RESOURCE,
                         CALL("00000000000000a2", "00000000000000c2", "000000012",
                              THREAD("1") ID("0000000000000000") PLACE("model.py", "32", "forward")))
                        LINE(PROCESS_RESOURCE,
                             RANGE("00000000000000d1", "MmBackward0, seq = 1", "000000021", "000000030", "2"))
                            LINE(PROCESS_RESOURCE,
                                 CALL("00000000000000a3", "00000000000000d1", "000000022", THREAD("2")))
                                LINE(PROCESS_RESOURCE, RANGE("00000000000000d2", "MmBackward0, seq = 2",
                                                             "000000031", "000000040", "2"))
                                    LINE(PROCESS_RESOURCE, CALL("00000000000000a4", "00000000000000d2",
                                                                "000000032", THREAD("2"))));
    struct code_stack stack = code_book_stack(f.stat.code, &f.stat, origin_of(&f, 0xa3));
    assert_null(stack.label);
    assert_true(stack.is_backward);
    assert_int_equal(stack.depth, 3);
    char *place = code_frame_place(code_book_frame(f.stat.code, stack.place));
    assert_string_equal(place, "model.py:31 (backward)");
    free(place);
    assert_int_equal(origin_of(&f, 0xa3), origin_of(&f, 0xa3));
    assert_origin(&f, 0xa1, "model.py:31 forward < train.py:9 main"); /* its place has no mark */
    assert_origin(&f, 0xa4, "(backward: MmBackward0)");
    close_fixture(&f);
}

/* Calls without a stack: not sampled, or without Python, as the other calls of their thread tell. */
static void test_threads(void **state)
{
    struct fixture f;
    open_fixture(
        &f, LINE(PROCESS_RESOURCE, CALL("00000000000000a1", "", "000000000", THREAD("1")) "," CALL(
                                       "00000000000000a2", "", "000000001",
                                       THREAD("2")) "," CALL("00000000000000a3", "", "000000002",
                                                             THREAD("1") ID("00000000000000ff") TEXT(STACK)))
                LINE(GPU_RESOURCE, WORK("00000000000000b1", "00000000000000a1", "k",
                                        "") "," WORK("00000000000000b2", "00000000000000a2", "k", "")));
    assert_origin(&f, 0xa1, "(not sampled)");
    assert_origin(&f, 0xa2, "(no Python)");
    assert_origin(&f, 0xb1, "(not sampled)");
    assert_origin(&f, 0xb2, "(no Python)");
    assert_int_equal(origin_of(&f, 0xa2), origin_of(&f, 0xb2));
    close_fixture(&f);
    open_fixture(&f, LINE(PROCESS_RESOURCE, CALL("00000000000000a1", "", "000000000", THREAD("1"))));
    assert_origin(&f, 0xa1, "(not sampled)"); /* there are no stacks at all */
    close_fixture(&f);
}

/* Kernels of collectives are below the collective's span. */
static void test_collectives(void **state)
{
    struct fixture f;
    open_fixture(
        &f,
        LINE(PROCESS_RESOURCE, CALL("00000000000000a1", "", "000000000", PLACE("ddp.py", "2", "reduce")))
            LINE(GPU_RESOURCE,
                 SPAN(TRACE_A, "00000000000000b1", "00000000000000a1", "AllReduce", "500000000", "500000100",
                      ATTRS(ATTR_TEXT("cuda.activity", "collective"))) "," WORK("00000000000000b2",
                                                                                "00000000000000b1",
                                                                                "ncclDevKernel", "")));
    assert_origin(&f, 0xb2, "ddp.py:2 reduce");
    close_fixture(&f);
}

static void test_odd_attributes(void **state)
{
    struct fixture f;
    char names[2 * 700 + 4096];
    char long_name[701];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    memcpy(long_name + CODE_NAME_BYTES_MAX - 1, "\xc3\xa9", 2); /* the cut would be within it */
    snprintf(
        names, sizeof names,
        LINE(
            PROCESS_RESOURCE,
            CALL("00000000000000a1", "", "000000000", PLACE("a.py", "-5", "f")) "," CALL("00000000000000a2", "", "000000001", PLACE("a.py", "99999999999", "f")) "," CALL(
                "00000000000000a3",
                "", "000000002",
                PLACE(
                    "a.py", "1",
                    "%s")) "," CALL("00000000000000a4", "", "000000003",
                                    ID("not hex")) "," CALL("00000000000000a5", "", "000000004",
                                                            "," ATTR_NUMBER("cuspan.stack.id", "17")
                                                                TEXT(
                                                                    STACK)) "," CALL("00000000000000a6", "",
                                                                                     "000000005",
                                                                                     ID("000000000000001"
                                                                                        "1")) "," CALL("00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "a"
                                                                                                       "7",
                                                                                                       "",
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "00"
                                                                                                       "6",
                                                                                                       TEXT(
                                                                                                           "")) "," CALL("00000000000000a8",
                                                                                                                         "",
                                                                                                                         "000000007",
                                                                                                                         TEXT(
                                                                                                                             STACK
                                                                                                                             "  ...")) "," CALL("00000000000000a9",
                                                                                                                                                "",
                                                                                                                                                "000000008",
                                                                                                                                                PLACE(
                                                                                                                                                    "",
                                                                                                                                                    "0",
                                                                                                                                                    ""))),
        long_name);
    open_fixture(&f, names);
    assert_origin(&f, 0xa1, "a.py f");
    assert_origin(&f, 0xa2, "a.py f");
    struct code_stack stack = code_book_stack(f.stat.code, &f.stat, origin_of(&f, 0xa3));
    assert_int_equal(strlen(code_book_frame(f.stat.code, stack.place)->name), CODE_NAME_BYTES_MAX - 1 + 3);
    assert_origin(&f, 0xa4, "(no Python)"); /* the ID is 0 */
    assert_int_equal(origin_of(&f, 0xa5), origin_of(&f, 0xa6));
    assert_origin(&f, 0xa7, "(unknown stack)");
    assert_origin(&f, 0xa8, "model.py:31 forward < train.py:9 main");
    assert_true(code_book_stack(f.stat.code, &f.stat, origin_of(&f, 0xa8)).is_cut);
    assert_origin(&f, 0xa9, " ");
    close_fixture(&f);
}

/* Beyond the limit, stacks are one origin. */
static void test_limit(void **state)
{
    struct fixture f;
    open_fixture(&f, LINE(PROCESS_RESOURCE, CALL("00000000000000a1", "", "000000000",
                                                 "," ATTR_NUMBER("cuspan.stack.id", "1"))));
    struct trace_attr *attrs = f.trace.attrs + f.trace.spans[0].attr_first;
    uint32_t key = trace_find_string(&f.trace, "cuspan.stack.id"), at = 0;
    while (attrs[at].key != key)
        at++;
    for (uint64_t id = 1; code_book_origin_count(f.stat.code) < CODE_ORIGINS_MAX; id++) {
        attrs[at].value = id;
        code_book_origin(f.stat.code, &f.stat, &f.trace.spans[0]);
    }
    attrs[at].value = 1;
    assert_int_equal(origin_of(&f, 0xa1), ORIGIN_FIRST_STACK);
    attrs[at].value = UINT64_MAX;
    assert_origin(&f, 0xa1, "(other stacks)");
    assert_int_equal(code_book_origin_count(f.stat.code), CODE_ORIGINS_MAX);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_of_the_call),
        cmocka_unit_test(test_no_stacks),
        cmocka_unit_test(test_texts_come_late),
        cmocka_unit_test(test_ids_belong_to_processes),
        cmocka_unit_test(test_paths_may_differ),
        cmocka_unit_test(test_without_python),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_forward_lines),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_odd_attributes),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
