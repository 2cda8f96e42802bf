#include "agent/config/environment/environment.h"

#include "base/files.h"
#include "base/text/suggest.h"
#include "agent/config/text/pairs.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct env_reader {
    const struct config_environment *environment;
    struct settings *settings;
    struct config_report *report;
};

static const struct {
    const char *exporter_variable;
    const char *prefix; /* of the variables that take precedence over OTEL_EXPORTER_OTLP_* */
    const char *path;
} signals[] = {
    [SIGNAL_TRACES] = {"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_", "v1/traces"},
    [SIGNAL_METRICS] = {"OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_METRICS_", "v1/metrics"},
    [SIGNAL_PROFILES] = {NULL, NULL, "v1development/profiles"},
    [SIGNAL_LOGS] = {NULL, NULL, "v1/logs"},
};

/* The next output after `output` that has the setting; the first one after NULL. NULL: there are no more. */
static struct output_settings *next_output(const struct env_reader *reader, const struct setting *setting,
                                           struct output_settings *output)
{
    struct settings *settings = reader->settings;
    bool is_metrics = setting->owner == IN_METRICS;
    struct output_settings *first = is_metrics ? &settings->metrics.output : settings->outputs;
    const struct output_settings *end =
        first + (is_metrics ? settings->metrics.is_on : settings->output_count);
    for (output = output ? output + 1 : first; output < end; output++)
        if (setting->exporters & (1u << output->exporter.kind))
            return output;
    return NULL;
}

/* The first of the variables that is set, and its name. */
static const char *get_first(const struct env_reader *reader, const struct setting *setting,
                             const char **name)
{
    for (int i = 0; i < 2 && setting->env[i]; i++) {
        const char *value = environment_get(reader->environment, setting->env[i]);
        if (value) {
            *name = setting->env[i];
            return value;
        }
    }
    return NULL;
}

static const char *get_signals_or_general(const struct env_reader *reader, enum signal signal,
                                          const char *what, char name[SETTING_NAME_BYTES])
{
    const char *const prefixes[] = {signals[signal].prefix, "OTEL_EXPORTER_OTLP_"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, SETTING_NAME_BYTES, "%s%s", prefixes[i], what);
        const char *value = environment_get(reader->environment, name);
        if (value)
            return value;
    }
    return NULL;
}

static enum status set_metrics_output(struct env_reader *reader, enum exporter_kind kind)
{
    struct settings *settings = reader->settings;
    if (settings->metrics.is_on) {
        config_warning(reader->report,
                       "OTEL_METRICS_EXPORTER: only one exporter is supported: using the first of the list");
        return STATUS_OK;
    }
    enum status status = output_init(&settings->metrics.output, SIGNAL_METRICS, kind);
    settings->metrics.is_on = status == STATUS_OK;
    return status;
}

static enum status add_output(struct env_reader *reader, enum signal signal, enum exporter_kind kind)
{
    struct settings *settings = reader->settings;
    if (signal == SIGNAL_METRICS)
        return set_metrics_output(reader, kind);
    for (size_t i = 0; i < settings->output_count; i++) {
        if (settings->outputs[i].exporter.kind == kind)
            return STATUS_OK;
    }
    if (settings->output_count == OUTPUTS_MAX)
        return STATUS_OK;
    enum status status = output_init(&settings->outputs[settings->output_count], signal, kind);
    if (status == STATUS_OK)
        settings->output_count++;
    return status;
}

bool protocol_parse(const char *text, enum exporter_kind *kind, enum otlp_encoding *encoding)
{
    bool is_json = strcasecmp(text, "http/json") == 0, is_grpc = strcasecmp(text, "grpc") == 0;
    *kind = is_grpc ? EXPORTER_OTLP_GRPC : EXPORTER_OTLP_HTTP;
    *encoding = is_json ? ENCODING_JSON : ENCODING_PROTOBUF;
    return is_json || is_grpc || strcasecmp(text, "http/protobuf") == 0;
}

static enum status add_otlp_output(struct env_reader *reader, enum signal signal)
{
    struct settings *settings = reader->settings;
    char name[SETTING_NAME_BYTES];
    const char *protocol = get_signals_or_general(reader, signal, "PROTOCOL", name);
    enum exporter_kind kind;
    enum otlp_encoding encoding;
    bool had_metrics = settings->metrics.is_on;
    bool is_known = protocol_parse(protocol ? protocol : "", &kind, &encoding);
    if (protocol && !is_known)
        config_warning(reader->report,
                       "%s: expected http/protobuf, http/json or grpc, not \"%.40s\": using http/protobuf",
                       name, protocol);
    enum status status = add_output(reader, signal, kind);
    if (status == STATUS_OK && signal == SIGNAL_METRICS && !had_metrics)
        settings->metrics.output.exporter.encoding = encoding;
    else if (status == STATUS_OK && signal == SIGNAL_TRACES && settings->output_count > 0)
        settings->outputs[settings->output_count - 1].exporter.encoding = encoding;
    return status;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

struct exporter_words {
    bool has_none; /* the list has "none", or an exporter that cuspan does not have */
    enum status status;
};

static void take_exporter_word(struct env_reader *reader, enum signal signal, const char *word, size_t length,
                               struct exporter_words *words)
{
    if (is_word(word, length, "otlp")) {
        words->status = add_otlp_output(reader, signal);
    } else if (is_word(word, length, "otlp/stdout")) {
        words->status = add_output(reader, signal, EXPORTER_FILE);
    } else if (is_word(word, length, "console") || is_word(word, length, "logging")) {
        words->status = add_output(reader, signal, EXPORTER_CONSOLE);
    } else if (is_word(word, length, "none")) {
        words->has_none = true;
    } else if (is_word(word, length, "zipkin") || is_word(word, length, "jaeger") ||
               is_word(word, length, "prometheus")) {
        words->has_none = true;
        config_warning(reader->report,
                       "%s: cuspan does not have the exporter \"%.*s\": ignoring it; expected "
                       "otlp, otlp/stdout, console or none",
                       signals[signal].exporter_variable, (int)length, word);
    } else {
        config_warning(reader->report,
                       "%s: unknown exporter \"%.*s\": ignoring it; expected otlp, "
                       "otlp/stdout, console or none",
                       signals[signal].exporter_variable, length > 40 ? 40 : (int)length, word);
    }
}

/* Metrics are opt-in, because they keep the agent awake and cost memory and requests. Unknown words count as
 * unset; "none", or an exporter that cuspan does not have, turns the default off. */
static enum status read_exporters(struct env_reader *reader, enum signal signal)
{
    struct exporter_words words = {.status = STATUS_OK};
    const char *at = environment_get(reader->environment, signals[signal].exporter_variable);
    size_t bytes;
    for (const char *word; at && words.status == STATUS_OK && (word = text_next_word(&at, &bytes));)
        take_exporter_word(reader, signal, word, bytes, &words);
    bool by_default = signal == SIGNAL_TRACES && reader->settings->output_count == 0 && !words.has_none;
    if (words.status == STATUS_OK && by_default)
        return add_otlp_output(reader, signal);
    return words.status;
}

static void warn_value(struct env_reader *reader, const struct setting *setting, const char *name,
                       const char *value)
{
    char text[SETTING_TEXT_BYTES];
    const char *expected = setting_expected(setting, text);
    if (setting->type == SETTING_ENDPOINT) /* the value may contain a password */
        config_error(reader->report, "%s: expected %s", name, expected);
    else
        config_warning(reader->report, "%s: expected %s, not \"%.40s\": using the default (%s)", name,
                       expected, value, setting->default_text ? setting->default_text : "none");
}

char *endpoint_append_path(const char *base, enum signal signal)
{
    size_t length = strcspn(base, "?#");
    const char *query = base[length] == '?' ? base + length : "";
    if (length >= 3 && memcmp(base + length - 3, "://", 3) == 0)
        return strdup(base); /* without a host, the path would become one */
    const char *slash = length == 0 || base[length - 1] != '/' ? "/" : "";
    char *url;
    if (asprintf(&url, "%.*s%s%s%.*s", (int)length, base, slash, signals[signal].path,
                 (int)strcspn(query, "#"), query) < 0)
        return NULL;
    return url;
}

/* Whether a URL of this variable lacks the path of the signal. */
static bool is_base_url(const struct setting *setting, const char *name, enum signal signal)
{
    const char *prefix = signals[signal].prefix;
    return setting->type == SETTING_ENDPOINT && setting->exporters == FOR_HTTP &&
           strncmp(name, prefix, strlen(prefix)) != 0;
}

static enum status set_headers(struct env_reader *reader, struct output_settings *output, const char *name,
                               const char *value)
{
    struct error err = {""};
    enum status status = pairs_to_headers(value, &output->exporter, &err);
    if (status != STATUS_INVALID)
        return status;
    config_warning(reader->report, "%s: ignoring all headers: %s", name, err.text);
    return STATUS_OK;
}

/* `base`: as of setting_set(). */
static enum status set_variable(struct env_reader *reader, const struct setting *setting, void *base,
                                const char *name, const char *value)
{
    enum signal signal = setting->owner == IN_METRICS ? SIGNAL_METRICS : SIGNAL_TRACES;
    char *made;
    if (setting->type == SETTING_PAIRS)
        return set_headers(reader, base, name, value);
    if (setting->type == SETTING_PATH)
        made = files_absolute(value);
    else if (is_base_url(setting, name, signal))
        made = endpoint_append_path(value, signal);
    else
        return setting_set(setting, base, value);
    enum status status = made ? setting_set(setting, base, made) : STATUS_NO_MEMORY;
    free(made);
    return status;
}

/* Sets it in the settings, or in each output that has this setting. */
static enum status apply(struct env_reader *reader, const struct setting *setting, const char *name,
                         const char *value)
{
    struct settings *settings = reader->settings;
    struct output_settings *output = NULL;
    enum status status = STATUS_OK;
    if (setting->owner == IN_SETTINGS)
        status = set_variable(reader, setting, settings, name, value);
    else
        while (status == STATUS_OK && (output = next_output(reader, setting, output)))
            status = set_variable(reader, setting, output, name, value);
    if (status != STATUS_INVALID)
        return status;
    warn_value(reader, setting, name, value);
    return setting->owner == IN_SETTINGS ? setting_reset(setting, settings) : STATUS_OK;
}

bool endpoint_has_path(const char *url, enum signal signal)
{
    const char *path = signals[signal].path;
    size_t length = strcspn(url, "?#"), path_length = strlen(path);
    return length > path_length && url[length - path_length - 1] == '/' &&
           strncmp(url + length - path_length, path, path_length) == 0;
}

char *endpoint_of_signal(const char *url, enum signal signal)
{
    char *made = NULL;
    size_t end = strcspn(url, "?#"), path = strlen(signals[SIGNAL_TRACES].path);
    if (!endpoint_has_path(url, SIGNAL_TRACES) ||
        asprintf(&made, "%.*s%s%s", (int)(end - path), url, signals[signal].path, url + end) < 0)
        return NULL;
    return made;
}

/* Only samplers with a ratio use OTEL_TRACES_SAMPLER_ARG. */
static enum status read_sampler(struct env_reader *reader)
{
    static const struct {
        const char *name;
        enum sampler_kind kind;
        bool is_parent_based;
    } samplers[] = {
        {"always_on", SAMPLER_ALWAYS_ON, false},
        {"always_off", SAMPLER_ALWAYS_OFF, false},
        {"traceidratio", SAMPLER_TRACE_ID_RATIO, false},
        {"parentbased_always_on", SAMPLER_ALWAYS_ON, true},
        {"parentbased_always_off", SAMPLER_ALWAYS_OFF, true},
        {"parentbased_traceidratio", SAMPLER_TRACE_ID_RATIO, true},
    };
    const char *value = environment_get(reader->environment, "OTEL_TRACES_SAMPLER");
    if (!value)
        return STATUS_OK;
    struct suggest suggest = {.word = value};
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++) {
        suggest_offer(&suggest, samplers[i].name);
        if (strcasecmp(value, samplers[i].name) != 0)
            continue;
        reader->settings->sampler = samplers[i].kind;
        reader->settings->sampler_parent_based = samplers[i].is_parent_based;
        const char *ratio = environment_get(reader->environment, "OTEL_TRACES_SAMPLER_ARG");
        if (samplers[i].kind != SAMPLER_TRACE_ID_RATIO || !ratio)
            return STATUS_OK;
        return apply(reader,
                     setting_find("tracer_provider.sampler.parent_based.root.trace_id_ratio_based.ratio"),
                     "OTEL_TRACES_SAMPLER_ARG", ratio);
    }
    config_warning(reader->report,
                   "OTEL_TRACES_SAMPLER: unknown sampler \"%.40s\": using parentbased_always_on%s%s%s", value,
                   suggest.best[0] ? "; did you mean " : "", suggest.best, suggest.best[0] ? "?" : "");
    return STATUS_OK;
}

static enum status read_resource(struct env_reader *reader)
{
    const char *service = environment_get(reader->environment, "OTEL_SERVICE_NAME");
    const char *attributes = environment_get(reader->environment, "OTEL_RESOURCE_ATTRIBUTES");
    enum status status =
        service ? resource_set_string(&reader->settings->resource, SEMCONV_SERVICE_NAME, service) : STATUS_OK;
    struct error err = {""};
    if (attributes && status == STATUS_OK)
        status = pairs_to_resource(attributes, &reader->settings->resource, &err);
    if (status == STATUS_INVALID) {
        config_warning(reader->report, "OTEL_RESOURCE_ATTRIBUTES: ignoring the whole value: %s", err.text);
        status = STATUS_OK;
    }
    return status;
}

static enum status read_row(struct env_reader *reader, const struct setting *setting)
{
    char own[SETTING_NAME_BYTES];
    const char *name = own;
    const char *value = NULL;
    bool is_elsewhere = setting->type == SETTING_STRUCTURE ||
                        (setting->type == SETTING_PAIRS && setting->owner == IN_SETTINGS) ||
                        (setting->type == SETTING_NUMBER && !setting_is_own(setting)) ||
                        (setting->env[0] && strstr(setting->env[0], "_PROTOCOL"));
    if (is_elsewhere)
        return STATUS_OK;
    if (setting_is_own(setting)) {
        setting_own_variable(setting, own);
        value = environment_get(reader->environment, own);
    } else {
        value = get_first(reader, setting, &name);
    }
    return value ? apply(reader, setting, name, value) : STATUS_OK;
}

enum status environment_read(const struct config_environment *environment, struct settings *settings,
                             struct config_report *report)
{
    struct env_reader reader = {environment, settings, report};
    enum status status = read_exporters(&reader, SIGNAL_TRACES);
    if (status == STATUS_OK)
        status = read_exporters(&reader, SIGNAL_METRICS);
    if (status == STATUS_OK)
        status = read_sampler(&reader);
    if (status == STATUS_OK)
        status = read_resource(&reader);
    for (size_t i = 0; i < settings_count && status == STATUS_OK; i++)
        status = read_row(&reader, &settings_table[i]);
    return status;
}

void environment_warn_ignored(const struct config_environment *environment, struct config_report *report)
{
    char name[SETTING_NAME_BYTES];
    for (size_t i = 0; i < settings_count; i++) {
        if (!setting_is_own(&settings_table[i]))
            continue;
        setting_own_variable(&settings_table[i], name);
        if (environment_get(environment, name))
            config_warning(report,
                           "%s: ignored, because %s is the configuration: put %s=... into CUSPAN_SET, or "
                           "the setting into the file",
                           name, report->source, settings_table[i].path + sizeof SETTING_OWN_PREFIX - 1);
    }
}
