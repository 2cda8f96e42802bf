/* OTLP JSON: shared by json_span.c and message.c. */
#pragma once

#include "agent/encode/number.h"
#include "base/text/utf8.h"
#include "agent/encode/wire.h"

#include <math.h>

/* OTLP JSON: lowerCamelCase keys, IDs in hex, 64-bit integers as strings, enums as integers; fields with
 * default values are omitted, as in protobuf. The writer checks its room at every step and remembers an
 * overflow, so that the functions read like the text they write. */
struct json_text {
    uint8_t *p;
    uint8_t *end;
    bool full;
};

static inline bool json_reserve(struct json_text *text, size_t bytes)
{
    if (__builtin_expect((size_t)(text->end - text->p) >= bytes, 1))
        return true;
    text->full = true;
    return false;
}

static inline void json_put_bytes(struct json_text *text, const void *bytes, size_t len)
{
    if (json_reserve(text, len)) {
        memcpy(text->p, bytes, len);
        text->p += len;
    }
}

#define JSON_PUT(text, literal) json_put_bytes(text, literal, sizeof(literal) - 1)

static inline void json_put_unsigned(struct json_text *text, uint64_t value)
{
    if (json_reserve(text, NUMBER_BYTES_MAX))
        text->p += number_put_unsigned(text->p, value);
}

static inline void json_put_signed(struct json_text *text, int64_t value)
{
    if (json_reserve(text, NUMBER_BYTES_MAX))
        text->p += number_put_signed(text->p, value);
}

static inline void json_put_hex(struct json_text *text, const uint8_t *bytes, size_t len)
{
    if (json_reserve(text, 2 * len))
        text->p += number_put_hex(text->p, bytes, len);
}

static inline void json_put_double(struct json_text *text, double value)
{
    if (isnan(value))
        JSON_PUT(text, "\"NaN\"");
    else if (isinf(value))
        value < 0 ? JSON_PUT(text, "\"-Infinity\"") : JSON_PUT(text, "\"Infinity\"");
    else if (json_reserve(text, DOUBLE_BYTES_MAX))
        text->p += number_put_double(text->p, value);
}

/* Bit 7 is set in each byte that needs an escape in a JSON string (control characters, '"', '\') or is not
 * ASCII. Bytes after a marked one may be marked wrongly: callers only test whether there is one. */
static inline uint64_t json_special_bytes(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return (word | (word - ones * 0x20) | (quote - ones) | (backslash - ones)) & ones * 0x80;
}

/* Copies the run of bytes that need no escape; returns its length, and 0 also if there is no room. */
static inline size_t json_put_plain(struct json_text *text, const uint8_t *from, size_t len)
{
    size_t room = (size_t)(text->end - text->p), i = 0;
    if (len > room)
        len = room;
    for (uint64_t word; i + 8 <= len; i += 8) {
        memcpy(&word, from + i, 8);
        if (json_special_bytes(word))
            break;
        memcpy(text->p + i, &word, 8);
    }
    for (; i < len && from[i] >= 0x20 && from[i] < 0x80 && from[i] != '"' && from[i] != '\\'; i++)
        text->p[i] = from[i];
    text->p += i;
    return i;
}

static inline void json_put_escaped(struct json_text *text, uint8_t byte)
{
    static const char letters[] = "btn?fr"; /* 8 to 13, without 11 */
    if (byte == '"' || byte == '\\') {
        json_put_bytes(text, (uint8_t[]){'\\', byte}, 2);
    } else if (byte >= 8 && byte <= 13 && byte != 11) {
        json_put_bytes(text, (uint8_t[]){'\\', (uint8_t)letters[byte - 8]}, 2);
    } else {
        JSON_PUT(text, "\\u00");
        json_put_hex(text, &byte, 1);
    }
}

/* Writes one character, or its replacement; returns the bytes of input, or 0 if it would exceed `bytes_max`.
 */
static inline size_t json_put_character(struct json_text *text, const uint8_t *from, size_t len,
                                        size_t *bytes_max)
{
    struct utf8_step step = utf8_next(from, len);
    size_t size = step.valid ? step.len : 3;
    if (size > *bytes_max)
        return 0;
    *bytes_max -= size;
    if (!step.valid)
        JSON_PUT(text, "\xef\xbf\xbd");
    else if (step.len > 1)
        json_put_bytes(text, from, step.len);
    else
        json_put_escaped(text, *from);
    return step.len;
}

/* A quoted string: valid, truncated and escaped. */
static inline void json_put_string(struct json_text *text, const char *string, size_t len, size_t chars_max,
                                   size_t bytes_max)
{
    const uint8_t *from = (const uint8_t *)string;
    JSON_PUT(text, "\"");
    while (len && chars_max && !text->full) {
        size_t most = len < chars_max ? len : chars_max;
        size_t plain = json_put_plain(text, from, most < bytes_max ? most : bytes_max);
        from += plain;
        len -= plain;
        chars_max -= plain;
        bytes_max -= plain;
        if (!len || !chars_max)
            break;
        size_t taken = json_put_character(text, from, len, &bytes_max);
        if (!taken)
            break;
        from += taken;
        len -= taken;
        chars_max--;
    }
    JSON_PUT(text, "\"");
}

static inline void json_put_text(struct json_text *text, const char *string, size_t bytes_max)
{
    json_put_string(text, string, wire_text_len(string), UTF8_NO_LIMIT, bytes_max);
}

static inline void json_put_value(struct json_text *text, const struct span_attr *attr,
                                  const struct wire_limits *limits)
{
    switch ((enum attr_type)attr->type) {
    case ATTR_INT:
        JSON_PUT(text, "{\"intValue\":\"");
        json_put_signed(text, attr->i);
        JSON_PUT(text, "\"}");
        break;
    case ATTR_BOOL:
        attr->i ? JSON_PUT(text, "{\"boolValue\":true}") : JSON_PUT(text, "{\"boolValue\":false}");
        break;
    case ATTR_DOUBLE:
        JSON_PUT(text, "{\"doubleValue\":");
        json_put_double(text, attr->d);
        JSON_PUT(text, "}");
        break;
    case ATTR_STRING:
        JSON_PUT(text, "{\"stringValue\":");
        json_put_string(text, attr->s, attr->len, limits->value_chars_max, limits->string_bytes_max);
        JSON_PUT(text, "}");
        break;
    case ATTR_POINTER:
        JSON_PUT(text, "{\"stringValue\":\"");
        if (json_reserve(text, POINTER_BYTES_MAX))
            text->p += wire_smaller((uint32_t)number_put_pointer(text->p, (uint64_t)attr->i),
                                    limits->value_chars_max);
        JSON_PUT(text, "\"}");
        break;
    case ATTR_DIM3:
        JSON_PUT(text, "{\"arrayValue\":{\"values\":[{\"intValue\":\"");
        json_put_unsigned(text, attr->dim[0]);
        JSON_PUT(text, "\"},{\"intValue\":\"");
        json_put_unsigned(text, attr->dim[1]);
        JSON_PUT(text, "\"},{\"intValue\":\"");
        json_put_unsigned(text, attr->dim[2]);
        JSON_PUT(text, "\"}]}}");
        break;
    case ATTR_ARRAY:
        JSON_PUT(text, "{\"arrayValue\":{\"values\":[");
        for (uint32_t i = 0; i < attr->len; i++) {
            if (i)
                JSON_PUT(text, ",");
            json_put_value(text, &attr->items[i], limits);
        }
        JSON_PUT(text, "]}}");
        break;
    }
}

static inline void json_put_count(struct json_text *text, const char *field, uint32_t count)
{
    if (!count)
        return;
    json_put_bytes(text, field, strlen(field));
    json_put_unsigned(text, count);
}

/* ,"attributes":[{...} or, after other attributes, ,{...} */
static inline void json_put_attr(struct json_text *text, const struct span_attr *attr, bool is_first,
                                 const struct wire_limits *limits)
{
    is_first ? JSON_PUT(text, ",\"attributes\":[{\"key\":") : JSON_PUT(text, ",{\"key\":");
    json_put_string(text, attr->key->name, attr->key->len, UTF8_NO_LIMIT, ATTR_KEY_BYTES_MAX);
    JSON_PUT(text, ",\"value\":");
    json_put_value(text, attr, limits);
    JSON_PUT(text, "}");
}

/* ,"attributes":[...],"droppedAttributesCount":n */
static inline void json_put_attrs(struct json_text *text, const struct span_attr *attrs, uint32_t count,
                                  const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(count, limits->attrs_max);
    for (uint32_t i = 0; i < kept && !text->full; i++)
        json_put_attr(text, &attrs[i], i == 0, limits);
    if (kept)
        JSON_PUT(text, "]");
    json_put_count(text, ",\"droppedAttributesCount\":", count - kept);
}

uint8_t *json_put_span(uint8_t *to, uint8_t *end, const struct span *span, const struct wire_limits *limits,
                       const struct wire_part *shared);
uint8_t *json_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                         const struct wire_limits *limits);
