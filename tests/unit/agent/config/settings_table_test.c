/* The table of settings, and the texts generated from it. */
#include "agent/config/config.h"
#include "base/text/suggest.h"
#include "agent/config/table/settings_table.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct settings settings;
static struct config_report report;

static char *printed(void (*print)(FILE *))
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    print(out);
    fclose(out);
    return text;
}

static char *effective(const struct settings *of)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    config_print_effective(of, out);
    fclose(out);
    return text;
}

static void load(const char *path)
{
    struct config_input input = {.path = path};
    enum status status = config_load(&input, &settings, &report);
    if (status != STATUS_OK)
        fail_msg("%s", report.count ? report.messages[0].text : status_text(status));
}

/* With the leak checker (the sanitizers' build), a setting that is not freed is reported. */
static void test_every_text_is_freed(void **state)
{
    size_t texts = 0;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        bool is_text = setting->type == SETTING_TEXT || setting->type == SETTING_PATH;
        if (!is_text || setting->owner != IN_SETTINGS)
            continue;
        assert_int_equal(settings_init(&settings), STATUS_OK);
        assert_int_equal(setting_set(setting, &settings, "/a"), STATUS_OK);
        settings_deinit(&settings);
        texts++;
    }
    assert_true(texts > 5);
}

static void test_every_row_is_complete(void **state)
{
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        char expected[SETTING_TEXT_BYTES];
        if (!setting->comment) { /* an earlier name */
            assert_int_equal(setting->offset, setting[1].offset);
            assert_int_equal(setting->type, setting[1].type);
            continue;
        }
        assert_null(strchr(setting->comment, '\n'));
        assert_true(setting->path || setting->env[0]);
        assert_int_equal(setting->type == SETTING_WORD, setting->words != NULL);
        assert_int_equal(setting->owner != IN_SETTINGS, setting->exporters != 0);
        if (setting->type == SETTING_UINT32 || setting->type == SETTING_UINT64)
            assert_true(setting->min < setting->max);
        setting_expected(setting, expected);
        assert_true(expected[0] != '\0' && strlen(expected) < SETTING_TEXT_BYTES - 1);
        if (setting->path)
            assert_ptr_equal(setting_find(setting->path), setting); /* no path appears twice */
    }
}

static void test_the_committed_example_is_the_generated_one(void **state)
{
    static const char path[] = CUSPAN_SOURCE_DIR "/config/cuspan.yaml";
    char *generated = printed(config_print_example);
    FILE *file = fopen(path, getenv("CUSPAN_UPDATE") ? "w+" : "r");
    assert_non_null(file);
    if (getenv("CUSPAN_UPDATE")) {
        fputs(generated, file);
        rewind(file);
    }
    char *committed = calloc(1, 65536);
    size_t length = fread(committed, 1, 65535, file);
    fclose(file);
    committed[length] = '\0';
    if (strcmp(generated, committed) != 0)
        fail_msg("%s is out of date: run this test with CUSPAN_UPDATE=1, which writes it anew", path);
    free(generated);
    free(committed);
}

static void test_the_example_is_the_defaults(void **state)
{
    load(CUSPAN_SOURCE_DIR "/config/cuspan.yaml");
    assert_int_equal(report.warnings, 0);
    char *from_file = effective(&settings);
    settings_deinit(&settings);
    load(NULL);
    assert_int_equal(report.warnings, 0);
    char *defaults = effective(&settings);
    settings_deinit(&settings);
    assert_string_equal(from_file, defaults);
    free(from_file);
    free(defaults);
}

/* Uncomments every alternative: the example's suggestions must be valid too. */
static void test_the_alternatives_of_the_example_are_valid(void **state)
{
    static const char *const heads[] = {"otlp_grpc:", "otlp_file/development:", "console:"};
    char path[] = "/tmp/cuspan-example-XXXXXX";
    char *example = printed(config_print_example);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        FILE *file = fdopen(mkstemp(path), "w");
        bool in_http = false, in_block = false;
        char *copy = strdup(example), *rest = copy, *line;
        while ((line = strsep(&rest, "\n"))) {
            char *text = line + strspn(line, " ");
            bool is_head = strncmp(text, "# ", 2) == 0 && strncmp(text + 2, heads[h], strlen(heads[h])) == 0;
            in_http =
                (in_http || strncmp(text, "otlp_http:", 10) == 0) && strncmp(text, "# otlp_grpc:", 12) != 0;
            in_block = is_head || (in_block && strncmp(text, "#   ", 4) == 0);
            if (in_block)
                fprintf(file, "%.*s%s\n", (int)(text - line), line, text + 2);
            else if (!in_http)
                fprintf(file, "%s\n", line);
        }
        free(copy);
        fclose(file);
        load(path);
        assert_int_equal(settings.output_count, 1);
        assert_int_equal(settings.outputs[0].exporter.kind, EXPORTER_OTLP_GRPC + h);
        settings_deinit(&settings);
        unlink(path);
        memcpy(path + sizeof path - 7, "XXXXXX", 6);
    }
    free(example);
}

static void test_the_help_has_every_setting(void **state)
{
    char *help = printed(config_print_settings);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        assert_non_null(strstr(help, setting->comment ? setting->comment : setting[1].path));
        const char *name = setting->path ? setting->path : setting->env[0];
        assert_int_equal(strstr(help, name) != NULL, setting->comment != NULL);
    }
    assert_non_null(strstr(help, "CUSPAN_SESSION_SPANS_MAX"));
    free(help);
}

static void test_defaults_are_as_documented(void **state)
{
    load(NULL);
    assert_int_equal(settings.output_count, 1);
    const struct output_settings *output = &settings.outputs[0];
    assert_int_equal(output->schedule_delay_ms, 1000);
    assert_int_equal(output->export_timeout_ms, 30000);
    assert_int_equal(output->queue_spans_max, 262144);
    assert_int_equal(output->batch_spans_max, 8192);
    assert_int_equal(output->exporter.kind, EXPORTER_OTLP_HTTP);
    assert_string_equal(output->exporter.endpoint, "http://localhost:4318/v1/traces");
    assert_int_equal(output->exporter.compression, COMPRESSION_GZIP);
    assert_int_equal(output->exporter.timeout_ms, 10000);
    assert_true(output->exporter.verify);
    assert_int_equal(settings.attribute_value_length_limit, UINT32_MAX);
    assert_int_equal(settings.attribute_count_limit, 128);
    assert_int_equal(settings.memory_bytes_max, 64 * 1024 * 1024);
    assert_true(settings.sampler_parent_based);
    assert_int_equal(settings.sampler, SAMPLER_ALWAYS_ON);
    assert_int_equal(settings.log_level, LOG_WARN);
    assert_int_equal(settings.rings.bytes, 262144);
    assert_int_equal(settings.session.spans_max, 10000);
    settings_deinit(&settings);
}

static void test_a_text_has_a_bound_where_its_row_says_so(void **state)
{
    struct settings in_settings;
    char text[9 * 1024] = {0}, expected[SETTING_TEXT_BYTES];
    const struct setting *setting = setting_find("resource.schema_url");
    assert_int_equal(settings_init(&in_settings), STATUS_OK);
    memset(text, 'u', sizeof text - 1);
    assert_int_equal(setting_set(setting, &in_settings, text), STATUS_INVALID);
    assert_int_equal(setting_set(setting_find("distribution.cuspan.session.name"), &in_settings, text),
                     STATUS_OK);
    text[1025] = '\0';
    assert_int_equal(setting_set(setting, &in_settings, text), STATUS_INVALID);
    assert_null(in_settings.resource.schema_url);
    text[1024] = '\0';
    assert_int_equal(setting_set(setting, &in_settings, text), STATUS_OK);
    assert_string_equal(in_settings.resource.schema_url, text);
    setting_expected(setting, expected);
    assert_string_equal(expected, "a string of at most 1024 bytes");
    settings_deinit(&in_settings);
}

/* Each row by its type: the bounds are accepted, values beyond are rejected and change nothing. */
static void test_bounds_hold_for_every_number(void **state)
{
    struct settings in_settings;
    struct output_settings in_output;
    assert_int_equal(settings_init(&in_settings), STATUS_OK);
    assert_int_equal(output_init(&in_output, SIGNAL_TRACES, EXPORTER_OTLP_HTTP), STATUS_OK);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        void *base = setting->owner != IN_SETTINGS ? (void *)&in_output : (void *)&in_settings;
        char text[32];
        if (setting->type != SETTING_UINT32 && setting->type != SETTING_UINT64)
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)setting->min);
        assert_int_equal(setting_set(setting, base, text), STATUS_OK);
        snprintf(text, sizeof text, "%llu", (unsigned long long)setting->max);
        assert_int_equal(setting_set(setting, base, text), STATUS_OK);
        snprintf(text, sizeof text, "%llu", (unsigned long long)setting->max + 1);
        assert_int_equal(setting_set(setting, base, text), STATUS_INVALID);
        if (setting->min > 0) {
            snprintf(text, sizeof text, "%llu", (unsigned long long)setting->min - 1);
            assert_int_equal(setting_set(setting, base, text), STATUS_INVALID);
        }
        assert_int_equal(setting_set(setting, base, "-1"), STATUS_INVALID);
        assert_int_equal(setting_set(setting, base, "1.5"), STATUS_INVALID);
        assert_int_equal(setting_set(setting, base, "abc"), STATUS_INVALID);
        assert_int_equal(setting_set(setting, base, "99999999999999999999999"), STATUS_INVALID);
    }
    settings_deinit(&in_settings);
    output_settings_deinit(&in_output);
}

static void test_endpoints_are_checked(void **state)
{
    static const struct {
        const char *text;
        bool is_http, is_grpc;
    } cases[] = {
        {"http://localhost:4318/v1/traces", true, true},
        {"https://h", true, true},
        {"HTTPS://h/p?q=1", true, true},
        {"http://[::1]:4318/x", true, true},
        {"http://u:p@h:1/", true, true},
        {"h:4317", false, true},
        {"h", false, true},
        {"http://", false, false},
        {"http:///x", false, false},
        {"http://h:0/", false, false},
        {"http://h:65536/", false, false},
        {"http://h:x/", false, false},
        {"http://h:/", true, true},
        {"http://:80/", false, false},
        {"ftp://h/", false, false},
        {"unix:///x", false, false},
        {"http://h /", false, false},
        {"http://h\n/", false, false},
        {"", false, false},
        {"http://[::1/", false, false},
        {"http://[]:1/", false, false},
    };
    struct output_settings output = {0};
    const struct setting *http =
        setting_find("tracer_provider.processors[].batch.exporter.otlp_http.endpoint");
    const struct setting *grpc =
        setting_find("tracer_provider.processors[].batch.exporter.otlp_grpc.endpoint");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if ((setting_set(http, &output, cases[i].text) == STATUS_OK) != cases[i].is_http)
            fail_msg("http: %s", cases[i].text);
        if ((setting_set(grpc, &output, cases[i].text) == STATUS_OK) != cases[i].is_grpc)
            fail_msg("grpc: %s", cases[i].text);
    }
    output_settings_deinit(&output);
}

static void test_patterns_come_from_a_comma_separated_list(void **state)
{
    struct settings in = {0};
    const struct setting *setting = setting_find("distribution.cuspan.capture.calls.allow");
    assert_int_equal(setting_set(setting, &in, " cudaMalloc* , launch,,"), STATUS_OK);
    assert_int_equal(in.capture.calls.allow.count, 2);
    assert_string_equal(in.capture.calls.allow.patterns[0], "cudaMalloc*");
    assert_string_equal(in.capture.calls.allow.patterns[1], "launch");
    assert_int_equal(setting_set(setting, &in, "[]"), STATUS_OK);
    assert_int_equal(in.capture.calls.allow.count, 0);
    settings_deinit(&in);
}

static void test_the_nearest_word_is_found_or_none(void **state)
{
    static const char *const words[] = {"detail", "session", "cupti", "rings"};
    static const struct {
        const char *typed, *expected;
    } cases[] = {{"detial", "detail"},
                 {"sesion", "session"},
                 {"CUPTI", "cupti"},
                 {"ring", "rings"},
                 {"rings", ""}, /* a word is not a suggestion for itself */
                 {"xyz", ""},
                 {"", ""},
                 {"de", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suggest suggest = {.word = cases[i].typed};
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            suggest_offer(&suggest, words[w]);
        assert_string_equal(suggest.best, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_complete),
        cmocka_unit_test(test_every_text_is_freed),
        cmocka_unit_test(test_the_committed_example_is_the_generated_one),
        cmocka_unit_test(test_the_example_is_the_defaults),
        cmocka_unit_test(test_the_alternatives_of_the_example_are_valid),
        cmocka_unit_test(test_the_help_has_every_setting),
        cmocka_unit_test(test_defaults_are_as_documented),
        cmocka_unit_test(test_a_text_has_a_bound_where_its_row_says_so),
        cmocka_unit_test(test_bounds_hold_for_every_number),
        cmocka_unit_test(test_endpoints_are_checked),
        cmocka_unit_test(test_patterns_come_from_a_comma_separated_list),
        cmocka_unit_test(test_the_nearest_word_is_found_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
