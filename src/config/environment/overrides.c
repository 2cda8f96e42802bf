#include "config/environment/overrides.h"

#include "config/environment/environment.h"
#include "base/text/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BATCH "tracer_provider.processors[].batch"

enum short_name {
    SHORT_OUTPUT_FILE,
    SHORT_CONSOLE,
    SHORT_PROTOCOL,
    SHORT_ENDPOINT,
    SHORT_COMPRESSION,
    SHORT_SERVICE_NAME,
    SHORT_COUNT
};

/* In the order in which they are applied: those that choose outputs come first. */
static const char *const short_names[SHORT_COUNT] = {"output_file", "console",     "protocol",
                                                     "endpoint",    "compression", "service_name"};

struct overrides {
    struct settings *settings;
    struct config_report *report;
    const char *source;
    const char *shorts[SHORT_COUNT]; /* values, NULL where not given */
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

static bool is_otlp(const struct output_settings *output)
{
    return output->exporter.kind == EXPORTER_OTLP_HTTP || output->exporter.kind == EXPORTER_OTLP_GRPC;
}

static enum status need_otlp(struct settings *settings)
{
    for (size_t i = 0; i < settings->output_count; i++) {
        if (is_otlp(&settings->outputs[i]))
            return STATUS_OK;
    }
    return replace_outputs(settings, EXPORTER_OTLP_HTTP);
}

static enum status set_output_file(struct overrides *o, const char *path)
{
    enum status status = replace_outputs(o->settings, EXPORTER_FILE);
    if (status != STATUS_OK || strcmp(path, "-") == 0)
        return status;
    char *directory = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char **endpoint = &o->settings->outputs[0].exporter.endpoint;
    if (asprintf(endpoint, "%s%s%s", directory ? directory : "", directory ? "/" : "", path) < 0)
        *endpoint = NULL;
    free(directory);
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

/* The configured address would be the wrong port for the new protocol. */
static enum status switch_kind(struct overrides *o, struct output_settings *output, enum exporter_kind kind)
{
    static const char *const paths[] = {BATCH ".exporter.otlp_http.endpoint",
                                        BATCH ".exporter.otlp_grpc.endpoint"};
    const struct setting *from = setting_find(paths[output->exporter.kind == EXPORTER_OTLP_GRPC]);
    const struct setting *to = setting_find(paths[kind == EXPORTER_OTLP_GRPC]);
    if (output->exporter.kind == kind)
        return STATUS_OK;
    if (!o->shorts[SHORT_ENDPOINT] && strcmp(output->exporter.endpoint, from->default_text) != 0) {
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
    static const char *const protocols[] = {"http/protobuf", "http/json", "grpc"};
    int chosen = 0;
    while (chosen < 3 && strcasecmp(value, protocols[chosen]) != 0)
        chosen++;
    if (chosen == 3) {
        config_error(o->report, "%s: protocol: expected http/protobuf, http/json or grpc, not \"%.40s\"",
                     o->source, value);
        return STATUS_OK;
    }
    enum status status = need_otlp(o->settings);
    for (size_t i = 0; i < o->settings->output_count && status == STATUS_OK; i++) {
        struct output_settings *output = &o->settings->outputs[i];
        if (!is_otlp(output))
            continue;
        status = switch_kind(o, output, chosen == 2 ? EXPORTER_OTLP_GRPC : EXPORTER_OTLP_HTTP);
        output->exporter.encoding = chosen == 1 ? ENCODING_JSON : ENCODING_PROTOBUF;
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
    if (!settings->metrics.is_on || !is_otlp(output) ||
        strcmp(output->exporter.endpoint, setting->default_text) != 0 ||
        endpoint_has_path(value, SIGNAL_TRACES))
        return STATUS_OK;
    char *url = is_http ? endpoint_append_path(value, SIGNAL_METRICS) : strdup(value);
    enum status status = url ? setting_set(setting, output, url) : STATUS_NO_MEMORY;
    free(url);
    return status == STATUS_INVALID ? STATUS_OK : status; /* already reported for spans */
}

/* Like OTEL_EXPORTER_OTLP_ENDPOINT: appends v1/traces for HTTP, unless the path ends with it. */
static enum status set_endpoint(struct overrides *o, const char *value)
{
    enum status status = need_otlp(o->settings);
    for (size_t i = 0; i < o->settings->output_count && status == STATUS_OK; i++) {
        struct output_settings *output = &o->settings->outputs[i];
        if (!is_otlp(output))
            continue;
        bool is_http = output->exporter.kind == EXPORTER_OTLP_HTTP;
        const struct setting *setting = setting_find(is_http ? BATCH ".exporter.otlp_http.endpoint"
                                                             : BATCH ".exporter.otlp_grpc.endpoint");
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

static enum status set_compression(struct overrides *o, const char *value)
{
    const struct setting *setting = setting_find(BATCH ".exporter.otlp_http.compression");
    for (size_t i = 0; i < o->settings->output_count; i++) {
        if (is_otlp(&o->settings->outputs[i]) &&
            setting_set(setting, &o->settings->outputs[i], value) != STATUS_OK) {
            config_error(o->report, "%s: compression: expected none, gzip or zstd, not \"%.40s\"", o->source,
                         value);
            break;
        }
    }
    return STATUS_OK;
}

static enum status apply_short(struct overrides *o, enum short_name name, const char *value)
{
    switch (name) {
    case SHORT_OUTPUT_FILE:
        return set_output_file(o, value);
    case SHORT_CONSOLE:
        return set_console(o, value);
    case SHORT_PROTOCOL:
        return set_protocol(o, value);
    case SHORT_ENDPOINT:
        return set_endpoint(o, value);
    case SHORT_COMPRESSION:
        return set_compression(o, value);
    case SHORT_SERVICE_NAME:
        return resource_set_string(&o->settings->resource, "service.name", value);
    case SHORT_COUNT:
        break;
    }
    return STATUS_OK;
}

static void report_unknown(struct overrides *o, const char *key)
{
    struct suggest suggest;
    suggest_init(&suggest, key);
    for (int i = 0; i < SHORT_COUNT; i++)
        suggest_offer(&suggest, short_names[i]);
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
    config_error(o->report, "%s: %s: expected %s, not \"%.40s\"", o->source, key, expected, value);
    return STATUS_OK;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static enum status take_entry(struct overrides *o, char *entry)
{
    char *equals = strchr(entry, '=');
    if (!equals) {
        config_error(o->report, "%s: an entry without '=': expected key=value, separated by ';' or newlines",
                     o->source);
        return STATUS_OK;
    }
    *equals = '\0';
    const char *key = trim(entry), *value = trim(equals + 1);
    for (int i = 0; i < SHORT_COUNT; i++) {
        if (strcmp(key, short_names[i]) != 0)
            continue;
        o->shorts[i] = value;
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
    char *copy = strdup(text);
    if (!copy)
        return STATUS_NO_MEMORY;
    enum status status = STATUS_OK;
    char *rest = copy, *entry;
    while (status == STATUS_OK && (entry = strsep(&rest, ";\n"))) {
        if (*trim(entry))
            status = take_entry(&overrides, trim(entry));
    }
    for (int i = 0; i < SHORT_COUNT && status == STATUS_OK; i++) {
        if (overrides.shorts[i] && *overrides.shorts[i])
            status = apply_short(&overrides, (enum short_name)i, overrides.shorts[i]);
    }
    free(copy);
    if (status == STATUS_FULL) {
        config_error(report, "%s: service_name: more than %d attributes: remove some", source,
                     RESOURCE_ATTRS_MAX);
        return STATUS_OK;
    }
    return status;
}
