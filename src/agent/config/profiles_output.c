#include "agent/config/profiles_output.h"

#include "agent/config/environment/environment.h"
#include "agent/config/text/pairs.h"
#include "agent/config/table/settings_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define QUEUE_SAMPLES    65536 /* of eight full profiles */
#define ENDPOINT_SETTING "tracer_provider.processors[].batch.exporter.otlp_http.endpoint"

static const struct output_settings *find_http(const struct settings *settings)
{
    for (size_t i = 0; i < settings->output_count; i++)
        if (settings->outputs[i].exporter.kind == EXPORTER_OTLP_HTTP)
            return &settings->outputs[i];
    return NULL;
}

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

static enum status fill(struct settings *settings, const struct output_settings *spans, const char *url)
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

static enum status disable(struct settings *settings, struct config_report *report)
{
    settings->profiles.enabled = false;
    config_warning(report,
                   "%s: distribution.cuspan.profiles: no endpoint for profiles, so none are sent: set "
                   "profiles.endpoint, or send spans by OTLP/HTTP to a URL that ends in /v1/traces",
                   report->source);
    return STATUS_OK;
}

enum status profiles_output_make(struct settings *settings, struct config_report *report)
{
    const struct output_settings *spans = find_http(settings);
    settings->profiles.enabled &= !settings->record_file;
    if (!settings->profiles.enabled)
        return STATUS_OK;
    char *url = NULL;
    if (settings->profiles.endpoint)
        url = strdup(settings->profiles.endpoint);
    else if (spans)
        url = endpoint_of_profiles(spans->exporter.endpoint);
    if (!url)
        return disable(settings, report);
    enum status status = output_init(&settings->profiles.output, SIGNAL_PROFILES, EXPORTER_OTLP_HTTP);
    if (status == STATUS_OK)
        status = fill(settings, spans, url);
    free(url);
    if (settings->capture.launch_stacks == LAUNCH_STACKS_NONE)
        config_warning(report,
                       "%s: distribution.cuspan.profiles: profiles have kernels but no stacks, because "
                       "capture.launch_stacks is none: set it to python or all",
                       report->source);
    return status;
}
