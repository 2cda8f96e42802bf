#include "agent/config/file/file_reader.h"

#include "agent/config/table/settings_table.h"

#include <string.h>

#define BATCH "tracer_provider.processors[].batch"
#define HTTP  BATCH ".exporter.otlp_http"
#define GRPC  BATCH ".exporter.otlp_grpc"
#define ROOT  "tracer_provider.sampler"

#define READER "meter_provider.readers[].periodic"

/* The keys of both OTLP exporters that are not settings. An entry of `headers` replaces one of the same name
 * in the list. */
#define OTLP_KEYS(path)                                                                                      \
    {path ".headers", SCHEMA_READER, .read = read_headers, .is_last = true},                                 \
        {path ".headers_list", SCHEMA_READER, .read = read_headers_list},                                    \
        {path ".max_request_size", SCHEMA_UNSUPPORTED, .effect = own_limit},                                 \
    {                                                                                                        \
        path ".max_response_size", SCHEMA_UNSUPPORTED, .effect = own_limit                                   \
    }

/* The agent aggregates before any exporter, so these hold for files and the console, too. */
#define METRICS_KEYS(exporter)                                                                               \
    {READER ".exporter." exporter ".temporality_preference", SCHEMA_SETTING,                                 \
     .effect = READER ".exporter.otlp_http.temporality_preference"},                                         \
    {                                                                                                        \
        READER ".exporter." exporter ".default_histogram_aggregation", SCHEMA_SETTING,                       \
            .effect = READER ".exporter.otlp_http.default_histogram_aggregation"                             \
    }

static const char own_limit[] =
    "not supported: cuspan limits requests to 20 MiB and reads up to 4 MiB of a response";
static const char flag_decides[] = "not supported: cuspan follows the parent's sampled flag";

const struct schema_key schema_keys[] = {
    {"file_format", SCHEMA_READER, .read = read_file_format},
    {"logger_provider", .kind = SCHEMA_IGNORED},
    {"propagator", .kind = SCHEMA_IGNORED},
    {"instrumentation/development", .kind = SCHEMA_IGNORED},
    {"meter_provider.readers", SCHEMA_READER, .read = read_metric_readers},
    {"meter_provider.views", SCHEMA_READER, .read = read_views},
    {"meter_provider.meter_configurator/development", SCHEMA_UNSUPPORTED,
     .effect = "not supported: select metrics with views"},
    {READER ".max_export_batch_size/development", SCHEMA_UNSUPPORTED,
     .effect = "not used: cuspan splits requests of metrics by their size in bytes"},
    {READER ".producers", SCHEMA_UNSUPPORTED, .effect = "not supported: cuspan sends only its own metrics"},
    {READER ".cardinality_limits", SCHEMA_UNSUPPORTED, .effect = "not supported: cuspan has its own limits"},
    OTLP_KEYS(READER ".exporter.otlp_http"),
    OTLP_KEYS(READER ".exporter.otlp_grpc"),
    {READER ".exporter.otlp_file/development.output_stream", SCHEMA_READER, .read = read_output_stream},
    METRICS_KEYS("otlp_file/development"),
    METRICS_KEYS("console"),

    {"distribution", SCHEMA_READER, .read = read_distribution},
    {"resource.attributes", SCHEMA_READER, .read = read_attributes},
    /* adds only what `attributes` does not have */
    {"resource.attributes_list", SCHEMA_READER, .read = read_attributes_list, .is_last = true},
    {"resource.detection/development.detectors", .kind = SCHEMA_IGNORED},
    {"resource.detection/development.attributes", SCHEMA_UNSUPPORTED,
     .effect = "not supported: cuspan sends all detected attributes"},
    /* cuspan has no nested attributes */
    {"attribute_limits.attribute_value_depth_limit", .kind = SCHEMA_IGNORED},

    /* its limits take precedence over attribute_limits */
    {"tracer_provider", SCHEMA_READER, .read = read_tracer_provider, .is_last = true},
    {"tracer_provider.processors", SCHEMA_READER, .read = read_processors},
    {"tracer_provider.limits.attribute_value_depth_limit", .kind = SCHEMA_IGNORED},
    /* cuspan's have at most six */
    {"tracer_provider.limits.event_attribute_count_limit", .kind = SCHEMA_IGNORED},
    {"tracer_provider.limits.link_attribute_count_limit", .kind = SCHEMA_IGNORED},
    {"tracer_provider.id_generator", SCHEMA_READER, .read = read_id_generator},
    {"tracer_provider.tracer_configurator/development", SCHEMA_UNSUPPORTED,
     .effect = "not supported: select calls and GPU work under distribution.cuspan.capture"},

    {"tracer_provider.processors[].simple", .kind = SCHEMA_READER},
    OTLP_KEYS(HTTP),
    OTLP_KEYS(GRPC),
    {BATCH ".exporter.otlp_file/development.output_stream", SCHEMA_READER, .read = read_output_stream},

    {ROOT, SCHEMA_READER, .read = read_root_sampler},
    {ROOT ".always_on", .kind = SCHEMA_READER},
    {ROOT ".always_off", .kind = SCHEMA_READER},
    {ROOT ".trace_id_ratio_based.ratio", .kind = SCHEMA_READER},
    {ROOT ".parent_based.root", .kind = SCHEMA_READER},
    {ROOT ".parent_based.remote_parent_sampled", SCHEMA_READER, .effect = flag_decides},
    {ROOT ".parent_based.remote_parent_not_sampled", SCHEMA_READER, .effect = flag_decides},
    {ROOT ".parent_based.local_parent_sampled", SCHEMA_READER, .effect = flag_decides},
    {ROOT ".parent_based.local_parent_not_sampled", SCHEMA_READER, .effect = flag_decides},
    {ROOT ".always_record", .kind = SCHEMA_UNSUPPORTED},
    {ROOT ".composite/development", .kind = SCHEMA_UNSUPPORTED},
    {ROOT ".jaeger_remote/development", .kind = SCHEMA_UNSUPPORTED},
    {ROOT ".probability/development.ratio", .kind = SCHEMA_READER},
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
    for (unsigned i = 0; i < schema_key_count + view_key_count; i++) {
        const struct schema_key *key =
            i < schema_key_count ? &schema_keys[i] : &view_keys[i - schema_key_count];
        if (strcmp(key->path, path) == 0)
            return key;
        is_map |= is_below(key->path, path);
    }
    for (size_t i = 0; i < settings_count && !is_map; i++)
        is_map = is_below(settings_table[i].path, path);
    return is_map ? &map : NULL;
}
