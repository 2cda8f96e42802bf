#include "analysis/trace/otlp_protobuf.h"

#include "base/text/protobuf_reader.h"
#include "base/text/utf8.h"
#include "analysis/trace/otlp_value.h"
#include "base/text/json_writer.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_CODE_ERROR 2

/* The numbers of the fields in opentelemetry/proto. */
enum { TRACES_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2, RESOURCE_SPANS_SCHEMA = 3 };
enum { RESOURCE_ATTRIBUTES = 1, RESOURCE_DROPPED = 2, RESOURCE_ENTITIES = 3 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2, SCOPE_SPANS_SCHEMA = 3 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2, SCOPE_ATTRIBUTES = 3, SCOPE_DROPPED = 4 };
enum {
    SPAN_TRACE_ID = 1,
    SPAN_ID = 2,
    SPAN_TRACE_STATE = 3,
    SPAN_PARENT_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_DROPPED_ATTRIBUTES = 10,
    SPAN_EVENTS = 11,
    SPAN_DROPPED_EVENTS = 12,
    SPAN_LINKS = 13,
    SPAN_DROPPED_LINKS = 14,
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16
};
enum { EVENT_TIME = 1, EVENT_NAME = 2, EVENT_ATTRIBUTES = 3, EVENT_DROPPED = 4 };
enum {
    LINK_TRACE_ID = 1,
    LINK_SPAN_ID = 2,
    LINK_TRACE_STATE = 3,
    LINK_ATTRIBUTES = 4,
    LINK_DROPPED = 5,
    LINK_FLAGS = 6
};
enum { STATUS_MESSAGE = 2, STATUS_CODE = 3 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum {
    VALUE_STRING = 1,
    VALUE_BOOL = 2,
    VALUE_INT = 3,
    VALUE_DOUBLE = 4,
    VALUE_ARRAY = 5,
    VALUE_MAP = 6,
    VALUE_BYTES = 7
};
enum { LIST_VALUES = 1 };

/* A text that was repaired, until the next message. */
struct otlp_repaired {
    struct otlp_repaired *next;
    char text[];
};

static void free_repaired(struct otlp_protobuf *protobuf)
{
    for (struct otlp_repaired *next; protobuf->repaired; protobuf->repaired = next) {
        next = protobuf->repaired->next;
        free(protobuf->repaired);
    }
}

void otlp_protobuf_deinit(struct otlp_protobuf *protobuf)
{
    free_repaired(protobuf);
    free(protobuf->keys);
    free(protobuf->values);
    text_deinit(&protobuf->texts);
    *protobuf = (struct otlp_protobuf){0};
}

static struct protobuf_reader reader_of(struct slice bytes)
{
    return protobuf_reader_of(bytes.at, bytes.len);
}

static struct slice bytes_of(const struct protobuf_field *field)
{
    return (struct slice){(const char *)field->bytes, field->length};
}

static enum status complain(struct error *err)
{
    return error_set(err, STATUS_INVALID, "this is not a message of OTLP protobuf");
}

/* --- attributes --- */

/* A text as valid UTF-8. */
static struct slice text_of(struct otlp_protobuf *protobuf, struct slice bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.at;
    size_t ill_formed = 0;
    for (size_t i = 0; i < bytes.len;) {
        struct utf8_step step = utf8_next(at + i, bytes.len - i);
        ill_formed += !step.valid;
        i += step.len;
    }
    if (!ill_formed)
        return bytes;
    protobuf->replaced += ill_formed;
    size_t len = utf8_repair(NULL, bytes.at, bytes.len, UTF8_NO_LIMIT, UTF8_NO_LIMIT);
    struct otlp_repaired *repaired = xcalloc(1, sizeof *repaired + len + 1);
    repaired->next = protobuf->repaired;
    protobuf->repaired = repaired;
    utf8_repair((uint8_t *)repaired->text, bytes.at, bytes.len, UTF8_NO_LIMIT, UTF8_NO_LIMIT);
    return (struct slice){repaired->text, len};
}

static bool write_value(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice any,
                        int depth);

/* A key and a value. */
static bool split_attribute(struct otlp_protobuf *protobuf, struct slice attribute, struct slice *key,
                            struct slice *any)
{
    struct protobuf_reader reader = reader_of(attribute);
    struct protobuf_field field;
    *key = *any = (struct slice){"", 0};
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, ATTRIBUTE_KEY, PROTOBUF_BYTES))
            *key = bytes_of(&field);
        else if (protobuf_is(&field, ATTRIBUTE_VALUE, PROTOBUF_BYTES))
            *any = bytes_of(&field);
    }
    *key = text_of(protobuf, *key);
    return !reader.is_bad;
}

static bool write_list(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice list,
                       bool is_map, int depth)
{
    struct protobuf_reader reader = reader_of(list);
    struct protobuf_field field;
    bool is_good = true;
    (is_map ? json_write_object : json_write_array)(json, NULL);
    while (is_good && protobuf_next(&reader, &field)) {
        struct slice key, any = bytes_of(&field);
        if (!protobuf_is(&field, LIST_VALUES, PROTOBUF_BYTES))
            continue;
        if (is_map) {
            is_good = split_attribute(protobuf, bytes_of(&field), &key, &any);
            json_write_key(json, key.at, key.len);
        }
        is_good = is_good && write_value(protobuf, json, any, depth);
    }
    (is_map ? json_write_object_end : json_write_array_end)(json);
    return is_good && !reader.is_bad;
}

/* As in OTLP JSON. */
static void add_base64(struct text *text, struct slice bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)bytes.at;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t word =
            (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        char out[4] = {digits[word >> 18], digits[word >> 12 & 63], left > 1 ? digits[word >> 6 & 63] : '=',
                       left > 2 ? digits[word & 63] : '='};
        text_add_bytes(text, out, sizeof out);
    }
}

/* The last field that is set, or a field of number 0. */
static bool content_of(struct slice any, struct protobuf_field *content)
{
    static const enum protobuf_wire wires[] = {
        [VALUE_STRING] = PROTOBUF_BYTES,   [VALUE_BOOL] = PROTOBUF_VARINT, [VALUE_INT] = PROTOBUF_VARINT,
        [VALUE_DOUBLE] = PROTOBUF_FIXED64, [VALUE_ARRAY] = PROTOBUF_BYTES, [VALUE_MAP] = PROTOBUF_BYTES,
        [VALUE_BYTES] = PROTOBUF_BYTES};
    struct protobuf_reader reader = reader_of(any);
    struct protobuf_field field;
    *content = (struct protobuf_field){.number = 0};
    while (protobuf_next(&reader, &field)) {
        if (field.number >= VALUE_STRING && field.number <= VALUE_BYTES && wires[field.number] == field.wire)
            *content = field;
    }
    return !reader.is_bad;
}

/* False: it is not a scalar. */
static bool read_scalar(struct otlp_protobuf *protobuf, const struct protobuf_field *content,
                        struct otlp_value *value)
{
    *value = (struct otlp_value){.bits = content->value, .text = {"", 0}};
    if (content->number == VALUE_STRING) {
        value->type = TRACE_STRING;
        value->text = text_of(protobuf, bytes_of(content));
    } else if (content->number == VALUE_BOOL) {
        value->type = TRACE_BOOL;
        value->bits = content->value != 0;
    } else if (content->number == VALUE_INT) {
        value->type = TRACE_INT;
    } else if (content->number == VALUE_DOUBLE) {
        value->type = TRACE_DOUBLE;
    } else {
        return false;
    }
    return true;
}

static bool write_content(struct otlp_protobuf *protobuf, struct json_writer *json,
                          const struct protobuf_field *content, int depth)
{
    struct otlp_value value;
    bool is_map = content->number == VALUE_MAP;
    if ((is_map || content->number == VALUE_ARRAY) && depth < OTLP_DEPTH_MAX)
        return write_list(protobuf, json, bytes_of(content), is_map, depth + 1);
    if (read_scalar(protobuf, content, &value)) {
        otlp_value_write(json, &value);
    } else if (content->number == VALUE_BYTES) {
        struct text base64 = {0};
        add_base64(&base64, bytes_of(content));
        json_write_bytes(json, NULL, base64.data ? base64.data : "", base64.len);
        text_deinit(&base64);
    } else {
        json_write_raw(json, NULL, "null", strlen("null"));
    }
    return true;
}

static bool write_value(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice any, int depth)
{
    struct protobuf_field content;
    return content_of(any, &content) && write_content(protobuf, json, &content, depth);
}

/* Lists and bytes are appended to `texts`. */
static bool read_value(struct otlp_protobuf *protobuf, struct slice any, struct otlp_value *value)
{
    struct text *texts = &protobuf->texts;
    struct protobuf_field content;
    size_t at = texts->len;
    bool is_good = content_of(any, &content);
    if (is_good && read_scalar(protobuf, &content, value))
        return true;
    bool is_bytes = content.number == VALUE_BYTES;
    struct json_writer json = JSON_TEXT(texts);
    if (is_bytes)
        add_base64(texts, bytes_of(&content));
    else
        is_good = is_good && write_content(protobuf, &json, &content, 0);
    *value = otlp_value_at(is_bytes ? TRACE_STRING : TRACE_JSON, texts, at);
    return is_good;
}

static bool take_attribute(struct otlp_protobuf *protobuf, struct slice attribute, struct store *store)
{
    struct slice key, any;
    struct otlp_value value;
    if (!split_attribute(protobuf, attribute, &key, &any))
        return false;
    if (key.len == 0 || !store_key(store, key))
        return true;
    text_clear(&protobuf->texts);
    if (!read_value(protobuf, any, &value))
        return false;
    otlp_value_place(&value, &protobuf->texts);
    store_value(store, &value);
    return true;
}

/* --- resources and spans --- */

static bool take_resource(struct otlp_protobuf *protobuf, struct slice resource, struct store *store)
{
    struct protobuf_reader reader = reader_of(resource);
    struct protobuf_field field;
    size_t filled = 0;
    text_clear(&protobuf->texts);
    while (protobuf_next(&reader, &field)) {
        struct slice any;
        store->omissions.fields += protobuf_is(&field, RESOURCE_DROPPED, PROTOBUF_VARINT) && field.value > 0;
        store->omissions.fields += protobuf_is(&field, RESOURCE_ENTITIES, PROTOBUF_BYTES);
        if (!protobuf_is(&field, RESOURCE_ATTRIBUTES, PROTOBUF_BYTES))
            continue;
        protobuf->keys = xgrow(protobuf->keys, &protobuf->key_capacity, filled + 1, sizeof *protobuf->keys);
        protobuf->values =
            xgrow(protobuf->values, &protobuf->value_capacity, filled + 1, sizeof *protobuf->values);
        if (!split_attribute(protobuf, bytes_of(&field), &protobuf->keys[filled], &any) ||
            !read_value(protobuf, any, &protobuf->values[filled]))
            return false;
        filled += protobuf->keys[filled].len > 0;
    }
    for (size_t i = 0; i < filled; i++)
        otlp_value_place(&protobuf->values[i], &protobuf->texts);
    if (!reader.is_bad)
        store_resource(store, protobuf->keys, protobuf->values, filled);
    return !reader.is_bad;
}

static bool take_event(struct otlp_protobuf *protobuf, struct slice event, struct store *store)
{
    struct protobuf_reader reader = reader_of(event);
    struct protobuf_field field;
    struct slice name = {"", 0};
    uint64_t time_ns = 0;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, EVENT_TIME, PROTOBUF_FIXED64))
            time_ns = field.value;
        else if (protobuf_is(&field, EVENT_NAME, PROTOBUF_BYTES))
            name = bytes_of(&field);
        else if (protobuf_is(&field, EVENT_DROPPED, PROTOBUF_VARINT))
            store->omissions.fields += field.value > 0;
    }
    store->omissions.fields += time_ns == 0;
    if (reader.is_bad || time_ns == 0)
        return !reader.is_bad; /* without a time, it has no place in the trace */
    store_event(store, time_ns, text_of(protobuf, name));
    reader = reader_of(event);
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, EVENT_ATTRIBUTES, PROTOBUF_BYTES) &&
            !take_attribute(protobuf, bytes_of(&field), store))
            return false;
    }
    return true;
}

static bool take_events(struct otlp_protobuf *protobuf, struct slice bytes, struct store *store)
{
    struct protobuf_reader reader = reader_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, SPAN_EVENTS, PROTOBUF_BYTES) &&
            !take_event(protobuf, bytes_of(&field), store))
            return false;
    }
    return true;
}

static bool take_status(struct otlp_protobuf *protobuf, struct slice status, struct otlp_span *span)
{
    struct protobuf_reader reader = reader_of(status);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, STATUS_CODE, PROTOBUF_VARINT))
            span->has_failed = field.value == STATUS_CODE_ERROR;
        else if (protobuf_is(&field, STATUS_MESSAGE, PROTOBUF_BYTES))
            span->message = bytes_of(&field);
    }
    span->message = text_of(protobuf, span->message);
    return !reader.is_bad;
}

static uint64_t big_endian(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return be64toh(value);
}

/* --- what only an export keeps --- */

static bool write_attribute(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice attribute)
{
    struct slice key, any;
    if (!split_attribute(protobuf, attribute, &key, &any))
        return false;
    if (key.len == 0)
        return true;
    json_write_key(json, key.at, key.len);
    return write_value(protobuf, json, any, 0);
}

/* The attributes among the fields of a message. Left out if there are none. */
static bool write_attributes(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice message,
                             uint32_t number)
{
    struct protobuf_reader reader = reader_of(message);
    struct protobuf_field field;
    bool is_good = true, has_some = false;
    while (is_good && protobuf_next(&reader, &field)) {
        if (!protobuf_is(&field, number, PROTOBUF_BYTES))
            continue;
        if (!has_some)
            json_write_object(json, "attributes");
        has_some = true;
        is_good = write_attribute(protobuf, json, bytes_of(&field));
    }
    if (has_some)
        json_write_object_end(json);
    return is_good && !reader.is_bad;
}

static void write_hex(struct json_writer *json, const char *key, struct slice bytes)
{
    char digits[33];
    size_t len = bytes.len < sizeof digits / 2 ? bytes.len : sizeof digits / 2;
    for (size_t i = 0; i < len; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned char)bytes.at[i]);
    otlp_text_write(json, key, (struct slice){digits, 2 * len});
}

static bool write_link(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice link)
{
    struct protobuf_reader reader = reader_of(link);
    struct protobuf_field field;
    struct slice trace = {"", 0}, span = {"", 0}, state = {"", 0};
    uint64_t flags = 0, dropped = 0;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, LINK_TRACE_ID, PROTOBUF_BYTES))
            trace = bytes_of(&field);
        else if (protobuf_is(&field, LINK_SPAN_ID, PROTOBUF_BYTES))
            span = bytes_of(&field);
        else if (protobuf_is(&field, LINK_TRACE_STATE, PROTOBUF_BYTES))
            state = bytes_of(&field);
        else if (protobuf_is(&field, LINK_FLAGS, PROTOBUF_FIXED32))
            flags = field.value;
        else if (protobuf_is(&field, LINK_DROPPED, PROTOBUF_VARINT))
            dropped = field.value;
    }
    json_write_object(json, NULL);
    write_hex(json, "trace_id", trace);
    write_hex(json, "span_id", span);
    otlp_text_write(json, "trace_state", text_of(protobuf, state));
    otlp_number_write(json, "flags", flags);
    otlp_number_write(json, "dropped_attributes", dropped);
    bool is_good = write_attributes(protobuf, json, link, LINK_ATTRIBUTES);
    json_write_object_end(json);
    return is_good && !reader.is_bad;
}

static void take_status_details(struct otlp_protobuf *protobuf, struct slice status, struct store *store)
{
    struct protobuf_reader reader = reader_of(status);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, STATUS_CODE, PROTOBUF_VARINT))
            store_field(store, SPAN_FIELD_STATUS, field.value);
        else if (protobuf_is(&field, STATUS_MESSAGE, PROTOBUF_BYTES))
            store_field_text(store, SPAN_FIELD_MESSAGE, text_of(protobuf, bytes_of(&field)));
    }
}

static bool take_links(struct otlp_protobuf *protobuf, struct slice span, struct store *store)
{
    struct protobuf_reader reader = reader_of(span);
    struct text *text = &protobuf->texts;
    struct protobuf_field field;
    struct json_writer json = JSON_TEXT(text);
    text_clear(text);
    while (protobuf_next(&reader, &field)) {
        if (!protobuf_is(&field, SPAN_LINKS, PROTOBUF_BYTES))
            continue;
        if (!text->len)
            json_write_array(&json, NULL);
        if (!write_link(protobuf, &json, bytes_of(&field)))
            return false;
    }
    if (text->len) {
        json_write_array_end(&json);
        store_field_text(store, SPAN_FIELD_LINKS, (struct slice){text->data, text->len});
    }
    return true;
}

static bool take_details(struct otlp_protobuf *protobuf, struct slice span, struct store *store)
{
    static const struct {
        uint32_t number;
        enum protobuf_wire wire;
        enum span_field detail;
    } numbers[] = {{SPAN_KIND, PROTOBUF_VARINT, SPAN_FIELD_KIND},
                   {SPAN_FLAGS, PROTOBUF_FIXED32, SPAN_FIELD_FLAGS},
                   {SPAN_DROPPED_ATTRIBUTES, PROTOBUF_VARINT, SPAN_FIELD_DROPPED_ATTRIBUTES},
                   {SPAN_DROPPED_EVENTS, PROTOBUF_VARINT, SPAN_FIELD_DROPPED_EVENTS},
                   {SPAN_DROPPED_LINKS, PROTOBUF_VARINT, SPAN_FIELD_DROPPED_LINKS}};
    struct protobuf_reader reader = reader_of(span);
    struct protobuf_field field;
    bool has_end = false;
    while (protobuf_next(&reader, &field)) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            if (protobuf_is(&field, numbers[i].number, numbers[i].wire))
                store_field(store, numbers[i].detail, field.value);
        }
        if (protobuf_is(&field, SPAN_TRACE_STATE, PROTOBUF_BYTES))
            store_field_text(store, SPAN_FIELD_TRACE_STATE, text_of(protobuf, bytes_of(&field)));
        else if (protobuf_is(&field, SPAN_STATUS, PROTOBUF_BYTES))
            take_status_details(protobuf, bytes_of(&field), store);
        has_end |= protobuf_is(&field, SPAN_END, PROTOBUF_FIXED64) && field.value;
    }
    store->omissions.unended += !has_end;
    return take_links(protobuf, span, store);
}

static bool write_scope(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice scope,
                        struct store *store)
{
    struct protobuf_reader reader = reader_of(scope);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, SCOPE_NAME, PROTOBUF_BYTES))
            otlp_text_write(json, "name", text_of(protobuf, bytes_of(&field)));
        else if (protobuf_is(&field, SCOPE_VERSION, PROTOBUF_BYTES))
            otlp_text_write(json, "version", text_of(protobuf, bytes_of(&field)));
        else if (protobuf_is(&field, SCOPE_DROPPED, PROTOBUF_VARINT))
            store->omissions.fields += field.value > 0;
    }
    return write_attributes(protobuf, json, scope, SCOPE_ATTRIBUTES) && !reader.is_bad;
}

/* `resource_schema`: the schema URL of the resource. */
static bool take_scope_details(struct otlp_protobuf *protobuf, struct slice scope_spans,
                               struct slice resource_schema, struct store *store)
{
    struct protobuf_reader reader = reader_of(scope_spans);
    struct protobuf_field field;
    struct slice schema = {"", 0};
    bool is_good = true;
    text_clear(&protobuf->texts);
    struct json_writer json = JSON_TEXT(&protobuf->texts);
    json_write_object(&json, NULL);
    while (is_good && protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, SCOPE_SPANS_SCOPE, PROTOBUF_BYTES))
            is_good = write_scope(protobuf, &json, bytes_of(&field), store);
        else if (protobuf_is(&field, SCOPE_SPANS_SCHEMA, PROTOBUF_BYTES))
            schema = bytes_of(&field);
    }
    otlp_text_write(&json, "schema_url", text_of(protobuf, schema));
    otlp_text_write(&json, "resource_schema_url", text_of(protobuf, resource_schema));
    json_write_object_end(&json);
    bool is_empty = protobuf->texts.len == strlen("{}");
    store_scope(store, (struct slice){protobuf->texts.data, is_empty ? 0 : protobuf->texts.len});
    return is_good && !reader.is_bad;
}

/* --- spans --- */

struct required {
    struct slice trace, span, parent;
    bool has_start;
};

/* All but events, which come after the attributes. */
static bool take_fields(struct otlp_protobuf *protobuf, struct slice bytes, struct otlp_span *span,
                        struct required *ids, struct store *store)
{
    struct protobuf_reader reader = reader_of(bytes);
    struct protobuf_field field;
    bool is_good = true;
    while (is_good && protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, SPAN_TRACE_ID, PROTOBUF_BYTES))
            ids->trace = bytes_of(&field);
        else if (protobuf_is(&field, SPAN_ID, PROTOBUF_BYTES))
            ids->span = bytes_of(&field);
        else if (protobuf_is(&field, SPAN_PARENT_ID, PROTOBUF_BYTES))
            ids->parent = bytes_of(&field);
        else if (protobuf_is(&field, SPAN_NAME, PROTOBUF_BYTES))
            span->name = text_of(protobuf, bytes_of(&field));
        else if (protobuf_is(&field, SPAN_START, PROTOBUF_FIXED64)) {
            span->start_ns = field.value;
            ids->has_start = true;
        } else if (protobuf_is(&field, SPAN_END, PROTOBUF_FIXED64))
            span->end_ns = field.value;
        else if (protobuf_is(&field, SPAN_STATUS, PROTOBUF_BYTES))
            is_good = take_status(protobuf, bytes_of(&field), span);
        else if (protobuf_is(&field, SPAN_ATTRIBUTES, PROTOBUF_BYTES) && !store->only_counts)
            is_good = take_attribute(protobuf, bytes_of(&field), store);
    }
    return is_good && !reader.is_bad;
}

static enum status take_span(struct otlp_protobuf *protobuf, struct slice bytes, struct store *store,
                             struct error *err)
{
    struct otlp_span span = {.name = {"", 0}, .message = {"", 0}};
    struct required ids = {{"", 0}, {"", 0}, {"", 0}, false};
    if (!take_fields(protobuf, bytes, &span, &ids, store))
        return complain(err);
    if (store->wants_fields && !take_details(protobuf, bytes, store))
        return complain(err);
    if (store_wants_events(store) && !store->only_counts && !take_events(protobuf, bytes, store))
        return complain(err);
    span.trace_high = ids.trace.len == 16 ? big_endian(ids.trace.at) : 0;
    span.trace_low = ids.trace.len == 16 ? big_endian(ids.trace.at + 8) : 0;
    span.id = ids.span.len == 8 ? big_endian(ids.span.at) : 0;
    span.parent_id = ids.parent.len == 8 ? big_endian(ids.parent.at) : 0;
    const char *wrong = ids.trace.len != 16 ? "has a trace_id that is not 16 bytes"
                        : ids.span.len != 8 ? "has a span_id that is not 8 bytes"
                        : !ids.has_start    ? "has no start_time_unix_nano"
                                            : NULL;
    if (!wrong)
        return store_span(store, &span, err);
    store_skip(store, span.id, wrong);
    return STATUS_OK;
}

static enum status take_scope(struct otlp_protobuf *protobuf, struct slice scope, struct slice schema,
                              struct store *store, struct error *err)
{
    struct protobuf_reader reader = reader_of(scope);
    struct protobuf_field field;
    if (store->wants_fields && !take_scope_details(protobuf, scope, schema, store))
        return complain(err);
    while (protobuf_next(&reader, &field)) {
        enum status status = protobuf_is(&field, SCOPE_SPANS_SPANS, PROTOBUF_BYTES)
                                 ? take_span(protobuf, bytes_of(&field), store, err)
                                 : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return reader.is_bad ? complain(err) : STATUS_OK;
}

static enum status take_batch(struct otlp_protobuf *protobuf, struct slice batch, struct store *store,
                              struct error *err)
{
    struct protobuf_reader reader = reader_of(batch);
    struct protobuf_field field;
    struct slice resource = {"", 0}, schema = {"", 0};
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, RESOURCE_SPANS_RESOURCE, PROTOBUF_BYTES))
            resource = bytes_of(&field);
        else if (protobuf_is(&field, RESOURCE_SPANS_SCHEMA, PROTOBUF_BYTES))
            schema = bytes_of(&field);
    }
    if (reader.is_bad || !take_resource(protobuf, resource, store))
        return complain(err);
    reader = reader_of(batch);
    while (protobuf_next(&reader, &field)) {
        enum status status = protobuf_is(&field, RESOURCE_SPANS_SCOPE_SPANS, PROTOBUF_BYTES)
                                 ? take_scope(protobuf, bytes_of(&field), schema, store, err)
                                 : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status otlp_protobuf_read(struct otlp_protobuf *protobuf, const char *bytes, size_t len,
                               struct store *store, struct error *err)
{
    struct protobuf_reader reader = reader_of((struct slice){bytes, len});
    struct protobuf_field field;
    enum status status = STATUS_OK;
    protobuf->replaced = 0;
    while (status == STATUS_OK && protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, TRACES_RESOURCE_SPANS, PROTOBUF_BYTES))
            status = take_batch(protobuf, bytes_of(&field), store, err);
    }
    if (status == STATUS_OK && reader.is_bad)
        status = complain(err);
    if (status == STATUS_INVALID)
        store_reset(store);
    store->omissions.replaced += protobuf->replaced;
    free_repaired(protobuf);
    return status;
}
