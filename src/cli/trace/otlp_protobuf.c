#include "cli/trace/otlp_protobuf.h"

#include "cli/util/json_object.h"
#include "cli/util/xalloc.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_CODE_ERROR 2
#define DEPTH_MAX         64 /* of lists in attributes; deeper ones are null */

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
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void otlp_protobuf_deinit(struct otlp_protobuf *protobuf)
{
    free(protobuf->keys);
    free(protobuf->values);
    text_deinit(&protobuf->texts);
    *protobuf = (struct otlp_protobuf){0};
}

/* --- the wire format --- */

struct cursor {
    const unsigned char *at, *end;
    bool is_bad;
};

struct field {
    uint32_t number;
    enum wire wire;
    uint64_t value; /* of numbers */
    struct slice bytes;
};

static struct cursor cursor_of(struct slice bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.at;
    return (struct cursor){at, at + bytes.len, false};
}

static uint64_t read_long_varint(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        unsigned char byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->is_bad = true;
    return 0;
}

/* Most tags and lengths are one byte. */
static inline uint64_t read_varint(struct cursor *cursor)
{
    return cursor->at < cursor->end && *cursor->at < 0x80 ? *cursor->at++ : read_long_varint(cursor);
}

static uint64_t read_fixed(struct cursor *cursor, size_t bytes)
{
    uint64_t value = 0; /* little endian */
    if ((size_t)(cursor->end - cursor->at) < bytes) {
        cursor->is_bad = true;
        return 0;
    }
    memcpy(&value, cursor->at, bytes);
    cursor->at += bytes;
    return le64toh(value);
}

static struct slice read_bytes(struct cursor *cursor)
{
    uint64_t len = read_varint(cursor);
    struct slice bytes = {(const char *)cursor->at, (size_t)len};
    if (cursor->is_bad || len > (uint64_t)(cursor->end - cursor->at)) {
        cursor->is_bad = true;
        return (struct slice){"", 0};
    }
    cursor->at += len;
    return bytes;
}

/* False at the end or if the message is broken (is_bad). */
static bool next_field(struct cursor *cursor, struct field *field)
{
    if (cursor->at == cursor->end || cursor->is_bad)
        return false;
    uint64_t tag = read_varint(cursor);
    *field = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7, .bytes = {"", 0}};
    if (field->wire == WIRE_VARINT)
        field->value = read_varint(cursor);
    else if (field->wire == WIRE_FIXED64)
        field->value = read_fixed(cursor, 8);
    else if (field->wire == WIRE_FIXED32)
        field->value = read_fixed(cursor, 4);
    else if (field->wire == WIRE_BYTES)
        field->bytes = read_bytes(cursor);
    else
        cursor->is_bad = true;
    cursor->is_bad |= tag >> 3 == 0 || tag >> 3 > UINT32_MAX;
    return !cursor->is_bad;
}

static bool is_field(const struct field *field, uint32_t number, enum wire wire)
{
    return field->number == number && field->wire == wire;
}

static enum status complain(struct error *err)
{
    return error_set(err, STATUS_INVALID, "this is not a message of OTLP protobuf");
}

/* --- attributes --- */

static bool add_json_value(struct text *text, struct slice any, int depth);

static void add_json_slice(struct text *text, struct slice slice)
{
    char *copy = xasprintf("%.*s", (int)slice.len, slice.at);
    text_add_json_string(text, copy);
    free(copy);
}

/* A key and a value. */
static bool split_attribute(struct slice attribute, struct slice *key, struct slice *any)
{
    struct cursor cursor = cursor_of(attribute);
    struct field field;
    *key = *any = (struct slice){"", 0};
    while (next_field(&cursor, &field)) {
        if (is_field(&field, ATTRIBUTE_KEY, WIRE_BYTES))
            *key = field.bytes;
        else if (is_field(&field, ATTRIBUTE_VALUE, WIRE_BYTES))
            *any = field.bytes;
    }
    return !cursor.is_bad;
}

static bool add_json_list(struct text *text, struct slice list, bool is_map, int depth)
{
    struct cursor cursor = cursor_of(list);
    struct field field;
    bool is_good = true, is_first = true;
    text_add(text, is_map ? "{" : "[");
    while (is_good && next_field(&cursor, &field)) {
        struct slice key, any = field.bytes;
        if (!is_field(&field, LIST_VALUES, WIRE_BYTES))
            continue;
        text_add(text, is_first ? "" : ",");
        is_first = false;
        if (is_map) {
            is_good = split_attribute(field.bytes, &key, &any);
            add_json_slice(text, key);
            text_add(text, ":");
        }
        is_good = is_good && add_json_value(text, any, depth);
    }
    text_add(text, is_map ? "}" : "]");
    return is_good && !cursor.is_bad;
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
static bool content_of(struct slice any, struct field *content)
{
    struct cursor cursor = cursor_of(any);
    struct field field;
    *content = (struct field){.number = 0};
    while (next_field(&cursor, &field)) {
        if (field.number >= VALUE_STRING && field.number <= VALUE_BYTES)
            *content = field;
    }
    return !cursor.is_bad;
}

/* False: it is not a scalar. */
static bool read_scalar(const struct field *content, struct otlp_value *value)
{
    *value = (struct otlp_value){.bits = content->value, .text = {"", 0}};
    if (is_field(content, VALUE_STRING, WIRE_BYTES)) {
        value->type = TRACE_STRING;
        value->text = content->bytes;
    } else if (is_field(content, VALUE_BOOL, WIRE_VARINT)) {
        value->type = TRACE_BOOL;
        value->bits = content->value != 0;
    } else if (is_field(content, VALUE_INT, WIRE_VARINT)) {
        value->type = TRACE_INT;
    } else if (is_field(content, VALUE_DOUBLE, WIRE_FIXED64)) {
        value->type = TRACE_DOUBLE;
    } else {
        return false;
    }
    return true;
}

static bool add_json_content(struct text *text, const struct field *content, int depth)
{
    struct otlp_value value;
    double real;
    bool is_map = is_field(content, VALUE_MAP, WIRE_BYTES);
    if ((is_map || is_field(content, VALUE_ARRAY, WIRE_BYTES)) && depth < DEPTH_MAX)
        return add_json_list(text, content->bytes, is_map, depth + 1);
    bool is_scalar = read_scalar(content, &value);
    memcpy(&real, &value.bits, sizeof real);
    if (!is_scalar)
        text_add(text, "null");
    else if (value.type == TRACE_STRING)
        add_json_slice(text, value.text);
    else if (value.type == TRACE_BOOL)
        text_add(text, value.bits ? "true" : "false");
    else if (value.type == TRACE_INT)
        text_add_format(text, "%lld", (long long)value.bits);
    else
        text_add_format(text, "%.17g", real);
    return true;
}

static bool add_json_value(struct text *text, struct slice any, int depth)
{
    struct field content;
    return content_of(any, &content) && add_json_content(text, &content, depth);
}

/* Lists and bytes are appended to `texts`; their text is then only an offset there until all have been added.
 */
static bool read_value(struct slice any, struct text *texts, struct otlp_value *value)
{
    struct field content;
    size_t at = texts->len;
    bool is_good = content_of(any, &content);
    if (is_good && read_scalar(&content, value))
        return true;
    bool is_bytes = is_field(&content, VALUE_BYTES, WIRE_BYTES);
    if (is_bytes)
        add_base64(texts, content.bytes);
    else
        is_good = is_good && add_json_content(texts, &content, 0);
    *value = (struct otlp_value){
        .type = is_bytes ? TRACE_STRING : TRACE_JSON, .bits = at, .text.len = texts->len - at};
    return is_good;
}

static void place_text(const struct text *texts, struct otlp_value *value)
{
    if (value->text.at)
        return;
    value->text.at = texts->data ? texts->data + value->bits : "";
    value->bits = 0;
}

static bool take_attribute(struct otlp_protobuf *protobuf, struct slice attribute, struct store *store)
{
    struct slice key, any;
    struct otlp_value value;
    if (!split_attribute(attribute, &key, &any))
        return false;
    if (!store_key(store, key))
        return true;
    text_clear(&protobuf->texts);
    if (!read_value(any, &protobuf->texts, &value))
        return false;
    place_text(&protobuf->texts, &value);
    store_value(store, &value);
    return true;
}

/* --- resources and spans --- */

static bool take_resource(struct otlp_protobuf *protobuf, struct slice resource, struct store *store)
{
    struct cursor cursor = cursor_of(resource);
    struct field field;
    size_t filled = 0;
    text_clear(&protobuf->texts);
    while (next_field(&cursor, &field)) {
        struct slice any;
        store->omissions.fields += is_field(&field, RESOURCE_DROPPED, WIRE_VARINT) && field.value > 0;
        store->omissions.fields += is_field(&field, RESOURCE_ENTITIES, WIRE_BYTES);
        if (!is_field(&field, RESOURCE_ATTRIBUTES, WIRE_BYTES))
            continue;
        protobuf->keys = xgrow(protobuf->keys, &protobuf->key_capacity, filled + 1, sizeof *protobuf->keys);
        protobuf->values =
            xgrow(protobuf->values, &protobuf->value_capacity, filled + 1, sizeof *protobuf->values);
        if (!split_attribute(field.bytes, &protobuf->keys[filled], &any) ||
            !read_value(any, &protobuf->texts, &protobuf->values[filled]))
            return false;
        filled++;
    }
    for (size_t i = 0; i < filled; i++)
        place_text(&protobuf->texts, &protobuf->values[i]);
    if (!cursor.is_bad)
        store_resource(store, protobuf->keys, protobuf->values, filled);
    return !cursor.is_bad;
}

static bool take_event(struct otlp_protobuf *protobuf, struct slice event, struct store *store)
{
    struct cursor cursor = cursor_of(event);
    struct field field;
    struct slice name = {"", 0};
    uint64_t time_ns = 0;
    while (next_field(&cursor, &field)) {
        if (is_field(&field, EVENT_TIME, WIRE_FIXED64))
            time_ns = field.value;
        else if (is_field(&field, EVENT_NAME, WIRE_BYTES))
            name = field.bytes;
        else if (is_field(&field, EVENT_DROPPED, WIRE_VARINT))
            store->omissions.fields += field.value > 0;
    }
    store->omissions.fields += time_ns == 0;
    if (cursor.is_bad || time_ns == 0)
        return !cursor.is_bad; /* without a time, it has no place in the trace */
    store_event(store, time_ns, name);
    cursor = cursor_of(event);
    while (next_field(&cursor, &field)) {
        if (is_field(&field, EVENT_ATTRIBUTES, WIRE_BYTES) && !take_attribute(protobuf, field.bytes, store))
            return false;
    }
    return true;
}

static bool take_events(struct otlp_protobuf *protobuf, struct slice bytes, struct store *store)
{
    struct cursor cursor = cursor_of(bytes);
    struct field field;
    while (next_field(&cursor, &field)) {
        if (is_field(&field, SPAN_EVENTS, WIRE_BYTES) && !take_event(protobuf, field.bytes, store))
            return false;
    }
    return true;
}

static bool take_status(struct slice status, struct otlp_span *span)
{
    struct cursor cursor = cursor_of(status);
    struct field field;
    while (next_field(&cursor, &field)) {
        if (is_field(&field, STATUS_CODE, WIRE_VARINT))
            span->has_failed = field.value == STATUS_CODE_ERROR;
        else if (is_field(&field, STATUS_MESSAGE, WIRE_BYTES))
            span->message = field.bytes;
    }
    return !cursor.is_bad;
}

static uint64_t big_endian(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return be64toh(value);
}

/* --- what only an export keeps --- */

static bool add_attribute_field(struct json_object *attributes, struct slice attribute)
{
    struct slice key, any;
    if (!split_attribute(attribute, &key, &any))
        return false;
    json_object_key(attributes, key.at, key.len);
    return add_json_value(attributes->text, any, 0);
}

/* The attributes among the fields of a message. Left out if there are none. */
static bool add_attributes_field(struct json_object *object, struct slice message, uint32_t number)
{
    struct cursor cursor = cursor_of(message);
    struct field field;
    struct json_object attributes = {.text = NULL};
    bool is_good = true;
    while (is_good && next_field(&cursor, &field)) {
        if (!is_field(&field, number, WIRE_BYTES))
            continue;
        if (!attributes.text) {
            json_object_key(object, "attributes", strlen("attributes"));
            attributes = json_object_begin(object->text);
        }
        is_good = add_attribute_field(&attributes, field.bytes);
    }
    if (attributes.text)
        json_object_end(&attributes);
    return is_good && !cursor.is_bad;
}

static void add_hex_field(struct json_object *object, const char *key, struct slice bytes)
{
    char digits[33];
    size_t len = bytes.len < sizeof digits / 2 ? bytes.len : sizeof digits / 2;
    for (size_t i = 0; i < len; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned char)bytes.at[i]);
    json_object_text(object, key, digits, 2 * len);
}

static bool add_link(struct text *text, struct slice link)
{
    struct cursor cursor = cursor_of(link);
    struct field field;
    struct slice trace = {"", 0}, span = {"", 0}, state = {"", 0};
    uint64_t flags = 0, dropped = 0;
    while (next_field(&cursor, &field)) {
        if (is_field(&field, LINK_TRACE_ID, WIRE_BYTES))
            trace = field.bytes;
        else if (is_field(&field, LINK_SPAN_ID, WIRE_BYTES))
            span = field.bytes;
        else if (is_field(&field, LINK_TRACE_STATE, WIRE_BYTES))
            state = field.bytes;
        else if (is_field(&field, LINK_FLAGS, WIRE_FIXED32))
            flags = field.value;
        else if (is_field(&field, LINK_DROPPED, WIRE_VARINT))
            dropped = field.value;
    }
    struct json_object object = json_object_begin(text);
    add_hex_field(&object, "trace_id", trace);
    add_hex_field(&object, "span_id", span);
    json_object_text(&object, "trace_state", state.at, state.len);
    json_object_number(&object, "flags", flags);
    json_object_number(&object, "dropped_attributes", dropped);
    bool is_good = add_attributes_field(&object, link, LINK_ATTRIBUTES);
    json_object_end(&object);
    return is_good && !cursor.is_bad;
}

static void take_status_details(struct slice status, struct store *store)
{
    struct cursor cursor = cursor_of(status);
    struct field field;
    while (next_field(&cursor, &field)) {
        if (is_field(&field, STATUS_CODE, WIRE_VARINT))
            store_detail(store, DETAIL_STATUS, field.value);
        else if (is_field(&field, STATUS_MESSAGE, WIRE_BYTES))
            store_detail_text(store, DETAIL_MESSAGE, field.bytes);
    }
}

static bool take_links(struct otlp_protobuf *protobuf, struct slice span, struct store *store)
{
    struct cursor cursor = cursor_of(span);
    struct text *text = &protobuf->texts;
    struct field field;
    text_clear(text);
    while (next_field(&cursor, &field)) {
        if (!is_field(&field, SPAN_LINKS, WIRE_BYTES))
            continue;
        text_add(text, text->len ? "," : "[");
        if (!add_link(text, field.bytes))
            return false;
    }
    if (text->len) {
        text_add(text, "]");
        store_detail_text(store, DETAIL_LINKS, (struct slice){text->data, text->len});
    }
    return true;
}

static bool take_details(struct otlp_protobuf *protobuf, struct slice span, struct store *store)
{
    static const struct {
        uint32_t number;
        enum wire wire;
        enum span_detail detail;
    } numbers[] = {{SPAN_KIND, WIRE_VARINT, DETAIL_KIND},
                   {SPAN_FLAGS, WIRE_FIXED32, DETAIL_FLAGS},
                   {SPAN_DROPPED_ATTRIBUTES, WIRE_VARINT, DETAIL_DROPPED_ATTRIBUTES},
                   {SPAN_DROPPED_EVENTS, WIRE_VARINT, DETAIL_DROPPED_EVENTS},
                   {SPAN_DROPPED_LINKS, WIRE_VARINT, DETAIL_DROPPED_LINKS}};
    struct cursor cursor = cursor_of(span);
    struct field field;
    bool has_end = false;
    while (next_field(&cursor, &field)) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            if (is_field(&field, numbers[i].number, numbers[i].wire))
                store_detail(store, numbers[i].detail, field.value);
        }
        if (is_field(&field, SPAN_TRACE_STATE, WIRE_BYTES))
            store_detail_text(store, DETAIL_TRACE_STATE, field.bytes);
        else if (is_field(&field, SPAN_STATUS, WIRE_BYTES))
            take_status_details(field.bytes, store);
        has_end |= is_field(&field, SPAN_END, WIRE_FIXED64) && field.value;
    }
    store->omissions.unended += !has_end;
    return take_links(protobuf, span, store);
}

static bool add_scope(struct json_object *object, struct slice scope, struct store *store)
{
    struct cursor cursor = cursor_of(scope);
    struct field field;
    while (next_field(&cursor, &field)) {
        if (is_field(&field, SCOPE_NAME, WIRE_BYTES))
            json_object_text(object, "name", field.bytes.at, field.bytes.len);
        else if (is_field(&field, SCOPE_VERSION, WIRE_BYTES))
            json_object_text(object, "version", field.bytes.at, field.bytes.len);
        else if (is_field(&field, SCOPE_DROPPED, WIRE_VARINT))
            store->omissions.fields += field.value > 0;
    }
    return add_attributes_field(object, scope, SCOPE_ATTRIBUTES) && !cursor.is_bad;
}

/* `resource_schema`: the schema URL of the resource. */
static bool take_scope_details(struct otlp_protobuf *protobuf, struct slice scope_spans,
                               struct slice resource_schema, struct store *store)
{
    struct cursor cursor = cursor_of(scope_spans);
    struct field field;
    struct slice schema = {"", 0};
    bool is_good = true;
    text_clear(&protobuf->texts);
    struct json_object object = json_object_begin(&protobuf->texts);
    while (is_good && next_field(&cursor, &field)) {
        if (is_field(&field, SCOPE_SPANS_SCOPE, WIRE_BYTES))
            is_good = add_scope(&object, field.bytes, store);
        else if (is_field(&field, SCOPE_SPANS_SCHEMA, WIRE_BYTES))
            schema = field.bytes;
    }
    json_object_text(&object, "schema_url", schema.at, schema.len);
    json_object_text(&object, "resource_schema_url", resource_schema.at, resource_schema.len);
    json_object_end(&object);
    store_scope(store, (struct slice){protobuf->texts.data, object.has_fields ? protobuf->texts.len : 0});
    return is_good && !cursor.is_bad;
}

/* --- spans --- */

struct ids {
    struct slice trace, span, parent;
};

/* All but events, which come after the attributes. */
static bool take_fields(struct otlp_protobuf *protobuf, struct slice bytes, struct otlp_span *span,
                        struct ids *ids, struct store *store)
{
    struct cursor cursor = cursor_of(bytes);
    struct field field;
    bool is_good = true;
    while (is_good && next_field(&cursor, &field)) {
        if (is_field(&field, SPAN_TRACE_ID, WIRE_BYTES))
            ids->trace = field.bytes;
        else if (is_field(&field, SPAN_ID, WIRE_BYTES))
            ids->span = field.bytes;
        else if (is_field(&field, SPAN_PARENT_ID, WIRE_BYTES))
            ids->parent = field.bytes;
        else if (is_field(&field, SPAN_NAME, WIRE_BYTES))
            span->name = field.bytes;
        else if (is_field(&field, SPAN_START, WIRE_FIXED64))
            span->start_ns = field.value;
        else if (is_field(&field, SPAN_END, WIRE_FIXED64))
            span->end_ns = field.value;
        else if (is_field(&field, SPAN_STATUS, WIRE_BYTES))
            is_good = take_status(field.bytes, span);
        else if (is_field(&field, SPAN_ATTRIBUTES, WIRE_BYTES) && !store->only_counts)
            is_good = take_attribute(protobuf, field.bytes, store);
    }
    return is_good && !cursor.is_bad;
}

static enum status take_span(struct otlp_protobuf *protobuf, struct slice bytes, struct store *store,
                             struct error *err)
{
    struct otlp_span span = {.name = {"", 0}, .message = {"", 0}};
    struct ids ids = {{"", 0}, {"", 0}, {"", 0}};
    if (!take_fields(protobuf, bytes, &span, &ids, store))
        return complain(err);
    if (store->wants_details && !take_details(protobuf, bytes, store))
        return complain(err);
    if (store_wants_events(store) && !store->only_counts && !take_events(protobuf, bytes, store))
        return complain(err);
    if (ids.trace.len != 16)
        return error_set(err, STATUS_INVALID, "a span's trace_id is not 16 bytes");
    if (ids.span.len != 8)
        return error_set(err, STATUS_INVALID, "a span's span_id is not 8 bytes");
    span.trace_high = big_endian(ids.trace.at);
    span.trace_low = big_endian(ids.trace.at + 8);
    span.id = big_endian(ids.span.at);
    span.parent_id = ids.parent.len == 8 ? big_endian(ids.parent.at) : 0;
    if (!span.start_ns)
        return error_set(err, STATUS_INVALID, "span %016llx has no start_time_unix_nano",
                         (unsigned long long)span.id);
    return store_span(store, &span, err);
}

static enum status take_scope(struct otlp_protobuf *protobuf, struct slice scope, struct slice schema,
                              struct store *store, struct error *err)
{
    struct cursor cursor = cursor_of(scope);
    struct field field;
    if (store->wants_details && !take_scope_details(protobuf, scope, schema, store))
        return complain(err);
    while (next_field(&cursor, &field)) {
        enum status status = is_field(&field, SCOPE_SPANS_SPANS, WIRE_BYTES)
                                 ? take_span(protobuf, field.bytes, store, err)
                                 : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return cursor.is_bad ? complain(err) : STATUS_OK;
}

static enum status take_batch(struct otlp_protobuf *protobuf, struct slice batch, struct store *store,
                              struct error *err)
{
    struct cursor cursor = cursor_of(batch);
    struct field field;
    struct slice resource = {"", 0}, schema = {"", 0};
    while (next_field(&cursor, &field)) {
        if (is_field(&field, RESOURCE_SPANS_RESOURCE, WIRE_BYTES))
            resource = field.bytes;
        else if (is_field(&field, RESOURCE_SPANS_SCHEMA, WIRE_BYTES))
            schema = field.bytes;
    }
    if (cursor.is_bad || !take_resource(protobuf, resource, store))
        return complain(err);
    cursor = cursor_of(batch);
    while (next_field(&cursor, &field)) {
        enum status status = is_field(&field, RESOURCE_SPANS_SCOPE_SPANS, WIRE_BYTES)
                                 ? take_scope(protobuf, field.bytes, schema, store, err)
                                 : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status otlp_protobuf_read(struct otlp_protobuf *protobuf, const char *bytes, size_t len,
                               struct store *store, struct error *err)
{
    struct cursor cursor = cursor_of((struct slice){bytes, len});
    struct field field;
    while (next_field(&cursor, &field)) {
        enum status status = is_field(&field, TRACES_RESOURCE_SPANS, WIRE_BYTES)
                                 ? take_batch(protobuf, field.bytes, store, err)
                                 : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return cursor.is_bad ? complain(err) : STATUS_OK;
}
