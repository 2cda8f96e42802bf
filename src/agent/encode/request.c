#include "agent/encode/encoder.h"
#include "agent/encode/message.h"
#include "agent/encode/protobuf.h"

/* Everything around the spans. Written once per request, and not optimized. */

/* The content of an AnyValue. */
static void put_item(struct message *m, enum resource_value type, const union resource_item *item,
                     size_t bytes_max)
{
    if (type == RESOURCE_STRING)
        message_text(m, 1, "stringValue", item->string, strlen(item->string), bytes_max);
    else if (type == RESOURCE_BOOL)
        message_number(m, 2, "boolValue", MESSAGE_BOOL, item->integer != 0);
    else if (type == RESOURCE_INT)
        message_number(m, 3, "intValue", MESSAGE_INT64, item->integer);
    else
        message_double(m, 4, "doubleValue", item->real);
}

static void put_value(struct message *m, const struct resource_attr *attr, size_t bytes_max)
{
    if (!attr->is_array) {
        put_item(m, attr->type, attr->items, bytes_max);
        return;
    }
    uint8_t *array = message_open(m, 5, "arrayValue");
    message_open_list(m, "values");
    for (size_t i = 0; i < attr->item_count && !m->out.full; i++) {
        uint8_t *item = message_open(m, 1, NULL);
        put_item(m, attr->type, &attr->items[i], bytes_max);
        message_close(m, item);
    }
    message_close_list(m);
    message_close(m, array);
}

static void put_attr(struct message *m, const struct resource_attr *attr, size_t bytes_max)
{
    uint8_t *pair = message_open(m, 1, NULL);
    message_string(m, 1, "key", attr->key, bytes_max);
    uint8_t *value = message_open(m, 2, "value");
    put_value(m, attr, bytes_max);
    message_close(m, value);
    message_close(m, pair);
}

/* Follows a resource's attributes, with a URL that may need escapes. */
#define BEHIND_RESOURCE 128
#define ESCAPED_MAX     6
static_assert(2 * (BEHIND_RESOURCE + ESCAPED_MAX * SCHEMA_URL_MAX) <= ENCODER_RESOURCE_BYTES_MAX,
              "the longest schema URL leaves room for attributes");

uint8_t *wire_put_resource(const struct wire *wire, uint8_t *to, uint8_t *end,
                           const struct resource *resource, const char *schema_url,
                           const struct wire_limits *limits)
{
    size_t behind = BEHIND_RESOURCE + ESCAPED_MAX * strlen(schema_url);
    if ((size_t)(end - to) < 2 * behind)
        return NULL;
    struct message m = {{to, end - behind, false}, wire->is_json, .needs_comma = false};
    uint32_t dropped = 0;
    uint8_t *body = message_open(&m, 1, "resource");
    message_open_list(&m, "attributes");
    for (size_t i = 0; i < resource->attr_count; i++) {
        struct message before = m;
        put_attr(&m, &resource->attrs[i], limits->string_bytes_max);
        if (!m.out.full)
            continue;
        m = before;
        dropped++;
    }
    m.out.end = end;
    message_close_list(&m);
    message_count(&m, 2, "droppedAttributesCount", dropped);
    message_close(&m, body);
    message_string(&m, 3, "schemaUrl", schema_url, limits->string_bytes_max);
    json_put_bytes(&m.out, wire->open_scopes, strlen(wire->open_scopes));
    return m.out.full ? NULL : m.out.p;
}

uint8_t *wire_put_scope(const struct wire *wire, uint8_t *to, uint8_t *end, const char *name,
                        const char *version, const char *schema_url)
{
    struct message m = {{to, end, false}, wire->is_json, .needs_comma = false};
    uint8_t *body = message_open(&m, 1, "scope");
    message_string(&m, 1, "name", name, SPAN_STRING_MAX);
    message_string(&m, 2, "version", version, SPAN_STRING_MAX);
    message_close(&m, body);
    message_string(&m, 3, "schemaUrl", schema_url, SPAN_STRING_MAX);
    json_put_bytes(&m.out, wire->open_items, strlen(wire->open_items));
    return m.out.full ? NULL : m.out.p;
}

/* Tags: number << 3 | type. */
enum { REQUEST_RESOURCE_SPANS = 0x0a, RESOURCE_SPANS_SCOPE_SPANS = 0x12 };

/* protobuf_put_varint may write up to 10 bytes, and the first span follows a head. */
static uint8_t *put_varint_exact(uint8_t *p, uint64_t value)
{
    uint8_t bytes[PROTOBUF_VARINT_MAX];
    size_t len = (size_t)(protobuf_put_varint(bytes, value) - bytes);
    memcpy(p, bytes, len);
    return p + len;
}

static uint8_t *put_part(uint8_t *p, const struct wire_part *part)
{
    if (part->len)
        memcpy(p, part->bytes, part->len);
    return p + part->len;
}

static uint8_t *protobuf_put_head(const struct wire *wire, uint8_t *at, const struct wire_part *resource,
                                  const struct wire_part *scope, uint64_t span_bytes, bool first)
{
    uint64_t scope_spans = scope->len + span_bytes;
    uint64_t resource_spans = resource->len + 1 + protobuf_varint_size(scope_spans) + scope_spans;
    uint8_t *head = at - (1 + protobuf_varint_size(resource_spans) + (resource_spans - span_bytes));
    uint8_t *p = head;
    *p = REQUEST_RESOURCE_SPANS;
    p = put_varint_exact(p + 1, resource_spans);
    p = put_part(p, resource);
    *p = RESOURCE_SPANS_SCOPE_SPANS;
    p = put_varint_exact(p + 1, scope_spans);
    put_part(p, scope);
    return head;
}

static size_t protobuf_put_tail(uint8_t *at, bool last)
{
    return 0;
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

const struct wire wire_protobuf = {
    .put_span = protobuf_put_span,
    .put_shared = protobuf_put_shared,
    .put_head = protobuf_put_head,
    .put_tail = protobuf_put_tail,
    .open_scopes = "",
    .open_items = "",
};

const struct wire wire_json = {
    .put_span = json_put_span,
    .put_shared = json_put_shared,
    .put_head = json_put_head,
    .put_tail = json_put_tail,
    .is_json = true,
    .open_request = OPEN_SPANS,
    .open_scopes = ",\"scopeSpans\":[{",
    .open_items = ",\"spans\":[",
};

const struct wire wire_json_metrics = {
    .put_head = json_put_head,
    .put_tail = json_put_tail,
    .is_json = true,
    .open_request = OPEN_METRICS,
    .open_scopes = ",\"scopeMetrics\":[{",
    .open_items = ",\"metrics\":[",
};
