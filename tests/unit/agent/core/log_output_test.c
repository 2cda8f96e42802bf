#include "agent/core/outputs/log_output.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[128];
static struct settings settings;
static const struct log_record brief = {.event_name = "cuspan.hang",
                                        .body = "brief",
                                        .severity = LOG_SEVERITY_WARN},
                               full = {.event_name = "cuspan.hang",
                                       .body = "full",
                                       .severity = LOG_SEVERITY_WARN};

static int setup(void **state)
{
    counters_reset();
    memset(&settings, 0, sizeof settings);
    snprintf(folder, sizeof folder, "/tmp/cuspan-logs-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/out.jsonl", folder);
    settings.hang.is_watched = settings.hang.has_output = true;
    settings.hang.output = (struct output_settings){
        .signal = SIGNAL_LOGS, .queue_spans_max = 16, .exporter = {.kind = EXPORTER_FILE, .endpoint = path}};
    return 0;
}

static bool end(uint64_t wait_ms)
{
    struct exporter *exporters[LOG_EXPORTERS_MAX];
    log_output_close(exporters);
    bool all_ended =
        exporters_destroy(exporters, LOG_EXPORTERS_MAX, clock_monotonic_ns() + wait_ms * NS_PER_MS);
    if (all_ended)
        log_output_free();
    return all_ended;
}

static int teardown(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *read_file(const char *name)
{
    static char text[8192];
    FILE *file = fopen(name, "r");
    size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[count] = 0;
    if (file)
        fclose(file);
    return text;
}

static void test_a_file_gets_the_full_report(void **state)
{
    log_output_open(&settings, "module");
    assert_true(access(path, F_OK) != 0); /* nothing starts before the first record */
    assert_true(log_output_send(&brief, &full));
    assert_true(log_output_send(&brief, &full));
    assert_true(end(10000));
    const char *text = read_file(path);
    assert_non_null(strstr(text, "\"stringValue\":\"full\""));
    assert_null(strstr(text, "brief"));
    assert_int_equal(counter_get(COUNTER_hang_reports_made), 2);
    assert_int_equal(counter_get(COUNTER_hang_reports_delivered), 2);
    assert_int_equal(counter_get(COUNTER_lost_hang_reports), 0);
    assert_false(log_output_send(&brief, &full)); /* closed */
    assert_int_equal(counter_get(COUNTER_hang_reports_made), 2);
}

static void test_without_an_output_nothing_is_sent(void **state)
{
    settings.hang.has_output = false;
    log_output_open(&settings, "module");
    assert_false(log_output_send(&brief, &full));
    settings.hang.has_output = true;
    settings.hang.is_watched = false;
    log_output_open(&settings, "module");
    assert_false(log_output_send(&brief, &full));
    assert_true(end(0));
    assert_int_equal(counter_get(COUNTER_hang_reports_made), 0);
}

static void test_beside_a_spool_the_full_report_is_in_a_file(void **state)
{
    settings.hang.output.exporter = (struct exporter_settings){
        .kind = EXPORTER_OTLP_HTTP, .endpoint = (char[]){"http://127.0.0.1:9/v1/logs"}};
    settings.spool.directory = folder;
    log_output_open(&settings, "/nowhere/module.so"); /* so the collector is not reached */
    assert_true(log_output_send(&brief, &full));
    assert_true(end(10000));
    assert_int_equal(counter_get(COUNTER_hang_reports_made), 2);
    assert_int_equal(counter_get(COUNTER_hang_reports_delivered), 1);
    assert_int_equal(counter_get(COUNTER_lost_hang_reports), 1);
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    unsigned found = 0;
    while ((entry = readdir(listing)))
        if (strncmp(entry->d_name, "hang-", 5) == 0) {
            char name[400];
            snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
            assert_non_null(strstr(read_file(name), "\"stringValue\":\"full\""));
            found++;
        }
    closedir(listing);
    assert_int_equal(found, 1);
}

static void test_a_full_queue_loses_reports_and_waits_for_nothing(void **state)
{
    settings.hang.output.exporter.endpoint = (char[]){"/dev/full"};
    log_output_open(&settings, "module");
    for (int i = 0; i < 100; i++)
        assert_true(log_output_send(&brief, &full));
    assert_true(end(10000));
    assert_int_equal(counter_get(COUNTER_hang_reports_made), 100);
    assert_int_equal(counter_get(COUNTER_lost_hang_reports), 100);
}

static void test_the_resource(void **state)
{
    struct resource resource = {0};
    assert_int_equal(resource_set_string(&resource, "service.name", "trainer"), STATUS_OK);
    log_output_set_resource(&resource); /* closed: no effect */
    log_output_open(&settings, "module");
    log_output_set_resource(&resource);
    assert_true(log_output_send(&brief, &full));
    assert_true(end(10000));
    assert_non_null(strstr(read_file(path), "\"stringValue\":\"trainer\""));
    resource_deinit(&resource);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_gets_the_full_report),
        TEST(test_without_an_output_nothing_is_sent),
        TEST(test_beside_a_spool_the_full_report_is_in_a_file),
        TEST(test_a_full_queue_loses_reports_and_waits_for_nothing),
        TEST(test_the_resource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
