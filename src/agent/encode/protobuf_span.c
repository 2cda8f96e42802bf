#include "agent/encode/protobuf.h"

#include "agent/encode/message.h"
#include "agent/encode/number.h"

/* The hot path of the agent: some 400 bytes a span. */

/* Tags: number << 3 | type. */
enum {
    SCOPE_SPANS_SPAN = 0x12,
    SPAN_TRACE_ID = 0x0a,
    SPAN_SPAN_ID = 0x12,
    SPAN_TRACE_STATE = 0x1a,
    SPAN_PARENT = 0x22,
    SPAN_NAME = 0x2a,
    SPAN_KIND = 0x30,
    SPAN_START = 0x39,
    SPAN_END = 0x41,
    SPAN_ATTRIBUTE = 0x4a
};

/* An attribute without its string, with a margin: keys are copied 32 bytes at a time. */
#define ATTR_ROOM 192

static_assert(sizeof(struct attr_key) == 64, "a key is copied by two moves of 32 bytes");

static inline uint8_t *put_key(uint8_t *p, const struct attr_key *key)
{
    memcpy(p, key, 32);
    if (key->len > 30)
        memcpy(p + 32, (const uint8_t *)key + 32, 32);
    return p + 2 + key->len;
}

/* A KeyValue up to its value's content (an AnyValue of `any` bytes, below 64). */
static inline uint8_t *put_pair(uint8_t *p, uint8_t tag, const struct attr_key *key, size_t any)
{
    p[0] = tag;
    p[1] = (uint8_t)(2u + key->len + 2u + any);
    static_assert(2 + ATTR_KEY_BYTES_MAX + 2 + 59 < 0x80, "one byte of length");
    p = put_key(p + 2, key);
    p[0] = PAIR_VALUE;
    p[1] = (uint8_t)any;
    return p + 2;
}

/* A KeyValue up to the bytes of a string of any length. */
static inline uint8_t *put_string_pair(uint8_t *p, uint8_t tag, const struct attr_key *key, size_t len)
{
    size_t pair = 2u + key->len + 4u + len;
    if (__builtin_expect(pair < 0x80, 1)) {
        p[0] = tag;
        p[1] = (uint8_t)pair;
        p = put_key(p + 2, key);
        p[0] = PAIR_VALUE;
        p[1] = (uint8_t)(2 + len);
        p[2] = VALUE_STRING;
        p[3] = (uint8_t)len;
        return p + 4;
    }
    size_t any = 1 + protobuf_varint_size(len) + len;
    *p = tag;
    p = protobuf_put_varint(p + 1, 2u + key->len + 1u + protobuf_varint_size(any) + any);
    p = put_key(p, key);
    *p = PAIR_VALUE;
    p = protobuf_put_varint(p + 1, any);
    *p = VALUE_STRING;
    return protobuf_put_varint(p + 1, len);
}

static uint8_t *put_string_repaired(uint8_t *p, uint8_t *end, uint8_t tag, const struct attr_key *key,
                                    const char *text, size_t len, const struct wire_limits *limits)
{
    size_t size = utf8_repair(NULL, text, len, limits->value_chars_max, limits->string_bytes_max);
    if (!protobuf_has_room(p, end, ATTR_ROOM + size))
        return NULL;
    p = put_string_pair(p, tag, key, size);
    return p + utf8_repair(p, text, len, limits->value_chars_max, limits->string_bytes_max);
}

static inline uint8_t *put_string(uint8_t *p, uint8_t *end, uint8_t tag, const struct attr_key *key,
                                  const char *text, size_t len, const struct wire_limits *limits)
{
    if (__builtin_expect(len <= limits->value_chars_max && len <= limits->string_bytes_max, 1)) {
        if (!protobuf_has_room(p, end, ATTR_ROOM + len))
            return NULL;
        uint8_t *at = put_string_pair(p, tag, key, len);
        if (__builtin_expect(utf8_copy_ascii(at, text, len), 1))
            return at + len;
    }
    return put_string_repaired(p, end, tag, key, text, len, limits);
}

static inline uint8_t *put_int(uint8_t *p, uint8_t tag, const struct attr_key *key, uint64_t value)
{
    if (value < 0x80) {
        p = put_pair(p, tag, key, 2);
        p[0] = VALUE_INT;
        p[1] = (uint8_t)value;
        return p + 2;
    }
    p = put_pair(p, tag, key, 1 + protobuf_varint_size(value));
    *p = VALUE_INT;
    return protobuf_put_varint_long(p + 1, value);
}

static uint8_t *put_dim3(uint8_t *p, uint8_t tag, const struct attr_key *key, const uint32_t *dim)
{
    size_t array =
        9u + protobuf_varint_size(dim[0]) + protobuf_varint_size(dim[1]) + protobuf_varint_size(dim[2]);
    p = put_pair(p, tag, key, 2 + array);
    p[0] = VALUE_ARRAY;
    p[1] = (uint8_t)array;
    p += 2;
    for (unsigned i = 0; i < 3; i++) {
        p[0] = ARRAY_VALUE;
        p[1] = (uint8_t)(1 + protobuf_varint_size(dim[i]));
        p[2] = VALUE_INT;
        p = protobuf_put_varint(p + 3, dim[i]);
    }
    return p;
}

/* A string too, so it is truncated like one. */
static uint8_t *put_pointer(uint8_t *p, uint8_t tag, const struct attr_key *key, uint64_t value,
                            const struct wire_limits *limits)
{
    size_t len = wire_smaller((uint32_t)number_pointer_len(value), limits->value_chars_max);
    p = put_string_pair(p, tag, key, len);
    number_put_pointer(p, value);
    return p + len;
}

static uint8_t *put_item_repaired(uint8_t *p, uint8_t *end, const struct span_attr *item,
                                  const struct wire_limits *limits)
{
    size_t size = utf8_repair(NULL, item->s, item->len, limits->value_chars_max, limits->string_bytes_max);
    if (!protobuf_has_room(p, end, PROTOBUF_ROOM + size))
        return NULL;
    *p = ARRAY_VALUE;
    p = protobuf_put_varint(p + 1, 1 + protobuf_varint_size(size) + size);
    *p = VALUE_STRING;
    p = protobuf_put_varint(p + 1, size);
    return p + utf8_repair(p, item->s, item->len, limits->value_chars_max, limits->string_bytes_max);
}

#define SHORT_ITEM 0x7c /* bytes of text below which each length takes a byte */

static inline uint8_t *put_item(uint8_t *p, uint8_t *end, const struct span_attr *item,
                                const struct wire_limits *limits)
{
    if (!protobuf_has_room(p, end, PROTOBUF_ROOM + SHORT_ITEM))
        return NULL;
    p[0] = ARRAY_VALUE;
    if (item->type == ATTR_INT) {
        p[1] = (uint8_t)(1 + protobuf_varint_size((uint64_t)item->i));
        p[2] = VALUE_INT;
        return protobuf_put_varint_long(p + 3, (uint64_t)item->i);
    }
    size_t len = item->len;
    if (len >= SHORT_ITEM || len > limits->value_chars_max || len > limits->string_bytes_max ||
        !utf8_copy_ascii(p + 4, item->s, len))
        return put_item_repaired(p, end, item, limits);
    p[1] = (uint8_t)(2 + len);
    p[2] = VALUE_STRING;
    p[3] = (uint8_t)len;
    return p + 4 + len;
}

/* A long array: `items` are moved out of the way of the lengths, which come first. */
static uint8_t *put_long_array(uint8_t *p, uint8_t *end, uint8_t tag, const struct attr_key *key,
                               const uint8_t *items, size_t array)
{
    size_t any = 1 + protobuf_varint_size(array) + array;
    uint8_t *away = p + ATTR_ROOM;
    if (!protobuf_has_room(p, end, 2 * ATTR_ROOM + array))
        return NULL;
    memmove(away, items, array);
    *p = tag;
    p = protobuf_put_varint(p + 1, 2u + key->len + 1u + protobuf_varint_size(any) + any);
    p = put_key(p, key);
    *p = PAIR_VALUE;
    p = protobuf_put_varint(p + 1, any);
    *p = VALUE_ARRAY;
    p = protobuf_put_varint(p + 1, array);
    memmove(p, away, array);
    return p + array;
}

__attribute__((noinline)) static uint8_t *put_array(uint8_t *p, uint8_t *end, uint8_t tag,
                                                    const struct span_attr *attr,
                                                    const struct wire_limits *limits)
{
    uint8_t *items = put_key(p + 2, attr->key) + 4, *at = items;
    for (uint32_t i = 0; at && i < attr->len; i++)
        at = put_item(at, end, &attr->items[i], limits);
    if (!at)
        return NULL;
    size_t array = (size_t)(at - items), pair = 2u + attr->key->len + 4u + array;
    if (pair >= 0x80)
        return put_long_array(p, end, tag, attr->key, items, array);
    p[0] = tag;
    p[1] = (uint8_t)pair;
    memcpy(items - 4, (uint8_t[]){PAIR_VALUE, (uint8_t)(2 + array), VALUE_ARRAY, (uint8_t)array}, 4);
    return at;
}

static inline uint8_t *put_attr(uint8_t *p, uint8_t *end, uint8_t tag, const struct span_attr *attr,
                                const struct wire_limits *limits)
{
    if (!protobuf_has_room(p, end, ATTR_ROOM))
        return NULL;
    if (attr->type == ATTR_STRING) /* most are */
        return put_string(p, end, tag, attr->key, attr->s, attr->len, limits);
    switch ((enum attr_type)attr->type) {
    case ATTR_INT:
        return put_int(p, tag, attr->key, (uint64_t)attr->i);
    case ATTR_BOOL:
        p = put_pair(p, tag, attr->key, 2);
        p[0] = VALUE_BOOL;
        p[1] = attr->i != 0;
        return p + 2;
    case ATTR_DOUBLE:
        p = put_pair(p, tag, attr->key, 9);
        p[0] = VALUE_DOUBLE;
        memcpy(p + 1, &attr->d, 8);
        return p + 9;
    case ATTR_POINTER:
        return put_pointer(p, tag, attr->key, (uint64_t)attr->i, limits);
    case ATTR_DIM3:
        return put_dim3(p, tag, attr->key, attr->dim);
    case ATTR_ARRAY:
        break;
    case ATTR_STRING:
    default:
        __builtin_unreachable(); /* a check of the type's range would take two instructions an attribute */
    }
    return put_array(p, end, tag, attr, limits);
}

/* Attributes up to the limit. `p` may be NULL. */
static inline uint8_t *put_attrs(uint8_t *p, uint8_t *end, uint8_t tag, const struct span_attr *attrs,
                                 uint32_t count, const struct wire_limits *limits)
{
    count = wire_smaller(count, limits->attrs_max);
    for (uint32_t i = 0; p && i < count; i++)
        p = put_attr(p, end, tag, &attrs[i], limits);
    return p;
}

uint8_t *protobuf_put_attrs(uint8_t *p, uint8_t *end, uint8_t tag, const struct span_attr *attrs,
                            uint32_t count, const struct wire_limits *limits)
{
    return put_attrs(p, end, tag, attrs, count, limits);
}

static uint8_t *put_details(uint8_t *p, uint8_t *end, const struct span *span,
                            const struct wire_limits *limits)
{
    struct message m = {{p, end, false}, .is_json = false};
    if (__builtin_expect(span_has_details(span, limits), 0))
        message_details(&m, span, limits);
    return m.out.full ? NULL : m.out.p;
}

static bool is_root(const struct span *span)
{
    uint64_t parent;
    memcpy(&parent, span->parent_span_id, 8);
    return parent == 0;
}

static inline uint8_t *put_part(uint8_t *p, const uint8_t *end, const struct wire_part *part)
{
    if (!protobuf_has_room(p, end, part->len + PROTOBUF_ROOM))
        return NULL;
    memcpy(p, part->bytes, part->len);
    return p + part->len;
}

static uint8_t *put_named_attrs(uint8_t *p, uint8_t *end, const char *name, size_t name_len,
                                const struct span_attr *attrs, uint32_t count,
                                const struct wire_limits *limits)
{
    p = protobuf_put_text(p, end, SPAN_NAME, name, name_len, limits->string_bytes_max);
    return put_attrs(p, end, SPAN_ATTRIBUTE, attrs, count, limits);
}

uint8_t *protobuf_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                             const struct wire_limits *limits)
{
    return put_named_attrs(to, end, shared->name, shared->name_len, shared->attrs, shared->attr_count,
                           limits);
}

/* The name and the shared attributes, up to the limit. */
static uint8_t *put_what_is_shared(uint8_t *p, uint8_t *end, const struct span *span,
                                   const struct wire_limits *limits, const struct wire_part *shared)
{
    if (shared)
        return put_part(p, end, shared);
    return put_named_attrs(p, end, span->name, span->name_len, span->shared ? span->shared->attrs : NULL,
                           span_shared_count(span), limits);
}

/* The span's other attributes, as many as the limit leaves. */
static uint8_t *put_own_attrs(uint8_t *p, uint8_t *end, const struct span *span,
                              const struct wire_limits *limits)
{
    uint32_t shared = span_shared_count(span);
    uint32_t left = limits->attrs_max > shared ? limits->attrs_max - shared : 0;
    uint32_t count = wire_smaller(span->attr_count, left);
    for (uint32_t i = 0; p && i < count; i++)
        p = put_attr(p, end, SPAN_ATTRIBUTE, &span->attrs[i], limits);
    return p;
}

/* The order of fields is free. The fields that differ from the previous span come last, so that a compressor
 * finds the rest in one piece. */
uint8_t *protobuf_put_span(uint8_t *to, uint8_t *end, const struct span *span,
                           const struct wire_limits *limits, const struct wire_part *shared)
{
    if (!protobuf_has_room(to, end, PROTOBUF_ROOM))
        return NULL;
    uint8_t *body = to + 3, *p = body;
    to[0] = SCOPE_SPANS_SPAN;
    memcpy(p, (uint8_t[]){SPAN_TRACE_ID, 16}, 2);
    memcpy(p + 2, span->trace_id, 16);
    p += 18;
    if (span->trace_state) {
        p = protobuf_put_text(p, end, SPAN_TRACE_STATE, span->trace_state, strlen(span->trace_state),
                              limits->string_bytes_max);
        if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
            return NULL;
    }
    if (span->flags) {
        memcpy(p, (uint8_t[]){0x85, 0x01}, 2); /* field 16, fixed32 */
        memcpy(p + 2, &span->flags, 4);
        p += 6;
    }
    p = protobuf_put_count(p, SPAN_KIND, span->kind);
    p = put_what_is_shared(p, end, span, limits, shared);
    if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
        return NULL;
    if (!is_root(span)) {
        memcpy(p, (uint8_t[]){SPAN_PARENT, 8}, 2);
        memcpy(p + 2, span->parent_span_id, 8);
        p += 10;
    }
    memcpy(p, (uint8_t[]){SPAN_SPAN_ID, 8}, 2);
    memcpy(p + 2, span->span_id, 8);
    p = protobuf_put_fixed64(p + 10, SPAN_START, span->start_ns);
    p = protobuf_put_fixed64(p, SPAN_END, span->end_ns);
    p = put_own_attrs(p, end, span, limits);
    if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
        return NULL;
    p = put_details(p, end, span, limits);
    if (!p || !protobuf_has_room(p, end, PROTOBUF_ROOM))
        return NULL;
    return protobuf_close(body, p);
}
