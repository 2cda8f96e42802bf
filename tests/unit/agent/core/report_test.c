#include "agent/core/report/report.h"

#include "base/accounting/counters.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <cjson/cJSON.h>
#include <sys/stat.h>

static char folder[] = "/tmp/cuspan-report-test-XXXXXX";
static char file[128], path[160];
static struct settings settings;
static struct report report;

static int setup_all(void **state)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(file, sizeof file, "%s/report", folder);
    snprintf(path, sizeof path, "%s.%d", file, (int)getpid());
    return 0;
}

static int teardown_all(void **state)
{
    return rmdir(folder); /* fails if a test left a file */
}

static int setup(void **state)
{
    counters_reset();
    settings = (struct settings){.accounts_file = file};
    report = (struct report){.program = "program", .settings = &settings};
    return 0;
}

static cJSON *write_and_read(void)
{
    static char text[65536];
    report_write(&report);
    FILE *written = fopen(path, "r");
    assert_non_null(written);
    size_t length = fread(text, 1, sizeof text - 1, written);
    fclose(written);
    text[length] = 0;
    assert_int_equal(text[length - 1], '\n');
    assert_int_equal(unlink(path), 0);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    return json;
}

static double number(const cJSON *json, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(json, key);
    assert_true(cJSON_IsNumber(found));
    return found->valuedouble;
}

static const char *text(const cJSON *json, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(json, key);
    return found ? found->valuestring : NULL;
}

static void test_nothing_lost_nothing_said(void **state)
{
    counter_add(COUNTER_spans_created, 5);
    stderr_begin();
    report_log_losses(NULL, NULL);
    char *said = stderr_end();
    assert_string_equal(said, "");
    free(said);
}

static void test_losses_are_named_in_one_line(void **state)
{
    counter_add(COUNTER_lost_ring_full, 3);
    counter_add(COUNTER_lost_deadline, 4);
    stderr_begin();
    report_log_losses(NULL, NULL);
    char *said = stderr_end();
    assert_int_equal(times_in(said, "\n"), 1);
    assert_int_equal(times_in(said, "7 captured records were lost"), 1);
    assert_int_equal(times_in(said, "lost_ring_full 3, lost_deadline 4"), 1);
    free(said);
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        counter_add(i, UINT64_MAX / 100); /* the longest line */
    stderr_begin();
    report_log_losses(NULL, "trouble");
    said = stderr_end();
    assert_int_equal(times_in(said, "\n"),
                     5); /* losses, lost ends, lost notes, spooled spans, spooled metrics */
    assert_int_equal(times_in(said, "data points of metrics are left in the spool"), 1);
    assert_int_equal(times_in(said, "spans are left in the spool"), 1);
    assert_int_equal(times_in(said, "trouble"), 1);
    free(said);
    counters_reset();
    counter_output_spooled(0, 5);
    counter_output_spooled(0, -2);
    counter_output_spooled(METRICS_OUTPUT, 9);
    counter_output_spooled(METRICS_OUTPUT, -1);
    stderr_begin();
    report_log_losses(NULL, "trouble");
    said = stderr_end();
    assert_int_equal(times_in(said, "3 spans are left in the spool"), 1);
    assert_int_equal(times_in(said, "8 data points of metrics are left in the spool"), 1);
    assert_int_equal(counter_get(COUNTER_points_spooled), 9);
    assert_int_equal(times_in(said, "(trouble)\n"), 1);
    assert_int_equal(times_in(said, "captured record"), 0);
    assert_int_equal(counter_output_get(0).spooled, 3);
    assert_int_equal(counter_get(COUNTER_spans_spooled), 5);
    free(said);
}

static void test_the_report_holds_all_counters(void **state)
{
    counter_add(COUNTER_spans_created, 10);
    counter_add(COUNTER_spans_delivered, 8);
    counter_add(COUNTER_lost_refused, 2);
    report.trace_total = 20;
    report.trace_count = 2;
    memset(report.traces[1], 0xab, 16);
    cJSON *json = write_and_read();
    assert_true(number(json, "version") == 1);
    assert_string_equal(text(json, "program"), "program");
    assert_true(number(json, "pid") == getpid());
    assert_true(number(json, "spans") == 10);
    assert_true(number(json, "delivered") == 8);
    assert_true(number(json, "trace_count") == 20);
    const cJSON *traces = cJSON_GetObjectItemCaseSensitive(json, "traces");
    assert_int_equal(cJSON_GetArraySize(traces), 2);
    assert_string_equal(cJSON_GetArrayItem(traces, 1)->valuestring, "abababababababababababababababab");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "counters")), COUNTER_COUNT);
    const cJSON *losses = cJSON_GetObjectItemCaseSensitive(json, "losses");
    assert_int_equal(cJSON_GetArraySize(losses), 1);
    assert_true(number(losses, "lost_refused") == 2);
    assert_null(cJSON_GetObjectItemCaseSensitive(json, "recording"));
    cJSON_Delete(json);
}

static void test_text_is_escaped(void **state)
{
    report.program = "a \"quoted\" \\ name\n\x01";
    report.recording = "/tmp/with \"quotes\"";
    report.recording_events = 9;
    cJSON *json = write_and_read();
    assert_string_equal(text(json, "program"), "a \"quoted\" \\ name\n\x01");
    assert_string_equal(text(json, "recording"), "/tmp/with \"quotes\"");
    assert_true(number(json, "events") == 9);
    cJSON_Delete(json);
}

static void test_no_password_reaches_the_report(void **state)
{
    static const struct {
        char *endpoint;
        const char *want;
    } cases[] = {
        {"http://localhost:4318/v1/traces", "http://localhost:4318/v1/traces"},
        {"https://user:secret@host:4318/v1/traces", "https://host:4318/v1/traces"},
        {"https://user:p@ss@host", "https://host"},
        {"https://user:pass/word@host/v1/traces", "https://host/v1/traces"}, /* wrongly not encoded */
        {"user:secret@host:4317", "host:4317"},
        {"https://user:secret@host?key=a@b", "https://host"}, /* a query may contain a token */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        settings.output_count = 1;
        settings.outputs[0].exporter.kind = EXPORTER_OTLP_GRPC;
        settings.outputs[0].exporter.endpoint = cases[i].endpoint;
        cJSON *json = write_and_read();
        const cJSON *output = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "outputs"), 0);
        assert_string_equal(text(output, "kind"), "otlp_grpc");
        assert_string_equal(text(output, "endpoint"), cases[i].want);
        cJSON_Delete(json);
    }
}

static void test_outputs_without_endpoint(void **state)
{
    settings.output_count = 2;
    settings.outputs[0].exporter.kind = EXPORTER_FILE;
    settings.outputs[1].exporter.kind = EXPORTER_CONSOLE;
    cJSON *json = write_and_read();
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(json, "outputs");
    assert_int_equal(cJSON_GetArraySize(outputs), 2);
    assert_null(text(cJSON_GetArrayItem(outputs, 0), "endpoint"));
    assert_string_equal(text(cJSON_GetArrayItem(outputs, 1), "kind"), "console");
    cJSON_Delete(json);
}

static void test_each_output_has_its_own_figures(void **state)
{
    settings.output_count = 2;
    settings.outputs[0].exporter.kind = EXPORTER_FILE;
    settings.outputs[1].exporter.kind = EXPORTER_CONSOLE;
    counter_add(COUNTER_spans_created, 33);
    counter_output_delivered(0, 33);
    counter_output_delivered(1, 3);
    counter_output_lost(1, COUNTER_lost_refused, 30);
    cJSON *json = write_and_read();
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(json, "outputs");
    assert_true(number(cJSON_GetArrayItem(outputs, 0), "delivered") == 33);
    assert_true(number(cJSON_GetArrayItem(outputs, 0), "lost") == 0);
    assert_true(number(cJSON_GetArrayItem(outputs, 1), "delivered") == 3);
    assert_true(number(cJSON_GetArrayItem(outputs, 1), "lost") == 30);
    assert_true(number(json, "spans") == 33);
    assert_true(number(json, "delivered") == 3); /* delivered to all outputs */
    cJSON_Delete(json);
    settings.output_count = 1;
    json = write_and_read();
    assert_true(number(json, "delivered") == 33);
    cJSON_Delete(json);
}

static void test_only_its_owner_may_read_it(void **state)
{
    struct stat info;
    report_write(&report);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    unlink(path);
}

static void test_none_is_asked_for(void **state)
{
    settings.accounts_file = NULL;
    report_write(&report);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_what_cannot_be_written_is_told(void **state)
{
    settings.accounts_file = "/nowhere/report";
    stderr_begin();
    report_write(&report);
    char *said = stderr_end();
    assert_int_equal(times_in(said, "\n"), 1);
    assert_int_equal(times_in(said, "/nowhere/report"), 1);
    free(said);
    settings.accounts_file = file;
    assert_int_equal(mkdir(path, 0700), 0); /* in the way of the rename */
    stderr_begin();
    report_write(&report);
    said = stderr_end();
    assert_int_equal(times_in(said, "\n"), 1);
    free(said);
    assert_int_equal(rmdir(path), 0);
}

static void test_each_state_is_named_until_the_last_report(void **state)
{
    static const char *const names[] = {"ended", "exiting", "running", "not traced"};
    static const enum report_state order[] = {REPORT_RUNNING, REPORT_EXITING, REPORT_NOT_TRACED,
                                              REPORT_ENDED};
    report.start_ns = 5;
    report.why = "the \"sampler\"";
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        report.state = order[i];
        cJSON *json = write_and_read();
        assert_string_equal(text(json, "state"), names[order[i]]);
        assert_true(number(json, "start_ns") == 5);
        assert_null(cJSON_GetObjectItemCaseSensitive(json, "last_delivery_ns"));
        if (order[i] == REPORT_NOT_TRACED)
            assert_string_equal(text(json, "why"), report.why);
        cJSON_Delete(json);
    }
    report.state = REPORT_RUNNING; /* a late thread must not overwrite it */
    assert_false(report_write(&report));
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_state_is_named_until_the_last_report, setup),
        cmocka_unit_test_setup(test_nothing_lost_nothing_said, setup),
        cmocka_unit_test_setup(test_losses_are_named_in_one_line, setup),
        cmocka_unit_test_setup(test_the_report_holds_all_counters, setup),
        cmocka_unit_test_setup(test_text_is_escaped, setup),
        cmocka_unit_test_setup(test_no_password_reaches_the_report, setup),
        cmocka_unit_test_setup(test_outputs_without_endpoint, setup),
        cmocka_unit_test_setup(test_each_output_has_its_own_figures, setup),
        cmocka_unit_test_setup(test_only_its_owner_may_read_it, setup),
        cmocka_unit_test_setup(test_none_is_asked_for, setup),
        cmocka_unit_test_setup(test_what_cannot_be_written_is_told, setup),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
