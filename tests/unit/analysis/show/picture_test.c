#include "analysis/show/picture.h"

#include "analysis/show/bars.h"
#include "cli/util/terminal.h"
#include "cli/util/text.h"
#include "support/cli_trace.h"
#include "support/test.h"

#include <locale.h>
#include <unistd.h>

#define CALL(id, name, start, end, more)                                                                     \
    SPAN(TRACE_A, id, "00000000000000a1", name, start, end,                                                  \
         ATTRS(ATTR_TEXT("cuda.api", "runtime") "," ATTR_NUMBER("cuspan.thread.id", "7") more))

static const char sample[] = LINE(
    PROCESS_RESOURCE,
    SPAN(TRACE_A, "00000000000000a1", "", "app", "000000000", "000100000",
         ATTRS(ATTR_NUMBER("cuda.session.number",
                           "1"))) "," CALL("00000000000000a2", "cudaLaunchKernel", "000010000", "000020000",
                                           "") "," SPAN(TRACE_A, "00000000000000a3", "00000000000000a1",
                                                        "cudaFree", "000090000", "000100000",
                                                        ATTRS(ATTR_TEXT("cuda.api", "runtime") "," ATTR_TEXT(
                                                            "error.type", "cudaErrorInvalidValue")) FAILED))
    LINE(GPU_RESOURCE,
         SPAN(TRACE_A, "00000000000000a4", "00000000000000a2", "行列積", "000030000", "000080000",
              ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "13"))));

static char *draw(const struct trace *trace, size_t columns, bool color, bool utf8)
{
    struct picture_options options = {.columns = columns, .rows_max = 40, .color = color, .utf8 = utf8};
    FILE *file = tmpfile();
    picture_draw(file, trace, &options);
    char *text = contents_of(file);
    fclose(file);
    return text;
}

static void test_a_small_trace_looks_like_this(void **state)
{
    struct trace trace = trace_of(sample);
    char *picture = draw(&trace, 60, false, true);
    assert_string_equal(picture, "app  trace " TRACE_A "\n"
                                 "4 spans · 100 µs · GPU busy 50.0 µs (50 %) · 1 error\n"
                                 "\n"
                                 "                                   ╷0          ╷50 µs\n"
                                 "app                         100 µs █████████████████████████\n"
                                 "├ cudaLaunchKernel         10.0 µs   ▐██\n"
                                 "│ └ 行列積                 50.0 µs        ▐████████████\n"
                                 "└ cudaFree ✗ cudaErrorInv… 10.0 µs                       ▐██\n"
                                 "\n"
                                 "GPU 0  NVIDIA H200         50.0 µs        ▐████████████\n"
                                 "└ stream 13  1 kernel      50.0 µs        ▐████████████\n");
    free(picture);
    trace_deinit(&trace);
}

/* Of a file with broken times, for example. Multiples of the axis's step do not fit in 64 bits. */
static void test_a_trace_of_584_years_has_an_axis(void **state)
{
    struct trace trace = trace_of(sample);
    trace.start_ns = 1;
    trace.end_ns = UINT64_MAX;
    for (size_t i = 0; i < trace.span_count; i++) {
        trace.spans[i].start_ns = trace.start_ns;
        trace.spans[i].end_ns = trace.end_ns;
    }
    char *picture = draw(&trace, 200, false, true);
    assert_non_null(strstr(picture, "18446744074 s"));
    free(picture);
    trace_deinit(&trace);
}

#define SUMMARY(id, more)                                                                                    \
    SPAN(TRACE_A, id, "00000000000000b1", "cuda summary", "000010000", "000060000",                          \
         ATTRS(ATTR_NUMBER("cuda.total.gpu_time", "20000") "," ATTR_NUMBER("cuda.total.kernels", "1") more))

static void test_a_summary_says_what_the_gpu_did(void **state)
{
    struct trace trace = trace_of(LINE(
        PROCESS_RESOURCE, SUMMARY("00000000000000a2", "," ATTR_NUMBER("cuda.total.copies", "2")) "," SUMMARY(
                              "00000000000000a3", "," ATTR_NUMBER("cuda.total.fills", "1"))));
    struct picture_options options = {.columns = 100, .rows_max = 1, .utf8 = true};
    FILE *file = tmpfile();
    picture_draw(file, &trace, &options);
    char *picture = contents_of(file);
    assert_non_null(strstr(picture, "cuda summary ×2  GPU 40.0 µs, 2 kernels"));
    fclose(file);
    free(picture);
    trace_deinit(&trace);
    trace = trace_of(sample); /* if the GPU has spans, they have this */
    picture = draw(&trace, 100, false, true);
    assert_null(strstr(picture, "  GPU "));
    free(picture);
    trace_deinit(&trace);
}

/* No line exceeds the width; the last part of each line is a bar at the same
 * column. */
static void test_every_width_is_kept(void **state)
{
    struct trace trace = trace_of(sample);
    for (size_t columns = TERMINAL_COLUMNS_MIN; columns <= TERMINAL_COLUMNS_MAX; columns++) {
        for (int utf8 = 0; utf8 <= 1; utf8++) {
            char *picture = draw(&trace, columns, false, utf8);
            char *rest = picture, *line;
            while ((line = strsep(&rest, "\n"))) {
                if (text_columns(line, true) > columns)
                    fail_msg("%zu columns: \"%s\"", columns, line);
            }
            free(picture);
        }
    }
    trace_deinit(&trace);
}

static void test_without_utf8_everything_is_ascii(void **state)
{
    struct trace trace = trace_of(sample);
    char *picture = draw(&trace, 80, false, false);
    for (const char *c = picture; *c; c++)
        assert_true((*c >= 0x20 && *c < 0x7f) || *c == '\n');
    assert_non_null(strstr(picture, "`-cudaFree ! cudaErrorInvalidValue"));
    assert_non_null(strstr(picture, "| `-???"));
    free(picture);
    trace_deinit(&trace);
}

static void test_deep_trees_keep_room_for_names(void **state)
{
    struct trace trace;
    struct trace_resource resource = {0};
    char name[16];
    trace_init(&trace);
    trace_add_resource(&trace, &resource);
    trace.id = trace_intern(&trace, TRACE_A);
    for (unsigned i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "level%u", i);
        uint32_t string = trace_intern(&trace, name);
        struct trace_span *span = trace_add_span(&trace);
        *span = (struct trace_span){
            .id = i + 1, .parent_id = i, .name = string, .start_ns = i, .end_ns = 1000 - i};
    }
    trace_finish(&trace);
    char *picture = draw(&trace, 40, false, true);
    assert_non_null(strstr(picture, " level29 "));
    free(picture);
    trace_deinit(&trace);
}

static void test_colours_only_on_request_and_always_ended(void **state)
{
    struct trace trace = trace_of(sample);
    char *plain = draw(&trace, 80, false, true);
    assert_null(strchr(plain, '\033'));
    char *colored = draw(&trace, 80, true, true);
    assert_non_null(strstr(colored, "\033[31mcudaFree"));
    size_t open = 0;
    for (const char *at = colored; (at = strchr(at, '\033')); at++) {
        bool is_end = at[2] == 'm';
        assert_int_equal(is_end, open);
        open = !is_end;
    }
    assert_int_equal(open, 0);
    free(plain);
    free(colored);
    trace_deinit(&trace);
}

static void test_notes_tell_what_is_not_shown(void **state)
{
    struct trace trace = trace_of(
        LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "000000000", "000000500", ""))
            LINE(PROCESS_RESOURCE, SPAN(TRACE_B, "00000000000000b1", "", "x", "000000000", "000000500", "")));
    char *picture = draw(&trace, 100, false, true);
    assert_non_null(strstr(picture, "1 other trace here (--trace ID): 0af76519 (1)"));
    free(picture);
    trace_deinit(&trace);
}

static void test_covered_time_counts_overlaps_once(void **state)
{
    struct trace trace =
        trace_of(LINE(PROCESS_RESOURCE,
                      SPAN(TRACE_A, "00000000000000a1", "", "x", "000000000", "000000500", "") "," SPAN(
                          TRACE_A, "00000000000000a2", "", "x", "000000400", "000000600",
                          "") "," SPAN(TRACE_A, "00000000000000a3", "", "x", "000000700", "000000800", "")));
    const uint32_t spans[] = {0, 1, 2};
    assert_int_equal(bars_covered_ns(&trace, spans, 3), 700);
    assert_int_equal(bars_covered_ns(&trace, spans, 0), 0);
    trace_deinit(&trace);
}

static void test_the_terminal_is_asked_with_care(void **state)
{
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    setenv("COLUMNS", "123", 1);
    assert_int_equal(terminal_columns(pipe_ends[0]), 123);
    setenv("COLUMNS", "9999", 1);
    assert_int_equal(terminal_columns(pipe_ends[0]), TERMINAL_COLUMNS_MAX);
    setenv("COLUMNS", "3", 1);
    assert_int_equal(terminal_columns(pipe_ends[0]), TERMINAL_COLUMNS_MIN);
    setenv("COLUMNS", "nonsense", 1);
    assert_int_equal(terminal_columns(pipe_ends[0]), 80);
    unsetenv("COLUMNS");
    assert_int_equal(terminal_columns(pipe_ends[0]), 80);
    assert_false(terminal_wants_color(COLOR_AUTO, pipe_ends[0]));
    assert_true(terminal_wants_color(COLOR_ALWAYS, pipe_ends[0]));
    assert_false(terminal_wants_color(COLOR_NEVER, pipe_ends[0]));
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_trace_looks_like_this),
        cmocka_unit_test(test_a_trace_of_584_years_has_an_axis),
        cmocka_unit_test(test_a_summary_says_what_the_gpu_did),
        cmocka_unit_test(test_every_width_is_kept),
        cmocka_unit_test(test_without_utf8_everything_is_ascii),
        cmocka_unit_test(test_deep_trees_keep_room_for_names),
        cmocka_unit_test(test_colours_only_on_request_and_always_ended),
        cmocka_unit_test(test_notes_tell_what_is_not_shown),
        cmocka_unit_test(test_covered_time_counts_overlaps_once),
        cmocka_unit_test(test_the_terminal_is_asked_with_care),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
