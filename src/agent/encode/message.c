#include "agent/encode/message.h"

#include "agent/encode/protobuf.h"

/* Of protobuf. */
enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

static uint8_t tag_of(unsigned number, enum wire_type type)
{
    return (uint8_t)(number << 3 | type);
}

/* The tag of a field, or its name in JSON. A number in a list has none. */
static void begin(struct message *m, unsigned number, enum wire_type type, const char *name)
{
    struct json_text *out = &m->out;
    if (!m->is_json) {
        if (number)
            json_put_bytes(out, (uint8_t[]){tag_of(number, type)}, 1);
        return;
    }
    if (m->needs_comma)
        JSON_PUT(out, ",");
    m->needs_comma = true;
    if (!name)
        return;
    JSON_PUT(out, "\"");
    json_put_bytes(out, name, strlen(name));
    JSON_PUT(out, "\":");
}

static void put_bracket(struct message *m, const char *bracket, bool is_opening)
{
    if (!m->is_json)
        return;
    json_put_bytes(&m->out, bracket, 1);
    m->needs_comma = !is_opening;
}

static uint8_t *open_body(struct message *m, unsigned number, const char *name, const char *bracket)
{
    begin(m, number, WIRE_BYTES, name);
    put_bracket(m, bracket, true);
    if (!m->is_json)
        json_put_bytes(&m->out, (uint8_t[2]){0}, 2); /* the length, see protobuf_close */
    return m->out.p;
}

static void close_body(struct message *m, uint8_t *body, const char *bracket)
{
    put_bracket(m, bracket, false);
    if (!m->is_json && !m->out.full && json_reserve(&m->out, PROTOBUF_VARINT_MAX))
        m->out.p = protobuf_close(body, m->out.p);
}

uint8_t *message_open(struct message *m, unsigned number, const char *name)
{
    return open_body(m, number, name, "{");
}

void message_close(struct message *m, uint8_t *body)
{
    close_body(m, body, "}");
}

void message_open_list(struct message *m, const char *name)
{
    begin(m, 0, WIRE_BYTES, name);
    put_bracket(m, "[", true);
}

void message_close_list(struct message *m)
{
    put_bracket(m, "]", false);
}

uint8_t *message_open_packed(struct message *m, unsigned number, const char *name)
{
    return open_body(m, number, name, "[");
}

void message_close_packed(struct message *m, uint8_t *body)
{
    if (!m->is_json && m->out.p == body)
        m->out.p = body - 3; /* the tag and the room for the length */
    else
        close_body(m, body, "]");
}

static void put_varint(struct message *m, uint64_t value)
{
    if (json_reserve(&m->out, PROTOBUF_VARINT_MAX))
        m->out.p = protobuf_put_varint(m->out.p, value);
}

static enum wire_type wire_type_of(enum message_number type)
{
    if (type == MESSAGE_FIXED32)
        return WIRE_FIXED32;
    return type == MESSAGE_FIXED64 || type == MESSAGE_SFIXED64 ? WIRE_FIXED64 : WIRE_VARINT;
}

static void put_json_number(struct json_text *out, enum message_number type, int64_t value)
{
    bool is_quoted = type == MESSAGE_INT64 || wire_type_of(type) == WIRE_FIXED64;
    if (type == MESSAGE_BOOL) {
        value ? JSON_PUT(out, "true") : JSON_PUT(out, "false");
        return;
    }
    if (is_quoted)
        JSON_PUT(out, "\"");
    if (type == MESSAGE_FIXED64)
        json_put_unsigned(out, (uint64_t)value);
    else
        json_put_signed(out, value);
    if (is_quoted)
        JSON_PUT(out, "\"");
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

void message_number(struct message *m, unsigned number, const char *name, enum message_number type,
                    int64_t value)
{
    enum wire_type wire_type = wire_type_of(type);
    if (!m->is_json && !value && number && type <= MESSAGE_FIXED64)
        return;
    begin(m, number, wire_type, name);
    if (m->is_json)
        put_json_number(&m->out, type, value);
    else if (wire_type == WIRE_VARINT)
        put_varint(m, type == MESSAGE_SINT32 ? zigzag(value) : (uint64_t)value);
    else
        json_put_bytes(&m->out, &value, wire_type == WIRE_FIXED32 ? 4 : 8);
}

void message_count(struct message *m, unsigned number, const char *name, uint32_t count)
{
    if (count)
        message_number(m, number, name, MESSAGE_INT32, count);
}

void message_double(struct message *m, unsigned number, const char *name, double value)
{
    begin(m, number, WIRE_FIXED64, name);
    if (m->is_json)
        json_put_double(&m->out, value);
    else
        json_put_bytes(&m->out, &value, sizeof value);
}

/* `end` NULL: it did not fit. */
static void adopt(struct json_text *out, uint8_t *end)
{
    out->full |= !end;
    out->p = end ? end : out->p;
}

void message_text(struct message *m, unsigned number, const char *name, const char *text, size_t len,
                  size_t bytes_max)
{
    struct json_text *out = &m->out;
    if (m->is_json) {
        begin(m, number, WIRE_BYTES, name);
        json_put_string(out, text, len, UTF8_NO_LIMIT, bytes_max);
        return;
    }
    adopt(out,
          protobuf_put_text_repaired(out->p, out->end, tag_of(number, WIRE_BYTES), text, len, bytes_max));
}

void message_string(struct message *m, unsigned number, const char *name, const char *text, size_t bytes_max)
{
    size_t len = wire_text_len(text);
    if (m->is_json || len)
        message_text(m, number, name, text, len, bytes_max);
}

void message_id(struct message *m, unsigned number, const char *name, const uint8_t *id, uint8_t len)
{
    begin(m, number, WIRE_BYTES, name);
    if (m->is_json) {
        JSON_PUT(&m->out, "\"");
        json_put_hex(&m->out, id, len);
        JSON_PUT(&m->out, "\"");
        return;
    }
    json_put_bytes(&m->out, &len, 1);
    json_put_bytes(&m->out, id, len);
}

void message_attrs(struct message *m, unsigned number, const struct span_attr *attrs, uint32_t count,
                   const struct wire_limits *limits)
{
    struct json_text *out = &m->out;
    if (m->is_json) {
        json_put_attrs(out, attrs, count, limits);
        return;
    }
    adopt(out, protobuf_put_attrs(out->p, out->end, tag_of(number, WIRE_BYTES), attrs, count, limits));
    message_count(m, number + 1, NULL, count - wire_smaller(count, limits->attrs_max));
}
