#include "agent/export/otlp/probe.h"

#include "base/clock.h"
#include "agent/export/compress/compress.h"
#include "agent/export/otlp/sender.h"

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

/* An ExportTraceServiceRequest without resource spans, which is empty in protobuf. False: no memory. */
static bool ask(const struct exporter_settings *exporter, struct output *sender, struct doctor_answer *answer)
{
    const struct codec *codec = compress_codec(exporter->compression);
    bool is_json = exporter->kind == EXPORTER_OTLP_HTTP && exporter->encoding == ENCODING_JSON;
    uint8_t packed[PROBE_BYTES_MAX];
    struct iovec parts[] = {{0}, {.iov_base = packed}};
    const struct request_body body = {.parts = parts,
                                      .part_count = 1,
                                      .encoding = codec ? codec->encoding : NULL,
                                      .format = is_json ? BATCH_JSON : BATCH_PROTOBUF};
    struct transport_response response;
    struct verdict verdict;
    if (probe_pack(exporter->compression, is_json ? "{\"resourceSpans\":[]}" : "", packed,
                   &parts[1].iov_len) != STATUS_OK)
        return false;
    uint64_t begin_ns = clock_monotonic_ns();
    if (!sender_ask(sender, &body, &response, &verdict))
        return false;
    answer->took_ns = clock_monotonic_ns() - begin_ns;
    answer->is_answered = response.result == TRANSPORT_ANSWERED;
    if (!answer->is_answered) {
        snprintf(answer->error, sizeof answer->error, "%s", response.error);
        return true;
    }
    answer->is_accepted = verdict.kind == VERDICT_ACCEPTED;
    snprintf(answer->status, sizeof answer->status, "%s", verdict.status);
    snprintf(answer->message, sizeof answer->message, "%s", verdict.message);
    if (verdict.hint)
        snprintf(answer->hint, sizeof answer->hint, "%s", verdict.hint);
    return true;
}

void probe_collector(const struct exporter_settings *exporter, const char *module_path,
                     struct doctor_answer *answer)
{
    const struct output_environment environment = {.module_path = module_path};
    struct output_settings settings = {.exporter = *exporter, .signal = SIGNAL_TRACES};
    const struct transport *transport;
    struct delivery_control control;
    struct output *sender;
    struct error err = {""};
    *answer = (struct doctor_answer){0};
    answer->has_module = transport_load(module_path, &transport, &err) == STATUS_OK;
    if (!answer->has_module) {
        snprintf(answer->error, sizeof answer->error, "%s", err.text);
        return;
    }
    if (!exporter->timeout_ms || exporter->timeout_ms > PROBE_MS_MAX)
        settings.exporter.timeout_ms = PROBE_MS_MAX;
    settings.exporter.compression = COMPRESSION_NONE; /* the body has it already */
    delivery_control_init(&control);
    bool has_asked = false;
    if (sender_create(&settings, &environment, &control, &sender) == STATUS_OK) {
        sender->open(sender);
        has_asked = ask(exporter, sender, answer);
        sender->destroy(sender);
    }
    if (!has_asked)
        snprintf(answer->error, sizeof answer->error, "out of memory");
    delivery_control_deinit(&control);
}
