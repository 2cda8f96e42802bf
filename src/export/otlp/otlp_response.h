/* What a collector says about a request: ExportTraceServiceResponse, its like for metrics
 * (which has the same numbers), or google.rpc.Status with its RetryInfo.
 * Read from protobuf here, from JSON in the module. */
#ifndef CUSPAN_EXPORT_OTLP_OTLP_RESPONSE_H
#define CUSPAN_EXPORT_OTLP_OTLP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_response {
    uint64_t rejected_spans; /* or data points */
    int32_t code;            /* of google.rpc.Status */
    bool has_retry_delay;
    uint64_t retry_delay_ns;
    char message[512]; /* as it came: unchecked bytes, NUL-terminated and cut */
};

/* Both fill a zeroed struct and return false when the bytes aren't well-formed protobuf. */
bool otlp_read_export_response(const uint8_t *bytes, size_t count, struct otlp_response *response);
bool otlp_read_rpc_status(const uint8_t *bytes, size_t count, struct otlp_response *response);

#endif
