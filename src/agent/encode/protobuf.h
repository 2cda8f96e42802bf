/* Protobuf's wire format: for protobuf_span.c (hot), message.c and profile_encoder.c (not hot).
 *
 * Fields are written forwards, in the order of their numbers. Lengths are either known before (attributes) or
 * inserted afterwards (spans, events). Room is checked once per field, for the field's maximum, so that the
 * writing itself needs no checks and may write a few bytes past its end. */
#pragma once

#include "base/text/utf8.h"
#include "agent/encode/wire.h"

#define PROTOBUF_VARINT_MAX 10

/* Room for a few fields of fixed size: more than any of our messages has between two checks. */
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

/* Up to 56 bits: the groups of seven are spread over the bytes of a word without a branch per group, because
 * sizes and counts vary too much for branch prediction. Writes 8 bytes, or 10. */
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

/* A nested message is written after a tag and two bytes of room for its length. This function inserts the
 * length and moves the message if the length takes fewer or more than two bytes. `end` has one byte of room
 * after it. Returns the new end. */
uint8_t *protobuf_close(uint8_t *body, uint8_t *end);

/* A string field whose text must be made valid or truncated. */
uint8_t *protobuf_put_text_repaired(uint8_t *p, uint8_t *end, uint8_t tag, const char *text, size_t len,
                                    size_t bytes_max);

/* A string field; writes nothing if the string is empty. */
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

/* Attributes up to the limit. */
uint8_t *protobuf_put_attrs(uint8_t *p, uint8_t *end, uint8_t tag, const struct span_attr *attrs,
                            uint32_t count, const struct wire_limits *limits);
uint8_t *protobuf_put_span(uint8_t *to, uint8_t *end, const struct span *span,
                           const struct wire_limits *limits, const struct wire_part *shared);
uint8_t *protobuf_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                             const struct wire_limits *limits);
