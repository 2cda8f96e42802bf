#include "config/schema.h"

#include <string.h>

#define BATCH "tracer_provider.processors[].batch"
#define HTTP  BATCH ".exporter.otlp_http"
#define GRPC  BATCH ".exporter.otlp_grpc"
#define ROOT  "tracer_provider.sampler"

static const char own_limit[] =
    "not supported: cuspan splits requests below 20 MiB and reads answers up to 4 MiB";
static const char flag_decides[] = "not supported: a parent's sampled flag decides";

const struct schema_key schema_keys[] = {
    {"file_format", SCHEMA_READER, 0},
    {"logger_provider", SCHEMA_IGNORED, 0},
    {"propagator", SCHEMA_IGNORED, 0},
    {"instrumentation/development", SCHEMA_IGNORED, 0},
    {"meter_provider", SCHEMA_UNSUPPORTED, "not supported: cuspan sends no metrics"},
    {"distribution", SCHEMA_READER, 0},
    {"distribution.cuspan", SCHEMA_MAP, 0},
    {"distribution.cuspan.capture", SCHEMA_MAP, 0},
    {"distribution.cuspan.capture.calls", SCHEMA_MAP, 0},
    {"distribution.cuspan.capture.activities", SCHEMA_MAP, 0},
    {"distribution.cuspan.capture.kernels", SCHEMA_MAP, 0},
    {"distribution.cuspan.cupti", SCHEMA_MAP, 0},
    {"distribution.cuspan.rings", SCHEMA_MAP, 0},
    {"distribution.cuspan.correlation", SCHEMA_MAP, 0},
    {"distribution.cuspan.session", SCHEMA_MAP, 0},
    {"distribution.cuspan.summary", SCHEMA_MAP, 0},
    {"distribution.cuspan.sampling", SCHEMA_MAP, 0},
    {"distribution.cuspan.control", SCHEMA_MAP, 0},
    {"distribution.cuspan.spool", SCHEMA_MAP, 0},

    {"resource", SCHEMA_READER, 0},
    {"resource.attributes", SCHEMA_READER, 0},
    {"resource.attributes_list", SCHEMA_READER, 0},
    {"resource.detection/development", SCHEMA_MAP, 0},
    {"resource.detection/development.detectors", SCHEMA_IGNORED, 0},
    {"resource.detection/development.attributes", SCHEMA_UNSUPPORTED,
     "not supported: all attributes that cuspan finds out are sent"},

    {"attribute_limits", SCHEMA_MAP, 0},
    {"attribute_limits.attribute_value_depth_limit", SCHEMA_IGNORED, 0}, /* no attribute of ours is nested */

    {"tracer_provider", SCHEMA_READER, 0},
    {"tracer_provider.processors", SCHEMA_READER, 0},
    {"tracer_provider.limits", SCHEMA_MAP, 0},
    {"tracer_provider.limits.attribute_value_depth_limit", SCHEMA_IGNORED, 0},
    {"tracer_provider.limits.event_attribute_count_limit", SCHEMA_IGNORED, 0}, /* ours have six at most */
    {"tracer_provider.limits.link_attribute_count_limit", SCHEMA_IGNORED, 0},
    {"tracer_provider.id_generator", SCHEMA_READER, 0},
    {"tracer_provider.tracer_configurator/development", SCHEMA_UNSUPPORTED,
     "not supported: choose what is traced under distribution.cuspan.capture"},

    {"tracer_provider.processors[].batch", SCHEMA_READER, 0},
    {"tracer_provider.processors[].simple", SCHEMA_READER, 0},
    {BATCH ".exporter", SCHEMA_READER, 0},
    {HTTP, SCHEMA_READER, 0},
    {HTTP ".tls", SCHEMA_MAP, 0},
    {HTTP ".headers", SCHEMA_READER, 0},
    {HTTP ".headers_list", SCHEMA_READER, 0},
    {HTTP ".max_request_size", SCHEMA_UNSUPPORTED, own_limit},
    {HTTP ".max_response_size", SCHEMA_UNSUPPORTED, own_limit},
    {GRPC, SCHEMA_READER, 0},
    {GRPC ".tls", SCHEMA_MAP, 0},
    {GRPC ".headers", SCHEMA_READER, 0},
    {GRPC ".headers_list", SCHEMA_READER, 0},
    {GRPC ".max_request_size", SCHEMA_UNSUPPORTED, own_limit},
    {GRPC ".max_response_size", SCHEMA_UNSUPPORTED, own_limit},
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

const struct schema_key *schema_find(const char *path)
{
    for (unsigned i = 0; i < schema_key_count; i++) {
        if (strcmp(schema_keys[i].path, path) == 0)
            return &schema_keys[i];
    }
    return 0;
}
