#include "analysis/trace/trace_read.h"

#include "support/cli_trace.h"
#include "support/test.h"

static const char two_traces[] =
    LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "root", "000000100", "000000900", ""))
        LINE(PROCESS_RESOURCE,
             SPAN(TRACE_B, "00000000000000b1", "", "first", "000000000", "000000500", "") "," SPAN(
                 TRACE_B, "00000000000000b2", "00000000000000b1", "second", "000000200", "000000300", ""))
            LINE(PROCESS_RESOURCE, SPAN(TRACE_B, "00000000000000b3", "00000000000000b1", "third", "000000100",
                                        "000000200", ""));

static void test_the_largest_trace_is_chosen_and_sorted(void **state)
{
    struct trace trace = trace_of(two_traces);
    assert_string_equal(trace_string(&trace, trace.id), TRACE_B);
    assert_int_equal(trace.span_count, 3);
    assert_int_equal(trace.others, 1);
    assert_int_equal(trace.resource_count, 1); /* three batches repeat one resource */
    assert_string_equal(trace_string(&trace, trace.spans[0].name), "first");
    assert_string_equal(trace_string(&trace, trace.spans[1].name), "third");
    assert_int_equal(trace.spans[1].parent, 0);
    assert_int_equal(trace.spans[0].first_child, 1);
    assert_int_equal(trace.spans[1].next_sibling, 2);
    assert_int_equal(trace.spans[2].next_sibling, TRACE_NONE);
    assert_true(trace.start_ns == 1700000000000000000ull);
    assert_true(trace.end_ns == 1700000000000000500ull);
    trace_deinit(&trace);
}

static void test_a_trace_is_found_by_its_first_digits(void **state)
{
    struct trace trace;
    struct error err;
    assert_int_equal(read_text(two_traces, "0af7", &trace, &err), STATUS_OK);
    assert_string_equal(trace_string(&trace, trace.id), TRACE_A);
    assert_int_equal(trace.span_count, 1);
    trace_deinit(&trace);
    assert_int_equal(read_text(two_traces, "ffff", &trace, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.text, "none of its 2 traces is ffff"));
}

static void test_an_ambiguous_prefix_is_refused(void **state)
{
    struct trace trace;
    struct error err;
    const char *text = LINE(PROCESS_RESOURCE, SPAN("0af70000000000000000000000000001", "00000000000000a1", "",
                                                   "x", "000000100", "000000900", ""))
        LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "000000100", "000000900", ""));
    assert_int_equal(read_text(text, "0af7", &trace, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "2 traces start with 0af7"));
}

static void test_errors_name_file_and_line(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "input: it has no spans"},
        {"\n\n", "input: it has no spans"},
        {"{\"resourceSpans\":[]}\n", "input: it has no spans"},
        {"{\"a\":1}\n", "input:1: no resourceSpans"},
        {"hello\n", "input:1: invalid JSON at column 1"},
        {"{\"resourceSpans\":[]}\n{\"resourceSpans\":[}\n", "input:2: invalid JSON at column 19"},
        {"{\"resourceSpans\":[]} x\n", "input:1: invalid JSON"},
        {LINE(PROCESS_RESOURCE, SPAN("12", "00000000000000a1", "", "x", "000000100", "000000900", "")),
         "input:1: span 00000000000000a1 has a traceId"},
        {LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "zz000000000000a1", "", "x", "000000100", "000000900", "")),
         "input:1: a span has a spanId"},
        {LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "x", "000000900", "")),
         "has a startTimeUnixNano that is not a number"},
        {LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "000000100", "x", "")),
         "has an endTimeUnixNano that is not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace trace;
        struct error err = {""};
        assert_int_not_equal(read_text(cases[i].text, NULL, &trace, &err), STATUS_OK);
        if (!strstr(err.text, cases[i].expected))
            fail_msg("expected \"%s\" in \"%s\"", cases[i].expected, err.text);
    }
}

static void test_other_signals_and_blank_lines_are_passed_over(void **state)
{
    struct trace trace = trace_of("{\"resourceMetrics\":[]}\n\n{\"resourceLogs\":[]}\n" LINE(
        PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "000000100", "000000900", "")));
    assert_int_equal(trace.span_count, 1);
    trace_deinit(&trace);
}

#define ONE(id) LINE(PROCESS_RESOURCE, SPAN(TRACE_A, id, "", "x", "000000100", "000000900", ""))

static void test_a_byte_order_mark_of_each_file_that_was_joined(void **state)
{
    struct trace trace =
        trace_of("\xef\xbb\xbf" ONE("00000000000000a1") "\xef\xbb\xbf" ONE("00000000000000a2"));
    assert_int_equal(trace.span_count, 2);
    trace_deinit(&trace);
}

#define STATUS(id, fields) SPAN(TRACE_A, id, "", "x", "000000100", "000000900", ",\"status\":{" fields "}")

static void test_a_failure_whose_message_has_no_text(void **state)
{
    struct trace trace =
        trace_of(LINE(PROCESS_RESOURCE,
                      STATUS("00000000000000a1", "\"code\":2,\"message\":\"\\u0000x\"") "," STATUS(
                          "00000000000000a2",
                          "\"code\":\"STATUS_CODE_ERROR\"") "," STATUS("00000000000000a3",
                                                                       "\"code\":2,\"message\":\"why\"")));
    assert_string_equal(trace_string(&trace, trace.spans[0].error), "error");
    assert_string_equal(trace_string(&trace, trace.spans[1].error), "error");
    assert_string_equal(trace_string(&trace, trace.spans[2].error), "why");
    trace_deinit(&trace);
}

static void test_a_last_line_without_end_is_left_out_and_said(void **state)
{
    struct trace trace =
        trace_of(LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "000000100", "000000900",
                                             "")) "{\"resourceSpans\":[{\"resou");
    assert_int_equal(trace.span_count, 1);
    trace_deinit(&trace);
}

static void test_one_document_over_many_lines_is_read(void **state)
{
    const char *text = "{\n \"resourceSpans\":\n [{" PROCESS_RESOURCE
                       ",\n\"scopeSpans\":[{\"spans\":[\n" SPAN(TRACE_A, "00000000000000a1", "", "x",
                                                                "000000100", "000000900", "") "\n]}]}]}\n";
    struct trace trace = trace_of(text);
    assert_int_equal(trace.span_count, 1);
    trace_deinit(&trace);
}

static void test_an_answer_of_jaegers_api_is_read(void **state)
{
    struct trace trace =
        trace_of("{\"result\":{\"resourceSpans\":[{" PROCESS_RESOURCE ",\"scopeSpans\":[{\"spans\":[" SPAN(
            TRACE_A, "00000000000000a1", "", "x", "000000100", "000000900", "") "]}]}]}}");
    assert_int_equal(trace.span_count, 1);
    trace_deinit(&trace);
}

static void test_attributes_keep_their_value_and_type(void **state)
{
    struct trace trace = trace_of(
        LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "x", "000000100", "000000900",
                                    ATTRS("{\"key\":\"i\",\"value\":{\"intValue\":\"9223372036854775807\"}},"
                                          "{\"key\":\"n\",\"value\":{\"intValue\":7}},"
                                          "{\"key\":\"d\",\"value\":{\"doubleValue\":0.5}},"
                                          "{\"key\":\"b\",\"value\":{\"boolValue\":true}},"
                                          "{\"key\":\"a\",\"value\":{\"arrayValue\":{\"values\":[{"
                                          "\"intValue\":\"1\"},{\"stringValue\":\"q\\\"\"}]}}},"
                                          "{\"key\":\"m\",\"value\":{\"kvlistValue\":{\"values\":[{\"key\":"
                                          "\"k\",\"value\":{\"intValue\":\"2\"}}]}}},"
                                          "{\"key\":\"e\",\"value\":{}}"))));
    const struct trace_span *span = &trace.spans[0];
    assert_string_equal(trace_span_attr(&trace, span, "i"), "9223372036854775807");
    assert_string_equal(trace_span_attr(&trace, span, "n"), "7");
    assert_string_equal(trace_span_attr(&trace, span, "d"), "0.5");
    assert_string_equal(trace_span_attr(&trace, span, "b"), "true");
    assert_string_equal(trace_span_attr(&trace, span, "a"), "[1,\"q\\\"\"]");
    assert_string_equal(trace_span_attr(&trace, span, "m"), "{\"k\":2}");
    assert_string_equal(trace_span_attr(&trace, span, "e"), "null");
    assert_null(trace_span_attr(&trace, span, "missing"));
    assert_int_equal(trace.attrs[span->attr_first].type, TRACE_INT);
    assert_int_equal(trace.attrs[span->attr_first + 4].type, TRACE_JSON);
    trace_deinit(&trace);
}

/* Of integers, the digits are copied; what is not written as an integer stays text. */
static void test_lists_of_integers(void **state)
{
    static const struct {
        const char *list, *expected;
    } lists[] = {
        {"{\"intValue\":\"128\"},{\"intValue\":\"1\"},{\"intValue\":\"0\"}", "[128,1,0]"},
        {"{\"intValue\":\"999999999999999999\"},{\"intValue\":\"9223372036854775807\"}",
         "[999999999999999999,9223372036854775807]"},
        {"{\"intValue\":\"-5\"},{\"intValue\":7}", "[-5,7]"},
        {"{\"intValue\":\"007\"},{\"intValue\":\"00\"},{\"intValue\":\"-0\"},{\"intValue\":\"1:\"},{"
         "\"intValue\":\"/\"}",
         "[\"007\",\"00\",\"-0\",\"1:\",\"/\"]"},
        {"{\"intValue\":\"\"},{\"intValue\":\"9223372036854775808\"},{\"intValue\":\"9999999999999999999\"}",
         "[\"\",\"9223372036854775808\",\"9999999999999999999\"]"},
        {"{\"stringValue\":\"12\"},{\"doubleValue\":\"12\"},{}", "[\"12\",12,null]"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 LINE(PROCESS_RESOURCE,
                      SPAN(TRACE_A, "0000000000000001", "", "x", "000000000", "000000001",
                           ATTRS("{\"key\":\"a\",\"value\":{\"arrayValue\":{\"values\":[%s]}}}"))),
                 lists[i].list);
        struct trace trace = trace_of(text);
        assert_string_equal(trace_span_attr(&trace, &trace.spans[0], "a"), lists[i].expected);
        trace_deinit(&trace);
    }
}

static void test_classes_lanes_and_errors_come_from_the_attributes(void **state)
{
    struct trace trace = trace_of(
        LINE(PROCESS_RESOURCE,
             SPAN(TRACE_A, "00000000000000a1", "", "app", "000000000", "000009000",
                  ATTRS(ATTR_NUMBER("cuda.session.number",
                                    "1"))) "," SPAN(TRACE_A, "00000000000000a2", "00000000000000a1",
                                                    "cudaMalloc", "000000100", "000000900",
                                                    ATTRS(ATTR_TEXT("cuda.api", "runtime") "," ATTR_NUMBER(
                                                        "cuspan.thread.id",
                                                        "7") "," ATTR_TEXT("error.type",
                                                                           "cudaErrorMemoryAllocation"))
                                                        FAILED))
            LINE(GPU_RESOURCE,
                 SPAN(TRACE_A, "00000000000000a3", "00000000000000a2", "k", "000001000", "000002000",
                      ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "13")))));
    assert_int_equal(trace.spans[0].class, CLASS_SESSION);
    assert_int_equal(trace.spans[1].class, CLASS_CALL);
    assert_int_equal(trace.spans[2].class, CLASS_KERNEL);
    assert_string_equal(trace_string(&trace, trace.spans[1].error), "cudaErrorMemoryAllocation");
    assert_int_equal(trace.spans[2].error, 0);
    assert_int_equal(trace.thread_count, 1);
    assert_int_equal(trace.lane_count, 1);
    assert_string_equal(trace_string(&trace, trace.lanes[0].stream), "13");
    trace_deinit(&trace);
}

/* Spans of an earlier version, and among them one of this version. */
static void test_earlier_names_are_read_as_those_of_today(void **state)
{
#define STEP(id, key) SPAN(TRACE_A, id, "", "s", "000000000", "000009000", ATTRS(ATTR_NUMBER(key, "7")))
    struct trace trace = trace_of(
        LINE(PROCESS_RESOURCE, STEP("00000000000000a1", "cuda.step.number") "," STEP(
                                   "00000000000000a2", "training.step.number") "," STEP("00000000000000a3",
                                                                                        "cuda.step.number")));
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(trace_span_attr(&trace, &trace.spans[i], "training.step.number"), "7");
    assert_null(trace_span_attr(&trace, &trace.spans[0], "cuda.step.number"));
    trace_deinit(&trace);
}

static void test_circles_of_parents_and_double_ids_do_no_harm(void **state)
{
    struct trace trace = trace_of(LINE(
        PROCESS_RESOURCE,
        SPAN(TRACE_A, "00000000000000a1", "00000000000000a2", "x", "000000100", "000000900",
             "") "," SPAN(TRACE_A, "00000000000000a2", "00000000000000a1", "y", "000000100", "000000900",
                          "") "," SPAN(TRACE_A, "00000000000000a3", "00000000000000a3", "self", "000000100",
                                       "000000900", "") "," SPAN(TRACE_A, "00000000000000a3", "", "twice",
                                                                 "000000900", "000000100", "")));
    size_t roots = 0;
    for (size_t i = 0; i < trace.span_count; i++) {
        roots += trace.spans[i].parent == TRACE_NONE;
        assert_true(trace.spans[i].end_ns >= trace.spans[i].start_ns);
    }
    assert_int_equal(trace.span_count, 4);
    assert_int_equal(roots, 3);
    trace_deinit(&trace);
}

static void test_events_stay_with_their_span_when_spans_are_sorted(void **state)
{
    struct trace trace = trace_of(
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        "{\"traceId\":\"" TRACE_A "\",\"spanId\":\"00000000000000a2\",\"name\":\"late\","
        "\"startTimeUnixNano\":\"1700000000000000500\",\"endTimeUnixNano\":\"1700000000000000900\","
        "\"events\":[{\"timeUnixNano\":\"1700000000000000600\",\"name\":\"one\"},{\"name\":\"no time\"},"
        "{\"timeUnixNano\":\"1700000000000000700\",\"name\":\"two\",\"attributes\":"
        "[{\"key\":\"nvtx.domain\",\"value\":{\"stringValue\":\"d\"}}]}]},"
        "{\"traceId\":\"" TRACE_A "\",\"spanId\":\"00000000000000a1\",\"name\":\"early\","
        "\"startTimeUnixNano\":\"1700000000000000000\",\"endTimeUnixNano\":\"1700000000000000900\","
        "\"attributes\":[{\"key\":\"k\",\"value\":{\"stringValue\":\"v\"}}]}]}]}]}\n");
    const struct trace_span *early = &trace.spans[0], *late = &trace.spans[1];
    assert_int_equal(early->event_count, 0);
    assert_string_equal(trace_span_attr(&trace, early, "k"), "v");
    assert_int_equal(late->attr_count, 0);
    assert_int_equal(late->event_count, 2);
    const struct trace_event *two = &trace.events[late->event_first + 1];
    assert_string_equal(trace_string(&trace, two->name), "two");
    assert_true(two->time_ns == 1700000000000000700ull);
    assert_int_equal(two->attr_count, 1);
    assert_string_equal(trace_attr_text(&trace, &trace.attrs[two->attr_first]), "d");
    trace_deinit(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_trace_is_chosen_and_sorted),
        cmocka_unit_test(test_a_trace_is_found_by_its_first_digits),
        cmocka_unit_test(test_an_ambiguous_prefix_is_refused),
        cmocka_unit_test(test_errors_name_file_and_line),
        cmocka_unit_test(test_other_signals_and_blank_lines_are_passed_over),
        cmocka_unit_test(test_a_byte_order_mark_of_each_file_that_was_joined),
        cmocka_unit_test(test_a_failure_whose_message_has_no_text),
        cmocka_unit_test(test_a_last_line_without_end_is_left_out_and_said),
        cmocka_unit_test(test_one_document_over_many_lines_is_read),
        cmocka_unit_test(test_an_answer_of_jaegers_api_is_read),
        cmocka_unit_test(test_attributes_keep_their_value_and_type),
        cmocka_unit_test(test_lists_of_integers),
        cmocka_unit_test(test_classes_lanes_and_errors_come_from_the_attributes),
        cmocka_unit_test(test_earlier_names_are_read_as_those_of_today),
        cmocka_unit_test(test_circles_of_parents_and_double_ids_do_no_harm),
        cmocka_unit_test(test_events_stay_with_their_span_when_spans_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
