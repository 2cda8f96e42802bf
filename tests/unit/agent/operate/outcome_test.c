#include "agent/operate/run/outcome.h"

#include "support/cli_trace.h"
#include "support/test.h"

#include <signal.h>

#define REPORT                                                                                               \
    "{\"version\":1,\"program\":\"app\",\"pid\":7,\"traces\":[\"" TRACE_A                                    \
    "\"],\"trace_count\":1,\"spans\":1234,"                                                                  \
    "\"delivered\":1230,\"counters\":{},\"losses\":{\"lost_queue_full\":4},"                                 \
    "\"outputs\":[{\"kind\":\"otlp_http\",\"endpoint\":\"http://localhost:4318/v1/traces\"}]}"

static char *print(const struct outcome *outcome)
{
    FILE *file = tmpfile();
    outcome_print(outcome, NULL, file);
    char *text = contents_of(file);
    fclose(file);
    return text;
}

static void test_a_report_says_where_to_look(void **state)
{
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome, REPORT, false));
    char *text = print(&outcome);
    assert_string_equal(text,
                        "cuspan: 1,230 of 1,234 spans delivered to http://localhost:4318/v1/traces\n"
                        "cuspan: lost 4: lost_queue_full (spans that found the queue of an output full)\n"
                        "cuspan: view it: http://localhost:16686/trace/" TRACE_A "\n");
    free(text);
    outcome_deinit(&outcome);
}

/* It is not a process of the program, but its span counts, and its trace is the first. */
static void test_the_root_span_is_counted_as_no_process(void **state)
{
    static const char root[] = "{\"traces\":[\"bb\"],\"trace_count\":1,\"spans\":1,\"delivered\":1,"
                               "\"outputs\":[{\"kind\":\"file\",\"endpoint\":\"/t\",\"delivered\":1}]}";
    static const char process[] = "{\"traces\":[\"aa\",\"bb\"],\"trace_count\":2,\"spans\":5,\"delivered\":5,"
                                  "\"outputs\":[{\"kind\":\"file\",\"endpoint\":\"/t\",\"delivered\":5}]}";
    struct outcome outcome = {0};
    assert_false(outcome_has_arrived(&outcome));
    assert_true(outcome_add(&outcome, root, true));
    assert_int_equal(outcome.processes, 0);
    assert_true(outcome_add(&outcome, process, false));
    assert_int_equal(outcome.processes, 1);
    assert_true(outcome_has_arrived(&outcome));
    assert_int_equal(outcome.spans, 6);
    assert_int_equal(outcome.output_count, 1);
    assert_int_equal(outcome.outputs[0].processes, 1);
    assert_int_equal(outcome.outputs[0].delivered, 6);
    assert_string_equal(outcome.traces[0], "bb");
    assert_int_equal(outcome.trace_total, 2);
    outcome_deinit(&outcome);
}

static void test_several_processes_are_summed_up(void **state)
{
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome, REPORT, false));
    assert_true(outcome_add(&outcome, REPORT, false));
    assert_int_equal(outcome.spans, 2468);
    assert_int_equal(outcome.trace_count, 1); /* both below one TRACEPARENT */
    assert_int_equal(outcome.trace_total, 1);
    assert_int_equal(outcome.output_count, 1);
    assert_int_equal(outcome.loss_count, 1);
    assert_int_equal(outcome.losses[0].count, 8);
    char *text = print(&outcome);
    assert_non_null(strstr(text, "by 2 processes"));
    free(text);
    outcome_deinit(&outcome);
}

#define RUNNING(more) "{\"version\":1,\"program\":\"app\",\"pid\":" more ",\"spans\":5,\"delivered\":4}"

static void expect_end(const char *report, const struct launched *launched, const char *line)
{
    struct outcome outcome = {0};
    FILE *file = tmpfile();
    assert_true(outcome_add(&outcome, report, false));
    outcome_print(&outcome, launched, file);
    char *text = contents_of(file);
    fclose(file);
    if (!strstr(text, line))
        fail_msg("\"%s\" is not in \"%s\"", line, text);
    free(text);
    outcome_deinit(&outcome);
}

/* Process 4194305 is above the kernel's maximum, so it is never alive. */
static void test_a_process_without_a_final_report_is_explained(void **state)
{
    const uint64_t ms = 1000000;
    struct launched exited = {.pid = 4194305, .wait_status = 7 << 8, .end_ns = 2000 * ms};
    struct launched killed = {.pid = 4194305, .wait_status = SIGKILL, .end_ns = 2000 * ms};
    struct launched crashed = {.pid = 4194305, .wait_status = SIGSEGV | 0x80, .end_ns = 2000 * ms};
    struct launched other = {.pid = 1, .end_ns = 2000 * ms};
    static const char delivered[] = RUNNING("4194305,\"state\":\"running\",\"start_ns\":500000000,"
                                            "\"last_delivery_ns\":1188000000");
    expect_end(
        delivered, &exited,
        "process 4194305 (app) ended by _exit() or exec(), without its exit handlers; the last 812 ms "
        "were not delivered; call cuspan_finish() (Python: cuspan.finish()) first, or deliver more often");
    expect_end(delivered, &killed,
               "(app) was ended by SIGKILL; the last 812 ms were not delivered; deliver more often");
    expect_end(delivered, &crashed,
               "was ended by SIGSEGV; the last 812 ms were not delivered; to deliver first, add SIGSEGV to");
    expect_end(delivered, &other,
               "or a signal, without its exit handlers; everything after its last delivery was lost");
    expect_end(RUNNING("4194305,\"state\":\"running\",\"start_ns\":500000000"), &exited,
               "; all of its 1.50 s were not delivered");
    expect_end(RUNNING("4194305,\"state\":\"exiting\""), &killed,
               "ended before the agent had delivered everything");
    expect_end(RUNNING("1,\"state\":\"running\""), &exited,
               "process 1 (app) is still running; what it delivers");
    expect_end(RUNNING("7,\"state\":\"not traced\",\"why\":\"the sampler is always_off\""), NULL,
               "cuspan: no spans\ncuspan: process 7 (app) was not traced: the sampler is always_off\n");
}

static void test_processes_of_all_ends_are_counted(void **state)
{
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome, REPORT, false));
    assert_true(outcome_add(&outcome, RUNNING("4194305,\"state\":\"running\""), false));
    for (size_t i = 0; i < OUTCOME_ENDS_MAX; i++)
        assert_true(outcome_add(&outcome, RUNNING("7,\"state\":\"not traced\",\"why\":\"\""), false));
    assert_int_equal(outcome.processes, 2);
    assert_int_equal(outcome.unfinished, 1);
    assert_int_equal(outcome.not_traced, OUTCOME_ENDS_MAX);
    assert_int_equal(outcome.spans, 1239);
    char *text = print(&outcome);
    assert_non_null(strstr(text, "and 1 more processes that left no final report or were not traced\n"));
    free(text);
    outcome_deinit(&outcome);
}

/* Otherwise a user whose sampler dropped everything would look for a fault. */
static void test_time_asleep_is_said(void **state)
{
    static const char report[] =
        "{\"spans\":0,\"delivered\":0,\"counters\":{\"sleeps\":2,\"asleep_ns\":1500000000}}";
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome, report, false));
    char *text = print(&outcome);
    assert_non_null(strstr(text, "cuspan: asleep 2 times, 1.50 s in all: nothing sampled was in flight"));
    free(text);
    assert_true(outcome_add(&outcome, REPORT, false)); /* one that never slept */
    assert_int_equal(outcome.sleeps, 2);
    assert_int_equal(outcome.asleep_ns, 1500000000);
    outcome_deinit(&outcome);
}

#define TWO_OUTPUTS(delivered, first, second)                                                                \
    "{\"traces\":[\"" TRACE_A "\"],\"trace_count\":1,\"spans\":33,\"delivered\":" #delivered                 \
    ",\"outputs\":["                                                                                         \
    "{\"kind\":\"otlp_http\",\"endpoint\":\"http://a:4318/v1/traces\"," first "},"                           \
    "{\"kind\":\"file\",\"endpoint\":\"/tmp/t.jsonl\"," second "}]}"

static void test_each_output_has_its_line(void **state)
{
    struct outcome outcome = {0};
    assert_true(outcome_add(
        &outcome, TWO_OUTPUTS(33, "\"delivered\":33,\"lost\":0", "\"delivered\":33,\"lost\":0"), false));
    assert_false(outcome_failed(&outcome));
    char *text = print(&outcome);
    assert_string_equal(text, "cuspan: 33 spans delivered to http://a:4318/v1/traces\n"
                              "cuspan: 33 spans delivered to /tmp/t.jsonl\n"
                              "cuspan: view it: http://a:16686/trace/" TRACE_A "\n"
                              "cuspan: view it: cuspan show /tmp/t.jsonl\n");
    free(text);
    outcome_deinit(&outcome);
}

static void test_an_output_that_got_nothing_is_not_to_be_looked_at(void **state)
{
    struct outcome outcome = {0};
    assert_true(outcome_add(
        &outcome, TWO_OUTPUTS(0, "\"delivered\":0,\"lost\":33", "\"delivered\":33,\"lost\":0"), false));
    assert_true(outcome_failed(&outcome));
    char *text = print(&outcome);
    assert_string_equal(text, "cuspan: 0 of 33 spans delivered to http://a:4318/v1/traces\n"
                              "cuspan: 33 spans delivered to /tmp/t.jsonl\n"
                              "cuspan: view it: cuspan show /tmp/t.jsonl\n");
    free(text);
    assert_true(outcome_add(
        &outcome, TWO_OUTPUTS(1, "\"delivered\":1,\"lost\":32", "\"delivered\":33,\"lost\":0"), false));
    assert_false(outcome_failed(&outcome));
    text = print(&outcome);
    assert_string_equal(text, "cuspan: 1 of 66 spans delivered to http://a:4318/v1/traces, by 2 processes\n"
                              "cuspan: 66 spans delivered to /tmp/t.jsonl, by 2 processes\n"
                              "cuspan: view it: http://a:16686/trace/" TRACE_A "\n"
                              "cuspan: view it: cuspan show /tmp/t.jsonl\n");
    free(text);
    outcome_deinit(&outcome);
}

static void test_two_outputs_to_the_same_place_stay_two(void **state)
{
    static const char report[] =
        "{\"spans\":5,\"delivered\":0,\"outputs\":[{\"kind\":\"console\",\"delivered\":5},"
        "{\"kind\":\"console\",\"delivered\":0}]}";
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome, report, false));
    assert_true(outcome_add(&outcome, report, false));
    assert_int_equal(outcome.output_count, 2);
    assert_int_equal(outcome.outputs[0].delivered, 10);
    assert_int_equal(outcome.outputs[1].delivered, 0);
    assert_int_equal(outcome.outputs[1].made, 10);
    outcome_deinit(&outcome);
}

static void test_without_an_output_all_spans_have_to_be_lost_to_fail(void **state)
{
    struct outcome outcome = {0};
    assert_false(outcome_failed(&outcome));
    assert_true(outcome_add(&outcome, "{\"spans\":5,\"delivered\":0}", false));
    assert_true(outcome_failed(&outcome));
    outcome_deinit(&outcome);
}

static void test_what_is_missing_or_wrong_is_tolerated(void **state)
{
    struct outcome outcome = {0};
    assert_false(outcome_add(&outcome, "", false));
    assert_false(outcome_add(&outcome, "[1]", false));
    assert_true(outcome_add(&outcome, "{}", false));
    assert_true(outcome_add(
        &outcome, "{\"traces\":7,\"spans\":\"x\",\"losses\":[],\"outputs\":[{}],\"delivered\":-1}", false));
    assert_int_equal(outcome.processes, 2);
    char *text = print(&outcome);
    assert_string_equal(text, "cuspan: no spans: the agent ran, but saw no call to trace\n");
    free(text);
    outcome_deinit(&outcome);
}

static void test_an_agent_that_never_started_is_explained(void **state)
{
    struct outcome outcome = {0};
    char *text = print(&outcome);
    assert_non_null(strstr(text, "the agent was never started"));
    assert_ptr_equal(strchr(text, '\n') + 1, strchr(text, 0));
    free(text);
}

static void test_a_file_is_shown_by_its_command(void **state)
{
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome,
                            "{\"spans\":1,\"delivered\":1,\"traces\":[\"" TRACE_A
                            "\"],\"outputs\":[{\"kind\":\"file\",\"endpoint\":\"/tmp/t.jsonl\"}]}",
                            false));
    char *text = print(&outcome);
    assert_string_equal(
        text, "cuspan: 1 span delivered to /tmp/t.jsonl\ncuspan: view it: cuspan show /tmp/t.jsonl\n");
    free(text);
    outcome_deinit(&outcome);
}

static void test_links_exist_for_jaegers_ports_only(void **state)
{
    static const struct {
        const char *endpoint, *link;
    } cases[] = {
        {"http://localhost:4318/v1/traces", "http://localhost:16686/trace/1"},
        {"http://jaeger:4317", "http://jaeger:16686/trace/1"},
        {"jaeger:4317", "http://jaeger:16686/trace/1"},
        {"https://user:secret@host:4318/x", "http://host:16686/trace/1"},
        {"http://[::1]:4318/v1/traces", "http://[::1]:16686/trace/1"},
        {"http://0.0.0.0:4318", "http://localhost:16686/trace/1"},
        {"http://host:43180/v1/traces", NULL},
        {"http://host/v1/traces:4318", NULL},
        {"https://vendor.example/otlp", NULL},
        {"http://[::4318]/x", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char link[256] = "";
        bool has_link = outcome_trace_link(cases[i].endpoint, "1", link, sizeof link);
        assert_int_equal(has_link, cases[i].link != NULL);
        assert_string_equal(link, cases[i].link ? cases[i].link : "");
    }
}

static void test_a_recording_is_named_with_its_events(void **state)
{
    struct outcome outcome = {0};
    FILE *file = tmpfile();
    assert_true(outcome_add(&outcome, "{\"recording\":\"/nonexistent/r\",\"events\":12345}", false));
    outcome_print_recordings(&outcome, NULL, "r", file);
    char *text = contents_of(file);
    assert_string_equal(
        text, "cuspan: /nonexistent/r: missing, 12,345 events; view it: cuspan show /nonexistent/r\n");
    free(text);
    fclose(file);
    outcome_deinit(&outcome);
}

static void expect_text(const char *const *reports, const char *expected)
{
    struct outcome outcome = {0};
    for (; *reports; reports++)
        assert_true(outcome_add(&outcome, *reports, false));
    char *text = print(&outcome);
    assert_string_equal(text, expected);
    free(text);
    outcome_deinit(&outcome);
}

#define REPORTS(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define OTLP           "\"outputs\":[{\"kind\":\"otlp_http\",\"endpoint\":\"http://a:1/v1/traces\",\"delivered\":0}]"
#define RECORDED(path) "{\"spans\":0,\"recording\":\"" path "\",\"events\":53," OTLP "}"

/* A recorded process makes no spans. */
static void test_recordings_are_no_lack_of_spans(void **state)
{
    expect_text(REPORTS(RECORDED("/nonexistent/a"), RECORDED("/nonexistent/b")),
                "cuspan: /nonexistent/a: missing, 53 events; view it: cuspan show /nonexistent/a\n"
                "cuspan: /nonexistent/b: missing, 53 events; view it: cuspan show /nonexistent/b\n");
    expect_text(
        REPORTS(
            "{\"spans\":0,\"recording\":\"/nonexistent/a\",\"events\":0,\"losses\":{\"lost_recording\":9}}"),
        "cuspan: /nonexistent/a: missing, 0 events\n"
        "cuspan: lost 9: lost_recording (events that could not be written to a recording)\n");
    expect_end("{\"spans\":0,\"pid\":4194305,\"state\":\"running\",\"recording\":\"/a\",\"events\":5}", NULL,
               "everything after the recording's last block was lost");
    const struct launched killed = {.pid = 4194305, .wait_status = SIGKILL, .end_ns = 2000000000};
    expect_end(
        "{\"pid\":4194305,\"state\":\"running\",\"start_ns\":500000000,\"last_delivery_ns\":1188000000,"
        "\"recording\":\"/a\",\"events\":5}",
        &killed, "was ended by SIGKILL; the last 812 ms are not in the recording; deliver more often");
    struct outcome outcome = {0};
    for (int i = 0; i < OUTCOME_FILES_MAX + 2; i++)
        assert_true(outcome_add(&outcome, RECORDED("/nonexistent/a"), false));
    char *text = print(&outcome);
    assert_non_null(strstr(text, "cuspan: and 2 more recordings\n"));
    free(text);
    outcome_deinit(&outcome);
}

#define METRICS(made, delivered, spooled)                                                                    \
    "\"metrics\":{\"made\":" #made ",\"delivered\":" #delivered ",\"spooled\":" #spooled                     \
    ",\"endpoint\":\"http://a:1/v1/metrics\"}"
#define PROFILES "\"profiles\":{\"made\":1,\"delivered\":1,\"endpoint\":\"http://a:1/v1/profiles\"}"

static void test_metrics_and_profiles_have_their_lines(void **state)
{
    expect_text(REPORTS("{\"spans\":0,\"outputs\":[]," METRICS(15, 12, 0) "}",
                        "{\"spans\":0,\"outputs\":[]," METRICS(5, 5, 0) "," PROFILES "}"),
                "cuspan: 17 of 20 data points of metrics delivered to http://a:1/v1/metrics, by 2 processes\n"
                "cuspan: 1 sample of profiles delivered to http://a:1/v1/profiles\n");
    expect_text(
        REPORTS("{\"spans\":2,\"delivered\":2,\"counters\":{\"spans_spooled_left\":1},\"outputs\":[{\"kind\":"
                "\"console\",\"delivered\":1}]," METRICS(15, 12, 3) "}"),
        "cuspan: 1 of 2 spans delivered to console\n"
        "cuspan: 12 of 15 data points of metrics delivered to http://a:1/v1/metrics\n"
        "cuspan: 1 span left in the spool; `cuspan send` or the next process with this spool delivers it\n"
        "cuspan: 3 data points of metrics left in the spool; `cuspan send` or the next process with this "
        "spool delivers them\n");
    struct outcome outcome = {0};
    assert_true(outcome_add(&outcome, "{\"spans\":0,\"outputs\":[]," METRICS(5, 5, 0) "}", false));
    assert_false(outcome_has_arrived(&outcome)); /* no root span for metrics */
    assert_true(outcome_add(&outcome, "{\"spans\":0," OTLP "," METRICS(5, 0, 0) "}", false));
    assert_false(outcome_failed(&outcome));
    outcome_deinit(&outcome);
}

static void test_why_there_are_no_spans(void **state)
{
    static const struct {
        const char *counters, *text;
    } cases[] = {
        {"\"releases\":1", "cuspan: no spans: the agent ran, but another tool used CUPTI\n"},
        {"\"calls_captured\":9,\"spans_unsampled\":1234",
         "cuspan: no spans: the sampler dropped all 1,234 spans\n"},
        {"\"calls_captured\":9,\"spans_filtered\":9",
         "cuspan: no spans: the settings (capture) exclude all 9 calls and GPU records\n"},
        {"\"calls_captured\":0", "cuspan: no spans: the agent ran, but saw no call to trace\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char report[256];
        snprintf(report, sizeof report, "{\"spans\":0,\"counters\":{%s}," OTLP "," METRICS(0, 0, 0) "}",
                 cases[i].counters);
        expect_text(REPORTS(report), cases[i].text);
    }
    expect_text(REPORTS("{\"spans\":0,\"counters\":{\"calls_captured\":9},\"losses\":{\"lost_no_ring\":9}}"),
                "cuspan: no spans: the agent ran, but all that it captured was lost\n"
                "cuspan: lost 9: lost_no_ring (calls on threads without a ring)\n");
}

static void test_more_outputs_than_are_listed_are_counted(void **state)
{
    struct outcome outcome = {0};
    char report[256];
    for (int i = 0; i < OUTCOME_OUTPUTS_MAX + 3; i++) {
        snprintf(report, sizeof report,
                 "{\"spans\":1,\"delivered\":1,\"outputs\":[{\"kind\":\"file\",\"endpoint\":\"/t.%d\"}]}", i);
        assert_true(outcome_add(&outcome, report, false));
    }
    char *text = print(&outcome);
    assert_non_null(strstr(text, "cuspan: and to 3 more outputs\n"));
    free(text);
    outcome_deinit(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_says_where_to_look),
        cmocka_unit_test(test_the_root_span_is_counted_as_no_process),
        cmocka_unit_test(test_several_processes_are_summed_up),
        cmocka_unit_test(test_a_process_without_a_final_report_is_explained),
        cmocka_unit_test(test_processes_of_all_ends_are_counted),
        cmocka_unit_test(test_time_asleep_is_said),
        cmocka_unit_test(test_each_output_has_its_line),
        cmocka_unit_test(test_an_output_that_got_nothing_is_not_to_be_looked_at),
        cmocka_unit_test(test_two_outputs_to_the_same_place_stay_two),
        cmocka_unit_test(test_without_an_output_all_spans_have_to_be_lost_to_fail),
        cmocka_unit_test(test_what_is_missing_or_wrong_is_tolerated),
        cmocka_unit_test(test_an_agent_that_never_started_is_explained),
        cmocka_unit_test(test_a_file_is_shown_by_its_command),
        cmocka_unit_test(test_links_exist_for_jaegers_ports_only),
        cmocka_unit_test(test_a_recording_is_named_with_its_events),
        cmocka_unit_test(test_recordings_are_no_lack_of_spans),
        cmocka_unit_test(test_metrics_and_profiles_have_their_lines),
        cmocka_unit_test(test_why_there_are_no_spans),
        cmocka_unit_test(test_more_outputs_than_are_listed_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
