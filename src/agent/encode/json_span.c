#include "agent/encode/json_text.h"

static void put_events(struct json_text *text, const struct span *span, const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(span->event_count, limits->events_max);
    for (uint32_t i = 0; i < kept && !text->full; i++) {
        const struct span_event *event = &span->events[i];
        i ? JSON_PUT(text, ",{\"timeUnixNano\":\"") : JSON_PUT(text, ",\"events\":[{\"timeUnixNano\":\"");
        json_put_unsigned(text, event->time_ns);
        JSON_PUT(text, "\",\"name\":");
        json_put_text(text, event->name, limits->string_bytes_max);
        json_put_attrs(text, event->attrs, event->attr_count, limits);
        JSON_PUT(text, "}");
    }
    if (kept)
        JSON_PUT(text, "]");
    json_put_count(text, ",\"droppedEventsCount\":", span->events_dropped + (span->event_count - kept));
}

static void put_context(struct json_text *text, const uint8_t trace_id[16], const uint8_t span_id[8],
                        const char *trace_state, const struct wire_limits *limits)
{
    JSON_PUT(text, "\"traceId\":\"");
    json_put_hex(text, trace_id, 16);
    JSON_PUT(text, "\",\"spanId\":\"");
    json_put_hex(text, span_id, 8);
    JSON_PUT(text, "\"");
    if (trace_state && *trace_state) {
        JSON_PUT(text, ",\"traceState\":");
        json_put_text(text, trace_state, limits->string_bytes_max);
    }
}

static void put_links(struct json_text *text, const struct span *span, const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(span->link_count, limits->links_max);
    for (uint32_t i = 0; i < kept && !text->full; i++) {
        const struct span_link *link = &span->links[i];
        i ? JSON_PUT(text, ",{") : JSON_PUT(text, ",\"links\":[{");
        put_context(text, link->trace_id, link->span_id, link->trace_state, limits);
        json_put_attrs(text, &link->attr, link->attr.key != NULL, limits);
        json_put_count(text, ",\"flags\":", link->flags);
        JSON_PUT(text, "}");
    }
    if (kept)
        JSON_PUT(text, "]");
    json_put_count(text, ",\"droppedLinksCount\":", span->link_count - kept);
}

static void put_status(struct json_text *text, const struct span *span, const struct wire_limits *limits)
{
    bool message = span->status_message && *span->status_message;
    if (span->status == SPAN_STATUS_UNSET && !span->status_message)
        return;
    JSON_PUT(text, ",\"status\":{");
    if (message) {
        JSON_PUT(text, "\"message\":");
        json_put_text(text, span->status_message, limits->string_bytes_max);
    }
    json_put_count(text, message ? ",\"code\":" : "\"code\":", span->status);
    JSON_PUT(text, "}");
}

static void put_ids(struct json_text *text, const struct span *span, const struct wire_limits *limits)
{
    static const uint8_t none[8];
    JSON_PUT(text, ",{");
    put_context(text, span->trace_id, span->span_id, span->trace_state, limits);
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
    uint32_t total = span_attr_total(span), kept = wire_smaller(total, limits->attrs_max);
    uint32_t i = shared ? span_shared_count(span) : 0;
    if (shared)
        json_put_bytes(text, (const char *)shared->bytes, shared->len);
    else
        put_name(text, span->name, span->name_len, limits);
    for (; i < kept && !text->full; i++)
        json_put_attr(text, span_attr_at(span, i), i == 0, limits);
    if (kept)
        JSON_PUT(text, "]");
    json_put_count(text, ",\"droppedAttributesCount\":", span->attrs_dropped + (total - kept));
}

uint8_t *json_put_span(uint8_t *to, uint8_t *end, const struct span *span, const struct wire_limits *limits,
                       const struct wire_part *shared)
{
    struct json_text text = {to, end, false};
    put_ids(&text, span, limits);
    json_put_count(&text, ",\"kind\":", span->kind);
    JSON_PUT(&text, ",\"startTimeUnixNano\":\"");
    json_put_unsigned(&text, span->start_ns);
    JSON_PUT(&text, "\",\"endTimeUnixNano\":\"");
    json_put_unsigned(&text, span->end_ns);
    JSON_PUT(&text, "\"");
    put_name_and_attrs(&text, span, limits, shared);
    put_events(&text, span, limits);
    put_links(&text, span, limits);
    put_status(&text, span, limits);
    JSON_PUT(&text, "}");
    return text.full ? NULL : text.p;
}
