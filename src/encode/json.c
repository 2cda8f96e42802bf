#include "encode/wire.h"

#include "encode/encoder.h"
#include "encode/number.h"
#include "encode/utf8.h"

#include <math.h>

/* OTLP JSON: lowerCamelCase keys, IDs in hex, 64-bit integers as strings, enums as integers, fields of no
 * value left out as in protobuf. The writer checks its room at every step and remembers that it was too
 * small, so that the functions read like the text they write. */
struct text {
    uint8_t *p;
    uint8_t *end;
    bool full;
};

static bool text_reserve(struct text *text, size_t bytes)
{
    if (__builtin_expect((size_t)(text->end - text->p) >= bytes, 1))
        return true;
    text->full = true;
    return false;
}

static inline void put_bytes(struct text *text, const void *bytes, size_t len)
{
    if (text_reserve(text, len)) {
        memcpy(text->p, bytes, len);
        text->p += len;
    }
}

#define PUT(text, literal) put_bytes(text, literal, sizeof(literal) - 1)

static void put_unsigned(struct text *text, uint64_t value)
{
    if (text_reserve(text, NUMBER_BYTES_MAX))
        text->p += number_put_unsigned(text->p, value);
}

static void put_signed(struct text *text, int64_t value)
{
    if (text_reserve(text, NUMBER_BYTES_MAX))
        text->p += number_put_signed(text->p, value);
}

static void put_hex(struct text *text, const uint8_t *bytes, size_t len)
{
    if (text_reserve(text, 2 * len))
        text->p += number_put_hex(text->p, bytes, len);
}

static void put_double(struct text *text, double value)
{
    if (isnan(value))
        PUT(text, "\"NaN\"");
    else if (isinf(value))
        value < 0 ? PUT(text, "\"-Infinity\"") : PUT(text, "\"Infinity\"");
    else if (text_reserve(text, DOUBLE_BYTES_MAX))
        text->p += number_put_double(text->p, value);
}

/* Bit 7 is set in each byte that can't stand in a JSON string as it is (control characters, '"', '\') or
 * isn't ASCII. Bytes behind one that is so marked may be marked wrongly; what is asked is only whether there
 * is one. */
static uint64_t special_bytes(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return (word | (word - ones * 0x20) | (quote - ones) | (backslash - ones)) & ones * 0x80;
}

/* Copies the run of bytes that need no care; returns its length, and 0 also when there is no room. */
static size_t put_plain(struct text *text, const uint8_t *from, size_t len)
{
    size_t room = (size_t)(text->end - text->p), i = 0;
    if (len > room)
        len = room;
    for (uint64_t word; i + 8 <= len; i += 8) {
        memcpy(&word, from + i, 8);
        if (special_bytes(word))
            break;
        memcpy(text->p + i, &word, 8);
    }
    for (; i < len && from[i] >= 0x20 && from[i] < 0x80 && from[i] != '"' && from[i] != '\\'; i++)
        text->p[i] = from[i];
    text->p += i;
    return i;
}

static void put_escaped(struct text *text, uint8_t byte)
{
    static const char letters[] = "btn?fr"; /* 8 to 13, without 11 */
    if (byte == '"' || byte == '\\') {
        put_bytes(text, (uint8_t[]){'\\', byte}, 2);
    } else if (byte >= 8 && byte <= 13 && byte != 11) {
        put_bytes(text, (uint8_t[]){'\\', (uint8_t)letters[byte - 8]}, 2);
    } else {
        PUT(text, "\\u00");
        put_hex(text, &byte, 1);
    }
}

/* One character, or its replacement; returns the bytes of input, or 0 when it would exceed `bytes_max`. */
static size_t put_character(struct text *text, const uint8_t *from, size_t len, size_t *bytes_max)
{
    struct utf8_step step = utf8_next(from, len);
    size_t size = step.valid ? step.len : 3;
    if (size > *bytes_max)
        return 0;
    *bytes_max -= size;
    if (!step.valid)
        PUT(text, "\xef\xbf\xbd");
    else if (step.len > 1)
        put_bytes(text, from, step.len);
    else
        put_escaped(text, *from);
    return step.len;
}

/* A string in its quotes, valid, cut and escaped. */
static void put_string(struct text *text, const char *string, size_t len, size_t chars_max, size_t bytes_max)
{
    const uint8_t *from = (const uint8_t *)string;
    PUT(text, "\"");
    while (len && chars_max && !text->full) {
        size_t most = len < chars_max ? len : chars_max;
        size_t plain = put_plain(text, from, most < bytes_max ? most : bytes_max);
        from += plain;
        len -= plain;
        chars_max -= plain;
        bytes_max -= plain;
        if (!len || !chars_max)
            break;
        size_t taken = put_character(text, from, len, &bytes_max);
        if (!taken)
            break;
        from += taken;
        len -= taken;
        chars_max--;
    }
    PUT(text, "\"");
}

static void put_text(struct text *text, const char *string, size_t bytes_max)
{
    put_string(text, string, wire_text_len(string), UTF8_NO_LIMIT, bytes_max);
}

static void put_value(struct text *text, const struct span_attr *attr, const struct wire_limits *limits)
{
    switch ((enum attr_type)attr->type) {
    case ATTR_INT:
        PUT(text, "{\"intValue\":\"");
        put_signed(text, attr->i);
        PUT(text, "\"}");
        break;
    case ATTR_BOOL:
        attr->i ? PUT(text, "{\"boolValue\":true}") : PUT(text, "{\"boolValue\":false}");
        break;
    case ATTR_DOUBLE:
        PUT(text, "{\"doubleValue\":");
        put_double(text, attr->d);
        PUT(text, "}");
        break;
    case ATTR_STRING:
        PUT(text, "{\"stringValue\":");
        put_string(text, attr->s, attr->len, limits->value_chars_max, limits->string_bytes_max);
        PUT(text, "}");
        break;
    case ATTR_POINTER:
        PUT(text, "{\"stringValue\":\"");
        if (text_reserve(text, POINTER_BYTES_MAX))
            text->p += wire_smaller((uint32_t)number_put_pointer(text->p, (uint64_t)attr->i),
                                    limits->value_chars_max);
        PUT(text, "\"}");
        break;
    case ATTR_DIM3:
        PUT(text, "{\"arrayValue\":{\"values\":[{\"intValue\":\"");
        put_unsigned(text, attr->dim[0]);
        PUT(text, "\"},{\"intValue\":\"");
        put_unsigned(text, attr->dim[1]);
        PUT(text, "\"},{\"intValue\":\"");
        put_unsigned(text, attr->dim[2]);
        PUT(text, "\"}]}}");
        break;
    }
}

static void put_count(struct text *text, const char *field, uint32_t count)
{
    if (!count)
        return;
    put_bytes(text, field, strlen(field));
    put_unsigned(text, count);
}

/* ,"attributes":[{...} or, where some stand there already, ,{...} */
static void put_attr(struct text *text, const struct span_attr *attr, bool is_first,
                     const struct wire_limits *limits)
{
    is_first ? PUT(text, ",\"attributes\":[{\"key\":") : PUT(text, ",{\"key\":");
    put_string(text, attr->key->name, attr->key->len, UTF8_NO_LIMIT, ATTR_KEY_BYTES_MAX);
    PUT(text, ",\"value\":");
    put_value(text, attr, limits);
    PUT(text, "}");
}

/* ,"attributes":[...],"droppedAttributesCount":n */
static void put_attrs(struct text *text, const struct span_attr *attrs, uint32_t count, uint32_t dropped,
                      const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(count, limits->attrs_max);
    for (uint32_t i = 0; i < kept && !text->full; i++)
        put_attr(text, &attrs[i], i == 0, limits);
    if (kept)
        PUT(text, "]");
    put_count(text, ",\"droppedAttributesCount\":", dropped + (count - kept));
}

static void put_events(struct text *text, const struct span *span, const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(span->event_count, limits->events_max);
    for (uint32_t i = 0; i < kept && !text->full; i++) {
        const struct span_event *event = &span->events[i];
        i ? PUT(text, ",{\"timeUnixNano\":\"") : PUT(text, ",\"events\":[{\"timeUnixNano\":\"");
        put_unsigned(text, event->time_ns);
        PUT(text, "\",\"name\":");
        put_text(text, event->name, limits->string_bytes_max);
        put_attrs(text, event->attrs, event->attr_count, 0, limits);
        PUT(text, "}");
    }
    if (kept)
        PUT(text, "]");
    put_count(text, ",\"droppedEventsCount\":", span->events_dropped + (span->event_count - kept));
}

static void put_links(struct text *text, const struct span *span, const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(span->link_count, limits->links_max);
    for (uint32_t i = 0; i < kept && !text->full; i++) {
        const struct span_link *link = &span->links[i];
        i ? PUT(text, ",{\"traceId\":\"") : PUT(text, ",\"links\":[{\"traceId\":\"");
        put_hex(text, link->trace_id, sizeof link->trace_id);
        PUT(text, "\",\"spanId\":\"");
        put_hex(text, link->span_id, sizeof link->span_id);
        PUT(text, "\"");
        if (link->trace_state && *link->trace_state) {
            PUT(text, ",\"traceState\":");
            put_text(text, link->trace_state, limits->string_bytes_max);
        }
        put_attrs(text, &link->attr, link->attr.key != NULL, 0, limits);
        put_count(text, ",\"flags\":", link->flags);
        PUT(text, "}");
    }
    if (kept)
        PUT(text, "]");
    put_count(text, ",\"droppedLinksCount\":", span->link_count - kept);
}

static void put_status(struct text *text, const struct span *span, const struct wire_limits *limits)
{
    bool message = span->status_message && *span->status_message;
    if (span->status == SPAN_STATUS_UNSET && !span->status_message)
        return;
    PUT(text, ",\"status\":{");
    if (message) {
        PUT(text, "\"message\":");
        put_text(text, span->status_message, limits->string_bytes_max);
    }
    put_count(text, message ? ",\"code\":" : "\"code\":", span->status);
    PUT(text, "}");
}

static void put_ids(struct text *text, const struct span *span, const struct wire_limits *limits)
{
    static const uint8_t none[8];
    PUT(text, ",{\"traceId\":\"");
    put_hex(text, span->trace_id, sizeof span->trace_id);
    PUT(text, "\",\"spanId\":\"");
    put_hex(text, span->span_id, sizeof span->span_id);
    PUT(text, "\"");
    if (span->trace_state && *span->trace_state) {
        PUT(text, ",\"traceState\":");
        put_text(text, span->trace_state, limits->string_bytes_max);
    }
    if (memcmp(span->parent_span_id, none, sizeof none) != 0) {
        PUT(text, ",\"parentSpanId\":\"");
        put_hex(text, span->parent_span_id, sizeof span->parent_span_id);
        PUT(text, "\"");
    }
    put_count(text, ",\"flags\":", span->flags);
}

static void put_name(struct text *text, const char *name, uint32_t length, const struct wire_limits *limits)
{
    PUT(text, ",\"name\":");
    put_string(text, name, length, UTF8_NO_LIMIT, limits->string_bytes_max);
}

/* The array of attributes stays open. */
static uint8_t *json_put_shared(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                                const struct wire_limits *limits)
{
    struct text text = {to, end, false};
    put_name(&text, shared->name, shared->name_len, limits);
    for (uint32_t i = 0; i < shared->attr_count && !text.full; i++)
        put_attr(&text, &shared->attrs[i], i == 0, limits);
    return text.full ? NULL : text.p;
}

static void put_name_and_attrs(struct text *text, const struct span *span, const struct wire_limits *limits,
                               const struct wire_part *shared)
{
    uint32_t total = span_attr_total(span), kept = wire_smaller(total, limits->attrs_max);
    uint32_t i = shared ? span_shared_count(span) : 0;
    if (shared)
        put_bytes(text, (const char *)shared->bytes, shared->len);
    else
        put_name(text, span->name, span->name_len, limits);
    for (; i < kept && !text->full; i++)
        put_attr(text, span_attr_at(span, i), i == 0, limits);
    if (kept)
        PUT(text, "]");
    put_count(text, ",\"droppedAttributesCount\":", span->attrs_dropped + (total - kept));
}

static uint8_t *json_put_span(uint8_t *to, uint8_t *end, const struct span *span,
                              const struct wire_limits *limits, const struct wire_part *shared)
{
    struct text text = {to, end, false};
    put_ids(&text, span, limits);
    put_count(&text, ",\"kind\":", span->kind);
    PUT(&text, ",\"startTimeUnixNano\":\"");
    put_unsigned(&text, span->start_ns);
    PUT(&text, "\",\"endTimeUnixNano\":\"");
    put_unsigned(&text, span->end_ns);
    PUT(&text, "\"");
    put_name_and_attrs(&text, span, limits, shared);
    put_events(&text, span, limits);
    put_links(&text, span, limits);
    put_status(&text, span, limits);
    PUT(&text, "}");
    return text.full ? NULL : text.p;
}

static void put_resource_strings(struct text *text, const char *strings, size_t bytes_max)
{
    PUT(text, "{\"arrayValue\":{\"values\":[");
    for (const char *string = strings; *string && !text->full; string += strlen(string) + 1) {
        string == strings ? PUT(text, "{\"stringValue\":") : PUT(text, ",{\"stringValue\":");
        put_text(text, string, bytes_max);
        PUT(text, "}");
    }
    PUT(text, "]}}");
}

static void put_resource_items(struct text *text, const struct resource_attr *attr,
                               const struct wire_limits *limits)
{
    PUT(text, "{\"arrayValue\":{\"values\":[");
    for (size_t i = 0; i < attr->item_count && !text->full; i++) {
        struct span_attr item = {.type = attr->item_type == RESOURCE_BOOL ? ATTR_BOOL : ATTR_INT};
        if (attr->item_type == RESOURCE_DOUBLE) {
            item.type = ATTR_DOUBLE;
            item.d = attr->items[i].real;
        } else {
            item.i = attr->items[i].integer;
        }
        if (i)
            PUT(text, ",");
        put_value(text, &item, limits);
    }
    PUT(text, "]}}");
}

static void put_resource_value(struct text *text, const struct resource_attr *attr,
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
    put_value(text, &plain, limits);
}

/* What stands behind a resource's attributes, with a URL that may need escapes. */
#define BEHIND_RESOURCE 128
#define ESCAPED_MAX     6
static_assert(2 * (BEHIND_RESOURCE + ESCAPED_MAX * SCHEMA_URL_MAX) <= ENCODER_RESOURCE_BYTES_MAX,
              "the longest schema URL leaves room for attributes");

/* "resource":{...},"schemaUrl":"...","scopeSpans":[{ */
static uint8_t *json_put_resource(uint8_t *to, uint8_t *end, const struct resource *resource,
                                  const char *schema_url, const struct wire_limits *limits)
{
    size_t behind = BEHIND_RESOURCE + ESCAPED_MAX * strlen(schema_url);
    if ((size_t)(end - to) < 2 * behind)
        return NULL;
    struct text text = {to, end - behind, false};
    uint32_t kept = 0, dropped = 0;
    PUT(&text, "\"resource\":{\"attributes\":[");
    for (size_t i = 0; i < resource->attr_count; i++) {
        uint8_t *before = text.p;
        kept ? PUT(&text, ",{\"key\":") : PUT(&text, "{\"key\":");
        put_text(&text, resource->attrs[i].key, limits->string_bytes_max);
        PUT(&text, ",\"value\":");
        put_resource_value(&text, &resource->attrs[i], limits);
        PUT(&text, "}");
        if (text.full) {
            text.p = before;
            text.full = false;
            dropped++;
        } else {
            kept++;
        }
    }
    text.end = end;
    PUT(&text, "]");
    put_count(&text, ",\"droppedAttributesCount\":", dropped);
    PUT(&text, "},\"schemaUrl\":");
    put_text(&text, schema_url, SPAN_STRING_MAX);
    PUT(&text, ",\"scopeSpans\":[{");
    return text.full ? NULL : text.p;
}

/* "scope":{...},"schemaUrl":"...","spans":[ */
static uint8_t *json_put_scope(uint8_t *to, uint8_t *end, const char *name, const char *version,
                               const char *schema_url)
{
    struct text text = {to, end, false};
    PUT(&text, "\"scope\":{\"name\":");
    put_text(&text, name, SPAN_STRING_MAX);
    PUT(&text, ",\"version\":");
    put_text(&text, version, SPAN_STRING_MAX);
    PUT(&text, "},\"schemaUrl\":");
    put_text(&text, schema_url, SPAN_STRING_MAX);
    PUT(&text, ",\"spans\":[");
    return text.full ? NULL : text.p;
}

/* The '[' that ends the scope's part lies where the first span has its comma. */
static uint8_t *json_put_head(uint8_t *at, const struct wire_part *resource, const struct wire_part *scope,
                              uint64_t span_bytes, bool first)
{
    const char *open = first ? "{\"resourceSpans\":[{" : ",{";
    static_assert(sizeof "{\"resourceSpans\":[{" <= WIRE_HEAD_BYTES_MAX, "room in front of the parts");
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
};
