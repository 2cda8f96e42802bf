#include "agent/encode/log_encoder.h"

#include "agent/encode/message.h"
#include "base/accounting/counters.h"

static const struct wire_limits no_limits = {
    .value_chars_max = UINT32_MAX, .string_bytes_max = CHUNK_BYTES, .attrs_max = SPAN_ATTRS_MAX};

/* The parts of the resource and the scope, without the names of the lists that follow them. */
static const struct wire parts_in_json = {.is_json = true, .open_scopes = "", .open_items = ""};

static const struct wire *wire_of(const struct log_encoder *encoder)
{
    return encoder->is_json ? &parts_in_json : &wire_protobuf;
}

void log_encoder_init(struct log_encoder *encoder, bool is_json, struct chunk_pool *pool,
                      const char *scope_name, const char *scope_version)
{
    *encoder = (struct log_encoder){.is_json = is_json, .pool = pool};
    const uint8_t *end =
        wire_put_scope(wire_of(encoder), encoder->scope, encoder->scope + sizeof encoder->scope, scope_name,
                       scope_version, ENCODER_SCHEMA_URL);
    encoder->scope_bytes = end ? (size_t)(end - encoder->scope) : 0;
}

void log_encoder_set_resource(struct log_encoder *encoder, const struct resource *resource)
{
    static const struct wire_limits limits = {.value_chars_max = UINT32_MAX,
                                              .string_bytes_max = ENCODER_RESOURCE_STRING_MAX,
                                              .attrs_max = UINT32_MAX};
    const char *url = resource->schema_url ? resource->schema_url : ENCODER_SCHEMA_URL;
    const uint8_t *end =
        wire_put_resource(wire_of(encoder), encoder->resource, encoder->resource + ENCODER_RESOURCE_BYTES_MAX,
                          resource, url, &limits);
    encoder->resource_bytes = end ? (size_t)(end - encoder->resource) : 0;
}

/* Fields that are encoded already. */
static void put_part(struct message *m, const uint8_t *part, size_t bytes)
{
    json_put_bytes(&m->out, part, bytes);
    m->needs_comma = bytes > 0;
}

static const char *severity_name(enum log_severity severity)
{
    return severity >= LOG_SEVERITY_ERROR ? "ERROR" : severity >= LOG_SEVERITY_WARN ? "WARN" : "INFO";
}

static void put_record(struct message *m, const struct log_record *record)
{
    uint8_t *body = message_open(m, 2, NULL);
    message_number(m, 1, "timeUnixNano", MESSAGE_FIXED64, (int64_t)record->time_ns);
    message_number(m, 11, "observedTimeUnixNano", MESSAGE_FIXED64, (int64_t)record->time_ns);
    message_number(m, 2, "severityNumber", MESSAGE_INT32, record->severity);
    message_string(m, 3, "severityText", severity_name(record->severity), SPAN_STRING_MAX);
    message_string(m, 12, "eventName", record->event_name, SPAN_STRING_MAX);
    uint8_t *value = message_open(m, 5, "body");
    message_text(m, 1, "stringValue", record->body, strlen(record->body), CHUNK_BYTES);
    message_close(m, value);
    message_attrs(m, 6, record->attrs, record->attr_count, &no_limits);
    message_close(m, body);
}

static void put_request(struct message *m, const struct log_encoder *encoder, const struct log_record *record)
{
    if (encoder->is_json)
        JSON_PUT(&m->out, "{");
    message_open_list(m, "resourceLogs");
    uint8_t *group = message_open(m, 1, NULL);
    put_part(m, encoder->resource, encoder->resource_bytes);
    message_open_list(m, "scopeLogs");
    uint8_t *scope = message_open(m, 2, NULL);
    put_part(m, encoder->scope, encoder->scope_bytes);
    message_open_list(m, "logRecords");
    put_record(m, record);
    message_close_list(m);
    message_close(m, scope);
    message_close_list(m);
    message_close(m, group);
    message_close_list(m);
    if (encoder->is_json)
        JSON_PUT(&m->out, "}");
}

struct batch *log_encoder_make(const struct log_encoder *encoder, const struct log_record *record)
{
    struct chunk *chunk = chunk_take(encoder->pool);
    if (!chunk)
        return NULL;
    chunk->begin = sizeof(struct batch);
    struct message m = {
        {chunk->data + chunk->begin, chunk->data + CHUNK_BYTES, false}, encoder->is_json, false};
    put_request(&m, encoder, record);
    if (m.out.full) {
        chunk_give_back(encoder->pool, chunk);
        return NULL;
    }
    chunk->end = (uint32_t)(m.out.p - chunk->data);
    struct batch *batch = (struct batch *)(void *)chunk->data;
    *batch = (struct batch){.pool = encoder->pool,
                            .chunks = chunk,
                            .bytes = chunk->end - chunk->begin,
                            .spans = 1,
                            .format = encoder->is_json ? BATCH_JSON : BATCH_PROTOBUF};
    counter_add(COUNTER_bytes_encoded, batch->bytes);
    return batch;
}
