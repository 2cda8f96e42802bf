#include "export/otlp/probe.h"

#include "base/clock.h"
#include "base/text/sanitize.h"
#include "export/otlp/grpc.h"
#include "export/otlp/headers.h"
#include "export/otlp/transport.h"
#include "export/otlp/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BODY_BYTES_MAX 64

static uint32_t crc32_of(const uint8_t *bytes, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static size_t put_number(uint8_t *to, uint32_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(number >> 8 * i);
    return bytes;
}

/* RFC 1952 around one stored block of RFC 1951. */
static size_t pack_gzip(const uint8_t *body, size_t count, uint8_t *packed)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    size_t used = sizeof header;
    memcpy(packed, header, used);
    packed[used++] = 1; /* the last block, stored */
    used += put_number(packed + used, (uint32_t)count, 2);
    used += put_number(packed + used, ~(uint32_t)count, 2);
    if (count)
        memcpy(packed + used, body, count);
    used += count;
    used += put_number(packed + used, crc32_of(body, count), 4);
    return used + put_number(packed + used, (uint32_t)count, 4);
}

/* RFC 8878: a single segment with a one-byte size and one raw block. */
static size_t pack_zstd(const uint8_t *body, size_t count, uint8_t *packed)
{
    size_t used = put_number(packed, 0xfd2fb528u, 4);
    packed[used++] = 0x20;
    packed[used++] = (uint8_t)count;
    used += put_number(packed + used, (uint32_t)count << 3 | 1, 3);
    if (count)
        memcpy(packed + used, body, count);
    return used + count;
}

size_t probe_pack(enum compression compression, const uint8_t *body, size_t body_bytes, uint8_t *packed)
{
    if (compression == COMPRESSION_GZIP)
        return pack_gzip(body, body_bytes, packed);
    if (compression == COMPRESSION_ZSTD)
        return pack_zstd(body, body_bytes, packed);
    if (body_bytes)
        memcpy(packed, body, body_bytes);
    return body_bytes;
}

/* An ExportTraceServiceRequest without resource spans, which is empty in protobuf. */
static size_t make_body(const struct exporter_settings *exporter, uint8_t body[BODY_BYTES_MAX])
{
    bool is_json = exporter->kind == EXPORTER_OTLP_HTTP && exporter->encoding == ENCODING_JSON;
    bool is_grpc = exporter->kind == EXPORTER_OTLP_GRPC;
    const char *text = is_json ? "{\"resourceSpans\":[]}" : "";
    size_t prefix = is_grpc ? GRPC_PREFIX_BYTES : 0;
    size_t bytes = probe_pack(exporter->compression, (const uint8_t *)text, strlen(text), body + prefix);
    if (is_grpc)
        grpc_prefix(body, exporter->compression != COMPRESSION_NONE, (uint32_t)bytes);
    return prefix + bytes;
}

static const char *encoding_of(const struct exporter_settings *exporter)
{
    return exporter->compression == COMPRESSION_GZIP   ? "gzip"
           : exporter->compression == COMPRESSION_ZSTD ? "zstd"
                                                       : NULL;
}

static void send_request(const struct exporter_settings *exporter, const struct transport *transport,
                         struct connection *connection, struct headers *headers,
                         struct transport_response *response)
{
    uint8_t body[BODY_BYTES_MAX];
    static const atomic_bool never = false;
    uint64_t timeout_ms =
        exporter->timeout_ms && exporter->timeout_ms < PROBE_MS_MAX ? exporter->timeout_ms : PROBE_MS_MAX;
    const struct request_kind kind = {.grpc = exporter->kind == EXPORTER_OTLP_GRPC,
                                      .json = exporter->kind == EXPORTER_OTLP_HTTP &&
                                              exporter->encoding == ENCODING_JSON,
                                      .encoding = encoding_of(exporter),
                                      .timeout_ns = timeout_ms * NS_PER_MS};
    struct iovec part = {.iov_base = body, .iov_len = make_body(exporter, body)};
    const struct transport_request request = {.headers = headers_for(headers, &kind),
                                              .parts = &part,
                                              .part_count = 1,
                                              .bytes = part.iov_len,
                                              .deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS,
                                              .aborted = &never};
    transport->connection_send(connection, &request, response);
}

static void judge(const struct exporter_settings *exporter, const struct transport *transport,
                  const struct headers *headers, const struct transport_response *response,
                  struct doctor_answer *answer)
{
    struct verdict verdict;
    const char *encoding = encoding_of(exporter);
    if (exporter->kind == EXPORTER_OTLP_GRPC)
        verdict_grpc(response, encoding, (int64_t)time(NULL), &verdict);
    else
        verdict_http(transport, response, encoding, (int64_t)time(NULL), &verdict);
    answer->is_answered = true;
    answer->is_accepted = verdict.kind == VERDICT_ACCEPTED;
    snprintf(answer->status, sizeof answer->status, "%s", verdict.status);
    if (verdict.hint)
        snprintf(answer->hint, sizeof answer->hint, "%s", verdict.hint);
    if (secrets_leak(&headers->secrets, verdict.message))
        snprintf(answer->message, sizeof answer->message, "(message not shown: it contains a secret)");
    else
        sanitize_line(answer->message, sizeof answer->message, verdict.message, strlen(verdict.message));
}

static enum status connect_to(const struct exporter_settings *exporter, const struct transport *transport,
                              struct connection **connection)
{
    bool is_grpc = exporter->kind == EXPORTER_OTLP_GRPC;
    char *url = is_grpc ? grpc_url(exporter->endpoint, exporter->insecure, GRPC_TRACES_PATH)
                        : strdup(exporter->endpoint);
    if (!url)
        return STATUS_NO_MEMORY;
    const struct transport_options options = {.url = url,
                                              .ca_file = exporter->ca_file,
                                              .client_certificate_file = exporter->client_certificate_file,
                                              .client_key_file = exporter->client_key_file,
                                              .verify = exporter->verify,
                                              .http2 = is_grpc};
    enum status status = transport->connection_create(&options, connection);
    free(url);
    return status;
}

void probe_collector(const struct exporter_settings *exporter, const char *module_path,
                     struct doctor_answer *answer)
{
    const struct transport *transport;
    struct connection *connection = NULL;
    struct headers headers = {0};
    struct error err = {""};
    *answer = (struct doctor_answer){0};
    answer->has_module = transport_load(module_path, &transport, &err) == STATUS_OK;
    if (!answer->has_module) {
        snprintf(answer->error, sizeof answer->error, "%s", err.text);
        return;
    }
    if (headers_init(&headers, exporter, NULL) == STATUS_OK &&
        connect_to(exporter, transport, &connection) == STATUS_OK) {
        struct transport_response response = {0};
        uint64_t begin_ns = clock_monotonic_ns();
        send_request(exporter, transport, connection, &headers, &response);
        answer->took_ns = clock_monotonic_ns() - begin_ns;
        if (response.result == TRANSPORT_ANSWERED)
            judge(exporter, transport, &headers, &response, answer);
        else
            snprintf(answer->error, sizeof answer->error, "%s", response.error);
        transport->connection_destroy(connection);
    } else {
        snprintf(answer->error, sizeof answer->error, "out of memory");
    }
    headers_deinit(&headers);
}
