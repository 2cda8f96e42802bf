#include "agent/encode/protobuf.h"

/* Everything around the spans. Written once per request, and not optimized. */

/* Tags: number << 3 | type. */
enum {
    RESOURCE_ATTRIBUTE = 0x0a,
    RESOURCE_ATTRIBUTES_DROPPED = 0x10,
    RESOURCE_SPANS_RESOURCE = 0x0a,
    RESOURCE_SPANS_SCOPE_SPANS = 0x12,
    RESOURCE_SPANS_SCHEMA_URL = 0x1a,
    SCOPE_SPANS_SCOPE = 0x0a,
    SCOPE_SPANS_SCHEMA_URL = 0x1a,
    SCOPE_NAME = 0x0a,
    SCOPE_VERSION = 0x12,
    REQUEST_RESOURCE_SPANS = 0x0a
};

static uint8_t *put_resource_strings(uint8_t *p, uint8_t *end, const char *strings, size_t bytes_max)
{
    for (; p && *strings; strings += strlen(strings) + 1) {
        uint8_t *value = protobuf_open_checked(p, end, ARRAY_VALUE);
        p = value ? protobuf_put_string(value, end, VALUE_STRING, strings, bytes_max) : NULL;
        p = protobuf_close_checked(value, p, end);
    }
    return p;
}

/* The content of an AnyValue that is a number or a boolean: at most 11 bytes. */
static uint8_t *put_resource_scalar(uint8_t *p, enum resource_value type, int64_t integer, double real)
{
    if (type == RESOURCE_INT) {
        *p = VALUE_INT;
        return protobuf_put_varint(p + 1, (uint64_t)integer);
    }
    if (type == RESOURCE_BOOL) {
        p[0] = VALUE_BOOL;
        p[1] = integer != 0;
        return p + 2;
    }
    *p = VALUE_DOUBLE;
    memcpy(p + 1, &real, 8);
    return p + 9;
}

static uint8_t *put_resource_items(uint8_t *p, uint8_t *end, const struct resource_attr *attr)
{
    for (size_t i = 0; i < attr->item_count; i++) {
        const union resource_item *item = &attr->items[i];
        bool is_real = attr->item_type == RESOURCE_DOUBLE;
        if (!protobuf_has_room(p, end, PROTOBUF_FIELD_ROOM))
            return NULL;
        uint8_t *after = put_resource_scalar(p + 2, attr->item_type, is_real ? 0 : item->integer,
                                             is_real ? item->real : 0);
        p[0] = ARRAY_VALUE;
        p[1] = (uint8_t)(after - (p + 2));
        p = after;
    }
    return p;
}

/* The content of an AnyValue. An empty string is written too: without it, the value would have no type. */
static uint8_t *put_resource_value(uint8_t *p, uint8_t *end, const struct resource_attr *attr,
                                   size_t bytes_max)
{
    switch ((enum resource_value)attr->type) {
    case RESOURCE_INT:
    case RESOURCE_BOOL:
    case RESOURCE_DOUBLE:
        return put_resource_scalar(p, attr->type, attr->integer, attr->real);
    case RESOURCE_STRING:
        if (*attr->string)
            return protobuf_put_string(p, end, VALUE_STRING, attr->string, bytes_max);
        memcpy(p, (uint8_t[]){VALUE_STRING, 0}, 2);
        return p + 2;
    case RESOURCE_STRING_ARRAY:
    case RESOURCE_ARRAY: {
        uint8_t *array = p + 3;
        *p = VALUE_ARRAY;
        p = attr->type == RESOURCE_ARRAY ? put_resource_items(array, end, attr)
                                         : put_resource_strings(array, end, attr->string, bytes_max);
        return protobuf_close_checked(array, p, end);
    }
    }
    return p;
}

static uint8_t *put_resource_attr(uint8_t *p, uint8_t *end, const struct resource_attr *attr,
                                  size_t bytes_max)
{
    uint8_t *pair = protobuf_open_checked(p, end, RESOURCE_ATTRIBUTE);
    p = protobuf_put_string(pair, end, PAIR_KEY, attr->key, bytes_max);
    uint8_t *value = protobuf_open_checked(p, end, PAIR_VALUE);
    p = value ? put_resource_value(value, end, attr, bytes_max) : NULL;
    p = protobuf_close_checked(value, p, end);
    return p ? protobuf_close(pair, p) : NULL;
}

static uint8_t *protobuf_put_resource(const struct wire *wire, uint8_t *to, uint8_t *end,
                                      const struct resource *resource, const char *schema_url,
                                      const struct wire_limits *limits)
{
    size_t url_len = strlen(schema_url);
    size_t behind = PROTOBUF_ROOM + 3 * url_len; /* maximum, in case the URL needs repair */
    if (!protobuf_has_room(to, end, PROTOBUF_ROOM + behind))
        return NULL;
    uint8_t *attrs_end = end - behind;
    *to = RESOURCE_SPANS_RESOURCE;
    uint8_t *body = to + 3, *p = body;
    uint32_t dropped = 0;
    for (size_t i = 0; i < resource->attr_count; i++) {
        uint8_t *next = put_resource_attr(p, attrs_end, &resource->attrs[i], limits->string_bytes_max);
        if (next)
            p = next;
        else
            dropped++;
    }
    p = protobuf_put_count(p, RESOURCE_ATTRIBUTES_DROPPED, dropped);
    p = protobuf_close(body, p);
    return protobuf_put_text(p, end, RESOURCE_SPANS_SCHEMA_URL, schema_url, url_len,
                             limits->string_bytes_max);
}

static uint8_t *protobuf_put_scope(const struct wire *wire, uint8_t *to, uint8_t *end, const char *name,
                                   const char *version, const char *schema_url)
{
    uint8_t *body = protobuf_open_checked(to, end, SCOPE_SPANS_SCOPE);
    uint8_t *p = protobuf_put_string(body, end, SCOPE_NAME, name, SPAN_STRING_MAX);
    p = protobuf_put_string(p, end, SCOPE_VERSION, version, SPAN_STRING_MAX);
    p = protobuf_close_checked(body, p, end);
    return protobuf_put_string(p, end, SCOPE_SPANS_SCHEMA_URL, schema_url, SPAN_STRING_MAX);
}

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

const struct wire wire_protobuf = {
    .put_span = protobuf_put_span,
    .put_shared = protobuf_put_shared,
    .put_metric = protobuf_put_metric,
    .put_resource = protobuf_put_resource,
    .put_scope = protobuf_put_scope,
    .put_head = protobuf_put_head,
    .put_tail = protobuf_put_tail,
};
