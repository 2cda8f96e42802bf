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
    return (struct slice){field->bytes ? (const char *)field->bytes : "", field->length};
}

/* The last field of each number below `count` that has the wire type in `wires`; all zeros: there is none.
 * False: this is no message. */
static bool last_fields(struct slice message, const uint8_t *wires, uint32_t count,
                        struct protobuf_field *fields)
{
    struct protobuf_reader reader = reader_of(message);
    struct protobuf_field field;
    memset(fields, 0, count * sizeof *fields);
    while (protobuf_next(&reader, &field)) {
        if (field.number < count && wires[field.number] == field.wire)
            fields[field.number] = field;
    }
    return !reader.is_bad;
}

/* The next message or text of a repeated field. */
static bool next_of(struct protobuf_reader *reader, uint32_t number, struct slice *bytes)
{
    struct protobuf_field field;
    while (protobuf_next(reader, &field)) {
        if (!protobuf_is(&field, number, PROTOBUF_BYTES))
            continue;
        *bytes = bytes_of(&field);
        return true;
    }
    return false;
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
    static const uint8_t wires[] = {[ATTRIBUTE_KEY] = PROTOBUF_BYTES, [ATTRIBUTE_VALUE] = PROTOBUF_BYTES};
    struct protobuf_field fields[sizeof wires];
    bool is_good = last_fields(attribute, wires, sizeof wires, fields);
    *key = text_of(protobuf, bytes_of(&fields[ATTRIBUTE_KEY]));
    *any = bytes_of(&fields[ATTRIBUTE_VALUE]);
    return is_good;
}

static bool write_list(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice list,
                       bool is_map, int depth)
{
    struct protobuf_reader reader = reader_of(list);
    struct slice key, any, item;
    bool is_good = true;
    (is_map ? json_write_object : json_write_array)(json, NULL);
    while (is_good && next_of(&reader, LIST_VALUES, &item)) {
        any = item;
        if (is_map) {
            is_good = split_attribute(protobuf, item, &key, &any);
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

static bool take_attributes(struct otlp_protobuf *protobuf, struct slice message, uint32_t number,
                            struct store *store)
{
    struct protobuf_reader reader = reader_of(message);
    struct slice attribute;
    while (next_of(&reader, number, &attribute)) {
        if (!take_attribute(protobuf, attribute, store))
            return false;
    }
    return true;
}

static bool take_event(struct otlp_protobuf *protobuf, struct slice event, struct store *store)
{
    static const uint8_t wires[] = {
        [EVENT_TIME] = PROTOBUF_FIXED64, [EVENT_NAME] = PROTOBUF_BYTES, [EVENT_DROPPED] = PROTOBUF_VARINT};
    struct protobuf_field fields[sizeof wires];
    bool is_good = last_fields(event, wires, sizeof wires, fields);
    uint64_t time_ns = fields[EVENT_TIME].value;
    store->omissions.fields += (size_t)(fields[EVENT_DROPPED].value > 0) + (size_t)(time_ns == 0);
    if (!is_good || time_ns == 0)
        return is_good; /* without a time, it has no place in the trace */
    store_event(store, time_ns, text_of(protobuf, bytes_of(&fields[EVENT_NAME])));
    return take_attributes(protobuf, event, EVENT_ATTRIBUTES, store);
}

static bool take_events(struct otlp_protobuf *protobuf, struct slice span, struct store *store)
{
    struct protobuf_reader reader = reader_of(span);
    struct slice event;
    while (next_of(&reader, SPAN_EVENTS, &event)) {
        if (!take_event(protobuf, event, store))
            return false;
    }
    return true;
}

static bool take_status(struct otlp_protobuf *protobuf, struct slice status, struct otlp_span *span,
                        struct store *store)
{
    static const uint8_t wires[] = {[STATUS_MESSAGE] = PROTOBUF_BYTES, [STATUS_CODE] = PROTOBUF_VARINT};
    struct protobuf_field fields[sizeof wires];
    bool is_good = last_fields(status, wires, sizeof wires, fields);
    span->has_failed = fields[STATUS_CODE].value == STATUS_CODE_ERROR;
    span->message = text_of(protobuf, bytes_of(&fields[STATUS_MESSAGE]));
    if (store->wants_fields) {
        store_field(store, SPAN_FIELD_STATUS, fields[STATUS_CODE].value);
        store_field_text(store, SPAN_FIELD_MESSAGE, span->message);
    }
    return is_good;
}

/* Of an ID of `length` bytes, those at `at`; 0: it has another length. */
static uint64_t big_endian(const struct protobuf_field *id, size_t length, size_t at)
{
    uint64_t value;
    if (id->length != length)
        return 0;
    memcpy(&value, id->bytes + at, sizeof value);
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
    struct slice attribute;
    bool is_good = true, has_some = false;
    while (is_good && next_of(&reader, number, &attribute)) {
        if (!has_some)
            json_write_object(json, "attributes");
        has_some = true;
        is_good = write_attribute(protobuf, json, attribute);
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
    static const uint8_t wires[] = {[LINK_TRACE_ID] = PROTOBUF_BYTES,
                                    [LINK_SPAN_ID] = PROTOBUF_BYTES,
                                    [LINK_TRACE_STATE] = PROTOBUF_BYTES,
                                    [LINK_DROPPED] = PROTOBUF_VARINT,
                                    [LINK_FLAGS] = PROTOBUF_FIXED32};
    struct protobuf_field fields[sizeof wires];
    bool is_good = last_fields(link, wires, sizeof wires, fields);
    json_write_object(json, NULL);
    write_hex(json, "trace_id", bytes_of(&fields[LINK_TRACE_ID]));
    write_hex(json, "span_id", bytes_of(&fields[LINK_SPAN_ID]));
    otlp_text_write(json, "trace_state", text_of(protobuf, bytes_of(&fields[LINK_TRACE_STATE])));
    otlp_number_write(json, "flags", fields[LINK_FLAGS].value);
    otlp_number_write(json, "dropped_attributes", fields[LINK_DROPPED].value);
    is_good &= write_attributes(protobuf, json, link, LINK_ATTRIBUTES);
    json_write_object_end(json);
    return is_good;
}

static bool take_links(struct otlp_protobuf *protobuf, struct slice span, struct store *store)
{
    struct protobuf_reader reader = reader_of(span);
    struct text *text = &protobuf->texts;
    struct slice link;
    struct json_writer json = JSON_TEXT(text);
    text_clear(text);
    while (next_of(&reader, SPAN_LINKS, &link)) {
        if (!text->len)
            json_write_array(&json, NULL);
        if (!write_link(protobuf, &json, link))
            return false;
    }
    if (text->len) {
        json_write_array_end(&json);
        store_field_text(store, SPAN_FIELD_LINKS, (struct slice){text->data, text->len});
    }
    return true;
}

/* `fields`: of the span. */
static bool take_details(struct otlp_protobuf *protobuf, struct slice span,
                         const struct protobuf_field *fields, struct store *store)
{
    static const enum span_field details[] = {[SPAN_KIND] = SPAN_FIELD_KIND,
                                              [SPAN_FLAGS] = SPAN_FIELD_FLAGS,
                                              [SPAN_DROPPED_ATTRIBUTES] = SPAN_FIELD_DROPPED_ATTRIBUTES,
                                              [SPAN_DROPPED_EVENTS] = SPAN_FIELD_DROPPED_EVENTS,
                                              [SPAN_DROPPED_LINKS] = SPAN_FIELD_DROPPED_LINKS};
    for (size_t i = 0; i < sizeof details / sizeof *details; i++) {
        if (details[i])
            store_field(store, details[i], fields[i].value);
    }
    store_field_text(store, SPAN_FIELD_TRACE_STATE, text_of(protobuf, bytes_of(&fields[SPAN_TRACE_STATE])));
    store->omissions.unended += !fields[SPAN_END].value;
    return take_links(protobuf, span, store);
}

static bool write_scope(struct otlp_protobuf *protobuf, struct json_writer *json, struct slice scope,
                        struct store *store)
{
    static const uint8_t wires[] = {
        [SCOPE_NAME] = PROTOBUF_BYTES, [SCOPE_VERSION] = PROTOBUF_BYTES, [SCOPE_DROPPED] = PROTOBUF_VARINT};
    struct protobuf_field fields[sizeof wires];
    bool is_good = last_fields(scope, wires, sizeof wires, fields);
    otlp_text_write(json, "name", text_of(protobuf, bytes_of(&fields[SCOPE_NAME])));
    otlp_text_write(json, "version", text_of(protobuf, bytes_of(&fields[SCOPE_VERSION])));
    store->omissions.fields += fields[SCOPE_DROPPED].value > 0;
    return write_attributes(protobuf, json, scope, SCOPE_ATTRIBUTES) && is_good;
}

/* `resource_schema`: the schema URL of the resource. */
static bool take_scope_details(struct otlp_protobuf *protobuf, struct slice scope_spans,
                               struct slice resource_schema, struct store *store)
{
    static const uint8_t wires[] = {
        [SCOPE_SPANS_SCOPE] = PROTOBUF_BYTES, [SCOPE_SPANS_SCHEMA] = PROTOBUF_BYTES};
    struct protobuf_field fields[sizeof wires];
    struct text *text = &protobuf->texts;
    bool is_good = last_fields(scope_spans, wires, sizeof wires, fields);
    text_clear(text);
    struct json_writer json = JSON_TEXT(text);
    json_write_object(&json, NULL);
    is_good = is_good && write_scope(protobuf, &json, bytes_of(&fields[SCOPE_SPANS_SCOPE]), store);
    otlp_text_write(&json, "schema_url", text_of(protobuf, bytes_of(&fields[SCOPE_SPANS_SCHEMA])));
    otlp_text_write(&json, "resource_schema_url", text_of(protobuf, resource_schema));
    json_write_object_end(&json);
    store_scope(store, (struct slice){text->data, text->len == strlen("{}") ? 0 : text->len});
    return is_good;
}

/* --- spans --- */

static enum status take_span(struct otlp_protobuf *protobuf, struct slice bytes, struct store *store,
                             struct error *err)
{
    static const uint8_t wires[] = {[SPAN_TRACE_ID] = PROTOBUF_BYTES,
                                    [SPAN_ID] = PROTOBUF_BYTES,
                                    [SPAN_TRACE_STATE] = PROTOBUF_BYTES,
                                    [SPAN_PARENT_ID] = PROTOBUF_BYTES,
                                    [SPAN_NAME] = PROTOBUF_BYTES,
                                    [SPAN_KIND] = PROTOBUF_VARINT,
                                    [SPAN_START] = PROTOBUF_FIXED64,
                                    [SPAN_END] = PROTOBUF_FIXED64,
                                    [SPAN_DROPPED_ATTRIBUTES] = PROTOBUF_VARINT,
                                    [SPAN_DROPPED_EVENTS] = PROTOBUF_VARINT,
                                    [SPAN_DROPPED_LINKS] = PROTOBUF_VARINT,
                                    [SPAN_STATUS] = PROTOBUF_BYTES,
                                    [SPAN_FLAGS] = PROTOBUF_FIXED32};
    struct protobuf_field fields[sizeof wires];
    const struct protobuf_field *trace = &fields[SPAN_TRACE_ID], *id = &fields[SPAN_ID];
    /* Events come after the other attributes. */
    struct otlp_span span;
    if (!last_fields(bytes, wires, sizeof wires, fields) ||
        !take_status(protobuf, bytes_of(&fields[SPAN_STATUS]), &span, store) ||
        (!store->only_counts && !take_attributes(protobuf, bytes, SPAN_ATTRIBUTES, store)) ||
        (store->wants_fields && !take_details(protobuf, bytes, fields, store)) ||
        (store_wants_events(store) && !store->only_counts && !take_events(protobuf, bytes, store)))
        return complain(err);
    span.name = text_of(protobuf, bytes_of(&fields[SPAN_NAME]));
    span.start_ns = fields[SPAN_START].value;
    span.end_ns = fields[SPAN_END].value;
    span.trace_high = big_endian(trace, 16, 0);
    span.trace_low = big_endian(trace, 16, 8);
    span.id = big_endian(id, 8, 0);
    span.parent_id = big_endian(&fields[SPAN_PARENT_ID], 8, 0);
    const char *wrong = trace->length != 16          ? "has a trace_id that is not 16 bytes"
                        : id->length != 8            ? "has a span_id that is not 8 bytes"
                        : !fields[SPAN_START].number ? "has no start_time_unix_nano"
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
    struct slice span;
    enum status status = STATUS_OK;
    if (store->wants_fields && !take_scope_details(protobuf, scope, schema, store))
        return complain(err);
    while (status == STATUS_OK && next_of(&reader, SCOPE_SPANS_SPANS, &span))
        status = take_span(protobuf, span, store, err);
    return status == STATUS_OK && reader.is_bad ? complain(err) : status;
}

static enum status take_batch(struct otlp_protobuf *protobuf, struct slice batch, struct store *store,
                              struct error *err)
{
    static const uint8_t wires[] = {
        [RESOURCE_SPANS_RESOURCE] = PROTOBUF_BYTES, [RESOURCE_SPANS_SCHEMA] = PROTOBUF_BYTES};
    struct protobuf_field fields[sizeof wires];
    struct protobuf_reader reader = reader_of(batch);
    struct slice scope;
    enum status status = STATUS_OK;
    if (!last_fields(batch, wires, sizeof wires, fields) ||
        !take_resource(protobuf, bytes_of(&fields[RESOURCE_SPANS_RESOURCE]), store))
        return complain(err);
    while (status == STATUS_OK && next_of(&reader, RESOURCE_SPANS_SCOPE_SPANS, &scope))
        status = take_scope(protobuf, scope, bytes_of(&fields[RESOURCE_SPANS_SCHEMA]), store, err);
    return status;
}

enum status otlp_protobuf_read(struct otlp_protobuf *protobuf, const char *bytes, size_t len,
                               struct store *store, struct error *err)
{
    struct protobuf_reader reader = reader_of((struct slice){bytes, len});
    struct slice batch;
    enum status status = STATUS_OK;
    protobuf->replaced = 0;
    while (status == STATUS_OK && next_of(&reader, TRACES_RESOURCE_SPANS, &batch))
        status = take_batch(protobuf, batch, store, err);
    if (status == STATUS_OK && reader.is_bad)
        status = complain(err);
    if (status == STATUS_INVALID)
        store_reset(store);
    store->omissions.replaced += protobuf->replaced;
    free_repaired(protobuf);
    return status;
}
