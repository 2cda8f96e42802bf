
#include "agent/config/environment/environment.h"
#include "base/files.h"
#include "base/text/suggest.h"
#include "agent/config/text/pairs.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BATCH "tracer_provider.processors[].batch"

struct overrides {
    struct settings *settings;
    struct config_report *report;
    const char *source;
    bool has_endpoint; /* among the short names */
};

static enum status replace_outputs(struct settings *settings, enum exporter_kind kind)
{
    struct output_settings output;
    enum status status = output_init(&output, SIGNAL_TRACES, kind);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < settings->output_count; i++)
        output_settings_deinit(&settings->outputs[i]);
    settings->outputs[0] = output;
    settings->output_count = 1;
    return STATUS_OK;
}

static enum status need_otlp(struct settings *settings)
{
    for (size_t i = 0; i < settings->output_count; i++) {
        if (exporter_is_otlp(&settings->outputs[i].exporter))
            return STATUS_OK;
    }
    return replace_outputs(settings, EXPORTER_OTLP_HTTP);
}

static enum status set_output_file(struct overrides *o, const char *path)
{
    enum status status = replace_outputs(o->settings, EXPORTER_FILE);
    if (status != STATUS_OK || strcmp(path, "-") == 0)
        return status;
    char **endpoint = &o->settings->outputs[0].exporter.endpoint;
    *endpoint = files_absolute(path);
    return *endpoint ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status set_console(struct overrides *o, const char *value)
{
    if (strcasecmp(value, "false") == 0)
        return STATUS_OK;
    if (strcasecmp(value, "true") == 0)
        return replace_outputs(o->settings, EXPORTER_CONSOLE);
    config_error(o->report, "%s: console: expected true or false, not \"%.40s\"", o->source, value);
    return STATUS_OK;
}

static const struct setting *endpoint_of(enum exporter_kind kind)
{
    return setting_find(kind == EXPORTER_OTLP_HTTP ? BATCH ".exporter.otlp_http.endpoint"
                                                   : BATCH ".exporter.otlp_grpc.endpoint");
}

/* The configured address would be the wrong port for the new protocol. */
static enum status switch_kind(struct overrides *o, struct output_settings *output, enum exporter_kind kind)
{
    const struct setting *from = endpoint_of(output->exporter.kind), *to = endpoint_of(kind);
    if (output->exporter.kind == kind)
        return STATUS_OK;
    if (!o->has_endpoint && strcmp(output->exporter.endpoint, from->default_text) != 0) {
        config_error(o->report,
                     "%s: protocol: the configured endpoint is for another protocol: set endpoint= as well",
                     o->source);
        return STATUS_OK;
    }
    output->exporter.kind = kind;
    return setting_reset(to, output);
}

static enum status set_protocol(struct overrides *o, const char *value)
{
    enum exporter_kind kind;
    enum otlp_encoding encoding;
    if (!protocol_parse(value, &kind, &encoding)) {
        config_error(o->report, "%s: protocol: expected http/protobuf, http/json or grpc, not \"%.40s\"",
                     o->source, value);
        return STATUS_OK;
    }
    enum status status = need_otlp(o->settings);
    for (size_t i = 0; i < o->settings->output_count && status == STATUS_OK; i++) {
        struct output_settings *output = &o->settings->outputs[i];
        if (!exporter_is_otlp(&output->exporter))
            continue;
        status = switch_kind(o, output, kind);
        output->exporter.encoding = encoding;
    }
    return status;
}

/* Also for metrics, unless they have an endpoint of their own. */
static enum status set_metrics_endpoint(struct settings *settings, const char *value)
{
    struct output_settings *output = &settings->metrics.output;
    bool is_http = settings->metrics.is_on && output->exporter.kind == EXPORTER_OTLP_HTTP;
    const struct setting *setting =
        setting_find(is_http ? "meter_provider.readers[].periodic.exporter.otlp_http.endpoint"
                             : "meter_provider.readers[].periodic.exporter.otlp_grpc.endpoint");
    if (!settings->metrics.is_on || !exporter_is_otlp(&output->exporter) ||
        strcmp(output->exporter.endpoint, setting->default_text) != 0 ||
        endpoint_has_path(value, SIGNAL_TRACES))
        return STATUS_OK;
    char *url = is_http ? endpoint_append_path(value, SIGNAL_METRICS) : strdup(value);
    enum status status = url ? setting_set(setting, output, url) : STATUS_NO_MEMORY;
    free(url);
    return status == STATUS_INVALID ? STATUS_OK : status; /* already reported for spans */
}

/* Like OTEL_EXPORTER_OTLP_ENDPOINT: appends v1/traces for HTTP, unless the path ends with it. */
static enum status set_url(struct overrides *o, const char *value)
{
    enum status status = need_otlp(o->settings);
    for (size_t i = 0; i < o->settings->output_count && status == STATUS_OK; i++) {
        struct output_settings *output = &o->settings->outputs[i];
        if (!exporter_is_otlp(&output->exporter))
            continue;
        bool is_http = output->exporter.kind == EXPORTER_OTLP_HTTP;
        const struct setting *setting = endpoint_of(output->exporter.kind);
        char *url = is_http && !endpoint_has_path(value, SIGNAL_TRACES)
                        ? endpoint_append_path(value, SIGNAL_TRACES)
                        : strdup(value);
        status = url ? setting_set(setting, output, url) : STATUS_NO_MEMORY;
        free(url);
        if (status == STATUS_INVALID) {
            config_error(o->report, "%s: endpoint: expected %s", o->source,
                         is_http ? "http://HOST:PORT or https://HOST:PORT"
                                 : "http://HOST:PORT, https://HOST:PORT or HOST:PORT");
            return STATUS_OK;
        }
    }
    return status == STATUS_OK ? set_metrics_endpoint(o->settings, value) : status;
}

/* Takes ".../v1/traces/" for ".../v1/traces". */
static enum status set_endpoint(struct overrides *o, const char *value)
{
    size_t length = strcspn(value, "?#");
    bool has_slash = length > 0 && value[length - 1] == '/';
    char *url = NULL;
    if (asprintf(&url, "%.*s%s", (int)(length - has_slash), value, value + length) < 0)
        return STATUS_NO_MEMORY;
    enum status status = set_url(o, endpoint_has_path(url, SIGNAL_TRACES) ? url : value);
    free(url);
    return status;
}

static enum status set_compression(struct overrides *o, const char *value)
{
    const struct setting *setting = setting_find(BATCH ".exporter.otlp_http.compression");
    for (size_t i = 0; i < o->settings->output_count; i++) {
        if (exporter_is_otlp(&o->settings->outputs[i].exporter) &&
            setting_set(setting, &o->settings->outputs[i], value) != STATUS_OK) {
            config_error(o->report, "%s: compression: expected none, gzip or zstd, not \"%.40s\"", o->source,
                         value);
            break;
        }
    }
    return STATUS_OK;
}

static enum status set_service_name(struct overrides *o, const char *value)
{
    return resource_set_string(&o->settings->resource, SEMCONV_SERVICE_NAME, value);
}

/* In the order in which they are applied: those that choose outputs come first. */
static const struct {
    const char *name;
    enum status (*set)(struct overrides *o, const char *value);
} short_names[] = {
    {"output_file", set_output_file}, {"console", set_console},         {"protocol", set_protocol},
    {"endpoint", set_endpoint},       {"compression", set_compression}, {"service_name", set_service_name},
};
#define SHORT_COUNT (sizeof short_names / sizeof *short_names)

static void report_unknown(struct overrides *o, const char *key)
{
    struct suggest suggest = {.word = key};
    for (size_t i = 0; i < SHORT_COUNT; i++)
        suggest_offer(&suggest, short_names[i].name);
    for (size_t i = 0; i < settings_count; i++) {
        if (setting_is_own(&settings_table[i]))
            suggest_offer(&suggest, settings_table[i].path + sizeof SETTING_OWN_PREFIX - 1);
    }
    if (suggest.best[0])
        config_error(o->report, "%s: %.60s: unknown key; did you mean %s?", o->source, key, suggest.best);
    else
        config_error(
            o->report,
            "%s: %.60s: unknown key: `cuspan help settings` lists them; leave out distribution.cuspan",
            o->source, key);
}

static enum status apply_own(struct overrides *o, const char *key, const char *value)
{
    char path[sizeof SETTING_OWN_PREFIX + SETTING_NAME_BYTES];
    snprintf(path, sizeof path, "%s%s", SETTING_OWN_PREFIX, key);
    const struct setting *setting = setting_find(path);
    if (!setting) {
        report_unknown(o, key);
        return STATUS_OK;
    }
    enum status status = setting_set(setting, o->settings, value);
    if (status != STATUS_INVALID)
        return status;
    char expected[SETTING_TEXT_BYTES];
    setting_expected(setting, expected);
    if (setting->type == SETTING_ENDPOINT) /* the value may contain a password */
        config_error(o->report, "%s: %s: expected %s", o->source, key, expected);
    else
        config_error(o->report, "%s: %s: expected %s, not \"%.40s\"", o->source, key, expected, value);
    return STATUS_OK;
}

#define BLANKS " \t\r"

/* `values`: of the short names, which are applied later; NULL: not given. */
static enum status take_entry(struct overrides *o, char *entry, const char *values[SHORT_COUNT])
{
    char *equals = strchr(entry, '=');
    if (!equals) {
        config_error(o->report, "%s: an entry without '=': expected key=value, separated by ';' or newlines",
                     o->source);
        return STATUS_OK;
    }
    *equals = '\0';
    const char *key = text_trim(entry, BLANKS), *value = text_trim(equals + 1, BLANKS);
    o->has_endpoint |= strcmp(key, "endpoint") == 0;
    for (size_t i = 0; i < SHORT_COUNT; i++) {
        if (strcmp(key, short_names[i].name) != 0)
            continue;
        values[i] = value;
        if (!*value)
            config_error(o->report, "%s: %s: the value is missing: expected %s=VALUE", o->source, key, key);
        return STATUS_OK;
    }
    return apply_own(o, key, value);
}

enum status overrides_apply(const char *text, const char *source, struct settings *settings,
                            struct config_report *report)
{
    struct overrides overrides = {.settings = settings, .report = report, .source = source};
    const char *values[SHORT_COUNT] = {NULL};
    char *copy = strdup(text);
    if (!copy)
        return STATUS_NO_MEMORY;
    enum status status = STATUS_OK;
    char *rest = copy, *entry;
    while (status == STATUS_OK && (entry = strsep(&rest, ";\n"))) {
        if (*text_trim(entry, BLANKS))
            status = take_entry(&overrides, text_trim(entry, BLANKS), values);
    }
    for (size_t i = 0; i < SHORT_COUNT && status == STATUS_OK; i++)
        if (values[i] && *values[i])
            status = short_names[i].set(&overrides, values[i]);
    free(copy);
    if (status == STATUS_FULL) {
        config_error(report, "%s: service_name: more than %d attributes: remove some", source,
                     RESOURCE_ATTRS_MAX);
        return STATUS_OK;
    }
    return status;
}
