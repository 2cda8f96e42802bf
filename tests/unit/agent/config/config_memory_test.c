/* Each allocation of a load fails in turn. Each time the load must report an error and leak nothing, and the
 * next load must work. The linker redirects the allocations of our code and of libyaml here (--wrap). */
#include "agent/config/config.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long allocations_left = -1; /* -1: they all work */
static bool has_failed;

/* One failure per load: later allocations work, so a load that ignores a failure is detected. */
static bool fails(void)
{
    if (allocations_left < 0)
        return false;
    has_failed = has_failed || allocations_left == 0;
    return allocations_left-- == 0;
}

#define WRAP(type, name, parameters, arguments)                                                              \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails() ? NULL : __real_##name arguments;                                                     \
    }

WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t length), (text, length))

static const char *overrides;

static const char *get_variable(const char *name, void *context)
{
    static const char *const pairs[][2] = {
        {"OTEL_RESOURCE_ATTRIBUTES", "service.name=a,b=c"},
        {"OTEL_SERVICE_NAME", "name"},
        {"OTEL_TRACES_EXPORTER", "otlp,console"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=d"},
        {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca"},
        {"OTEL_BSP_SCHEDULE_DELAY", "5"},
        {"CUSPAN_CAPTURE_CALLS_ALLOW", "launch,cudaMalloc"},
        {"CUSPAN_ACCOUNTS_FILE", "/r"},
    };
    if (strcmp(name, "CUSPAN_CONFIG_FILE") == 0)
        return context;
    if (strcmp(name, "CUSPAN_SET") == 0)
        return overrides;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    }
    return NULL;
}

/* Returns how many allocations a successful load needs. */
static long fail_each_in_turn(char *path)
{
    static struct settings settings;
    static struct config_report report;
    struct config_input input = {.getenv = get_variable, .context = path};
    for (long n = 0; n < 5000; n++) {
        allocations_left = n;
        has_failed = false;
        enum status status = config_load(&input, &settings, &report);
        allocations_left = -1;
        if (status == STATUS_OK && !has_failed) {
            settings_deinit(&settings);
            return n;
        }
        if (status != STATUS_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, report.errors ? report.messages[0].text : status_text(status));
        assert_int_equal(settings.output_count, 0);
    }
    fail_msg("the load never worked");
    return 0;
}

static void test_the_environment_without_memory(void **state)
{
    overrides = "detail=full;protocol=http/json;endpoint=http://h:2;service_name=z";
    assert_true(fail_each_in_turn(NULL) > 25);
    overrides = NULL;
}

static void test_a_file_without_memory(void **state)
{
    char path[] = "/tmp/cuspan-memory-XXXXXX";
    static const char text[] =
        "file_format: \"1.1\"\n"
        "resource: {attributes: [{name: a, value: x}, {name: i, value: [1, 2], type: int_array}], "
        "attributes_list: \"b=c\", schema_url: u}\n"
        "tracer_provider:\n"
        "  processors:\n"
        "    - batch:\n"
        "        exporter:\n"
        "          otlp_http: {endpoint: \"http://${OTEL_SERVICE_NAME}:1/p\", headers: [{name: a, value: "
        "b}], "
        "headers_list: \"c=d\", tls: {ca_file: /x}}\n"
        "    - simple: {exporter: &e {otlp_file/development: {output_stream: \"file:///y\"}}}\n"
        "    - simple: {exporter: *e}\n"
        "meter_provider:\n"
        "  readers: [{periodic: {exporter: {otlp_http: }}}]\n"
        "  views:\n"
        "    - selector: {instrument_name: cuda.kernel.duration, unit: s, meter_name: cuspan}\n"
        "      stream: {name: k, description: d, attribute_keys: {included: [a, b], excluded: [c]}}\n"
        "distribution: {cuspan: {memory_bytes_max: 80000000, capture: {calls: {allow: [launch, copy]}}, "
        "cupti: {library: /l}}}\n";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), (ssize_t)(sizeof text - 1));
    close(fd);
    assert_true(fail_each_in_turn(path) > 60);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_environment_without_memory),
        cmocka_unit_test(test_a_file_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
