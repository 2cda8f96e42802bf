#include "agent/export/otlp/probe.h"

#include "base/clock.h"
#include "base/text/sanitize.h"
#include "agent/export/compress/compress.h"
#include "agent/export/otlp/grpc.h"
#include "agent/export/otlp/headers.h"
#include "agent/export/otlp/transport.h"
#include "agent/export/otlp/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status probe_pack(enum compression compression, const char *body, uint8_t packed[PROBE_BYTES_MAX],
                       size_t *packed_bytes)
{
    const struct codec *codec = compress_codec(compression);
    struct chunk *chunk = calloc(1, sizeof *chunk);
    void *state = NULL;
    enum status status = chunk ? STATUS_OK : STATUS_NO_MEMORY;
    if (status == STATUS_OK && codec)
        status = codec->create(codec->level_default, &state);
    if (status == STATUS_OK) {
        chunk->end = (uint32_t)strlen(body);
        memcpy(codec ? chunk->data : packed, body, chunk->end);
        *packed_bytes = chunk->end;
    }
    if (status == STATUS_OK && codec) {
        status = codec->compress(state, chunk, packed, PROBE_BYTES_MAX, packed_bytes);
        codec->destroy(state);
    }
    free(chunk);
    return status;
}

static bool is_json(const struct exporter_settings *exporter)
{
    return exporter->kind == EXPORTER_OTLP_HTTP && exporter->encoding == ENCODING_JSON;
}

static const char *encoding_of(const struct exporter_settings *exporter)
{
    const struct codec *codec = compress_codec(exporter->compression);
    return codec ? codec->encoding : NULL;
}

/* An ExportTraceServiceRequest without resource spans, which is empty in protobuf. NO_MEMORY. */
static enum status send_request(const struct exporter_settings *exporter, const struct transport *transport,
                                struct connection *connection, struct headers *headers,
                                struct transport_response *response)
{
    static const atomic_bool never = false;
    uint8_t body[GRPC_PREFIX_BYTES + PROBE_BYTES_MAX], *packed = body + GRPC_PREFIX_BYTES;
    size_t bytes, prefix = exporter->kind == EXPORTER_OTLP_GRPC ? GRPC_PREFIX_BYTES : 0;
    const char *text = is_json(exporter) ? "{\"resourceSpans\":[]}" : "";
    if (probe_pack(exporter->compression, text, packed, &bytes) != STATUS_OK)
        return STATUS_NO_MEMORY;
    grpc_prefix(body, exporter->compression != COMPRESSION_NONE, (uint32_t)bytes);
    uint64_t timeout_ms =
        exporter->timeout_ms && exporter->timeout_ms < PROBE_MS_MAX ? exporter->timeout_ms : PROBE_MS_MAX;
    const struct request_kind kind = {.grpc = exporter->kind == EXPORTER_OTLP_GRPC,
                                      .json = is_json(exporter),
                                      .encoding = encoding_of(exporter),
                                      .timeout_ns = timeout_ms * NS_PER_MS};
    struct iovec part = {.iov_base = packed - prefix, .iov_len = prefix + bytes};
    const struct transport_request request = {.headers = headers_for(headers, &kind),
                                              .parts = &part,
                                              .part_count = 1,
                                              .bytes = part.iov_len,
                                              .deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS,
                                              .aborted = &never};
    transport->connection_send(connection, &request, response);
    return STATUS_OK;
}

static void judge(const struct exporter_settings *exporter, const struct transport *transport,
                  const struct headers *headers, const struct transport_response *response,
                  struct doctor_answer *answer)
{
    struct verdict verdict;
    const char *encoding = encoding_of(exporter);
    if (exporter->kind == EXPORTER_OTLP_GRPC)
        verdict_grpc(response, encoding, &verdict);
    else
        verdict_http(transport, response, encoding, &verdict);
    answer->is_answered = true;
    answer->is_accepted = verdict.kind == VERDICT_ACCEPTED;
    snprintf(answer->status, sizeof answer->status, "%s", verdict.status);
    if (verdict.hint)
        snprintf(answer->hint, sizeof answer->hint, "%s", verdict.hint);
    headers_sanitize(headers, answer->message, sizeof answer->message, verdict.message);
}

void probe_collector(const struct exporter_settings *exporter, const char *module_path,
                     struct doctor_answer *answer)
{
    const struct transport *transport;
    struct connection *connection = NULL;
    struct transport_options options = {0};
    struct transport_response response = {0};
    struct headers headers = {0};
    struct error err = {""};
    *answer = (struct doctor_answer){0};
    answer->has_module = transport_load(module_path, &transport, &err) == STATUS_OK;
    if (!answer->has_module) {
        snprintf(answer->error, sizeof answer->error, "%s", err.text);
        return;
    }
    enum status status = headers_init(&headers, exporter, NULL);
    if (status == STATUS_OK)
        status = transport_options_init(&options, exporter, SIGNAL_TRACES);
    if (status == STATUS_OK)
        status = transport->connection_create(&options, &connection);
    uint64_t begin_ns = clock_monotonic_ns();
    if (status == STATUS_OK)
        status = send_request(exporter, transport, connection, &headers, &response);
    answer->took_ns = clock_monotonic_ns() - begin_ns;
    if (status != STATUS_OK)
        snprintf(answer->error, sizeof answer->error, "out of memory");
    else if (response.result == TRANSPORT_ANSWERED)
        judge(exporter, transport, &headers, &response, answer);
    else
        headers_sanitize(&headers, answer->error, sizeof answer->error, response.error);
    if (connection)
        transport->connection_destroy(connection);
    transport_options_free(&options);
    headers_deinit(&headers);
}
