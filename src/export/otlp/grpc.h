/* What a unary gRPC call needs beyond HTTP/2: the frame around a message, and its ways of writing texts. */
#ifndef CUSPAN_EXPORT_OTLP_GRPC_H
#define CUSPAN_EXPORT_OTLP_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRPC_PREFIX_BYTES 5
#define GRPC_TRACES_PATH  "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define GRPC_METRICS_PATH "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

void grpc_prefix(uint8_t prefix[GRPC_PREFIX_BYTES], bool compressed, uint32_t bytes);

/* The first message of a response; false when there is none, or none that we can read. */
bool grpc_unframe(const uint8_t *body, size_t body_bytes, const uint8_t **message, size_t *bytes);

/* The URL of the export call at an endpoint ("http://host:4317", "host:4317"; a path is left off). `insecure`
 * decides where no scheme does. `path`: one of the above. Allocated; NULL when there is no memory. */
char *grpc_url(const char *endpoint, bool insecure, const char *path);

/* The grpc-timeout header's value, rounded up to what eight digits can hold. */
void grpc_timeout(char *to, size_t size, uint64_t timeout_ns);

/* "UNAVAILABLE"; "code N" for an unknown one. The result may be in a static buffer of the thread. */
const char *grpc_code_name(long code);

/* Binary headers are base64, padded or not. False when malformed or too long. */
bool grpc_base64_decode(const char *from, uint8_t *to, size_t size, size_t *count);

#endif
