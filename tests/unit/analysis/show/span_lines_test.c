#include "analysis/show/span_lines.h"

#include "support/cli_trace.h"
#include "support/test.h"

#include <locale.h>

static char *write_lines(const char *text)
{
    struct trace trace = trace_of(text);
    FILE *file = tmpfile();
    span_lines_write(file, &trace, true);
    char *lines = contents_of(file);
    fclose(file);
    trace_deinit(&trace);
    return lines;
}

static void test_lines_are_in_order_with_exact_times(void **state)
{
    char *lines = write_lines(
        LINE(GPU_RESOURCE,
             SPAN(TRACE_A, "00000000000000a2", "00000000000000a1", "k", "000001001", "000002000",
                  ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "13"))))
            LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "call", "000000000", "000500000",
                                        ATTRS(ATTR_TEXT("cuda.api", "runtime") "," ATTR_TEXT(
                                            "error.type", "bad thing")) FAILED)));
    assert_string_equal(lines, "#       start_us      duration_us  class    state  where                 "
                               "span              parent            "
                               "name                            \tattributes\n"
                               "           0.000          500.000  call     error  -                     "
                               "00000000000000a1  -                 "
                               "call                            \tcuda.api=runtime error.type=\"bad thing\"\n"
                               "           1.001            0.999  kernel   ok     gpu:0/stream:13       "
                               "00000000000000a2  00000000000000a1  "
                               "k                               \tcuda.activity=kernel cuda.stream.id=13\n");
    free(lines);
}

static void test_one_span_stays_one_line(void **state)
{
    char *lines = write_lines(LINE(
        PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "a\\nb\\tc\\u001b", "000000000", "000000001",
                               ATTRS(ATTR_TEXT("k", "v\\n\\\"=") "," ATTR_TEXT("empty", "")))));
    size_t ends = 0, tabs = 0;
    for (const char *c = lines; *c; c++) {
        ends += *c == '\n';
        tabs += *c == '\t';
        assert_int_not_equal(*c, '\033');
    }
    assert_int_equal(ends, 2);
    assert_int_equal(tabs, 2);
    assert_non_null(strstr(lines, "a?b?c?"));
    assert_non_null(strstr(lines, "k=\"v\\u000a\\\"=\" empty=\"\""));
    free(lines);
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_in_order_with_exact_times),
        cmocka_unit_test(test_one_span_stays_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
