/* Files, variables and overrides: from their text to the settings or to the error message. */
#include "agent/config/config.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLES_MAX 16

static struct settings settings;
static struct config_report report;
static const char *variables[VARIABLES_MAX][2];
static char path[] = "/tmp/cuspan-config-XXXXXX";

static const char *get_variable(const char *name, void *context)
{
    (void)context;
    for (size_t i = 0; i < VARIABLES_MAX && variables[i][0]; i++) {
        if (strcmp(variables[i][0], name) == 0)
            return variables[i][1];
    }
    return NULL;
}

static void set_variable(const char *name, const char *value)
{
    size_t i = 0;
    while (variables[i][0] && strcmp(variables[i][0], name) != 0)
        i++;
    assert_true(i + 1 < VARIABLES_MAX);
    variables[i][0] = name;
    variables[i][1] = value;
}

static enum status load(void)
{
    struct config_input input = {.getenv = get_variable};
    return config_load(&input, &settings, &report);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    set_variable("OTEL_CONFIG_FILE", path);
}

static enum status load_file(const char *text)
{
    write_file(text);
    return load();
}

/* `below` goes under tracer_provider.processors[0].batch.exporter, which has most of the keys. */
static enum status load_exporter(const char *below)
{
    char text[1024];
    snprintf(text, sizeof text,
             "file_format: \"1.1\"\ntracer_provider:\n  processors:\n    - batch:\n        exporter:\n       "
             "   %s\n",
             below);
    return load_file(text);
}

static enum status load_own(const char *below)
{
    char text[1024];
    snprintf(text, sizeof text,
             "file_format: \"1.1\"\ntracer_provider: {processors: [{batch: {exporter: {console: }}}]}\n"
             "distribution:\n  cuspan:\n    %s\n",
             below);
    return load_file(text);
}

static void assert_ok(enum status status)
{
    if (status != STATUS_OK)
        fail_msg("%s", report.count ? report.messages[0].text : status_text(status));
}

static void assert_quiet(enum status status)
{
    assert_ok(status);
    if (report.warnings > 0)
        fail_msg("%s", report.messages[0].text);
}

static bool says(enum config_severity severity, const char *text)
{
    for (uint32_t i = 0; i < report.count; i++) {
        if (report.messages[i].severity == severity && strstr(report.messages[i].text, text))
            return true;
    }
    return false;
}

static void assert_says(enum config_severity severity, const char *text)
{
    if (!says(severity, text))
        fail_msg("expected '%s' among %u messages, the first: %s", text, report.count,
                 report.count ? report.messages[0].text : "none");
}

static void assert_error(enum status status, const char *text)
{
    assert_int_equal(status, STATUS_INVALID);
    assert_true(report.errors > 0);
    assert_says(CONFIG_ERROR, text);
    assert_int_equal(settings.output_count, 0); /* emptied */
    assert_null(settings.accounts_file);
}

static void assert_warns(enum status status, const char *text)
{
    assert_ok(status);
    assert_says(CONFIG_WARNING, text);
}

static int begin(void **state)
{
    memset(variables, 0, sizeof variables);
    memset(&settings, 0, sizeof settings);
    return 0;
}

static int end(void **state)
{
    settings_deinit(&settings);
    return 0;
}

/* ---- files ---- */

static void test_a_full_file_is_read(void **state)
{
    set_variable("API_KEY", "t0ken");
    set_variable("VERSION", "1.10");
    assert_quiet(load_file(
        "file_format: \"1.0\"\n"
        "disabled: true\nlog_level: debug3\n"
        "resource:\n"
        "  attributes_list: service.name=list,list.only=a%20b\n"
        "  attributes:\n"
        "    - {name: service.name, value: shop}\n"
        "    - {name: service.version, value: \"${VERSION}\", type: string}\n"
        "    - name: unquoted\n      value: ${VERSION}\n"
        "    - {name: n, value: -3, type: int}\n"
        "    - {name: d, value: 2, type: double}\n"
        "    - {name: b, value: true, type: bool}\n"
        "    - {name: ints, value: [1, 0x10], type: int_array}\n"
        "    - {name: doubles, value: [2, .5, -1e3], type: double_array}\n"
        "    - {name: bools, value: [true, False], type: bool_array}\n"
        "    - {name: strings, value: [a, b], type: string_array}\n"
        "    - {name: nothing, value: }\n"
        "  schema_url: https://schema\n"
        "  detection/development: {detectors: [{host: }, {process: }]}\n"
        "tracer_provider:\n"
        "  limits: {attribute_count_limit: 7, event_count_limit: 9}\n"
        "  processors:\n"
        "    - batch:\n"
        "        schedule_delay: 250\n        export_timeout: 0\n        max_queue_size: 5000\n"
        "        max_export_batch_size: 500\n"
        "        exporter:\n"
        "          otlp_http:\n"
        "            endpoint: https://collector:4318/v1/traces\n"
        "            headers_list: \"x-a=1,api-key=old\"\n"
        "            headers: [{name: Api-Key, value: \"${API_KEY}\"}, {name: none, value: }]\n"
        "            compression: none\n            timeout: 500\n            encoding: json\n"
        "            tls: {ca_file: /ca, key_file: /key, cert_file: /cert}\n"
        "    - simple: {exporter: {otlp_grpc: {endpoint: \"h:4317\", tls: {insecure: true}}}}\n"
        "    - batch: {exporter: {otlp_file/development: {output_stream: \"file:///tmp/x.jsonl\"}}}\n"
        "    - simple: {exporter: {console: }}\n"
        "  sampler: {parent_based: {root: {trace_id_ratio_based: {ratio: 0.25}}}}\n"
        "attribute_limits: {attribute_count_limit: 100, attribute_value_length_limit: 4096}\n"
        "distribution:\n"
        "  cuspan:\n"
        "    detail: full\n    tls_verify: false\n"
        "    memory_bytes_max: 134217728\n" /* with libdeflate, four outputs exceed the default */
        "    capture: {calls: {allow: [launch, \"cudaMalloc*\"]}, driver: false, kernels: {deny: [\"void "
        "at::*\"]}}\n"
        "    session: {spans_max: 77}\n    cupti: {library: /x/libcupti.so}\n"
        "  other: {vendor: 1}\n"
        "x-mine: {anything: [1]}\n"));
    assert_true(settings.disabled);
    assert_int_equal(settings.log_level, LOG_DEBUG);
    assert_string_equal(resource_find(&settings.resource, "service.name")->items->string, "shop");
    assert_string_equal(resource_find(&settings.resource, "list.only")->items->string, "a b");
    assert_string_equal(resource_find(&settings.resource, "unquoted")->items->string, "1.10");
    assert_int_equal(resource_find(&settings.resource, "n")->items->integer, -3);
    assert_true(resource_find(&settings.resource, "d")->items->real == 2.0);
    assert_int_equal(resource_find(&settings.resource, "b")->type, RESOURCE_BOOL);
    const struct resource_attr *array = resource_find(&settings.resource, "ints");
    assert_int_equal(array->type, RESOURCE_INT);
    assert_int_equal(array->item_count, 2);
    assert_int_equal(array->items[1].integer, 16);
    array = resource_find(&settings.resource, "doubles");
    assert_int_equal(array->type, RESOURCE_DOUBLE);
    assert_true(array->items[0].real == 2 && array->items[1].real == .5 && array->items[2].real == -1e3);
    array = resource_find(&settings.resource, "bools");
    assert_int_equal(array->type, RESOURCE_BOOL);
    assert_int_equal(array->items[0].integer, 1);
    assert_int_equal(array->items[1].integer, 0);
    array = resource_find(&settings.resource, "strings");
    assert_int_equal(array->item_count, 2);
    assert_string_equal(array->items[0].string, "a");
    assert_string_equal(array->items[1].string, "b");
    assert_null(resource_find(&settings.resource, "nothing"));
    assert_string_equal(settings.resource.schema_url, "https://schema");
    assert_int_equal(settings.attribute_count_limit, 7);
    assert_int_equal(settings.attribute_value_length_limit, 4096);
    assert_int_equal(settings.event_count_limit, 9);
    assert_int_equal(settings.sampler, SAMPLER_TRACE_ID_RATIO);
    assert_true(settings.sampler_ratio == 0.25 && settings.sampler_parent_based);
    assert_int_equal(settings.detail, DETAIL_FULL);
    assert_false(settings.capture.driver);
    assert_int_equal(settings.capture.calls.allow.count, 2);
    assert_string_equal(settings.capture.kernels.deny.patterns[0], "void at::*");
    assert_int_equal(settings.session.spans_max, 77);
    assert_string_equal(settings.cupti.library, "/x/libcupti.so");

    assert_int_equal(settings.output_count, 4);
    const struct output_settings *http = &settings.outputs[0];
    assert_int_equal(http->schedule_delay_ms, 250);
    assert_int_equal(http->export_timeout_ms, 0);
    assert_int_equal(http->queue_spans_max, 5000);
    assert_int_equal(http->batch_spans_max, 500);
    assert_int_equal(http->exporter.encoding, ENCODING_JSON);
    assert_int_equal(http->exporter.compression, COMPRESSION_NONE);
    assert_int_equal(http->exporter.timeout_ms, 500);
    assert_string_equal(http->exporter.ca_file, "/ca");
    assert_int_equal(http->exporter.header_count, 2);
    assert_string_equal(http->exporter.headers[1].value, "t0ken");
    assert_false(http->exporter.verify);
    assert_int_equal(settings.outputs[1].exporter.kind, EXPORTER_OTLP_GRPC);
    assert_int_equal(settings.outputs[1].schedule_delay_ms, 0);
    assert_true(settings.outputs[1].exporter.insecure);
    assert_int_equal(settings.outputs[2].exporter.kind, EXPORTER_FILE);
    assert_string_equal(settings.outputs[2].exporter.endpoint, "/tmp/x.jsonl");
    assert_int_equal(settings.outputs[3].exporter.kind, EXPORTER_CONSOLE);
    assert_string_equal(report.source, path);
    assert_true(report.is_file);
}

static void test_present_and_null_is_a_default(void **state)
{
    assert_quiet(load_exporter("otlp_http:"));
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://localhost:4318/v1/traces");
    settings_deinit(&settings);
    assert_quiet(load_exporter("otlp_grpc: {endpoint: , timeout: ~, headers: , tls: }"));
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://localhost:4317");
    assert_int_equal(settings.outputs[0].exporter.timeout_ms, 10000);
    settings_deinit(&settings);
    assert_quiet(load_exporter("otlp_file/development: {output_stream: stdout}"));
    assert_null(settings.outputs[0].exporter.endpoint);
    settings_deinit(&settings);
    assert_error(load_exporter("null"), "exporter: expected otlp_http");
}

static void test_with_a_file_variables_count_only_where_it_names_them(void **state)
{
    set_variable("OTEL_BSP_SCHEDULE_DELAY", "77");
    set_variable("OTEL_SERVICE_NAME", "from-env");
    set_variable("CUSPAN_DETAIL", "full");
    enum status status = load_exporter("console:");
    assert_warns(status, "CUSPAN_DETAIL: ignored, because");
    assert_int_equal(settings.outputs[0].schedule_delay_ms, 1000);
    assert_int_equal(settings.resource.attr_count, 0);
    assert_int_equal(settings.detail, DETAIL_DEFAULT);
    assert_int_equal(report.warnings, 1);
}

static void test_files_are_found_in_order(void **state)
{
    char other[] = "/tmp/cuspan-other-XXXXXX";
    int fd = mkstemp(other);
    static const char text[] = "file_format: \"1.1\"\ndisabled: true\n";
    assert_int_equal(write(fd, text, sizeof text - 1), (ssize_t)(sizeof text - 1));
    close(fd);
    write_file("file_format: \"1.1\"\n");
    set_variable("CUSPAN_CONFIG_FILE", "");
    assert_ok(load());
    assert_false(settings.disabled);
    settings_deinit(&settings);
    memset(variables, 0, sizeof variables);
    set_variable("OTEL_CONFIG_FILE", path);
    set_variable("CUSPAN_CONFIG_FILE", other);
    assert_ok(load());
    assert_true(settings.disabled);
    settings_deinit(&settings);
    struct config_input input = {.getenv = get_variable, .path = path};
    assert_ok(config_load(&input, &settings, &report));
    assert_false(settings.disabled);
    unlink(other);
}

static void test_files_that_are_none_are_errors(void **state)
{
    set_variable("CUSPAN_CONFIG_FILE", "/nonexistent/cuspan.yaml");
    assert_error(load(), "/nonexistent/cuspan.yaml: cannot read it: No such file or directory");
    memset(variables, 0, sizeof variables);
    set_variable("CUSPAN_CONFIG_FILE", "/tmp");
    assert_error(load(), "/tmp: not a regular file");
    memset(variables, 0, sizeof variables);
    char pipe_path[] = "/tmp/cuspan-pipe-XXXXXX";
    int fd = mkstemp(pipe_path);
    close(fd);
    unlink(pipe_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    set_variable("CUSPAN_CONFIG_FILE", pipe_path); /* must not wait for a writer */
    assert_error(load(), "not a regular file");
    unlink(pipe_path);
}

static void test_a_file_over_a_mebibyte_is_refused(void **state)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 1024 * 1024 / 16 + 1; i++)
        fputs("# 0123456789 ab\n", file);
    fclose(file);
    set_variable("OTEL_CONFIG_FILE", path);
    assert_error(load(), "too large: expected at most 1 MiB");
}

static void test_versions_are_checked(void **state)
{
    assert_error(load_file("disabled: true\n"), "1:1: file_format is missing");
    assert_error(load_file(""), "the file is empty");
    assert_error(load_file("- a\n"), "expected a mapping");
    assert_error(load_file("file_format: \"0.4\"\n"), "version \"0.4\" is not supported");
    assert_error(load_file("file_format: \"2.0\"\n"), "version \"2.0\" is not supported");
    assert_error(load_file("file_format: one\n"), "1:1: file_format: expected the version");
    assert_error(load_file("file_format: 1\n"), "file_format: expected the version");
    assert_error(load_file("file_format: \"1.1x\"\n"), "file_format: expected the version");
    assert_error(load_file("file_format:\n"), "file_format: expected the version");
    static const char tail[] = "tracer_provider: {processors: [{batch: {exporter: {console: }}}]}\n";
    char text[200];
    snprintf(text, sizeof text, "file_format: \"1.2\"\n%s", tail);
    assert_warns(load_file(text), "\"1.2\" is newer than cuspan supports");
    settings_deinit(&settings);
    snprintf(text, sizeof text, "file_format: \"1.0-rc.2\"\n%s", tail);
    assert_warns(load_file(text), "predates the stable 1.0");
    settings_deinit(&settings);
    snprintf(text, sizeof text, "file_format: 1.1\n%s", tail);
    assert_warns(load_file(text), "put it in quotes");
}

struct expectation {
    const char *yaml, *says;
};

static void test_wrong_keys_and_values_are_errors_in_words(void **state)
{
    static const struct expectation cases[] = {
        {"detial: full", ":5:5: distribution.cuspan.detial: unknown key; did you mean detail?"},
        {"frobnicate: 1", "distribution.cuspan.frobnicate: unknown key: expected one of detail, capture, "
                          "profiles, counters, cupti"},
        {"detail: fulll",
         "detail: expected summary, default, graph-nodes or full, not \"fulll\"; did you mean full?"},
        {"detail: 3", "detail: expected summary, default, graph-nodes or full, not an integer"},
        {"session: {spans_max: \"5\"}",
         "spans_max: expected an integer from 1 to 1000000000: remove the quotes"},
        {"session: {spans_max: -1}", "spans_max: expected an integer from 1 to 1000000000, not \"-1\""},
        {"session: {spans_max: 1.5}", "expected an integer from 1 to 1000000000, not a decimal number"},
        {"session: {spans_max: [1]}", "expected an integer from 1 to 1000000000, not a list"},
        {"session: 5", "distribution.cuspan.session: expected a mapping, not an integer"},
        {"engine: {headers: [a, \"x-*\"]}",
         "engine.headers: expected at most 39 letters, digits, '-' and '_', not \"x-*\""},
        {"engine: {headers: [a-name-that-is-much-longer-than-39-character]}",
         "engine.headers: expected at most 39"},
        {"engine: {headers: [a, b, c, d, e, f, g, h, i]}", "engine.headers: at most 8 names, not 9"},
        {"tls_verify: \"yes\"", "tls_verify: expected true or false, not \"yes\""},
        {"accounts_file: 5", "accounts_file: expected a string, not an integer: put it in quotes"},
        {"accounts_file: \"\"", "accounts_file: expected a string, not \"\""},
        {"rings: {bytes: 100000}", "rings.bytes: expected a power of two"},
        {"rings: {bytes: 1048576, total_bytes: 524288}", "rings.total_bytes: expected at least rings.bytes"},
        {"cupti: {device_buffer_preallocate: 40}",
         "device_buffer_preallocate: expected at most device_buffer_limit, which is 32"},
        {"cupti: {host_buffer_count: 257}", "host_buffer_count: expected an integer from 2 to 256"},
        {"capture: {calls: {allow: launch}}", "calls.allow: expected a list of names or patterns"},
        {"capture: {calls: {allow: [1]}}", "calls.allow[0]: expected a name or a pattern, not an integer"},
        {"capture: {calls: {alow: []}}", "calls.alow: unknown key; did you mean allow?"},
        {"memory_bytes_max: 16777216", "raise it to 55836672, or lower one of them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_error(load_own(cases[i].yaml), cases[i].says);
}

static void test_wrong_exporters_are_errors_in_words(void **state)
{
    static const struct expectation cases[] = {
        {"otlp_htp:", ":6:11: tracer_provider.processors[0].batch.exporter.otlp_htp: unknown key; did you "
                      "mean otlp_http?"},
        {"otlp_http: {endpont: x}", "otlp_http.endpont: unknown key; did you mean endpoint?"},
        {"otlp_http: {endpoint: \"localhost:4318\"}",
         "endpoint: expected http://HOST:PORT/PATH or https://HOST:PORT/PATH"},
        {"otlp_http: {timeout: 10s}", "timeout: expected an integer from 0 to 86400000, not \"10s\""},
        {"otlp_http: {encoding: xml}", "encoding: expected protobuf or json, not \"xml\""},
        {"otlp_http: {tls: {ca_file: certs/ca.pem}}", "tls.ca_file: expected an absolute path"},
        {"otlp_http: {tls: {key_file: /k}}", "the client's certificate is missing"},
        {"otlp_http: {tls: {insecure: true}}", "tls.insecure: unknown key"},
        {"otlp_http: [a]", "otlp_http: expected a mapping, not a list"},
        {"otlp_grpc: {encoding: json}", "otlp_grpc.encoding: unknown key"},
        {"otlp_grpc: {endpoint: \"unix:///x\"}", "endpoint: expected http://HOST:PORT"},
        {"otlp_file/development: {output_stream: /tmp/x}", "output_stream: expected stdout or file:///PATH"},
        {"otlp_file/development: {output_strem: x}", "did you mean output_stream?"},
        {"console: {pretty: true}", "console: expected nothing below this key"},
        {"console: {temporality_preference: delta}", "console: expected nothing below this key"},
        {"otlp_file/development: {temporality_preference: delta}",
         "temporality_preference: unknown key: expected one of output_stream"},
        {"{console: , otlp_http: }", "exporter: expected one key"},
        {"[console]", "exporter: expected otlp_http, otlp_grpc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_error(load_exporter(cases[i].yaml), cases[i].says);
}

static void test_wrong_structures_are_errors_in_words(void **state)
{
    static const struct expectation cases[] = {
        {"resorce: {}", "2:1: resorce: unknown key; did you mean resource?"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], frobnicate: {}}",
         "frobnicate: unknown key: expected one of processors, limits, sampler"},
        {"tracer_provider: {}", "tracer_provider: processors is missing"},
        {"tracer_provider: {processors: []}", "processors: expected a list with at least one processor"},
        {"tracer_provider: {processors: [{bach: }]}", "processors[0].bach: unknown key; did you mean batch?"},
        {"tracer_provider: {processors: [{batch: }]}", "processors[0].batch: exporter is missing"},
        {"tracer_provider: {processors: [5]}", "processors[0]: expected batch or simple, not an integer"},
        {"tracer_provider: {processors: [{simple: {schedule_delay: 1, exporter: {console: }}}]}",
         "a simple processor does not have this key"},
        {"tracer_provider: {processors: [{batch: {max_queue_size: 0, exporter: {console: }}}]}",
         "max_queue_size: expected an integer from 1"},
        {"tracer_provider: {processors: [&p {simple: {exporter: {console: }}}, *p, *p, *p, *p]}",
         "too many processors: expected at most 4"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: {always_om: }}",
         "did you mean always_on?"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: {trace_id_ratio_based: "
         "{ratio: 2}}}",
         "ratio: expected a number from 0 to 1, not \"2\""},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: {trace_id_ratio_based: "
         "{ratoi: 1}}}",
         "ratoi: unknown key"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: {parent_based: {rot: "
         "}}}",
         "did you mean root?"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: always_on}",
         "sampler: expected always_on"},
        {"resource: {attributes: [{name: a, value: 5}]}",
         "attributes[0].value: expected a value of type string, not an integer"},
        {"resource: {attributes: [{name: a, value: x, type: int}]}",
         "expected a value of type int, not a string"},
        {"resource: {attributes: [{name: a, value: x, type: strin}]}", "did you mean string?"},
        {"resource: {attributes: [{name: a, value: 99999999999999999999, type: int}]}", "out of range"},
        {"resource: {attributes: [{name: a, value: [1, x], type: int_array}]}",
         "attributes[0].value[1]: expected"},
        {"resource: {attributes: [{name: a, value: 1, type: int_array}]}",
         "expected a list, because type is int_array"},
        {"resource: {attributes: [{value: a}]}", "attributes[0]: name is missing"},
        {"resource: {attributes: [{name: a}]}", "attributes[0]: value is missing"},
        {"resource: {attributes: [{name: a, vlue: b}]}", "unknown key: expected name, value or type"},
        {"resource: {attributes: {a: b}}", "attributes: expected a list like"},
        {"distribution: {cuspn: {}}", "distribution.cuspn: unknown key; did you mean cuspan?"},
        {"distribution: 5", "distribution: expected a mapping"},
        {"log_level: vebose", "log_level: expected error, warn, info or debug, not \"vebose\""},
        {"disabled: \"true\"", "disabled: expected true or false: remove the quotes"},
        {"disabled: ${1X}", "2:11: disabled: malformed reference ${1X}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text, "file_format: \"1.1\"\n%s\n", cases[i].yaml);
        assert_error(load_file(text), cases[i].says);
    }
}

static void test_what_an_sdk_knows_and_cuspan_does_not_is_one_warning(void **state)
{
    static const struct expectation cases[] = {
        {"meter_provider: {readers: [{pull: {exporter: {prometheus/development: }}}]}",
         "2:29: meter_provider.readers[0].pull: cuspan does not serve metrics on a port: ignoring this "
         "reader"},
        {"meter_provider: {readers: [{periodic: {exporter: {console: }}}, {periodic: {exporter: {console: "
         "}}}]}",
         "2:66: meter_provider.readers[1].periodic: cuspan supports one metric reader: ignoring this one"},
        {"tracer_provider: {processors: [{batch: {exporter: {otlp_http: {compression: snappy}}}}]}",
         "compression: \"snappy\" is not supported: using gzip"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: "
         "{jaeger_remote/development: {}}}",
         "cuspan does not have this sampler: using parent_based with root always_on"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: {my_own: {}}}",
         "cuspan does not have this sampler"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], sampler: {parent_based: "
         "{remote_parent_sampled: {always_off: }}}}",
         "cuspan follows the parent's sampled flag"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], id_generator: {xray: }}",
         "cuspan generates random IDs"},
        {"tracer_provider: {processors: [{simple: {exporter: {console: }}}], "
         "tracer_configurator/development: {}}",
         "distribution.cuspan.capture"},
        {"tracer_provider: {processors: [{simple: {exporter: {zipkin: {endpoint: x}}}}, {simple: {exporter: "
         "{console: }}}]}",
         "ignoring the processor"},
        {"tracer_provider: {processors: [{baggage/development: {}}, {simple: {exporter: {console: }}}]}",
         "cuspan does not have this processor"},
        {"tracer_provider: {processors: [{batch: {exporter: {otlp_http: {max_request_size: 5}}}}]}",
         "max_request_size: not supported"},
        {"resource: {detection/development: {attributes: {included: [a]}}}",
         "cuspan sends all detected attributes"},
        {"resource: {attributes_list: \"a=b,c\"}", "ignoring the whole list: pair 2 has no '='"},
    };
    static const char fallback[] = "tracer_provider: {processors: [{simple: {exporter: {console: }}}]}\n";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];
        bool has_one = strncmp(cases[i].yaml, "tracer_provider", 15) == 0;
        snprintf(text, sizeof text, "file_format: \"1.1\"\n%s\n%s", cases[i].yaml, has_one ? "" : fallback);
        assert_warns(load_file(text), cases[i].says);
        assert_int_equal(report.warnings, 1);
        assert_int_equal(settings.output_count, 1);
        settings_deinit(&settings);
    }
}

static enum status load_reader(const char *exporter)
{
    char text[400];
    snprintf(text, sizeof text,
             "file_format: \"1.1\"\nmeter_provider:\n  readers:\n    - periodic: {exporter: %s}\n", exporter);
    return load_file(text);
}

static void test_each_exporter_of_metrics_takes_the_keys_of_aggregation(void **state)
{
    static const char *const exporters[] = {"otlp_http", "otlp_grpc", "otlp_file/development", "console"};
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "{%s: {temporality_preference: delta, default_histogram_aggregation: "
                 "base2_exponential_bucket_histogram}}",
                 exporters[i]);
        assert_quiet(load_reader(text));
        assert_int_equal(settings.metrics.temporality, TEMPORALITY_DELTA);
        assert_int_equal(settings.metrics.histogram_form, HISTOGRAM_EXPONENTIAL);
        settings_deinit(&settings);
        snprintf(text, sizeof text, "{%s: {temporality_preference: dalta}}", exporters[i]);
        assert_error(load_reader(text), "temporality_preference: expected cumulative, delta or low_memory, "
                                        "not \"dalta\"; did you mean delta?");
        snprintf(text, sizeof text, "{%s: {temporalty_preference: delta}}", exporters[i]);
        assert_error(load_reader(text),
                     "temporalty_preference: unknown key; did you mean temporality_preference?");
    }
}

static void test_what_the_schema_allows_and_cuspan_does_not_have_is_a_warning(void **state)
{
    static const struct expectation cases[] = {
        {"acme_profiler: {rate: 5}", "2:1: acme_profiler: unknown key: ignoring it"},
        {"meter_provider: {readers: [{periodic: {interval: 0, exporter: {console: }}}]}",
         "the export interval of metrics is 0: using the default of 60000 ms"},
        {"meter_provider: {readers: [{periodic: {max_export_batch_size/development: 9, exporter: "
         "{console: }}}]}",
         "max_export_batch_size/development: not used"},
        {"meter_provider: {readers: [{periodic: {exporter: {console: }}}], views: [{selector: {unit: s}, "
         "stream: {aggregation: {explicit_bucket_histogram: }}}]}",
         "views[0]: cuda.call.time is not a histogram, so it has no buckets: the view is not "
         "applied"},
        {"meter_provider: {readers: [{periodic: {exporter: {console: }}}], views: [{selector: "
         "{instrument_type: histogram}, stream: {aggregation: {base2_exponential_bucket_histogram: "
         "{max_size: 320}}}}]}",
         "max_size: cuspan's histograms have fewer buckets than 320: using 160"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "file_format: \"1.1\"\n%s\n"
                 "tracer_provider: {processors: [{simple: {exporter: {console: }}}]}\n",
                 cases[i].yaml);
        assert_warns(load_file(text), cases[i].says);
        assert_int_equal(report.warnings, 1);
        assert_true(settings.metrics.interval_ms > 0);
        settings_deinit(&settings);
    }
}

static void test_a_parent_based_sampler_may_nest(void **state)
{
    assert_quiet(
        load_file("file_format: \"1.1\"\ntracer_provider:\n"
                  "  processors: [{simple: {exporter: {console: }}}]\n"
                  "  sampler: {parent_based: {root: {parent_based: {root: {always_off: }}}, "
                  "remote_parent_sampled: {parent_based: }, local_parent_not_sampled: {parent_based: }}}\n"));
    assert_int_equal(settings.sampler, SAMPLER_ALWAYS_OFF);
    assert_true(settings.sampler_parent_based);
}

static void test_what_makes_no_difference_to_spans_is_silent(void **state)
{
    assert_quiet(
        load_file("file_format: \"1.1\"\n"
                  "propagator: {composite: [{tracecontext: }], composite_list: b3}\n"
                  "logger_provider: {processors: [{batch: {exporter: {otlp_http: }}}]}\n"
                  "instrumentation/development: {python: {x: 1}}\n"
                  "attribute_limits: {attribute_value_depth_limit: 64}\n"
                  "tracer_provider:\n"
                  "  processors: [{batch: {exporter: {otlp_http: }}}]\n"
                  "  id_generator: {random: }\n"
                  "  limits: {event_attribute_count_limit: 128, link_attribute_count_limit: 128}\n"
                  "  sampler: {parent_based: {root: {always_off: }, remote_parent_sampled: {always_on: }, "
                  "local_parent_not_sampled: {always_off: }}}\n"));
    assert_int_equal(settings.sampler, SAMPLER_ALWAYS_OFF);
    assert_true(settings.sampler_parent_based);
}

static void test_no_usable_exporter_is_one_warning(void **state)
{
    assert_warns(load_file("file_format: \"1.1\"\n"), "no supported exporter, so cuspan stays inactive");
    assert_int_equal(settings.output_count, 0);
    settings_deinit(&settings);
    assert_quiet(load_file("file_format: \"1.1\"\ndisabled: true\n"));
    settings_deinit(&settings);
    assert_quiet(load_file("file_format: \"1.1\"\ndistribution: {cuspan: {record_file: /tmp/r}}\n"));
}

static void test_header_values_are_in_no_message(void **state)
{
    static const char *const cases[] = {
        "otlp_http: {headers: [{name: \"a b\", value: s3cret}]}",
        "otlp_http: {headers: [{nme: a, value: s3cret}]}",
        "otlp_http: {headers: [{authorization: s3cret}]}",
        "otlp_http: {headers: [{s3cret: x}]}",
        "otlp_http: {headers: [s3cret]}",
        "otlp_http: {headers: {authorization: s3cret}}",
        "otlp_http: {headers: s3cret}",
        "otlp_http: {headers: [{name: a, value: [s3cret]}]}",
        "otlp_http: {headers: [{name: a, value: \"s3cret\\n\"}]}",
        "otlp_http: {headers_list: s3cret}",
        "otlp_http: {headers_list: \"a=s3cret%zz\"}",
        "otlp_http: {headers_list: \"a=s3cret%0a\"}",
        "otlp_http: {headers_list: [s3cret]}",
        "otlp_grpc: {headers_list: \"s3cret a=b\"}",
        "otlp_http: {endpoint: \"http://u:s3cret@h h\"}",
        "otlp_http: {headers_list: \"${X:?s3cret}\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load_exporter(cases[i]), STATUS_INVALID);
        for (uint32_t m = 0; m < report.count; m++) {
            if (strstr(report.messages[m].text, "s3cret"))
                fail_msg("%s", report.messages[m].text);
        }
    }
}

static void test_header_values_are_not_printed(void **state)
{
    char *text = NULL;
    size_t length;
    assert_ok(
        load_exporter("otlp_http: {endpoint: \"http://u:s3cret@h:1/p\", headers_list: \"api-key=s3cret\"}"));
    FILE *out = open_memstream(&text, &length);
    config_print_effective(&settings, out);
    fclose(out);
    assert_null(strstr(text, "s3cret"));
    assert_non_null(strstr(text, "header api-key: ***"));
    assert_non_null(strstr(text, "\"http://h:1/p\" (user, query and fragment hidden)"));
    free(text);
}

/* `more` goes into otlp_http, `own` under profiles. */
static enum status load_profiles(const char *more, const char *own)
{
    char text[1024];
    snprintf(text, sizeof text,
             "file_format: \"1.1\"\ntracer_provider: {processors: [{batch: {exporter: {%s}}}]}\n"
             "distribution: {cuspan: {capture: {launch_stacks: python}, "
             "profiles: {enabled: true%s}}}\n",
             more, own);
    return load_file(text);
}

static void test_profiles_go_where_spans_go(void **state)
{
    const struct exporter_settings *exporter = &settings.profiles.output.exporter;
    assert_quiet(
        load_profiles("otlp_http: {endpoint: \"https://h:1/a/v1/traces?k=1\", headers_list: \"api-key=s\", "
                      "compression: zstd, timeout: 7, tls: {ca_file: /ca}}",
                      ", interval_ms: 5000"));
    assert_string_equal(exporter->endpoint, "https://h:1/a/v1development/profiles?k=1");
    assert_int_equal(exporter->header_count, 1);
    assert_string_equal(exporter->headers[0].value, "s");
    assert_string_equal(exporter->ca_file, "/ca");
    assert_int_equal(exporter->compression, COMPRESSION_ZSTD);
    assert_int_equal(exporter->timeout_ms, 7);
    assert_int_equal(settings.profiles.output.signal, SIGNAL_PROFILES);
    assert_int_equal(settings.profiles.interval_ms, 5000);
    assert_true(settings.profiles.output.queue_spans_max > 0);
    settings_deinit(&settings);
    assert_quiet(load_profiles("otlp_http: {endpoint: \"http://h:1/v1/traces\", headers_list: \"api-key=s\"}",
                               ", endpoint: \"HTTP://h:1/api/x/v1/profiles\""));
    assert_string_equal(exporter->endpoint, "HTTP://h:1/api/x/v1/profiles");
    assert_int_equal(exporter->header_count, 1); /* the same server */
}

static void test_headers_go_to_no_other_server(void **state)
{
    static const char *const others[] = {"http://h:2/v1/profiles", "http://i:1/p", "https://h:1/p",
                                         "http://h:11/p", "http://u@h:1/p"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char own[100];
        snprintf(own, sizeof own, ", endpoint: \"%s\"", others[i]);
        assert_ok(
            load_profiles("otlp_http: {endpoint: \"http://h:1/v1/traces\", headers_list: \"api-key=s\", tls: "
                          "{key_file: /k, cert_file: /c}}",
                          own));
        assert_string_equal(settings.profiles.output.exporter.endpoint, others[i]);
        assert_int_equal(settings.profiles.output.exporter.header_count, 0);
        assert_null(settings.profiles.output.exporter.client_key_file);
        settings_deinit(&settings);
    }
    assert_quiet(load_profiles("console: ", ", endpoint: \"http://h:1/p\""));
}

static void test_profiles_without_an_endpoint_or_stacks(void **state)
{
    static const char *const exporters[] = {"console: ", "otlp_grpc: {endpoint: \"http://h:4317\"}",
                                            "otlp_http: {endpoint: \"http://h:1/spans\"}"};
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++) {
        assert_warns(load_profiles(exporters[i], ""), "no endpoint for profiles, so none are sent");
        assert_false(settings.profiles.enabled);
        settings_deinit(&settings);
    }
    assert_warns(
        load_own("profiles: {enabled: true, endpoint: \"http://h:1/p\"}\n    memory_bytes_max: 80000000"),
        "profiles have kernels but no stacks");
    settings_deinit(&settings);
    assert_int_equal(load_profiles("console: ", ", endpoint: \"u:s3cret@h\""), STATUS_INVALID);
    assert_true(says(CONFIG_ERROR, "profiles.endpoint: expected http://HOST:PORT/PATH"));
    assert_null(strstr(report.messages[0].text, "s3cret"));
    assert_quiet(load_file("file_format: \"1.1\"\n"
                           "distribution: {cuspan: {record_file: /tmp/r, profiles: {enabled: true}}}\n"));
    assert_false(settings.profiles.enabled);
}

static void test_profiles_alone_sample_nothing(void **state)
{
    assert_quiet(
        load_file("file_format: \"1.1\"\n"
                  "distribution: {cuspan: {memory_bytes_max: 80000000, capture: {launch_stacks: python}, "
                  "profiles: {enabled: true, endpoint: \"http://h:1/p\"}}}\n"));
    assert_int_equal(settings.sampler, SAMPLER_ALWAYS_OFF);
    assert_true(settings_have_output(&settings));
    assert_true(settings_keep_awake(&settings));
}

/* `exporter` of spans, and `own` under hang. */
static enum status load_hang(const char *exporter, const char *own)
{
    char text[1024];
    snprintf(text, sizeof text,
             "file_format: \"1.1\"\ntracer_provider: {processors: [{batch: {exporter: {%s}}}]}\n"
             "distribution: {cuspan: {hang: {%s}}}\n",
             exporter, own);
    return load_file(text);
}

static void test_reports_of_hangs_go_where_spans_go(void **state)
{
    const struct exporter_settings *exporter = &settings.hang.output.exporter;
    assert_quiet(
        load_hang("otlp_http: {endpoint: \"https://h:1/a/v1/traces?k=1\", headers_list: \"api-key=s\", "
                  "compression: zstd, encoding: json}",
                  "watch: on, after_ms: 700, stacks: functions"));
    assert_true(settings.hang.has_output);
    assert_string_equal(exporter->endpoint, "https://h:1/a/v1/logs?k=1");
    assert_string_equal(exporter->headers[0].value, "s");
    assert_int_equal(exporter->compression, COMPRESSION_NONE);
    assert_int_equal(exporter->encoding, ENCODING_JSON);
    assert_int_equal(settings.hang.output.signal, SIGNAL_LOGS);
    assert_int_equal(settings.hang.after_ms, 700);
    assert_int_equal(settings.hang.stacks, HANG_STACKS_FUNCTIONS);
    settings_deinit(&settings);
    assert_quiet(load_hang("otlp_grpc: {endpoint: \"http://h:4317\"}", ""));
    assert_int_equal(settings.hang.watch, HANG_WATCH_AUTO);
    assert_int_equal(exporter->kind, EXPORTER_OTLP_GRPC);
    assert_string_equal(exporter->endpoint, "http://h:4317");
    settings_deinit(&settings);
    assert_quiet(load_hang("console: ", ""));
    assert_true(settings.hang.has_output);
    assert_null(exporter->endpoint);
    settings_deinit(&settings);
    assert_quiet(load_hang("otlp_http: {endpoint: \"http://h:1/spans\"}", ""));
    assert_false(settings.hang.has_output); /* no path of logs is known */
    settings_deinit(&settings);
    assert_quiet(load_hang("otlp_http: {endpoint: \"http://h:1/v1/traces\", headers_list: \"api-key=s\"}",
                           "endpoint: \"http://i:1/v1/logs\""));
    assert_string_equal(exporter->endpoint, "http://i:1/v1/logs");
    assert_int_equal(exporter->header_count, 0); /* another server */
    settings_deinit(&settings);
    assert_quiet(load_hang("console: ", "watch: off"));
    assert_false(settings.hang.has_output);
}

static void test_which_processes_have_a_hang_watch(void **state)
{
    static const struct {
        const char *own;
        int64_t world_size;
        bool is_watched;
    } cases[] = {{"watch: auto", 8, true},
                 {"watch: auto", 1, false},
                 {"watch: auto", -1, false},
                 {"watch: on", -1, true},
                 {"watch: off", 8, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_quiet(load_hang("console: ", cases[i].own));
        uint64_t before = settings_queue_bytes(&settings);
        assert_true(settings_set_hang_watch(&settings, cases[i].world_size));
        assert_int_equal(settings.hang.is_watched, cases[i].is_watched);
        assert_int_equal(before, settings_queue_bytes(&settings)); /* the default has grown */
        settings.hang.is_watched = settings.has_default_memory = false;
        settings.memory_bytes_max = settings_buffer_bytes(&settings) + SETTINGS_HANG_BYTES;
        assert_int_equal(settings_set_hang_watch(&settings, cases[i].world_size),
                         !cases[i].is_watched); /* no room */
        assert_false(settings.hang.is_watched);
        settings_deinit(&settings);
    }
}

static void test_arrays_are_printed_by_their_type(void **state)
{
    char *text = NULL;
    size_t length;
    assert_quiet(load_file("file_format: \"1.1\"\n"
                           "resource:\n"
                           "  attributes:\n"
                           "    - {name: i, value: [1, 0x10], type: int_array}\n"
                           "    - {name: d, value: [.5, 2], type: double_array}\n"
                           "    - {name: b, value: [true, False], type: bool_array}\n"
                           "    - {name: s, value: [\"1\", b], type: string_array}\n"
                           "    - {name: e, value: [], type: int_array}\n"
                           "tracer_provider: {processors: [{simple: {exporter: {console: }}}]}\n"));
    FILE *out = open_memstream(&text, &length);
    config_print_effective(&settings, out);
    fclose(out);
    assert_non_null(strstr(text, "resource.attributes.i: [1, 16]\n"));
    assert_non_null(strstr(text, "resource.attributes.d: [0.5, 2]\n"));
    assert_non_null(strstr(text, "resource.attributes.b: [true, false]\n"));
    assert_non_null(strstr(text, "resource.attributes.s: [\"1\", \"b\"]\n"));
    assert_non_null(strstr(text, "resource.attributes.e: []\n"));
    free(text);
}

static void test_usual_mistakes_get_a_warning(void **state)
{
    assert_warns(load_exporter("otlp_http: {endpoint: \"http://h:4318\"}"), "the URL has no path");
    settings_deinit(&settings);
    assert_warns(load_exporter("otlp_http: {endpoint: \"http://h:4317/v1/traces\"}"),
                 "port 4317 is usually gRPC");
    settings_deinit(&settings);
    assert_warns(load_exporter("otlp_grpc: {endpoint: \"http://h:4318\"}"), "port 4318 is usually HTTP");
    settings_deinit(&settings);
    assert_warns(load_own("capture: {calls: {deny: [cudaMaloc]}}"),
                 "\"cudaMaloc\" matches no known name; did you mean cudaMalloc?");
    settings_deinit(&settings);
    assert_warns(load_own("capture: {activities: {allow: [kernal]}}"), "did you mean kernel?");
    settings_deinit(&settings);
    assert_quiet(
        load_own("capture: {calls: {deny: [cudaMalloc, launch, \"cuMem*\"]}, kernels: {allow: [whatever]}}"));
}

static void test_native_stacks_raise_the_default_memory(void **state)
{
    static const struct {
        const char *yaml;
        uint64_t bytes;
    } cases[] = {
        {"capture: {launch_stacks: none}", 67108864},
        {"capture: {launch_stacks: python}", 67108864 + SETTINGS_CODE_BYTES},
        {"capture: {launch_stacks: all}", 67108864 + SETTINGS_CODE_BYTES + SETTINGS_NATIVE_BYTES},
        {"capture: {allocation_stacks: true}", 67108864 + SETTINGS_CODE_BYTES + SETTINGS_NATIVE_BYTES},
        {"{capture: {allocation_stacks: true}, memory_bytes_max: 90000000}", 90000000},
        {"profiles: {enabled: true, endpoint: \"http://h:1/p\"}\n    capture: {launch_stacks: python}",
         67108864 + SETTINGS_CODE_BYTES + SETTINGS_SENDER_BYTES + SETTINGS_PROFILES_BYTES},
        {"{capture: {allocation_stacks: true}, detail: summary}", 67108864}, /* has no stacks */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_quiet(load_own(cases[i].yaml));
        assert_int_equal(settings.memory_bytes_max, cases[i].bytes);
        settings_deinit(&settings);
    }
    assert_error(load_own("{capture: {allocation_stacks: true}, memory_bytes_max: 67108865}"), "raise it to");
}

static void test_a_batch_is_never_larger_than_its_queue(void **state)
{
    static const char text[] = "file_format: \"1.1\"\ntracer_provider: {processors: [{batch: "
                               "{max_queue_size: 2048, %sexporter: {console: }}}]}\n";
    char yaml[300];
    snprintf(yaml, sizeof yaml, text, "");
    assert_quiet(load_file(yaml));
    assert_int_equal(settings.outputs[0].batch_spans_max, 2048);
    settings_deinit(&settings);
    snprintf(yaml, sizeof yaml, text, "max_export_batch_size: 4096, ");
    assert_warns(load_file(yaml), "max_export_batch_size 4096 is over max_queue_size 2048");
    assert_int_equal(settings.outputs[0].batch_spans_max, 2048);
}

/* ---- variables ---- */

static void test_variables_hold_without_a_file(void **state)
{
    set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318/base/");
    set_variable("OTEL_EXPORTER_OTLP_HEADERS", "api-key=general");
    set_variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=a%20b,x=1,");
    set_variable("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    set_variable("OTEL_EXPORTER_OTLP_COMPRESSION", "none");
    set_variable("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem");
    set_variable("OTEL_BSP_MAX_QUEUE_SIZE", "4096");
    set_variable("OTEL_TRACES_SAMPLER", "traceidratio");
    set_variable("OTEL_TRACES_SAMPLER_ARG", "0.5");
    set_variable("CUSPAN_SESSION_SPANS_MAX", "123");
    set_variable("CUSPAN_CAPTURE_CALLS_DENY", "cudaFree, launch");
    set_variable("CUSPAN_SAMPLING_TRACES_PER_SECOND", "0.5");
    assert_quiet(load());
    assert_true(settings.sampling.traces_per_second == 0.5);
    const struct exporter_settings *exporter = &settings.outputs[0].exporter;
    assert_int_equal(settings.output_count, 1);
    assert_string_equal(exporter->endpoint, "https://collector:4318/base/v1/traces");
    assert_int_equal(exporter->encoding, ENCODING_JSON);
    assert_int_equal(exporter->compression, COMPRESSION_NONE);
    assert_int_equal(exporter->header_count, 2);
    assert_string_equal(exporter->headers[0].value, "a b");
    assert_int_equal(exporter->ca_file[0], '/'); /* absolute, because the program may change its directory */
    assert_int_equal(settings.outputs[0].queue_spans_max, 4096);
    assert_int_equal(settings.outputs[0].batch_spans_max, 4096);
    assert_int_equal(settings.sampler, SAMPLER_TRACE_ID_RATIO);
    assert_true(settings.sampler_ratio == 0.5 && !settings.sampler_parent_based);
    assert_int_equal(settings.session.spans_max, 123);
    assert_int_equal(settings.capture.calls.deny.count, 2);
    assert_string_equal(report.source, "the environment");
    assert_false(report.is_file);
}

static void test_empty_variables_are_unset(void **state)
{
    set_variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "");
    set_variable("OTEL_TRACES_EXPORTER", "");
    set_variable("OTEL_BSP_SCHEDULE_DELAY", "");
    set_variable("OTEL_SERVICE_NAME", "");
    set_variable("CUSPAN_SET", "");
    set_variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "");
    assert_quiet(load());
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://localhost:4318/v1/traces");
    assert_int_equal(settings.resource.attr_count, 0);
}

static void test_a_process_without_environment_has_the_defaults(void **state)
{
    struct config_input input = {0};
    setenv("OTEL_SDK_DISABLED", "true", 1);
    assert_quiet(config_load(&input, &settings, &report));
    assert_false(settings.disabled);
    settings_deinit(&settings);
    input.getenv = config_getenv;
    assert_quiet(config_load(&input, &settings, &report));
    assert_true(settings.disabled);
    unsetenv("OTEL_SDK_DISABLED");
}

static void test_a_signals_endpoint_is_used_as_it_is(void **state)
{
    set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1");
    set_variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:2");
    assert_quiet(load());
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://b:2");
}

static void test_a_path_never_becomes_the_host(void **state)
{
    static const char *const bases[] = {"http://",       "https://",  "http:///",
                                        "http://?key=1", "http://#a", "http:"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", bases[i]);
        assert_int_equal(load(), STATUS_INVALID);
        assert_true(says(CONFIG_ERROR, "OTEL_EXPORTER_OTLP_ENDPOINT: expected http://HOST:PORT"));
        char text[64];
        struct error err = {""};
        snprintf(text, sizeof text, "endpoint=%s", bases[i]);
        assert_int_equal(config_check_overrides(text, "x", &err), STATUS_INVALID);
        assert_non_null(strstr(err.text, "endpoint: expected http://HOST:PORT"));
    }
}

static void test_grpc_has_its_own_endpoint(void **state)
{
    set_variable("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_OTLP_GRPC);
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://localhost:4317");
    settings_deinit(&settings);
    set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317");
    set_variable("OTEL_EXPORTER_OTLP_INSECURE", "true");
    assert_quiet(load());
    assert_string_equal(settings.outputs[0].exporter.endpoint, "collector:4317");
    assert_true(settings.outputs[0].exporter.insecure);
}

static void test_exporters_are_chosen_by_name(void **state)
{
    set_variable("OTEL_TRACES_EXPORTER", "console, otlp,otlp/stdout,otlp");
    assert_quiet(load());
    assert_int_equal(settings.output_count, 3);
    assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_CONSOLE);
    assert_int_equal(settings.outputs[1].exporter.kind, EXPORTER_OTLP_HTTP);
    assert_int_equal(settings.outputs[2].exporter.kind, EXPORTER_FILE);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("OTEL_TRACES_EXPORTER", "none");
    assert_warns(load(), "OTEL_TRACES_EXPORTER: no exporter is left");
    assert_int_equal(settings.output_count, 0);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("OTEL_TRACES_EXPORTER", "zipkin");
    assert_warns(load(), "does not have the exporter \"zipkin\"");
    assert_int_equal(settings.output_count, 0);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("OTEL_TRACES_EXPORTER", "oltp");
    assert_warns(load(), "unknown exporter \"oltp\"");
    assert_int_equal(settings.output_count, 1);
}

static void test_wrong_variables_are_warnings_and_defaults(void **state)
{
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"OTEL_BSP_SCHEDULE_DELAY", "abc",
         "OTEL_BSP_SCHEDULE_DELAY: expected an integer from 0 to 86400000, not \"abc\": using the default "
         "(1000)"},
        {"OTEL_BSP_MAX_QUEUE_SIZE", "-5", "OTEL_BSP_MAX_QUEUE_SIZE: expected an integer"},
        {"OTEL_SDK_DISABLED", "1", "OTEL_SDK_DISABLED: expected true or false"},
        {"OTEL_LOG_LEVEL", "loud", "OTEL_LOG_LEVEL: expected error, warn, info or debug"},
        {"OTEL_TRACES_SAMPLER", "jaeger_remote", "using parentbased_always_on"},
        {"OTEL_TRACES_SAMPLER", "alwayson", "did you mean always_on?"},
        {"OTEL_EXPORTER_OTLP_PROTOCOL", "http", "expected http/protobuf, http/json or grpc, not \"http\""},
        {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "OTEL_EXPORTER_OTLP_TIMEOUT: expected an integer"},
        {"OTEL_EXPORTER_OTLP_COMPRESSION", "brotli",
         "OTEL_EXPORTER_OTLP_COMPRESSION: expected none, gzip or zstd"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "s3cret",
         "OTEL_EXPORTER_OTLP_HEADERS: ignoring all headers: pair 1 has no '='"},
        {"OTEL_RESOURCE_ATTRIBUTES", "a=b,c=%2",
         "OTEL_RESOURCE_ATTRIBUTES: ignoring the whole value: pair 2 has a '%'"},
        {"OTEL_RESOURCE_ATTRIBUTES", "a=b,=c", "pair 2 has no key"},
        {"OTEL_RESOURCE_ATTRIBUTES", "a=b,c=%ff", "pair 2 is not UTF-8"},
        {"OTEL_RESOURCE_ATTRIBUTES", "a=%ed%a0%80", "pair 1 is not UTF-8"},
        {"OTEL_RESOURCE_ATTRIBUTES", "a=%e0%80%80", "pair 1 is not UTF-8"},
        {"CUSPAN_DETAIL", "ful",
         "CUSPAN_DETAIL: expected summary, default, graph-nodes or full, not \"ful\""},
        {"OTEL_TRACES_SAMPLER", "", ""},
    };
    struct settings defaults;
    assert_quiet(load());
    defaults = settings;
    for (size_t i = 0; cases[i].says[0]; i++) {
        begin(NULL);
        set_variable(cases[i].name, cases[i].value);
        assert_warns(load(), cases[i].says);
        assert_int_equal(report.warnings, 1);
        assert_int_equal(settings.resource.attr_count, 0);
        assert_int_equal(settings.disabled, defaults.disabled);
        assert_int_equal(settings.log_level, defaults.log_level);
        assert_int_equal(settings.sampler, defaults.sampler);
        assert_int_equal(settings.output_count, 1);
        assert_int_equal(settings.outputs[0].schedule_delay_ms, 1000);
        assert_int_equal(settings.outputs[0].queue_spans_max, 262144);
        assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_OTLP_HTTP);
        assert_int_equal(settings.outputs[0].exporter.timeout_ms, 10000);
        assert_int_equal(settings.outputs[0].exporter.compression, COMPRESSION_GZIP);
        assert_int_equal(settings.outputs[0].exporter.header_count, 0);
        assert_int_equal(settings.detail, DETAIL_DEFAULT);
        for (uint32_t m = 0; m < report.count; m++)
            assert_null(strstr(report.messages[m].text, "s3cret"));
        settings_deinit(&settings);
    }
    settings = defaults;
}

static void test_an_endpoint_that_is_none_is_an_error(void **state)
{
    set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318");
    assert_error(load(), "OTEL_EXPORTER_OTLP_ENDPOINT: expected http://HOST:PORT/PATH");
}

static void test_the_probability_sampler_is_the_ratio_s_new_name(void **state)
{
    assert_quiet(load_file("file_format: \"1.1\"\n"
                           "tracer_provider:\n"
                           "  processors: [{simple: {exporter: {console: }}}]\n"
                           "  sampler: {probability/development: {ratio: 0.125}}\n"
                           "distribution: {cuspan: {sampling: {traces_per_second: 2.5}}}\n"));
    assert_int_equal(settings.sampler, SAMPLER_TRACE_ID_RATIO);
    assert_true(settings.sampler_ratio == 0.125 && !settings.sampler_parent_based);
    assert_true(settings.sampling.traces_per_second == 2.5);
}

static void test_a_sampler_argument_counts_only_for_a_ratio(void **state)
{
    set_variable("OTEL_TRACES_SAMPLER_ARG", "nonsense");
    assert_quiet(load());
    settings_deinit(&settings);
    set_variable("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
    assert_warns(load(), "OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1");
    assert_true(settings.sampler_ratio == 1.0 && settings.sampler_parent_based);
}

static void test_the_service_has_the_name_that_goes_first(void **state)
{
    set_variable("OTEL_RESOURCE_ATTRIBUTES", "service.name=list,team=gpu%2Cml,key%3D=v");
    assert_quiet(load());
    assert_string_equal(resource_find(&settings.resource, "service.name")->items->string, "list");
    assert_string_equal(resource_find(&settings.resource, "team")->items->string, "gpu,ml");
    assert_non_null(resource_find(&settings.resource, "key="));
    settings_deinit(&settings);
    set_variable("OTEL_SERVICE_NAME", "first");
    assert_quiet(load());
    assert_string_equal(resource_find(&settings.resource, "service.name")->items->string, "first");
}

static void test_span_limits_go_before_general_ones(void **state)
{
    set_variable("OTEL_ATTRIBUTE_COUNT_LIMIT", "10");
    set_variable("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "20");
    set_variable("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "30");
    set_variable("OTEL_SPAN_LINK_COUNT_LIMIT", "2");
    assert_quiet(load());
    assert_int_equal(settings.attribute_count_limit, 20);
    assert_int_equal(settings.attribute_value_length_limit, 30);
    assert_int_equal(settings.link_count_limit, 2);
}

/* ---- overrides ---- */

static void test_an_earlier_name_is_accepted(void **state)
{
    assert_quiet(load_own("report_file: /r"));
    assert_string_equal(settings.accounts_file, "/r");
    settings_deinit(&settings);
    set_variable("OTEL_CONFIG_FILE", NULL);
    set_variable("CUSPAN_REPORT_FILE", "/s");
    assert_quiet(load());
    assert_string_equal(settings.accounts_file, "/s");
    settings_deinit(&settings);
    set_variable("CUSPAN_ACCOUNTS_FILE", "/a"); /* the name of today wins */
    assert_quiet(load());
    assert_string_equal(settings.accounts_file, "/a");
    settings_deinit(&settings);
    set_variable("CUSPAN_SET", "report_file=/t");
    assert_quiet(load());
    assert_string_equal(settings.accounts_file, "/t");
}

static void test_overrides_go_on_top(void **state)
{
    set_variable("CUSPAN_DETAIL", "graph-nodes");
    set_variable(
        "CUSPAN_SET",
        "detail=full;session.spans_max=9\ncapture.calls.allow=cudaMalloc*,launch ; endpoint = http://h:1");
    assert_quiet(load());
    assert_int_equal(settings.detail, DETAIL_FULL);
    assert_int_equal(settings.session.spans_max, 9);
    assert_int_equal(settings.capture.calls.allow.count, 2);
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://h:1/v1/traces");
    settings_deinit(&settings);
    struct config_input input = {.getenv = get_variable, .overrides = "detail=default;service_name=s"};
    assert_quiet(config_load(&input, &settings, &report));
    assert_int_equal(settings.detail, DETAIL_DEFAULT);
    assert_string_equal(resource_find(&settings.resource, "service.name")->items->string, "s");
}

static void test_overrides_name_the_path_of_spans_once(void **state)
{
    static const struct {
        const char *set, *url;
    } cases[] = {{"endpoint=http://h:1/v1/traces", "http://h:1/v1/traces"},
                 {"endpoint=http://h:1/v1/traces/", "http://h:1/v1/traces"},
                 {"endpoint=http://h:1/a/v1/traces/?key=1", "http://h:1/a/v1/traces?key=1"},
                 {"endpoint=http://h:1/", "http://h:1/v1/traces"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_variable("CUSPAN_SET", cases[i].set);
        assert_int_equal(load(), STATUS_OK);
        assert_string_equal(settings.outputs[0].exporter.endpoint, cases[i].url);
        settings_deinit(&settings);
    }
}

/* Some collectors expect their key in the query. */
static void test_an_endpoints_query_stays(void **state)
{
    static const struct {
        const char *base, *url;
    } cases[] = {{"http://h:1", "http://h:1/v1/traces"},
                 {"http://h:1/?key=a/b", "http://h:1/v1/traces?key=a/b"},
                 {"http://h:1/base?key=1#x", "http://h:1/base/v1/traces?key=1"},
                 {"http://h:1/#x?", "http://h:1/v1/traces"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(state);
        set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", cases[i].base);
        assert_quiet(load());
        assert_string_equal(settings.outputs[0].exporter.endpoint, cases[i].url);
        settings_deinit(&settings);
    }
    begin(state);
    set_variable("CUSPAN_SET", "endpoint=http://u:p@h:1/v1/traces?key=1");
    assert_quiet(load());
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://u:p@h:1/v1/traces?key=1");
}

static void test_overrides_replace_outputs(void **state)
{
    set_variable("CUSPAN_SET", "output_file=/tmp/o.jsonl");
    assert_quiet(load_exporter("otlp_http: {headers_list: \"a=b\"}"));
    assert_int_equal(settings.output_count, 1);
    assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_FILE);
    assert_string_equal(settings.outputs[0].exporter.endpoint, "/tmp/o.jsonl");
    settings_deinit(&settings);
    begin(NULL);
    set_variable("CUSPAN_SET", "output_file=o.jsonl");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.endpoint[0], '/');
    settings_deinit(&settings);
    begin(NULL);
    set_variable("CUSPAN_SET", "output_file=-");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_FILE);
    assert_null(settings.outputs[0].exporter.endpoint);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("CUSPAN_SET", "console=true");
    set_variable("OTEL_TRACES_EXPORTER", "none");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_CONSOLE);
}

static void test_overrides_switch_the_protocol(void **state)
{
    set_variable("CUSPAN_SET", "protocol=grpc;compression=none");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_OTLP_GRPC);
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://localhost:4317");
    assert_int_equal(settings.outputs[0].exporter.compression, COMPRESSION_NONE);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.compression, COMPRESSION_ZSTD);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("CUSPAN_SET", "compression=zstd");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.compression, COMPRESSION_ZSTD);
    settings_deinit(&settings);
    begin(NULL);
    set_variable("CUSPAN_SET", "endpoint=http://h:4318/v1/traces;protocol=http/json");
    set_variable("OTEL_TRACES_EXPORTER", "console");
    assert_quiet(load());
    assert_int_equal(settings.outputs[0].exporter.encoding, ENCODING_JSON);
    assert_string_equal(settings.outputs[0].exporter.endpoint, "http://h:4318/v1/traces");
    settings_deinit(&settings);
    begin(NULL);
    set_variable("CUSPAN_SET", "protocol=grpc");
    set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318");
    assert_error(load(), "CUSPAN_SET: protocol: the configured endpoint is for another protocol");
    set_variable("CUSPAN_SET", "");
}

static void test_overrides_are_checked_by_themselves(void **state)
{
    struct error err = {""};
    assert_int_equal(config_check_overrides("detail=full\nendpoint=http://h:1;protocol=grpc", "x", &err),
                     STATUS_OK);
    assert_int_equal(config_check_overrides("", "x", &err), STATUS_OK);
    assert_string_equal(err.text, "");
    assert_int_equal(config_check_overrides("detail=full;detial=full;endpoint=", "x", &err), STATUS_INVALID);
    assert_string_equal(err.text, "x: detial: unknown key; did you mean detail?");
    assert_int_equal(config_check_overrides("memory_bytes_max=lots", "x", &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "x: memory_bytes_max: expected "));
}

static void test_wrong_overrides_are_errors(void **state)
{
    static const struct expectation cases[] = {
        {"detial=full", "CUSPAN_SET: detial: unknown key; did you mean detail?"},
        {"endpont=http://h", "did you mean endpoint?"},
        {"xyzzy=1", "CUSPAN_SET: xyzzy: unknown key: `cuspan help settings` lists them"},
        {"detail=ful", "CUSPAN_SET: detail: expected summary, default, graph-nodes or full, not \"ful\""},
        {"detail", "an entry without '='"},
        {"endpoint=", "endpoint: the value is missing"},
        {"endpoint=ftp://x", "endpoint: expected http://HOST:PORT"},
        {"protocol=http", "protocol: expected http/protobuf, http/json or grpc"},
        {"console=1", "console: expected true or false"},
        {"compression=zip", "compression: expected none, gzip or zstd"},
        {"session.spans_max=0", "session.spans_max: expected an integer from 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(NULL);
        set_variable("CUSPAN_SET", cases[i].yaml);
        assert_error(load(), cases[i].says);
    }
}

static void test_white_space_around_a_value(void **state)
{
    set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318\n");
    set_variable("OTEL_EXPORTER_OTLP_HEADERS", " a=b\n,authorization=Bearer x\r\n");
    set_variable("OTEL_SERVICE_NAME", "svc ");
    set_variable("CUSPAN_DETAIL", "\tfull\n");
    set_variable("OTEL_TRACES_EXPORTER", "\n"); /* as if it were empty */
    assert_warns(load(), "OTEL_EXPORTER_OTLP_ENDPOINT: ignoring white space around the value");
    assert_says(CONFIG_WARNING, "OTEL_EXPORTER_OTLP_HEADERS: ignoring white space");
    assert_int_equal(report.warnings, 4); /* one for each */
    const struct exporter_settings *exporter = &settings.outputs[0].exporter;
    assert_string_equal(exporter->endpoint, "http://collector:4318/v1/traces");
    assert_int_equal(exporter->header_count, 2);
    assert_string_equal(exporter->headers[0].value, "b");
    assert_string_equal(exporter->headers[1].value, "Bearer x");
    assert_int_equal(settings.detail, DETAIL_FULL);
    settings_deinit(&settings);
    memset(variables, 0, sizeof variables);
    set_variable("KEY", "s3cr3t\n");
    assert_quiet(load_exporter("otlp_http: {headers: [{name: api-key, value: \"${KEY}\"}]}"));
    assert_string_equal(settings.outputs[0].exporter.headers[0].value, "s3cr3t");
}

static void test_variables_that_do_not_exist(void **state)
{
    char *names[] = {"CUSPAN_DETIAL=full",
                     "CUSPAN_WHAT_IS_THIS=1",
                     "CUSPAN_SET=",
                     "CUSPAN_LIBRARY=x",
                     "CUSPAN_ENGINES=x",
                     "CUSPAN_DETAIL=full",
                     "CUSPAN_REPLAY_VERSION=1",
                     "OTHER_VARIABLE=1",
                     "CUSPAN_",
                     "CUSPAN",
                     NULL};
    struct config_input input = {.getenv = get_variable, .variables = names};
    assert_warns(config_load(&input, &settings, &report),
                 "CUSPAN_DETIAL: ignored, because there is no such variable; did you mean CUSPAN_DETAIL?");
    assert_says(CONFIG_WARNING, "CUSPAN_WHAT_IS_THIS: ignored");
    assert_int_equal(report.warnings, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_full_file_is_read),
        TEST(test_present_and_null_is_a_default),
        TEST(test_with_a_file_variables_count_only_where_it_names_them),
        TEST(test_files_are_found_in_order),
        TEST(test_files_that_are_none_are_errors),
        TEST(test_a_file_over_a_mebibyte_is_refused),
        TEST(test_versions_are_checked),
        TEST(test_wrong_keys_and_values_are_errors_in_words),
        TEST(test_wrong_exporters_are_errors_in_words),
        TEST(test_wrong_structures_are_errors_in_words),
        TEST(test_what_an_sdk_knows_and_cuspan_does_not_is_one_warning),
        TEST(test_each_exporter_of_metrics_takes_the_keys_of_aggregation),
        TEST(test_what_the_schema_allows_and_cuspan_does_not_have_is_a_warning),
        TEST(test_a_parent_based_sampler_may_nest),
        TEST(test_what_makes_no_difference_to_spans_is_silent),
        TEST(test_no_usable_exporter_is_one_warning),
        TEST(test_header_values_are_in_no_message),
        TEST(test_header_values_are_not_printed),
        TEST(test_profiles_go_where_spans_go),
        TEST(test_reports_of_hangs_go_where_spans_go),
        TEST(test_which_processes_have_a_hang_watch),
        TEST(test_headers_go_to_no_other_server),
        TEST(test_profiles_without_an_endpoint_or_stacks),
        TEST(test_profiles_alone_sample_nothing),
        TEST(test_arrays_are_printed_by_their_type),
        TEST(test_usual_mistakes_get_a_warning),
        TEST(test_a_batch_is_never_larger_than_its_queue),
        TEST(test_variables_hold_without_a_file),
        TEST(test_empty_variables_are_unset),
        TEST(test_a_process_without_environment_has_the_defaults),
        TEST(test_a_signals_endpoint_is_used_as_it_is),
        TEST(test_a_path_never_becomes_the_host),
        TEST(test_grpc_has_its_own_endpoint),
        TEST(test_exporters_are_chosen_by_name),
        TEST(test_wrong_variables_are_warnings_and_defaults),
        TEST(test_an_endpoint_that_is_none_is_an_error),
        TEST(test_the_probability_sampler_is_the_ratio_s_new_name),
        TEST(test_a_sampler_argument_counts_only_for_a_ratio),
        TEST(test_the_service_has_the_name_that_goes_first),
        TEST(test_span_limits_go_before_general_ones),
        TEST(test_an_earlier_name_is_accepted),
        TEST(test_overrides_go_on_top),
        TEST(test_overrides_name_the_path_of_spans_once),
        TEST(test_an_endpoints_query_stays),
        TEST(test_overrides_replace_outputs),
        TEST(test_overrides_switch_the_protocol),
        TEST(test_wrong_overrides_are_errors),
        TEST(test_overrides_are_checked_by_themselves),
        TEST(test_native_stacks_raise_the_default_memory),
        TEST(test_white_space_around_a_value),
        TEST(test_variables_that_do_not_exist),
    };
    close(mkstemp(path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
