#include "agent/encode/wire.h"

#include "agent/encode/encoder.h"
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
static uint8_t *json_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
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

static uint8_t *json_put_span(uint8_t *to, uint8_t *end, const struct span *span,
                              const struct wire_limits *limits, const struct wire_part *shared)
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

static void put_resource_strings(struct json_text *text, const char *strings, size_t bytes_max)
{
    JSON_PUT(text, "{\"arrayValue\":{\"values\":[");
    for (const char *string = strings; *string && !text->full; string += strlen(string) + 1) {
        string == strings ? JSON_PUT(text, "{\"stringValue\":") : JSON_PUT(text, ",{\"stringValue\":");
        json_put_text(text, string, bytes_max);
        JSON_PUT(text, "}");
    }
    JSON_PUT(text, "]}}");
}

static void put_resource_items(struct json_text *text, const struct resource_attr *attr,
                               const struct wire_limits *limits)
{
    JSON_PUT(text, "{\"arrayValue\":{\"values\":[");
    for (size_t i = 0; i < attr->item_count && !text->full; i++) {
        struct span_attr item = {.type = attr->item_type == RESOURCE_BOOL ? ATTR_BOOL : ATTR_INT};
        if (attr->item_type == RESOURCE_DOUBLE) {
            item.type = ATTR_DOUBLE;
            item.d = attr->items[i].real;
        } else {
            item.i = attr->items[i].integer;
        }
        if (i)
            JSON_PUT(text, ",");
        json_put_value(text, &item, limits);
    }
    JSON_PUT(text, "]}}");
}

static void put_resource_value(struct json_text *text, const struct resource_attr *attr,
                               const struct wire_limits *limits)
{
    struct span_attr plain = {.type = ATTR_INT, .i = attr->integer};
    switch ((enum resource_value)attr->type) {
    case RESOURCE_INT:
        break;
    case RESOURCE_BOOL:
        plain.type = ATTR_BOOL;
        break;
    case RESOURCE_DOUBLE:
        plain.type = ATTR_DOUBLE;
        plain.d = attr->real;
        break;
    case RESOURCE_STRING:
        plain.type = ATTR_STRING;
        plain.s = attr->string;
        plain.len = (uint32_t)strlen(attr->string);
        break;
    case RESOURCE_STRING_ARRAY:
        put_resource_strings(text, attr->string, limits->string_bytes_max);
        return;
    case RESOURCE_ARRAY:
        put_resource_items(text, attr, limits);
        return;
    }
    json_put_value(text, &plain, limits);
}

/* Follows a resource's attributes, with a URL that may need escapes. */
#define BEHIND_RESOURCE 128
#define ESCAPED_MAX     6
static_assert(2 * (BEHIND_RESOURCE + ESCAPED_MAX * SCHEMA_URL_MAX) <= ENCODER_RESOURCE_BYTES_MAX,
              "the longest schema URL leaves room for attributes");

/* "resource":{...},"schemaUrl":"...","scopeSpans":[{, or scopeMetrics */
static uint8_t *json_put_resource(const struct wire *wire, uint8_t *to, uint8_t *end,
                                  const struct resource *resource, const char *schema_url,
                                  const struct wire_limits *limits)
{
    size_t behind = BEHIND_RESOURCE + ESCAPED_MAX * strlen(schema_url);
    if ((size_t)(end - to) < 2 * behind)
        return NULL;
    struct json_text text = {to, end - behind, false};
    uint32_t kept = 0, dropped = 0;
    JSON_PUT(&text, "\"resource\":{\"attributes\":[");
    for (size_t i = 0; i < resource->attr_count; i++) {
        uint8_t *before = text.p;
        kept ? JSON_PUT(&text, ",{\"key\":") : JSON_PUT(&text, "{\"key\":");
        json_put_text(&text, resource->attrs[i].key, limits->string_bytes_max);
        JSON_PUT(&text, ",\"value\":");
        put_resource_value(&text, &resource->attrs[i], limits);
        JSON_PUT(&text, "}");
        if (text.full) {
            text.p = before;
            text.full = false;
            dropped++;
        } else {
            kept++;
        }
    }
    text.end = end;
    JSON_PUT(&text, "]");
    json_put_count(&text, ",\"droppedAttributesCount\":", dropped);
    JSON_PUT(&text, "},\"schemaUrl\":");
    json_put_text(&text, schema_url, SPAN_STRING_MAX);
    json_put_bytes(&text, wire->open_scopes, strlen(wire->open_scopes));
    return text.full ? NULL : text.p;
}

/* "scope":{...},"schemaUrl":"...","spans":[, or metrics */
static uint8_t *json_put_scope(const struct wire *wire, uint8_t *to, uint8_t *end, const char *name,
                               const char *version, const char *schema_url)
{
    struct json_text text = {to, end, false};
    JSON_PUT(&text, "\"scope\":{\"name\":");
    json_put_text(&text, name, SPAN_STRING_MAX);
    JSON_PUT(&text, ",\"version\":");
    json_put_text(&text, version, SPAN_STRING_MAX);
    JSON_PUT(&text, "},\"schemaUrl\":");
    json_put_text(&text, schema_url, SPAN_STRING_MAX);
    json_put_bytes(&text, wire->open_items, strlen(wire->open_items));
    return text.full ? NULL : text.p;
}

#define OPEN_SPANS   "{\"resourceSpans\":[{"
#define OPEN_METRICS "{\"resourceMetrics\":[{"
static_assert(sizeof OPEN_SPANS <= WIRE_HEAD_BYTES_MAX && sizeof OPEN_METRICS <= WIRE_HEAD_BYTES_MAX,
              "room in front of the parts");

/* The '[' that ends the scope's part takes the place of the first span's comma. */
static uint8_t *json_put_head(const struct wire *wire, uint8_t *at, const struct wire_part *resource,
                              const struct wire_part *scope, uint64_t span_bytes, bool first)
{
    const char *open = first ? wire->open_request : ",{";
    size_t open_len = strlen(open);
    uint8_t *head = at + 1 - scope->len - resource->len - open_len;
    memcpy(head, open, open_len);
    memcpy(head + open_len, resource->bytes, resource->len);
    memcpy(head + open_len + resource->len, scope->bytes, scope->len);
    return head;
}

static size_t json_put_tail(uint8_t *at, bool last)
{
    static const char close[] = "]}]}]}";
    static_assert(sizeof close - 1 <= WIRE_TAIL_BYTES_MAX, "room behind the last span");
    size_t len = last ? 6 : 4;
    memcpy(at, close, len);
    return len;
}

const struct wire wire_json = {
    .put_span = json_put_span,
    .put_shared = json_put_shared,
    .put_resource = json_put_resource,
    .put_scope = json_put_scope,
    .put_head = json_put_head,
    .put_tail = json_put_tail,
    .open_request = OPEN_SPANS,
    .open_scopes = ",\"scopeSpans\":[{",
    .open_items = ",\"spans\":[",
};

const struct wire wire_json_metrics = {
    .put_metric = json_put_metric,
    .put_resource = json_put_resource,
    .put_scope = json_put_scope,
    .put_head = json_put_head,
    .put_tail = json_put_tail,
    .open_request = OPEN_METRICS,
    .open_scopes = ",\"scopeMetrics\":[{",
    .open_items = ",\"metrics\":[",
};
