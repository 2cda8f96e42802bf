/* Requirements of a unary gRPC call beyond HTTP/2: message framing, URLs, and header encodings, of which URLs
 * have one, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRPC_PREFIX_BYTES 5
#define GRPC_TRACES_PATH  "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define GRPC_LOGS_PATH    "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
#define GRPC_METRICS_PATH "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

void grpc_prefix(uint8_t prefix[GRPC_PREFIX_BYTES], bool compressed, uint32_t bytes);

/* The first message of a response. False if there is none or it is compressed. */
bool grpc_unframe(const uint8_t *body, size_t body_bytes, const uint8_t **message, size_t *bytes);

/* The URL of the export method at an endpoint ("http://host:4317", "host:4317"; a path is ignored).
 * `insecure` applies if there is no scheme. `path`: one of the above. The caller frees the result; NULL: no
 * memory. */
char *grpc_url(const char *endpoint, bool insecure, const char *path);

/* The value of the grpc-timeout header, at most eight digits, rounded up. */
void grpc_timeout(char *to, size_t size, uint64_t timeout_ns);

/* "UNAVAILABLE"; "code N" if unknown, in a static buffer of the thread. */
const char *grpc_code_name(long code);

/* Decodes a binary header: base64, with or without padding. False if malformed or too long. */
bool grpc_base64_decode(const char *from, uint8_t *to, size_t size, size_t *count);

/* Decodes percent-encoding: `bytes` of `from`, truncated to fit, and terminates it with NUL. Keeps a '%' that
 * is not followed by two hex digits; replaces NUL by '?'. Returns the number of decoded bytes. */
size_t percent_decode(char *to, size_t size, const char *from, size_t bytes);
