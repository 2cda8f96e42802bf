#include "analysis/show/perfetto.h"

#include "support/cli_trace.h"
#include "support/test.h"

#include <cjson/cJSON.h>

static const char sample[] = LINE(
    PROCESS_RESOURCE,
    SPAN(TRACE_A, "00000000000000a1", "", "app \\\"q\\\" \\\\ \\u0001", "000000000", "000100000", "") "," SPAN(
        TRACE_A, "00000000000000a2", "00000000000000a1", "cudaLaunchKernel", "000010123", "000020000",
        ATTRS(ATTR_TEXT("cuda.api", "runtime") "," ATTR_NUMBER("cuspan.thread.id", "7") "," ATTR_TEXT(
            "thread.name",
            "main") "," ATTR_NUMBER("big", "9223372036854775807") "," ATTR_NUMBER("small",
                                                                                  "-12") ",{\"key\":"
                                                                                         "\"d\","
                                                                                         "\"value\":{"
                                                                                         "\"doubleValu"
                                                                                         "e\":0.25}},{"
                                                                                         "\"key\":"
                                                                                         "\"b\","
                                                                                         "\"value\":{"
                                                                                         "\"boolValue"
                                                                                         "\":false}}"
                                                                                         ",{\"key\":"
                                                                                         "\"odd\","
                                                                                         "\"value\":{"
                                                                                         "\"intValue\""
                                                                                         ":\"007\"}},{"
                                                                                         "\"key\":"
                                                                                         "\"nan\","
                                                                                         "\"value\":{"
                                                                                         "\"doubleValu"
                                                                                         "e\":\"NaN\"}"
                                                                                         "}")))
    LINE(GPU_RESOURCE, SPAN(TRACE_A, "00000000000000a3", "00000000000000a2", "k1", "000030000", "000080000",
                            ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER(
                                "cuda.stream.id",
                                "13"))) "," SPAN(TRACE_A, "00000000000000a4", "00000000000000a2", "k2",
                                                 "000050000", "000090000",
                                                 ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER(
                                                     "cuda.stream.id", "13"))));

static cJSON *write_and_parse(const char *text)
{
    struct trace trace = trace_of(text);
    FILE *file = tmpfile();
    perfetto_write(file, &trace);
    char *json = contents_of(file);
    cJSON *parsed = cJSON_Parse(json);
    assert_non_null(parsed);
    fclose(file);
    free(json);
    trace_deinit(&trace);
    return parsed;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static const cJSON *find_event(const cJSON *root, const char *phase, const char *name, const char *inner_name)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(root, "traceEvents"))
    {
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
        if (strcmp(text_of(event, "ph"), phase) == 0 && strcmp(text_of(event, "name"), name) == 0 &&
            (!inner_name || strcmp(text_of(args, "name"), inner_name) == 0))
            return event;
    }
    fail_msg("no event %s %s", phase, name);
    return NULL;
}

static void test_slices_have_times_tracks_and_arguments(void **state)
{
    cJSON *root = write_and_parse(sample);
    const cJSON *call = find_event(root, "X", "cudaLaunchKernel", NULL);
    assert_true(number_of(call, "ts") == 10.123);
    assert_true(number_of(call, "dur") == 9.877);
    assert_true(number_of(call, "pid") == 42);
    assert_true(number_of(call, "tid") == 7);
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(call, "args");
    assert_string_equal(text_of(args, "big"), "9223372036854775807"); /* a JSON number cannot represent it */
    assert_true(number_of(args, "small") == -12);
    assert_true(number_of(args, "d") == 0.25);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(args, "b")));
    assert_string_equal(text_of(args, "odd"), "007");
    assert_string_equal(text_of(args, "nan"), "NaN");
    find_event(root, "X", "app \"q\" \\ \x01", NULL);
    find_event(root, "M", "process_name", "app");
    find_event(root, "M", "thread_name", "main 7");
    find_event(root, "M", "process_name", "GPU 0 NVIDIA H200");
    cJSON_Delete(root);
}

static void test_arrows_lead_from_the_call_to_its_work(void **state)
{
    cJSON *root = write_and_parse(sample);
    const cJSON *from = find_event(root, "s", "causes", NULL), *to = find_event(root, "f", "causes", NULL);
    const cJSON *call = find_event(root, "X", "cudaLaunchKernel", NULL),
                *kernel = find_event(root, "X", "k1", NULL);
    assert_string_equal(text_of(from, "id"), text_of(to, "id"));
    assert_true(number_of(from, "ts") == number_of(call, "ts") &&
                number_of(from, "tid") == number_of(call, "tid"));
    assert_true(number_of(to, "ts") == number_of(kernel, "ts") &&
                number_of(to, "tid") == number_of(kernel, "tid"));
    assert_true(number_of(to, "pid") != number_of(from, "pid"));
    cJSON_Delete(root);
}

static void test_work_that_overlaps_lies_on_tracks_of_its_own(void **state)
{
    cJSON *root = write_and_parse(sample);
    const cJSON *k1 = find_event(root, "X", "k1", NULL), *k2 = find_event(root, "X", "k2", NULL);
    assert_true(number_of(k1, "pid") == number_of(k2, "pid"));
    assert_true(number_of(k1, "tid") != number_of(k2, "tid"));
    find_event(root, "M", "thread_name", "stream 13");
    find_event(root, "M", "thread_name", "stream 13, overlapping (1)");
    cJSON_Delete(root);
}

#define RANK_RESOURCE(rank, host, more)                                                                      \
    "\"resource\":{\"attributes\":[" ATTR_TEXT("service.name", "app") "," ATTR_NUMBER(                       \
        "process.pid", "42") "," ATTR_TEXT("host.name", host) "," ATTR_NUMBER("cuda.process.rank", rank)     \
        more "]}"
#define RANK_GPU      "," ATTR_NUMBER("cuda.device.id", "0") "," ATTR_TEXT("hw.name", "H200")
#define RANK_SPAN(id) SPAN(TRACE_A, "00000000000000" id, "", "rank", "000000000", "000100000", "")
#define RANK_KERNEL(id)                                                                                      \
    SPAN(TRACE_A, "00000000000000" id, "", "k", "000000000", "000100000",                                    \
         ATTRS(ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "7")))

static double order_of(const cJSON *root, double pid)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(root, "traceEvents"))
    {
        if (strcmp(text_of(event, "name"), "process_sort_index") == 0 && number_of(event, "pid") == pid)
            return number_of(cJSON_GetObjectItemCaseSensitive(event, "args"), "sort_index");
    }
    fail();
    return 0;
}

/* Ranks on two hosts, whose processes have the same PID. */
static void test_ranks_are_in_order_and_apart(void **state)
{
    static const char *const names[] = {"rank 2 node-a app", "rank 2 GPU 0 H200", "rank 10 node-b app",
                                        "rank 10 GPU 0 H200"};
    double pids[4], last = -1;
    cJSON *root =
        write_and_parse(LINE(RANK_RESOURCE("10", "node-b", ""), RANK_SPAN("a1"))
                            LINE(RANK_RESOURCE("10", "node-b", RANK_GPU), RANK_KERNEL("a2"))
                                LINE(RANK_RESOURCE("2", "node-a", ""), RANK_SPAN("a3"))
                                    LINE(RANK_RESOURCE("2", "node-a", RANK_GPU), RANK_KERNEL("a4")));
    for (size_t i = 0; i < 4; i++) {
        pids[i] = number_of(find_event(root, "M", "process_name", names[i]), "pid");
        for (size_t j = 0; j < i; j++)
            assert_true(pids[i] != pids[j]);
        double order = order_of(root, pids[i]);
        assert_true(order > last);
        last = order;
    }
    cJSON_Delete(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_have_times_tracks_and_arguments),
        cmocka_unit_test(test_arrows_lead_from_the_call_to_its_work),
        cmocka_unit_test(test_work_that_overlaps_lies_on_tracks_of_its_own),
        cmocka_unit_test(test_ranks_are_in_order_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
