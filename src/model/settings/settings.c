#include "model/settings/settings.h"

#include "model/metrics/views.h"

#include <stdlib.h>
#include <string.h>

void output_settings_deinit(struct output_settings *output)
{
    struct exporter_settings *exporter = &output->exporter;
    for (size_t i = 0; i < exporter->header_count; i++) {
        free(exporter->headers[i].name);
        free(exporter->headers[i].value);
    }
    free(exporter->headers);
    free(exporter->endpoint);
    free(exporter->ca_file);
    free(exporter->client_key_file);
    free(exporter->client_certificate_file);
    memset(output, 0, sizeof *output);
}

void settings_deinit(struct settings *settings)
{
    resource_deinit(&settings->resource);
    for (size_t i = 0; i < settings->output_count; i++)
        output_settings_deinit(&settings->outputs[i]);
    output_settings_deinit(&settings->metrics.output);
    output_settings_deinit(&settings->profiles.output);
    output_settings_deinit(&settings->hang.output);
    free(settings->hang.endpoint);
    free(settings->profiles.endpoint);
    for (size_t i = 0; i < settings->metrics.view_count; i++)
        view_deinit(&settings->metrics.views[i]);
    free(settings->metrics.views);
    free(settings->metrics.streams);
    filter_deinit(&settings->capture.calls);
    filter_deinit(&settings->capture.activities);
    filter_deinit(&settings->capture.kernels);
    pattern_list_deinit(&settings->counters.metrics);
    pattern_list_deinit(&settings->counters.sampling.metrics);
    filter_deinit(&settings->counters.kernels);
    pattern_list_deinit(&settings->counters.ranges);
    free(settings->cupti.library);
    free(settings->session.name);
    free(settings->steps.job_id);
    free(settings->steps.nvtx_pattern);
    pattern_list_deinit(&settings->engine.headers);
    pattern_list_deinit(&settings->on_signal);
    free(settings->shutdown_report);
    free(settings->control.directory);
    free(settings->spool.directory);
    free(settings->accounts_file);
    free(settings->record_file);
    memset(settings, 0, sizeof *settings);
}

const char *detail_name(enum detail detail)
{
    static const char *const names[] = {[DETAIL_DEFAULT] = "default",
                                        [DETAIL_SUMMARY] = "summary",
                                        [DETAIL_GRAPH_NODES] = "graph-nodes",
                                        [DETAIL_FULL] = "full"};
    return names[detail];
}

bool settings_have_graph_nodes(const struct settings *settings)
{
    return settings->detail == DETAIL_GRAPH_NODES || settings->detail == DETAIL_FULL;
}

/* Includes the spool, which only OTLP has. */
static uint64_t bytes_of_sender(const struct settings *settings, const struct output_settings *output)
{
    if (!exporter_is_otlp(&output->exporter))
        return SETTINGS_WRITER_BYTES;
    return SETTINGS_SENDER_BYTES + (settings->spool.directory ? SETTINGS_SPOOL_BYTES : 0);
}

static uint64_t sender_bytes(const struct settings *settings)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < settings->output_count; i++)
        bytes += bytes_of_sender(settings, &settings->outputs[i]);
    if (settings->profiles.enabled)
        bytes += SETTINGS_SENDER_BYTES + SETTINGS_PROFILES_BYTES;
    if (!settings->metrics.is_on)
        return bytes;
    if (settings->metrics.streams)
        bytes += streams_bytes(settings->metrics.streams);
    return bytes + SETTINGS_METRICS_BYTES + bytes_of_sender(settings, &settings->metrics.output);
}

bool settings_have_output(const struct settings *settings)
{
    return settings->output_count > 0 || settings->metrics.is_on || settings->profiles.enabled;
}

static bool have_allocation_stacks(const struct settings *settings)
{
    return settings->capture.allocation_stacks && settings->detail != DETAIL_SUMMARY;
}

bool settings_have_stacks(const struct settings *settings)
{
    return settings_have_launch_stacks(settings) || have_allocation_stacks(settings);
}

bool settings_have_launch_stacks(const struct settings *settings)
{
    return settings->capture.launch_stacks != LAUNCH_STACKS_NONE &&
           (settings->detail != DETAIL_SUMMARY || settings->profiles.enabled);
}

bool settings_have_native_stacks(const struct settings *settings)
{
    return have_allocation_stacks(settings) ||
           (settings_have_launch_stacks(settings) && settings->capture.launch_stacks == LAUNCH_STACKS_ALL);
}

uint64_t settings_buffer_bytes(const struct settings *settings)
{
    return SETTINGS_FIXED_BYTES + sender_bytes(settings) +
           (settings_have_graph_nodes(settings) ? SETTINGS_GRAPH_NODES_BYTES : 0u) +
           (settings_have_stacks(settings) ? SETTINGS_CODE_BYTES : 0u) +
           (settings_have_native_stacks(settings) ? SETTINGS_NATIVE_BYTES : 0u) +
           (settings->detail == DETAIL_SUMMARY ? SETTINGS_SUMMARIES_BYTES : 0u) +
           (settings->hang.is_watched ? SETTINGS_HANG_BYTES : 0u) +
           (uint64_t)settings->cupti.host_buffer_bytes * settings->cupti.host_buffer_count +
           settings->rings.total_bytes + (uint64_t)settings->correlation.pending_max * SETTINGS_PENDING_BYTES;
}

static uint64_t rest_bytes(const struct settings *settings)
{
    uint64_t buffers = settings_buffer_bytes(settings);
    return settings->memory_bytes_max > buffers ? settings->memory_bytes_max - buffers : 0;
}

bool settings_set_hang_watch(struct settings *settings, int64_t world_size)
{
    bool is_wanted =
        settings->hang.watch == HANG_WATCH_ON || (settings->hang.watch == HANG_WATCH_AUTO && world_size > 1);
    settings->hang.is_watched = false;
    if (is_wanted && settings->has_default_memory && !settings->record_file)
        settings->memory_bytes_max += SETTINGS_HANG_BYTES;
    bool has_room = rest_bytes(settings) >= SETTINGS_HANG_BYTES + SETTINGS_QUEUE_BYTES_MIN;
    settings->hang.is_watched = is_wanted && has_room && !settings->record_file;
    return !is_wanted || has_room;
}

bool settings_have_room_for_engines(const struct settings *settings)
{
    return rest_bytes(settings) >= SETTINGS_ENGINE_BYTES + SETTINGS_QUEUE_BYTES_MIN;
}

uint64_t settings_queue_bytes(const struct settings *settings)
{
    return rest_bytes(settings) - (settings_have_room_for_engines(settings) ? SETTINGS_ENGINE_BYTES : 0u);
}
