#include "agent/config/file/file_reader.h"

#include "agent/config/table/settings_table.h"

#include <string.h>

#define BATCH "tracer_provider.processors[].batch"
#define HTTP  BATCH ".exporter.otlp_http"
#define GRPC  BATCH ".exporter.otlp_grpc"
#define ROOT  "tracer_provider.sampler"

#define READER "meter_provider.readers[].periodic"

/* The keys of both OTLP exporters that are not settings. */
#define OTLP_KEYS(path)                                                                                      \
    {path, SCHEMA_READER, 0}, {path ".headers", SCHEMA_READER, 0}, {path ".headers_list", SCHEMA_READER, 0}, \
        {path ".max_request_size", SCHEMA_UNSUPPORTED, own_limit},                                           \
    {                                                                                                        \
        path ".max_response_size", SCHEMA_UNSUPPORTED, own_limit                                             \
    }

/* The agent aggregates before any exporter, so these hold for files and the console, too. */
#define METRICS_KEYS(exporter)                                                                               \
    {READER ".exporter." exporter ".temporality_preference", SCHEMA_SETTING,                                 \
     READER ".exporter.otlp_http.temporality_preference"},                                                   \
    {                                                                                                        \
        READER ".exporter." exporter ".default_histogram_aggregation", SCHEMA_SETTING,                       \
            READER ".exporter.otlp_http.default_histogram_aggregation"                                       \
    }

static const char own_limit[] =
    "not supported: cuspan limits requests to 20 MiB and reads up to 4 MiB of a response";
static const char flag_decides[] = "not supported: cuspan follows the parent's sampled flag";

const struct schema_key schema_keys[] = {
    {"file_format", SCHEMA_READER, 0},
    {"logger_provider", SCHEMA_IGNORED, 0},
    {"propagator", SCHEMA_IGNORED, 0},
    {"instrumentation/development", SCHEMA_IGNORED, 0},
    {"meter_provider.readers", SCHEMA_READER, 0},
    {"meter_provider.views", SCHEMA_READER, 0},
    {"meter_provider.meter_configurator/development", SCHEMA_UNSUPPORTED,
     "not supported: select metrics with views"},
    {READER, SCHEMA_READER, 0},
    {READER ".max_export_batch_size/development", SCHEMA_UNSUPPORTED,
     "not used: cuspan splits requests of metrics by their size in bytes"},
    {READER ".producers", SCHEMA_UNSUPPORTED, "not supported: cuspan sends only its own metrics"},
    {READER ".cardinality_limits", SCHEMA_UNSUPPORTED, "not supported: cuspan has its own limits"},
    {READER ".exporter", SCHEMA_READER, 0},
    OTLP_KEYS(READER ".exporter.otlp_http"),
    OTLP_KEYS(READER ".exporter.otlp_grpc"),
    {READER ".exporter.otlp_file/development", SCHEMA_READER, 0},
    {READER ".exporter.otlp_file/development.output_stream", SCHEMA_READER, 0},
    METRICS_KEYS("otlp_file/development"),
    {READER ".exporter.console", SCHEMA_READER, 0},
    METRICS_KEYS("console"),

    {"distribution", SCHEMA_READER, 0},
    {"resource", SCHEMA_READER, 0},
    {"resource.attributes", SCHEMA_READER, 0},
    {"resource.attributes_list", SCHEMA_READER, 0},
    {"resource.detection/development.detectors", SCHEMA_IGNORED, 0},
    {"resource.detection/development.attributes", SCHEMA_UNSUPPORTED,
     "not supported: cuspan sends all detected attributes"},
    {"attribute_limits.attribute_value_depth_limit", SCHEMA_IGNORED, 0}, /* cuspan has no nested attributes */

    {"tracer_provider", SCHEMA_READER, 0},
    {"tracer_provider.processors", SCHEMA_READER, 0},
    {"tracer_provider.limits.attribute_value_depth_limit", SCHEMA_IGNORED, 0},
    {"tracer_provider.limits.event_attribute_count_limit", SCHEMA_IGNORED, 0}, /* cuspan's have at most six */
    {"tracer_provider.limits.link_attribute_count_limit", SCHEMA_IGNORED, 0},
    {"tracer_provider.id_generator", SCHEMA_READER, 0},
    {"tracer_provider.tracer_configurator/development", SCHEMA_UNSUPPORTED,
     "not supported: select calls and GPU work under distribution.cuspan.capture"},

    {"tracer_provider.processors[].batch", SCHEMA_READER, 0},
    {"tracer_provider.processors[].simple", SCHEMA_READER, 0},
    {BATCH ".exporter", SCHEMA_READER, 0},
    OTLP_KEYS(HTTP),
    OTLP_KEYS(GRPC),
    {BATCH ".exporter.otlp_file/development", SCHEMA_READER, 0},
    {BATCH ".exporter.otlp_file/development.output_stream", SCHEMA_READER, 0},
    {BATCH ".exporter.console", SCHEMA_READER, 0},

    {ROOT, SCHEMA_READER, 0},
    {ROOT ".always_on", SCHEMA_READER, 0},
    {ROOT ".always_off", SCHEMA_READER, 0},
    {ROOT ".trace_id_ratio_based", SCHEMA_READER, 0},
    {ROOT ".trace_id_ratio_based.ratio", SCHEMA_READER, 0},
    {ROOT ".parent_based", SCHEMA_READER, 0},
    {ROOT ".parent_based.root", SCHEMA_READER, 0},
    {ROOT ".parent_based.remote_parent_sampled", SCHEMA_READER, flag_decides},
    {ROOT ".parent_based.remote_parent_not_sampled", SCHEMA_READER, flag_decides},
    {ROOT ".parent_based.local_parent_sampled", SCHEMA_READER, flag_decides},
    {ROOT ".parent_based.local_parent_not_sampled", SCHEMA_READER, flag_decides},
    {ROOT ".always_record", SCHEMA_UNSUPPORTED, 0},
    {ROOT ".composite/development", SCHEMA_UNSUPPORTED, 0},
    {ROOT ".jaeger_remote/development", SCHEMA_UNSUPPORTED, 0},
    {ROOT ".probability/development", SCHEMA_READER, 0},
    {ROOT ".probability/development.ratio", SCHEMA_READER, 0},
};
const unsigned schema_key_count = sizeof schema_keys / sizeof *schema_keys;

static bool is_below(const char *path, const char *map)
{
    size_t length = strlen(map);
    return path && strncmp(path, map, length) == 0 && path[length] == '.';
}

const struct schema_key *schema_find(const char *path)
{
    static const struct schema_key map = {.kind = SCHEMA_MAP};
    bool is_map = false;
    for (unsigned i = 0; i < schema_key_count; i++) {
        if (strcmp(schema_keys[i].path, path) == 0)
            return &schema_keys[i];
        is_map |= is_below(schema_keys[i].path, path);
    }
    for (size_t i = 0; i < settings_count && !is_map; i++)
        is_map = is_below(settings_table[i].path, path);
    return is_map ? &map : NULL;
}
