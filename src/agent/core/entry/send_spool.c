#include "agent/core/entry/root_span.h"

#include "agent/core/resource/self_env.h"
#include "base/files.h"
#include "agent/config/config.h"
#include "agent/export/spool/spool_format.h"
#include "agent/export/spool/spool_drain.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sending {
    const struct send_request *request;
    struct send_result *result;
    struct spool_drain *spool_drains[OUTPUT_NUMBERS]; /* an output without its own has the first one's */
    struct spool_drain *owned[OUTPUT_NUMBERS];
    bool is_grpc; /* the first one */
};

static struct settings settings;

static enum status read_settings(struct error *err)
{
    const struct config_report *report;
    enum status status = self_env_settings(&settings, &report);
    if (status == STATUS_OK)
        return status;
    const char *error = config_first_error(report);
    return error_set(err, STATUS_INVALID, "%.400s", error ? error : status_text(status));
}

/* Changes http://HOST/v1/traces to http://HOST/v1/metrics; false for another path. */
static bool metrics_url(const char *traces, char *url, size_t size)
{
    static const char path[] = "/v1/traces";
    size_t length = strlen(traces), base = length - strlen(path);
    return length > strlen(path) && strcmp(traces + base, path) == 0 &&
           snprintf(url, size, "%.*s/v1/metrics", (int)base, traces) < (int)size;
}

/* Without an output of metrics, they go to the metrics path of the server that gets the spans. */
static enum status engage_metrics(struct sending *sending, const struct output_settings *first,
                                  struct output_environment *environment)
{
    struct output_settings output = settings.metrics.output;
    char url[2048];
    if (!settings.metrics.is_on || !exporter_is_otlp(&output.exporter)) {
        if (!first)
            return STATUS_OK;
        output = *first;
        output.signal = SIGNAL_METRICS;
        output.exporter.endpoint = url;
        bool is_http = output.exporter.kind == EXPORTER_OTLP_HTTP;
        if (!(is_http ? metrics_url(first->exporter.endpoint, url, sizeof url)
                      : snprintf(url, sizeof url, "%s", first->exporter.endpoint) < (int)sizeof url))
            return STATUS_OK;
    }
    if (sending->request->patience_ms)
        output.export_timeout_ms = sending->request->patience_ms;
    environment->output = METRICS_OUTPUT;
    return spool_drain_create(&output, environment, &sending->owned[METRICS_OUTPUT]);
}

static enum status no_exporter(struct error *err)
{
    return error_set(err, STATUS_INVALID, "the configuration has no OTLP exporter; set --endpoint URL");
}

static enum status engage(struct sending *sending, struct error *err)
{
    char module_path[600];
    snprintf(module_path, sizeof module_path, "%s/%s", self_env_folder(), EXPORT_MODULE_NAME);
    struct output_environment environment = {.module_path = module_path};
    const struct output_settings *from = NULL;
    struct spool_drain *first = NULL;
    for (size_t i = 0; i < settings.output_count; i++) {
        struct output_settings *output = &settings.outputs[i];
        if (!exporter_is_otlp(&output->exporter))
            continue;
        if (sending->request->patience_ms)
            output->export_timeout_ms = sending->request->patience_ms;
        if (spool_drain_create(output, &environment, &sending->owned[i]) != STATUS_OK)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        sending->is_grpc = first ? sending->is_grpc : output->exporter.kind == EXPORTER_OTLP_GRPC;
        from = first ? from : output;
        first = first ? first : sending->owned[i];
    }
    if (engage_metrics(sending, from, &environment) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        sending->spool_drains[i] = sending->owned[i] ? sending->owned[i] : first;
    sending->spool_drains[METRICS_OUTPUT] = sending->owned[METRICS_OUTPUT];
    return first || sending->spool_drains[METRICS_OUTPUT] ? STATUS_OK : no_exporter(err);
}

static enum status send_file(struct sending *sending, const char *path, const char *name, struct error *err)
{
    char source[SPOOL_SOURCE_BYTES], folder[4096];
    uint32_t output, segment;
    const char *slash = strrchr(path, '/');
    if (spool_format_parse_name(slash ? slash + 1 : path, source, &output, &segment)) {
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
        return spool_drain_folder(sending->spool_drains, folder, source, sending->request, sending->result,
                                  err);
    }
    if (sending->is_grpc)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%.300s contains JSON, which gRPC cannot carry; set an endpoint of OTLP/HTTP", name);
    if (!sending->spool_drains[0])
        return no_exporter(err);
    return spool_drain_lines(sending->spool_drains[0], path, name, sending->request, sending->result, err);
}

/* A folder of other files is not a spool, and an empty one may be. */
static bool is_other_folder(const char *path)
{
    char source[SPOOL_SOURCE_BYTES];
    uint32_t output, segment;
    bool has_spool = false, has_others = false;
    DIR *entries = files_open_folder(path);
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        bool is_hidden = entry->d_name[0] == '.';
        bool is_spool = spool_format_parse_name(entry->d_name, source, &output, &segment);
        has_spool |= is_spool;
        has_others |= !is_spool && !is_hidden;
    }
    if (entries)
        closedir(entries);
    return has_others && !has_spool;
}

static enum status send_path(struct sending *sending, const char *path, const char *name, struct error *err)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return error_set(err, STATUS_NOT_FOUND, "%.300s does not exist", name);
    if (S_ISDIR(facts.st_mode) && is_other_folder(path))
        return error_set(
            err, STATUS_NOT_FOUND,
            "%.200s is not a spool: it contains only other files; to send files of OTLP JSON lines, "
            "name them, as in %.200s/*.jsonl",
            name, name);
    if (S_ISDIR(facts.st_mode))
        return spool_drain_folder(sending->spool_drains, path, NULL, sending->request, sending->result, err);
    return send_file(sending, path, name, err);
}

static enum status send_all(struct sending *sending, struct error *err)
{
    const struct send_request *request = sending->request;
    enum status status = STATUS_OK;
    if (request->path_count == 0 && !settings.spool.directory)
        return error_set(err, STATUS_INVALID,
                         "no spool to send; name its directory or set distribution.cuspan.spool.directory");
    if (request->path_count == 0)
        return send_path(sending, settings.spool.directory, settings.spool.directory, err);
    for (size_t i = 0; i < request->path_count && status == STATUS_OK; i++)
        status = send_path(sending, request->paths[i], request->names[i], err);
    return status;
}

enum status agent_send(const struct send_request *request, struct send_result *result, struct error *err)
{
    struct sending sending = {.request = request, .result = result};
    *result = (struct send_result){0};
    enum status status = read_settings(err);
    if (status == STATUS_OK)
        status = engage(&sending, err);
    if (status == STATUS_OK)
        status = send_all(&sending, err);
    for (size_t i = 0; i < OUTPUT_NUMBERS; i++)
        spool_drain_destroy(sending.owned[i]);
    settings_deinit(&settings);
    return status;
}
