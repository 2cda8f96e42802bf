#include "agent/encode/message.h"

static void put_ids(struct json_text *text, const struct span *span, const struct wire_limits *limits)
{
    static const uint8_t none[8];
    JSON_PUT(text, ",{\"traceId\":\"");
    json_put_hex(text, span->trace_id, sizeof span->trace_id);
    JSON_PUT(text, "\",\"spanId\":\"");
    json_put_hex(text, span->span_id, sizeof span->span_id);
    JSON_PUT(text, "\"");
    if (wire_text_len(span->trace_state)) {
        JSON_PUT(text, ",\"traceState\":");
        json_put_text(text, span->trace_state, limits->string_bytes_max);
    }
    if (memcmp(span->parent_span_id, none, sizeof none) != 0) {
        JSON_PUT(text, ",\"parentSpanId\":\"");
        json_put_hex(text, span->parent_span_id, sizeof span->parent_span_id);
        JSON_PUT(text, "\"");
    }
    json_put_count(text, ",\"flags\":", span->flags);
}

static void put_name(struct json_text *text, const char *name, uint32_t length,
                     const struct wire_limits *limits)
{
    JSON_PUT(text, ",\"name\":");
    json_put_string(text, name, length, UTF8_NO_LIMIT, limits->string_bytes_max);
}

/* Leaves the array of attributes open. */
uint8_t *json_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                         const struct wire_limits *limits)
{
    struct json_text text = {to, end, false};
    put_name(&text, shared->name, shared->name_len, limits);
    for (uint32_t i = 0; i < shared->attr_count && !text.full; i++)
        json_put_attr(&text, &shared->attrs[i], i == 0, limits);
    return text.full ? NULL : text.p;
}

static void put_name_and_attrs(struct json_text *text, const struct span *span,
                               const struct wire_limits *limits, const struct wire_part *shared)
{
    uint32_t kept = wire_smaller(span_attr_total(span), limits->attrs_max);
    uint32_t i = shared ? span_shared_count(span) : 0;
    if (shared)
        json_put_bytes(text, (const char *)shared->bytes, shared->len);
    else
        put_name(text, span->name, span->name_len, limits);
    for (; i < kept && !text->full; i++)
        json_put_attr(text, span_attr_at(span, i), i == 0, limits);
    if (kept)
        JSON_PUT(text, "]");
}

uint8_t *json_put_span(uint8_t *to, uint8_t *end, const struct span *span, const struct wire_limits *limits,
                       const struct wire_part *shared)
{
    struct message m = {{to, end, false}, .is_json = true, .needs_comma = true};
    struct json_text *text = &m.out;
    put_ids(text, span, limits);
    json_put_count(text, ",\"kind\":", span->kind);
    JSON_PUT(text, ",\"startTimeUnixNano\":\"");
    json_put_unsigned(text, span->start_ns);
    JSON_PUT(text, "\",\"endTimeUnixNano\":\"");
    json_put_unsigned(text, span->end_ns);
    JSON_PUT(text, "\"");
    put_name_and_attrs(text, span, limits, shared);
    if (span_has_details(span, limits))
        message_details(&m, span, limits);
    JSON_PUT(text, "}");
    return text->full ? NULL : text->p;
}
