#include "agent/config/consistency.h"

#include "base/process/signal_names.h"
#include "base/text/suggest.h"
#include "agent/config/environment/environment.h"
#include "agent/config/table/settings_table.h"
#include "agent/config/text/pairs.h"
#include "model/cuda/activities.h"
#include "model/gpu_counter_names.h"
#include "model/iteration.h"
#include "model/metrics/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADER_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define BATCH             "tracer_provider.processors[].batch"

/* The default has no room for stacks, nor for profiles. */
static void raise_default_memory(struct settings *settings)
{
    const struct setting *memory = setting_find("distribution.cuspan.memory_bytes_max");
    if (settings->memory_bytes_max != strtoull(memory->default_text, NULL, 10))
        return;
    settings->has_default_memory = true;
    if (settings_have_stacks(settings))
        settings->memory_bytes_max += SETTINGS_CODE_BYTES;
    if (settings_have_native_stacks(settings))
        settings->memory_bytes_max += SETTINGS_NATIVE_BYTES;
    if (settings->profiles.enabled)
        settings->memory_bytes_max += SETTINGS_SENDER_BYTES + SETTINGS_PROFILES_BYTES;
}

static void check_memory(const struct settings *settings, struct config_report *report)
{
    uint64_t host = (uint64_t)settings->cupti.host_buffer_bytes * settings->cupti.host_buffer_count;
    uint64_t pending = (uint64_t)settings->correlation.pending_max * SETTINGS_PENDING_BYTES;
    uint64_t buffers = settings_buffer_bytes(settings), needed = buffers + SETTINGS_QUEUE_BYTES_MIN;
    uint64_t rest = buffers - host - settings->rings.total_bytes - pending;
    if (needed <= settings->memory_bytes_max)
        return;
    config_error(report,
                 "%s: distribution.cuspan.memory_bytes_max: %" PRIu64
                 " is not enough for cupti.host_buffer_bytes x "
                 "host_buffer_count (%" PRIu64 "), rings.total_bytes (%" PRIu32
                 "), correlation.pending_max x %d (%" PRIu64 "), %" PRIu64
                 " for the rest and %d for the queue: raise it to %" PRIu64 ", or lower one of them",
                 report->source, settings->memory_bytes_max, host, settings->rings.total_bytes,
                 SETTINGS_PENDING_BYTES, pending, rest, SETTINGS_QUEUE_BYTES_MIN, needed);
}

static void check_rings(const struct settings *settings, struct config_report *report)
{
    if (settings->rings.total_bytes < settings->rings.bytes)
        config_error(
            report,
            "%s: distribution.cuspan.rings.total_bytes: expected at least rings.bytes, which is %" PRIu32
            ": raise the former or lower the latter",
            report->source, settings->rings.bytes);
    if (settings->cupti.device_buffer_preallocate > settings->cupti.device_buffer_limit)
        config_error(report,
                     "%s: distribution.cuspan.cupti.device_buffer_preallocate: expected at most "
                     "device_buffer_limit, which is %" PRIu32,
                     report->source, settings->cupti.device_buffer_limit);
}

/* A batch cannot be larger than the queue. A default batch size is lowered without a warning. */
static void check_batch(struct output_settings *output, const char *owner, struct config_report *report)
{
    struct output_settings defaults = {0};
    const struct setting *size = setting_find(BATCH ".max_export_batch_size");
    if (output->batch_spans_max <= output->queue_spans_max)
        return;
    bool is_default =
        setting_reset(size, &defaults) == STATUS_OK && output->batch_spans_max == defaults.batch_spans_max;
    if (!is_default)
        config_warning(report,
                       "%s: %s: max_export_batch_size %" PRIu32 " is over max_queue_size %" PRIu32
                       ": using the latter for both",
                       report->source, owner, output->batch_spans_max, output->queue_spans_max);
    output->batch_spans_max = output->queue_spans_max;
}

static void check_client_key(const struct exporter_settings *exporter, const char *owner,
                             struct config_report *report)
{
    if ((exporter->client_key_file != NULL) != (exporter->client_certificate_file != NULL))
        config_error(report,
                     "%s: %s: tls: the client's %s is missing: set both key and certificate, or neither",
                     report->source, owner, exporter->client_key_file ? "certificate" : "key");
}

static void check_signals(const struct settings *settings, struct config_report *report)
{
    for (size_t i = 0; i < settings->on_signal.count; i++)
        if (!signal_by_name(settings->on_signal.patterns[i]))
            config_error(report, "%s: distribution.cuspan.on_signal: expected %s, not \"%.40s\"",
                         report->source, signal_names_all, settings->on_signal.patterns[i]);
}

static void check_headers(const struct settings *settings, struct config_report *report)
{
    const struct pattern_list *headers = &settings->engine.headers;
    if (headers->count > REQUEST_HEADERS_MAX)
        config_error(report, "%s: distribution.cuspan.engine.headers: at most %d names, not %zu",
                     report->source, REQUEST_HEADERS_MAX, headers->count);
    for (size_t i = 0; i < headers->count; i++) {
        const char *name = headers->patterns[i];
        size_t plain = strspn(name, HEADER_CHARACTERS);
        if (name[plain] || plain >= HEADER_NAME_BYTES)
            config_error(report,
                         "%s: distribution.cuspan.engine.headers: expected at most %d letters, digits, '-' "
                         "and '_', not \"%.60s\"",
                         report->source, HEADER_NAME_BYTES - 1, name);
    }
}

/* Warns of the first name that two streams share. */
static void check_streams(const struct streams *streams, struct config_report *report)
{
    enum { MOST = METRIC_COUNT * STREAMS_MAX };
    const char *names[MOST];
    unsigned count = 0;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        const struct metric_streams *of = &streams->of[metric];
        for (uint8_t i = 0; i < of->count; i++) {
            names[count] = of->streams[i].info.name;
            for (unsigned before = 0; before < count; before++) {
                if (strcmp(names[before], names[count]) != 0)
                    continue;
                config_warning(
                    report,
                    "%s: meter_provider.views: two streams have the name %s, and receivers may merge "
                    "them: rename one of them",
                    report->source, names[count]);
                return;
            }
            count++;
        }
    }
}

static enum status make_streams(struct settings *settings, struct config_report *report)
{
    if (!settings->metrics.is_on)
        return STATUS_OK;
    enum status status = streams_create(settings->metrics.views, settings->metrics.view_count,
                                        settings->metrics.histogram_form, &settings->metrics.streams);
    if (status == STATUS_OK)
        check_streams(settings->metrics.streams, report);
    return status;
}

/* OpenTelemetry's schema allows 0, which is no interval. */
static enum status check_interval(struct settings *settings, struct config_report *report)
{
    if (settings->metrics.interval_ms > 0)
        return STATUS_OK;
    const struct setting *interval = setting_find("meter_provider.readers[].periodic.interval");
    config_warning(report, "%s: the export interval of metrics is 0: using the default of %s ms",
                   report->source, interval->default_text);
    return setting_reset(interval, settings);
}

/* With metrics or profiles alone, no span is made, because nothing is sampled. */
static void check_metrics(struct settings *settings, struct config_report *report)
{
    if (settings->metrics.is_on) {
        check_client_key(&settings->metrics.output.exporter, "metric reader", report);
        settings->metrics.output.exporter.verify = settings->tls_verify;
    }
    if (settings->output_count > 0 || !settings_have_output(settings))
        return;
    settings->sampler = SAMPLER_ALWAYS_OFF;
    settings->sampler_parent_based = false;
}

static void check_outputs(struct settings *settings, struct config_report *report)
{
    for (size_t i = 0; i < settings->output_count; i++) {
        char owner[32];
        snprintf(owner, sizeof owner, "processor %zu", i);
        check_batch(&settings->outputs[i], owner, report);
        check_client_key(&settings->outputs[i].exporter, owner, report);
        settings->outputs[i].exporter.verify = settings->tls_verify;
    }
    if (settings_have_output(settings) || settings->disabled || settings->record_file)
        return;
    if (report->is_file)
        config_warning(report,
                       "%s: no supported exporter, so cuspan stays inactive: add tracer_provider: "
                       "processors: [{batch: {exporter: {otlp_http: }}}]",
                       report->source);
    else
        config_warning(report, "OTEL_TRACES_EXPORTER: no exporter is left, so cuspan stays inactive: set it "
                               "to otlp, or unset it");
}

#define UNKNOWN_NAMES_MAX 8 /* warnings of one list, because finding a suggestion takes time */

struct name_search {
    struct filter only; /* allows what the pattern matches */
    struct suggest suggest;
    bool is_found;
};

static void look_at(struct name_search *search, const char *name)
{
    if (search->is_found)
        return;
    search->is_found = filter_passes(&search->only, name, NULL);
    suggest_offer(&search->suggest, name);
}

static void look_at_calls(struct name_search *search)
{
    static const enum call_domain domains[] = {CALL_RUNTIME, CALL_DRIVER};
    for (int group = 0; group < CALL_GROUP_COUNT; group++)
        look_at(search, call_group_name((enum call_group)group));
    for (size_t d = 0; d < 2; d++) {
        uint16_t count = domains[d] == CALL_RUNTIME ? call_count_runtime : call_count_driver;
        for (uint32_t cbid = 1; cbid < count; cbid++) {
            const struct call_info *info = call_info(domains[d], cbid);
            if (info)
                look_at(search, call_name(info));
        }
    }
}

static void look_at_activities(struct name_search *search)
{
    for (int kind = 0; kind < ACTIVITY_KINDS_MAX; kind++) {
        if (activity_table[kind].name)
            look_at(search, activity_table[kind].name);
    }
}

/* A newer CUDA may have the call, so a pattern without a match is not an error. */
static void check_patterns(const struct pattern_list *list, const char *key,
                           void (*look)(struct name_search *), struct config_report *report)
{
    unsigned unknown = 0;
    for (size_t i = 0; i < list->count && unknown < UNKNOWN_NAMES_MAX; i++) {
        struct name_search search = {.only.allow = {1, &list->patterns[i]}};
        search.suggest = (struct suggest){.word = list->patterns[i]};
        look(&search);
        if (search.is_found)
            continue;
        unknown++;
        const char *best = search.suggest.best;
        config_warning(report, "%s: distribution.cuspan.capture.%s: \"%.60s\" matches no known name%s%s%s",
                       report->source, key, list->patterns[i], best[0] ? "; did you mean " : "", best,
                       best[0] ? "?" : "");
    }
}

static void check_names(const struct settings *settings, struct config_report *report)
{
    check_patterns(&settings->capture.calls.allow, "calls.allow", look_at_calls, report);
    check_patterns(&settings->capture.calls.deny, "calls.deny", look_at_calls, report);
    check_patterns(&settings->capture.activities.allow, "activities.allow", look_at_activities, report);
    check_patterns(&settings->capture.activities.deny, "activities.deny", look_at_activities, report);
}

static void check_counter_names(const struct pattern_list *metrics, const char *setting,
                                struct config_report *report)
{
    struct attr_key key;
    if (metrics->count > GPU_COUNTERS_MAX)
        config_error(report, "%s: distribution.cuspan.%s: expected at most %d counters, not %zu",
                     report->source, setting, GPU_COUNTERS_MAX, metrics->count);
    for (size_t i = 0; i < metrics->count; i++)
        if (!gpu_counter_key(metrics->patterns[i], &key))
            config_error(report,
                         "%s: distribution.cuspan.%s: \"%.100s\" cannot be an attribute's name: "
                         "set one of up to %zu characters, as in reads=dram__bytes_read.sum",
                         report->source, setting, metrics->patterns[i],
                         sizeof key.name - sizeof GPU_COUNTER_PREFIX);
}

static void check_counters(const struct settings *settings, struct config_report *report)
{
    check_counter_names(&settings->counters.metrics, "counters.metrics", report);
    check_counter_names(&settings->counters.sampling.metrics, "counters.sampling.metrics", report);
    if (settings->counters.replay == REPLAY_KERNEL && settings->counters.kernels.allow.count == 0)
        config_error(report,
                     "%s: distribution.cuspan.counters.replay: cuspan reruns only kernels that "
                     "counters.kernels.allow names: add them there",
                     report->source);
    if (settings->counters.replay == REPLAY_LOOP && settings->counters.ranges.count == 0)
        config_error(report,
                     "%s: distribution.cuspan.counters.replay: cuspan reruns only loops (cuspan_loop_begin "
                     "in cuspan.h) "
                     "that counters.ranges names: add them there",
                     report->source);
    if (settings->counters.sampling.metrics.count && !settings->metrics.is_on)
        config_warning(
            report,
            "%s: distribution.cuspan.counters.sampling: samples are exported as metrics, which are "
            "disabled: set OTEL_METRICS_EXPORTER=otlp, or meter_provider in the file",
            report->source);
    if (settings->counters.sampling.metrics.count && settings->counters.metrics.count)
        config_warning(
            report,
            "%s: distribution.cuspan.counters.sampling: nothing is sampled, because a GPU's counters have "
            "one user at a time and counters.metrics uses them: set only one of the two",
            report->source);
}

#define QUEUE_SAMPLES    65536 /* of eight full profiles */
#define ENDPOINT_SETTING "tracer_provider.processors[].batch.exporter.otlp_http.endpoint"

/* Bytes of "https://host:port". */
static size_t server_bytes(const char *url)
{
    const char *scheme = strstr(url, "://");
    size_t start = scheme ? (size_t)(scheme - url) + 3 : 0;
    return start + strcspn(url + start, "/?#");
}

/* Headers and keys are secrets, only for the server that they were set for. */
static bool is_same_server(const char *a, const char *b)
{
    size_t bytes = server_bytes(a);
    return bytes == server_bytes(b) && strncasecmp(a, b, bytes) == 0;
}

static enum status copy_text(char **to, const char *from)
{
    if (from && !(*to = strdup(from)))
        return STATUS_NO_MEMORY;
    return STATUS_OK;
}

static enum status copy_secrets(struct exporter_settings *to, const struct exporter_settings *from)
{
    struct error unused;
    enum status status = copy_text(&to->ca_file, from->ca_file);
    if (status == STATUS_OK)
        status = copy_text(&to->client_key_file, from->client_key_file);
    if (status == STATUS_OK)
        status = copy_text(&to->client_certificate_file, from->client_certificate_file);
    for (size_t i = 0; i < from->header_count && status == STATUS_OK; i++)
        status = header_set(to, from->headers[i].name, from->headers[i].value, &unused);
    return status;
}

static enum status fill_profiles(struct settings *settings, const struct output_settings *spans,
                                 const char *url)
{
    struct output_settings *output = &settings->profiles.output;
    enum status status = setting_set(setting_find(ENDPOINT_SETTING), output, url);
    output->queue_spans_max = QUEUE_SAMPLES;
    output->exporter.verify = settings->tls_verify;
    if (status != STATUS_OK || !spans)
        return status;
    output->export_timeout_ms = spans->export_timeout_ms;
    output->exporter.timeout_ms = spans->exporter.timeout_ms;
    output->exporter.compression = spans->exporter.compression;
    return is_same_server(url, spans->exporter.endpoint) ? copy_secrets(&output->exporter, &spans->exporter)
                                                         : STATUS_OK;
}

/* The output of profiles: made from profiles.endpoint and from the exporter of spans. Disables profiles with
 * a warning if they have no endpoint. */
static enum status make_profiles_output(struct settings *settings, struct config_report *report)
{
    const struct output_settings *spans = NULL; /* sent by HTTP */
    for (size_t i = 0; i < settings->output_count && !spans; i++)
        if (settings->outputs[i].exporter.kind == EXPORTER_OTLP_HTTP)
            spans = &settings->outputs[i];
    settings->profiles.enabled &= !settings->record_file;
    if (!settings->profiles.enabled)
        return STATUS_OK;
    char *url = NULL;
    if (settings->profiles.endpoint)
        url = strdup(settings->profiles.endpoint);
    else if (spans)
        url = endpoint_of_signal(spans->exporter.endpoint, SIGNAL_PROFILES);
    if (!url) {
        settings->profiles.enabled = false;
        config_warning(report,
                       "%s: distribution.cuspan.profiles: no endpoint for profiles, so none are sent: set "
                       "profiles.endpoint, or send spans by OTLP/HTTP to a URL that ends in /v1/traces",
                       report->source);
        return STATUS_OK;
    }
    enum status status = output_init(&settings->profiles.output, SIGNAL_PROFILES, EXPORTER_OTLP_HTTP);
    if (status == STATUS_OK)
        status = fill_profiles(settings, spans, url);
    free(url);
    if (settings->capture.launch_stacks == LAUNCH_STACKS_NONE)
        config_warning(report,
                       "%s: distribution.cuspan.profiles: profiles have kernels but no stacks, because "
                       "capture.launch_stacks is none: set it to python or all",
                       report->source);
    return status;
}

#define QUEUE_REPORTS 16

/* The output whose server or file also gets reports of hangs: the first one of OTLP, or else the first. */
static const struct output_settings *output_for_reports(const struct settings *settings)
{
    for (size_t i = 0; i < settings->output_count; i++)
        if (exporter_is_otlp(&settings->outputs[i].exporter))
            return &settings->outputs[i];
    return settings->output_count ? settings->outputs : NULL;
}

static enum status fill_reports(struct settings *settings, const struct output_settings *spans, char *url)
{
    struct output_settings *output = &settings->hang.output;
    *output = *spans; /* without its memory */
    output->signal = SIGNAL_LOGS;
    output->queue_spans_max = QUEUE_REPORTS;
    output->exporter.compression = COMPRESSION_NONE;
    output->exporter.endpoint = url;
    output->exporter.header_count = 0;
    output->exporter.headers = NULL;
    output->exporter.ca_file = output->exporter.client_key_file = output->exporter.client_certificate_file =
        NULL;
    if (settings->hang.endpoint) {
        output->exporter.kind = EXPORTER_OTLP_HTTP;
        output->exporter.encoding =
            spans->exporter.kind == EXPORTER_OTLP_HTTP ? spans->exporter.encoding : ENCODING_PROTOBUF;
        output->exporter.verify = settings->tls_verify;
    }
    bool is_same = url && exporter_is_otlp(&spans->exporter) &&
                   (!settings->hang.endpoint || is_same_server(url, spans->exporter.endpoint));
    return is_same ? copy_secrets(&output->exporter, &spans->exporter) : STATUS_OK;
}

/* The output of reports of hangs: made from hang.endpoint and from an output of spans. Without an endpoint,
 * reports are not sent. */
static enum status make_reports_output(struct settings *settings)
{
    const struct output_settings *spans = output_for_reports(settings);
    char *url = NULL;
    if (!spans || settings->record_file || settings->hang.watch == HANG_WATCH_OFF)
        return STATUS_OK;
    const char *own = settings->hang.endpoint;
    bool is_http = spans->exporter.kind == EXPORTER_OTLP_HTTP;
    if (!own && is_http && !endpoint_has_path(spans->exporter.endpoint, SIGNAL_TRACES))
        return STATUS_OK;
    if (!own && is_http)
        url = endpoint_of_signal(spans->exporter.endpoint, SIGNAL_LOGS);
    else if (own || spans->exporter.endpoint)
        url = strdup(own ? own : spans->exporter.endpoint);
    if (!url && (own || spans->exporter.endpoint))
        return STATUS_NO_MEMORY;
    settings->hang.has_output = true;
    return fill_reports(settings, spans, url);
}

enum status consistency_check(struct settings *settings, struct config_report *report)
{
    enum status status = make_streams(settings, report); /* allocates */
    if (status == STATUS_OK)
        status = check_interval(settings, report);
    if (status == STATUS_OK)
        status = make_profiles_output(settings, report);
    if (status == STATUS_OK)
        status = make_reports_output(settings);
    if (status != STATUS_OK)
        return status;
    raise_default_memory(settings);
    check_memory(settings, report);
    check_rings(settings, report);
    check_signals(settings, report);
    check_headers(settings, report);
    check_outputs(settings, report);
    check_metrics(settings, report);
    check_counters(settings, report);
    check_names(settings, report);
    return STATUS_OK;
}
