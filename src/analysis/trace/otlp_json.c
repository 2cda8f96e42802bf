#include "analysis/trace/otlp_json.h"

#include "analysis/trace/json_clean.h"
#include "analysis/trace/otlp_value.h"
#include "base/text/json_writer.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#define STATUS_CODE_ERROR 2

void otlp_json_deinit(struct otlp_json *json)
{
    free(json->pool);
    free(json->cleaned);
    free(json->keys);
    free(json->values);
    text_deinit(&json->texts);
    *json = (struct otlp_json){0};
}

static struct slice slice_of(yyjson_val *value)
{
    return yyjson_is_str(value) ? (struct slice){yyjson_get_str(value), yyjson_get_len(value)}
                                : (struct slice){"", 0};
}

static bool is_text(yyjson_val *value, const char *text, size_t len)
{
    return yyjson_get_len(value) == len && memcmp(yyjson_get_str(value), text, len) == 0;
}

/* --- scalars --- */

static bool parse_digits(struct slice text, uint64_t *value)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)(unsigned char)text.at[i] - '0';
        if (digit > 9 || number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *value = number;
    return text.len > 0;
}

/* 64-bit integers are strings in OTLP JSON; numbers are accepted too. */
static bool read_uint64(yyjson_val *item, uint64_t *value)
{
    if (yyjson_is_str(item))
        return parse_digits(slice_of(item), value);
    if (yyjson_is_uint(item))
        *value = yyjson_get_uint(item);
    else if (yyjson_is_real(item) && yyjson_get_real(item) >= 0 && yyjson_get_real(item) < 0x1p64)
        *value = (uint64_t)yyjson_get_real(item);
    else
        return false;
    return true;
}

/* Plus one; 0: not a hex digit. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* 16 hex digits. */
static bool read_hex(const char *at, uint64_t *value)
{
    uint64_t number = 0;
    bool is_good = true;
    for (int i = 0; i < 16; i++) {
        unsigned digit = hex_digits[(unsigned char)at[i]];
        is_good &= digit != 0;
        number = (number << 4) + digit - 1;
    }
    *value = number;
    return is_good;
}

/* Protobuf's own JSON, which Tempo answers with, has IDs in base64: they end in one or two equals signs. */
static bool read_base64(struct slice text, size_t bytes, uint64_t *words)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t filled = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.at[i] ? strchr(digits, text.at[i]) : NULL;
        if (filled == bytes && text.at[i] == '=')
            continue;
        if (filled == bytes || !digit)
            return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (i % 4 == 0)
            continue;
        words[filled / 8] = words[filled / 8] << 8 | (bits >> (6 - 2 * (i % 4)) & 0xff);
        filled++;
    }
    return filled == bytes;
}

/* The bytes of an ID in protobuf. */
static bool read_raw(yyjson_val *value, size_t words, uint64_t *id)
{
    bool is_good = yyjson_get_len(value) == 8 * words;
    for (size_t i = 0; is_good && i < words; i++) {
        memcpy(&id[i], yyjson_get_raw(value) + 8 * i, sizeof *id);
        id[i] = be64toh(id[i]);
    }
    return is_good;
}

/* An ID of one or two words. */
static bool read_id(yyjson_val *value, size_t words, uint64_t *id)
{
    struct slice text = slice_of(value);
    bool is_good = text.len == 16 * words;
    if (yyjson_is_raw(value))
        return read_raw(value, words, id);
    if (text.len == 12 * words)
        return read_base64(text, 8 * words, id);
    for (size_t i = 0; is_good && i < words; i++)
        is_good = read_hex(text.at + 16 * i, &id[i]);
    return is_good;
}

/* Numbers in a form that digits would not reproduce ("007") stay text. */
static bool read_int(struct slice text, uint64_t *bits)
{
    bool is_negative = text.len > 0 && text.at[0] == '-';
    struct slice digits = {text.at + is_negative, text.len - is_negative};
    uint64_t number;
    if (digits.len == 0 || (digits.at[0] == '0' && (digits.len > 1 || is_negative)))
        return false;
    if (!parse_digits(digits, &number) || number > (uint64_t)INT64_MAX + is_negative)
        return false;
    *bits = is_negative ? 0 - number : number;
    return true;
}

static void set_double(struct otlp_value *value, double real)
{
    value->type = TRACE_DOUBLE;
    memcpy(&value->bits, &real, sizeof real);
}

/* Decimal numbers, NaN, Infinity and -Infinity; what else strtod() reads, such as 0x10, stays text. */
static bool read_double(struct slice text, struct otlp_value *value)
{
    char *end; /* the parser has put a NUL behind the text */
    double real = strtod(text.at, &end);
    if (text.len == 0 || end != text.at + text.len || isspace((unsigned char)text.at[0]) ||
        memchr(text.at, 'x', text.len) || memchr(text.at, 'X', text.len) || memchr(text.at, '(', text.len))
        return false;
    set_double(value, real);
    return true;
}

/* --- attributes --- */

static void write_value(struct json_writer *json, yyjson_val *any, int depth);

/* The digits of {"intValue":"128"}: grids and blocks of kernels are lists of them. Empty: it is another
 * value. */
static struct slice int_digits(yyjson_val *any)
{
    yyjson_val *key = yyjson_obj_size(any) == 1 ? unsafe_yyjson_get_first(any) : NULL;
    struct slice text = key ? slice_of(key + 1) : (struct slice){"", 0};
    bool is_good =
        text.len > 0 && text.len <= 18 && is_text(key, "intValue", 8) && (text.len == 1 || *text.at != '0');
    for (size_t i = 0; is_good && i < text.len; i++)
        is_good = text.at[i] >= '0' && text.at[i] <= '9';
    return is_good ? text : (struct slice){"", 0};
}

static void write_list(struct json_writer *json, yyjson_val *list, bool is_map, int depth)
{
    size_t i, count;
    yyjson_val *item;
    (is_map ? json_write_object : json_write_array)(json, NULL);
    yyjson_arr_foreach(yyjson_obj_get(list, "values"), i, count, item)
    {
        struct slice digits = is_map ? (struct slice){"", 0} : int_digits(item);
        if (digits.len) {
            json_write_raw(json, NULL, digits.at, digits.len);
            continue;
        }
        if (is_map) {
            struct slice key = slice_of(yyjson_obj_get(item, "key"));
            json_write_key(json, key.at, key.len);
        }
        write_value(json, is_map ? yyjson_obj_get(item, "value") : item, depth);
    }
    (is_map ? json_write_object_end : json_write_array_end)(json);
}

static bool is_value_field(yyjson_val *key)
{
    static const char *const names[] = {"stringValue", "intValue",    "doubleValue", "boolValue",
                                        "arrayValue",  "kvlistValue", "bytesValue"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_text(key, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

/* The field of an AnyValue that is set: the last one, as in protobuf. Others are of the future. */
static yyjson_val *content_of(yyjson_val *any, const char **kind)
{
    yyjson_obj_iter at = yyjson_obj_iter_with(any); /* empty if it is no object */
    yyjson_val *key, *content = NULL;
    *kind = "";
    while ((key = yyjson_obj_iter_next(&at))) {
        yyjson_val *item = yyjson_obj_iter_get_val(key);
        if (yyjson_is_null(item) || !is_value_field(key))
            continue;
        *kind = yyjson_get_str(key);
        content = item;
    }
    return content;
}

/* False: it is not a scalar. */
static bool read_scalar(const char *kind, yyjson_val *content, struct otlp_value *value)
{
    bool is_int = *kind == 'i', is_double = *kind == 'd'; /* intValue, doubleValue */
    *value = (struct otlp_value){.type = TRACE_STRING};
    if (yyjson_is_str(content)) {
        struct slice text = slice_of(content);
        if (is_int && read_int(text, &value->bits))
            value->type = TRACE_INT;
        else if (!is_double || !read_double(text, value))
            value->text = text;
        return true;
    }
    if (yyjson_is_bool(content)) {
        *value = (struct otlp_value){.type = TRACE_BOOL, .bits = yyjson_get_bool(content)};
        return true;
    }
    if (!yyjson_is_num(content))
        return false;
    double real = yyjson_get_num(content);
    bool is_whole = is_int && real >= -0x1p63 && real < 0x1p63 && real == (double)(int64_t)real;
    if (yyjson_is_real(content) && is_whole)
        *value = (struct otlp_value){.type = TRACE_INT, .bits = (uint64_t)(int64_t)real};
    else if (is_double || yyjson_is_real(content) ||
             (yyjson_is_uint(content) && yyjson_get_uint(content) > INT64_MAX))
        set_double(value, real);
    else
        *value = (struct otlp_value){.type = TRACE_INT, .bits = yyjson_get_uint(content)};
    return true;
}

static void write_value(struct json_writer *json, yyjson_val *any, int depth)
{
    const char *kind;
    struct otlp_value scalar;
    yyjson_val *content = content_of(any, &kind);
    bool is_map = strcmp(kind, "kvlistValue") == 0;
    if (read_scalar(kind, content, &scalar))
        otlp_value_write(json, &scalar);
    else if (depth < OTLP_DEPTH_MAX && (is_map || strcmp(kind, "arrayValue") == 0))
        write_list(json, content, is_map, depth + 1);
    else
        json_write_raw(json, NULL, "null", strlen("null"));
}

/* Lists are appended to `texts`; their text is then only an offset there until all have been added. */
static void read_value(yyjson_val *any, struct text *texts, struct otlp_value *value)
{
    const char *kind;
    yyjson_val *content = content_of(any, &kind);
    if (read_scalar(kind, content, value))
        return;
    size_t at = texts->len;
    struct json_writer json = JSON_TEXT(texts);
    write_value(&json, any, 0);
    *value = otlp_value_at(TRACE_JSON, texts, at);
}

/* False: it has no key. */
static bool read_attribute(yyjson_val *item, struct slice *key, yyjson_val **any)
{
    /* Most attributes are written as {"key":...,"value":...}: two strings, then the value. */
    yyjson_val *first = unsafe_yyjson_get_first(item);
    if (yyjson_obj_size(item) == 2 && is_text(first, "key", 3) && yyjson_is_str(first + 1) &&
        is_text(first + 2, "value", 5)) {
        *key = slice_of(first + 1);
        *any = first + 3;
        return key->len > 0;
    }
    yyjson_val *name = yyjson_obj_getn(item, "key", 3);
    *any = yyjson_obj_getn(item, "value", 5);
    *key = slice_of(name);
    return key->len > 0;
}

static void take_attributes(struct otlp_json *json, yyjson_val *attributes, struct store *store)
{
    size_t i, count;
    yyjson_val *item, *any;
    yyjson_arr_foreach(attributes, i, count, item)
    {
        struct slice key;
        struct otlp_value value;
        if (!read_attribute(item, &key, &any) || !store_key(store, key))
            continue;
        text_clear(&json->texts);
        read_value(any, &json->texts, &value);
        otlp_value_place(&value, &json->texts);
        store_value(store, &value);
    }
}

/* Counts of attributes that were dropped from anything but a span have no place in an export. */
static void count_dropped(yyjson_val *object, struct store *store)
{
    uint64_t dropped;
    store->omissions.fields +=
        read_uint64(yyjson_obj_get(object, "droppedAttributesCount"), &dropped) && dropped > 0;
}

void otlp_json_take_resource(struct otlp_json *json, yyjson_val *batch, struct store *store)
{
    size_t i, count, filled = 0;
    yyjson_val *item, *any;
    yyjson_val *resource = yyjson_obj_get(batch, "resource");
    yyjson_val *attributes = yyjson_obj_get(resource, "attributes");
    json->keys = xgrow(json->keys, &json->key_capacity, yyjson_arr_size(attributes) + 1, sizeof *json->keys);
    json->values =
        xgrow(json->values, &json->value_capacity, yyjson_arr_size(attributes) + 1, sizeof *json->values);
    text_clear(&json->texts);
    yyjson_arr_foreach(attributes, i, count, item)
    {
        if (read_attribute(item, &json->keys[filled], &any))
            read_value(any, &json->texts, &json->values[filled++]);
    }
    for (size_t k = 0; k < filled; k++)
        otlp_value_place(&json->values[k], &json->texts);
    store_resource(store, json->keys, json->values, filled);
    count_dropped(resource, store);
    store->omissions.fields += yyjson_arr_size(yyjson_obj_get(resource, "entityRefs"));
}

/* --- spans --- */

/* Events without a time are dropped: they have no place in the trace. */
static void take_events(struct otlp_json *json, yyjson_val *events, struct store *store)
{
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(events, i, count, item)
    {
        uint64_t time_ns;
        bool has_time = read_uint64(yyjson_obj_get(item, "timeUnixNano"), &time_ns) && time_ns > 0;
        store->omissions.fields += !has_time;
        count_dropped(item, store);
        if (!has_time)
            continue;
        store_event(store, time_ns, slice_of(yyjson_obj_get(item, "name")));
        take_attributes(json, yyjson_obj_get(item, "attributes"), store);
    }
}

static uint64_t named_number(yyjson_val *value, const char *const *names, size_t count)
{
    uint64_t number;
    for (size_t i = 0; yyjson_is_str(value) && i < count; i++) {
        if (strcmp(yyjson_get_str(value), names[i]) == 0)
            return i;
    }
    return read_uint64(value, &number) ? number : 0;
}

static uint64_t status_code(yyjson_val *status)
{
    static const char *const codes[] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"};
    return named_number(yyjson_obj_get(status, "code"), codes, sizeof codes / sizeof *codes);
}

static void take_status(yyjson_val *status, struct otlp_span *span)
{
    span->has_failed = status_code(status) == STATUS_CODE_ERROR;
    span->message = slice_of(yyjson_obj_get(status, "message"));
}

/* Left out if it is empty. */
static void write_attributes(struct json_writer *json, yyjson_val *attributes)
{
    size_t i, count;
    yyjson_val *item, *any;
    if (yyjson_arr_size(attributes) == 0)
        return;
    json_write_object(json, "attributes");
    yyjson_arr_foreach(attributes, i, count, item)
    {
        struct slice key;
        if (!read_attribute(item, &key, &any))
            continue;
        json_write_key(json, key.at, key.len);
        write_value(json, any, 0);
    }
    json_write_object_end(json);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* As hex digits; text of another form as it is. */
static void write_id(struct json_writer *json, const char *key, size_t words, yyjson_val *value)
{
    struct slice text = slice_of(value);
    uint64_t id[2] = {0};
    char digits[33];
    if (yyjson_is_raw(value)) {
        text = (struct slice){digits, 2 * smaller(yyjson_get_len(value), 16)};
        for (size_t i = 0; i < text.len / 2; i++)
            snprintf(digits + 2 * i, 3, "%02x", (unsigned char)yyjson_get_raw(value)[i]);
    } else if (read_id(value, words, id)) {
        text = (struct slice){digits, 16 * words};
        for (size_t i = 0; i < words; i++)
            snprintf(digits + 16 * i, sizeof digits - 16 * i, "%016" PRIx64, id[i]);
    }
    otlp_text_write(json, key, (struct slice){text.at, smaller(text.len, 32)});
}

static uint64_t number_of(yyjson_val *object, const char *name)
{
    uint64_t number;
    return read_uint64(yyjson_obj_get(object, name), &number) ? number : 0;
}

void otlp_json_take_scope(struct otlp_json *source, yyjson_val *batch, yyjson_val *scope_spans,
                          struct store *store)
{
    yyjson_val *scope = yyjson_obj_get(scope_spans, "scope");
    struct text *text = &source->texts;
    struct json_writer json = JSON_TEXT(text);
    text_clear(text);
    json_write_object(&json, NULL);
    otlp_text_write(&json, "name", slice_of(yyjson_obj_get(scope, "name")));
    otlp_text_write(&json, "version", slice_of(yyjson_obj_get(scope, "version")));
    write_attributes(&json, yyjson_obj_get(scope, "attributes"));
    otlp_text_write(&json, "schema_url", slice_of(yyjson_obj_get(scope_spans, "schemaUrl")));
    otlp_text_write(&json, "resource_schema_url", slice_of(yyjson_obj_get(batch, "schemaUrl")));
    json_write_object_end(&json);
    count_dropped(scope, store);
    store_scope(store, (struct slice){text->data, text->len == strlen("{}") ? 0 : text->len});
}

static void take_links(struct otlp_json *source, yyjson_val *links, struct store *store)
{
    size_t i, count;
    yyjson_val *item;
    struct text *text = &source->texts;
    struct json_writer json = JSON_TEXT(text);
    if (yyjson_arr_size(links) == 0)
        return;
    text_clear(text);
    json_write_array(&json, NULL);
    yyjson_arr_foreach(links, i, count, item)
    {
        json_write_object(&json, NULL);
        write_id(&json, "trace_id", 2, yyjson_obj_get(item, "traceId"));
        write_id(&json, "span_id", 1, yyjson_obj_get(item, "spanId"));
        otlp_text_write(&json, "trace_state", slice_of(yyjson_obj_get(item, "traceState")));
        otlp_number_write(&json, "flags", number_of(item, "flags"));
        otlp_number_write(&json, "dropped_attributes", number_of(item, "droppedAttributesCount"));
        write_attributes(&json, yyjson_obj_get(item, "attributes"));
        json_write_object_end(&json);
    }
    json_write_array_end(&json);
    store_field_text(store, SPAN_FIELD_LINKS, (struct slice){text->data, text->len});
}

/* The text of a link: its target, if cuspan wrote it, and the trace's ID: "iteration 38b2...". */
static void write_link_text(struct json_writer *json, yyjson_val *link)
{
    char text[96] = "";
    size_t i, count;
    yyjson_val *item, *any;
    struct slice key, target = {NULL, 0};
    yyjson_arr_foreach(yyjson_obj_get(link, "attributes"), i, count, item)
    {
        if (read_attribute(item, &key, &any) && key.len == strlen(SEMCONV_CUDA_LINK) &&
            memcmp(key.at, SEMCONV_CUDA_LINK, key.len) == 0)
            target = slice_of(yyjson_obj_get(any, "stringValue"));
    }
    uint64_t id[2] = {0};
    if (read_id(yyjson_obj_get(link, "traceId"), 2, id))
        snprintf(text, sizeof text, "%.*s%s%016" PRIx64 "%016" PRIx64, (int)smaller(target.len, 60),
                 target.at ? target.at : "", target.len ? " " : "", id[0], id[1]);
    json_write_text(json, NULL, text);
}

/* For one trace, which a person looks at: the span's links as an attribute. */
static void take_link_texts(struct otlp_json *source, yyjson_val *links, struct store *store)
{
    size_t i, count;
    yyjson_val *item;
    struct text *text = &source->texts;
    struct json_writer json = JSON_TEXT(text);
    if (yyjson_arr_size(links) == 0 || !store_key(store, (struct slice){"links", strlen("links")}))
        return;
    text_clear(text);
    json_write_array(&json, NULL);
    yyjson_arr_foreach(links, i, count, item) write_link_text(&json, item);
    json_write_array_end(&json);
    struct otlp_value value = {.type = TRACE_JSON, .text = {text->data, text->len}};
    store_value(store, &value);
}

static void take_details(struct otlp_json *json, yyjson_val *object, const struct otlp_span *span,
                         struct store *store)
{
    static const char *const kinds[] = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
                                        "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"};
    yyjson_val *status = yyjson_obj_get(object, "status");
    store_field(store, SPAN_FIELD_KIND,
                named_number(yyjson_obj_get(object, "kind"), kinds, sizeof kinds / sizeof *kinds));
    store_field(store, SPAN_FIELD_FLAGS, number_of(object, "flags"));
    store_field(store, SPAN_FIELD_STATUS, status_code(status));
    store_field_text(store, SPAN_FIELD_MESSAGE, slice_of(yyjson_obj_get(status, "message")));
    store_field_text(store, SPAN_FIELD_TRACE_STATE, slice_of(yyjson_obj_get(object, "traceState")));
    store_field(store, SPAN_FIELD_DROPPED_ATTRIBUTES, number_of(object, "droppedAttributesCount"));
    store_field(store, SPAN_FIELD_DROPPED_EVENTS, number_of(object, "droppedEventsCount"));
    store_field(store, SPAN_FIELD_DROPPED_LINKS, number_of(object, "droppedLinksCount"));
    take_links(json, yyjson_obj_get(object, "links"), store);
    store_own_fields(store, span);
    store->omissions.unended += number_of(object, "endTimeUnixNano") == 0;
}

/* Returns the error, or NULL. Without an end, the span was still open when it was written. */
static const char *read_required(yyjson_val *object, struct otlp_span *span)
{
    yyjson_val *start = yyjson_obj_get(object, "startTimeUnixNano"),
               *end = yyjson_obj_get(object, "endTimeUnixNano");
    if (!yyjson_is_obj(object))
        return "is not an object";
    uint64_t trace[2] = {0}, id = 0;
    bool has_id = read_id(yyjson_obj_get(object, "spanId"), 1, &id);
    span->id = has_id ? id : 0;
    if (!read_id(yyjson_obj_get(object, "traceId"), 2, trace))
        return "has a traceId that is not 16 bytes (32 hex digits)";
    if (!has_id)
        return "has a spanId that is not 8 bytes (16 hex digits)";
    span->trace_high = trace[0];
    span->trace_low = trace[1];
    if (!start || yyjson_is_null(start))
        return "has no startTimeUnixNano";
    if (!read_uint64(start, &span->start_ns))
        return "has a startTimeUnixNano that is not a number of ns";
    bool is_open = !end || yyjson_is_null(end) || yyjson_equals_str(end, "");
    return is_open || read_uint64(end, &span->end_ns) ? NULL
                                                      : "has an endTimeUnixNano that is not a number of ns";
}

enum status otlp_json_take_span(struct otlp_json *json, yyjson_val *object, struct store *store,
                                struct error *err)
{
    struct otlp_span span = {0};
    const char *wrong = read_required(object, &span);
    if (wrong) {
        store_skip(store, span.id, wrong);
        return STATUS_OK;
    }
    if (!read_id(yyjson_obj_get(object, "parentSpanId"), 1, &span.parent_id))
        span.parent_id = 0;
    if (!store->only_counts) {
        span.name = slice_of(yyjson_obj_get(object, "name"));
        take_status(yyjson_obj_get(object, "status"), &span);
        take_attributes(json, yyjson_obj_get(object, "attributes"), store);
        if (store->wants_fields)
            take_details(json, object, &span, store);
        else if (store->only_trace != TRACE_NONE)
            take_link_texts(json, yyjson_obj_get(object, "links"), store);
        if (store_wants_events(store))
            take_events(json, yyjson_obj_get(object, "events"), store);
    }
    return store_span(store, &span, err);
}

/* Otherwise the spans would be missing without a word. */
static enum status check_names(yyjson_val *batch, struct error *err)
{
    static const char *const others[] = {"scope_spans", "instrumentationLibrarySpans"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (yyjson_obj_get(batch, others[i]))
            return error_set(err, STATUS_INVALID, "no scopeSpans: %s is no name of OTLP JSON%s", others[i],
                             i ? " since 1.0" : "");
    }
    return STATUS_OK;
}

static enum status take_batch(struct otlp_json *json, yyjson_val *batch, struct store *store,
                              struct error *err)
{
    size_t i, k, scope_count, count;
    yyjson_val *scope, *span;
    otlp_json_take_resource(json, batch, store);
    yyjson_val *scopes = yyjson_obj_get(batch, "scopeSpans");
    if (!scopes)
        return check_names(batch, err);
    yyjson_arr_foreach(scopes, i, scope_count, scope)
    {
        if (store->wants_fields)
            otlp_json_take_scope(json, batch, scope, store);
        yyjson_arr_foreach(yyjson_obj_get(scope, "spans"), k, count, span)
        {
            enum status status = otlp_json_take_span(json, span, store, err);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

/* Formats that people take for OTLP JSON. */
static enum status complain(yyjson_val *root, struct error *err)
{
    static const struct {
        const char *field, *what;
    } others[] = {{"traceEvents", "a trace for Perfetto or Chrome"},
                  {"data", "Jaeger's own JSON; get OTLP from its /api/v3/traces/ID"},
                  {"resource_spans", "JSON with protobuf's names"},
                  {"SpanContext", "the output of an SDK's console exporter"},
                  {"context", "the output of an SDK's console exporter"},
                  {"cuspan_baseline", "a baseline for cuspan diff"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (yyjson_obj_get(root, others[i].field))
            return error_set(err, STATUS_INVALID, "no resourceSpans: this is %s, not a trace in OTLP JSON",
                             others[i].what);
    }
    return error_set(err, STATUS_INVALID, "no resourceSpans: this is not a trace in OTLP JSON");
}

static bool is_other_signal(yyjson_val *root)
{
    return yyjson_obj_get(root, "resourceMetrics") || yyjson_obj_get(root, "resourceLogs") ||
           yyjson_obj_get(root, "resourceProfiles");
}

/* The APIs of Jaeger (`result`) and Tempo (`trace`, and `batches` in its first version) wrap their answers.
 */
static yyjson_val *batches_of(yyjson_val *root)
{
    yyjson_val *result = yyjson_obj_get(root, "result"), *trace = yyjson_obj_get(root, "trace");
    yyjson_val *inner = result ? result : trace ? trace : root;
    yyjson_val *list = yyjson_obj_get(inner, "resourceSpans");
    return list ? list : yyjson_obj_get(inner, "batches");
}

static enum status take_document(struct otlp_json *json, yyjson_val *root, struct store *store,
                                 struct error *err)
{
    size_t i, count;
    yyjson_val *batch;
    yyjson_val *list = batches_of(root);
    if (store->take_logs && yyjson_obj_get(root, "resourceLogs"))
        store->take_logs(store->logs_context, root);
    bool is_empty = yyjson_is_obj(root) && (yyjson_obj_size(root) == 0 || yyjson_is_null(list));
    if (is_empty || (!list && is_other_signal(root)))
        return STATUS_OK;
    if (!yyjson_is_arr(list))
        return complain(root, err);
    yyjson_arr_foreach(list, i, count, batch)
    {
        enum status status = take_batch(json, batch, store, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Returns the bytes to parse. */
static char *clean(struct otlp_json *json, char *bytes, size_t *len)
{
    size_t grown;
    json->replaced = json_clean(bytes, *len, &grown);
    if (!grown)
        return bytes;
    json->cleaned = xgrow(json->cleaned, &json->cleaned_capacity, grown + OTLP_JSON_PADDING, 1);
    json_clean_copy(json->cleaned, bytes, *len);
    memset(json->cleaned + grown, 0, OTLP_JSON_PADDING);
    *len = grown;
    return json->cleaned;
}

static enum status parse(struct otlp_json *json, char *bytes, size_t len, yyjson_read_flag more,
                         struct error *err)
{
    const yyjson_read_flag flags = YYJSON_READ_INSITU | YYJSON_READ_ALLOW_INF_AND_NAN | more;
    size_t needed = yyjson_read_max_memory_usage(len, flags);
    if (needed > json->pool_capacity) {
        free(json->pool);
        json->pool = NULL;
        json->pool = xgrow(json->pool, &json->pool_capacity, needed, 1);
    }
    yyjson_alc pool;
    yyjson_read_err wrong;
    json->error_at = SIZE_MAX;
    yyjson_alc_pool_init(&pool, json->pool, json->pool_capacity);
    json->document = yyjson_read_opts(bytes, len, flags, &pool, &wrong);
    if (json->document)
        return STATUS_OK;
    json->error_at = wrong.pos;
    json->ends_early = wrong.code == YYJSON_READ_ERROR_UNEXPECTED_END;
    json->has_more = wrong.code == YYJSON_READ_ERROR_UNEXPECTED_CONTENT;
    return error_set(err, STATUS_INVALID, "invalid JSON");
}

enum status otlp_json_parse(struct otlp_json *json, char *bytes, size_t len, struct error *err)
{
    bytes = clean(json, bytes, &len);
    return parse(json, bytes, len, 0, err);
}

enum status otlp_json_take(struct otlp_json *json, struct store *store, struct error *err)
{
    store->omissions.replaced += json->replaced;
    json->replaced = 0;
    yyjson_val *root = yyjson_doc_get_root(json->document), *document;
    size_t i, count;
    enum status status = STATUS_OK;
    if (!yyjson_is_arr(root))
        return take_document(json, root, store, err);
    yyjson_arr_foreach(root, i, count, document)
    {
        if (status == STATUS_OK)
            status = take_document(json, document, store, err);
    }
    return status;
}

/* The length of the first `documents` documents, which are objects or lists. */
static size_t length_of(const char *bytes, size_t len, size_t documents)
{
    size_t depth = 0, at = 0;
    bool is_string = false;
    for (; at < len && documents; at++) {
        char c = bytes[at];
        if (is_string && c == '\\')
            at++;
        else if (c == '"')
            is_string = !is_string;
        else if (!is_string && (c == '{' || c == '['))
            depth++;
        else if (!is_string && (c == '}' || c == ']'))
            documents -= --depth == 0;
    }
    return at;
}

enum status otlp_json_take_all(struct otlp_json *json, const char *bytes, size_t len, struct store *store,
                               size_t *taken, struct error *err)
{
    enum status status = STATUS_OK;
    size_t documents = 0, copied = len, used = 0;
    char *copy = xcalloc(len + OTLP_JSON_PADDING, 1); /* reading overwrites it */
    memcpy(copy, bytes, len);
    char *clean_copy = clean(json, copy, &copied);
    for (; status == STATUS_OK; documents++) {
        while (used < copied && isspace((unsigned char)clean_copy[used]))
            used++;
        if (used == copied)
            break;
        status = parse(json, clean_copy + used, copied - used, YYJSON_READ_STOP_WHEN_DONE, err);
        if (status == STATUS_OK)
            status = otlp_json_take(json, store, err);
        used += status == STATUS_OK ? yyjson_doc_get_read_size(json->document) : 0;
    }
    *taken = status == STATUS_OK ? len : length_of(bytes, len, documents - 1);
    free(copy);
    return status;
}
