/* A collector's response: ExportTraceServiceResponse, ExportMetricsServiceResponse (with the same field
 * numbers), or google.rpc.Status with RetryInfo. Parsed from protobuf here, from JSON in the export module.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_response {
    uint64_t rejected_spans; /* or data points */
    int32_t code;            /* of google.rpc.Status */
    bool has_retry_delay;
    uint64_t retry_delay_ns;
    char message[512]; /* not sanitized; NUL-terminated, truncated */
};

/* Both fill a zeroed struct and return false if the bytes are not well-formed protobuf. */
bool otlp_response_read_export(const uint8_t *bytes, size_t count, struct otlp_response *response);
bool otlp_response_read_status(const uint8_t *bytes, size_t count, struct otlp_response *response);
