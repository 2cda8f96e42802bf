/* Protobuf's wire format: what protobuf_span.c (hot) and protobuf_request.c (not) have in common.
 *
 * Fields are written forwards and in the order of their numbers; lengths are known before (attributes) or put
 * in front afterwards (spans, events). Room is checked once a field, with the most that the field takes, so
 * that writing itself needs no checks and may scribble a few bytes past its end. */
#ifndef CUSPAN_ENCODE_PROTOBUF_H
#define CUSPAN_ENCODE_PROTOBUF_H

#include "base/text/utf8.h"
#include "encode/wire.h"

#define PROTOBUF_VARINT_MAX 10

/* What a few fields of fixed size take: more than any message of ours has between two checks. */
#define PROTOBUF_ROOM 192
/* A tag and a length. */
#define PROTOBUF_FIELD_ROOM 16

/* Tags (number << 3 | type) of KeyValue, AnyValue and ArrayValue. */
enum {
    PAIR_KEY = 0x0a,
    PAIR_VALUE = 0x12,
    VALUE_STRING = 0x0a,
    VALUE_BOOL = 0x10,
    VALUE_INT = 0x18,
    VALUE_DOUBLE = 0x21,
    VALUE_ARRAY = 0x2a,
    ARRAY_VALUE = 0x0a
};

static inline unsigned protobuf_varint_size(uint64_t value)
{
    return (unsigned)(9 * (63 - __builtin_clzll(value | 1)) + 73) / 64;
}

/* Up to 56 bits: the groups of seven are spread over the bytes of a word, without a branch for every group,
 * because sizes and counts vary too much to be predicted. Writes 8 bytes, or 10. */
static inline uint8_t *protobuf_put_varint_long(uint8_t *p, uint64_t value)
{
    if (__builtin_expect(value >> 56 != 0, 0)) {
        for (; value >= 0x80; value >>= 7)
            *p++ = (uint8_t)(value | 0x80);
        *p++ = (uint8_t)value;
        return p;
    }
    unsigned size = protobuf_varint_size(value);
    uint64_t x = value;
    x = (x & 0x00fffffff0000000u) << 4 | (x & 0x000000000fffffffu);
    x = (x & 0x0fffc0000fffc000u) << 2 | (x & 0x00003fff00003fffu);
    x = (x & 0x3f803f803f803f80u) << 1 | (x & 0x007f007f007f007fu);
    x |= 0x8080808080808080u & ((1ull << 8 * (size - 1)) - 1);
    memcpy(p, &x, 8);
    return p + size;
}

static inline uint8_t *protobuf_put_varint(uint8_t *p, uint64_t value)
{
    if (__builtin_expect(value < 0x80, 1)) {
        *p = (uint8_t)value;
        return p + 1;
    }
    return protobuf_put_varint_long(p, value);
}

static inline uint8_t *protobuf_put_fixed64(uint8_t *p, uint8_t tag, uint64_t value)
{
    *p = tag;
    memcpy(p + 1, &value, 8);
    return p + 9;
}

static inline uint8_t *protobuf_put_count(uint8_t *p, uint8_t tag, uint32_t count)
{
    if (__builtin_expect(count == 0, 1))
        return p;
    *p = tag;
    return protobuf_put_varint(p + 1, count);
}

static inline bool protobuf_has_room(const uint8_t *p, const uint8_t *end, size_t bytes)
{
    return (size_t)(end - p) >= bytes;
}

/* A nested message is written behind a tag and two bytes of room for its length. This puts the length there
 * and, where it takes fewer or more than two bytes, moves the message. `end` has one byte of room behind it.
 * Returns the new end. */
uint8_t *protobuf_close(uint8_t *body, uint8_t *end);

/* A string field whose text has to be made valid or cut. */
uint8_t *protobuf_put_text_repaired(uint8_t *p, uint8_t *end, uint8_t tag, const char *text, size_t len,
                                    size_t bytes_max);

/* A string field; nothing for an empty one. */
static inline uint8_t *protobuf_put_text(uint8_t *p, uint8_t *end, uint8_t tag, const char *text, size_t len,
                                         size_t bytes_max)
{
    if (len == 0)
        return p;
    if (len <= bytes_max) {
        if (!protobuf_has_room(p, end, PROTOBUF_FIELD_ROOM + len))
            return NULL;
        *p = tag;
        uint8_t *at = protobuf_put_varint(p + 1, len);
        if (__builtin_expect(utf8_copy_ascii(at, text, len), 1))
            return at + len;
    }
    return protobuf_put_text_repaired(p, end, tag, text, len, bytes_max);
}

uint8_t *protobuf_put_span(uint8_t *to, uint8_t *end, const struct span *span,
                           const struct wire_limits *limits, const struct wire_part *shared);
uint8_t *protobuf_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                             const struct wire_limits *limits);

#endif
