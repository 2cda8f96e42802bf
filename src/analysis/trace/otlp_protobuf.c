#include "analysis/trace/otlp_protobuf.h"

#include "analysis/trace/otlp_value.h"
#include "base/text/protobuf_reader.h"
#include "base/text/utf8.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* --- the messages of opentelemetry/proto --- */

/* The contents of fields. */
enum kind { NONE, TEXT, ID, BYTES, COUNT, INT, BOOL, FLAGS, TIME, DOUBLE, MESSAGE, LIST, KINDS };

static const uint8_t wires[KINDS] = {
    [NONE] = UINT8_MAX,          [TEXT] = PROTOBUF_BYTES,    [ID] = PROTOBUF_BYTES,
    [BYTES] = PROTOBUF_BYTES,    [COUNT] = PROTOBUF_VARINT,  [INT] = PROTOBUF_VARINT,
    [BOOL] = PROTOBUF_VARINT,    [FLAGS] = PROTOBUF_FIXED32, [TIME] = PROTOBUF_FIXED64,
    [DOUBLE] = PROTOBUF_FIXED64, [MESSAGE] = PROTOBUF_BYTES, [LIST] = PROTOBUF_BYTES};

struct message {
    const struct field *fields; /* by number */
    uint32_t count;
};

struct field {
    const char *name; /* in JSON */
    size_t len;       /* of it */
    enum kind kind;
    const struct message *message; /* NULL: its content is not read */
};

#define FIELDS(list) .fields = list, .count = sizeof(list) / sizeof *(list)
#define NAME(text)   text, sizeof text - 1

static const struct message value_message; /* contains itself */

static const struct field attribute_fields[] = {[1] = {NAME("key"), TEXT, NULL},
                                                {NAME("value"), MESSAGE, &value_message}};
static const struct message attribute_message = {FIELDS(attribute_fields)};

static const struct field array_fields[] = {[1] = {NAME("values"), LIST, &value_message}};
static const struct message array_message = {FIELDS(array_fields)};

static const struct field map_fields[] = {[1] = {NAME("values"), LIST, &attribute_message}};
static const struct message map_message = {FIELDS(map_fields)};

static const struct field value_fields[] = {[1] = {NAME("stringValue"), TEXT, NULL},
                                            {NAME("boolValue"), BOOL, NULL},
                                            {NAME("intValue"), INT, NULL},
                                            {NAME("doubleValue"), DOUBLE, NULL},
                                            {NAME("arrayValue"), MESSAGE, &array_message},
                                            {NAME("kvlistValue"), MESSAGE, &map_message},
                                            {NAME("bytesValue"), BYTES, NULL}};
static const struct message value_message = {FIELDS(value_fields)};

static const struct field status_fields[] = {[2] = {NAME("message"), TEXT, NULL},
                                             {NAME("code"), COUNT, NULL}};
static const struct message status_message = {FIELDS(status_fields)};

static const struct field event_fields[] = {[1] = {NAME("timeUnixNano"), TIME, NULL},
                                            {NAME("name"), TEXT, NULL},
                                            {NAME("attributes"), LIST, &attribute_message},
                                            {NAME("droppedAttributesCount"), COUNT, NULL}};
static const struct message event_message = {FIELDS(event_fields)};

static const struct field link_fields[] = {[1] = {NAME("traceId"), ID, NULL},
                                           {NAME("spanId"), ID, NULL},
                                           {NAME("traceState"), TEXT, NULL},
                                           {NAME("attributes"), LIST, &attribute_message},
                                           {NAME("droppedAttributesCount"), COUNT, NULL},
                                           {NAME("flags"), FLAGS, NULL}};
static const struct message link_message = {FIELDS(link_fields)};

static const struct field span_fields[] = {[1] = {NAME("traceId"), ID, NULL},
                                           {NAME("spanId"), ID, NULL},
                                           {NAME("traceState"), TEXT, NULL},
                                           {NAME("parentSpanId"), ID, NULL},
                                           {NAME("name"), TEXT, NULL},
                                           {NAME("kind"), COUNT, NULL},
                                           {NAME("startTimeUnixNano"), TIME, NULL},
                                           {NAME("endTimeUnixNano"), TIME, NULL},
                                           {NAME("attributes"), LIST, &attribute_message},
                                           {NAME("droppedAttributesCount"), COUNT, NULL},
                                           {NAME("events"), LIST, &event_message},
                                           {NAME("droppedEventsCount"), COUNT, NULL},
                                           {NAME("links"), LIST, &link_message},
                                           {NAME("droppedLinksCount"), COUNT, NULL},
                                           {NAME("status"), MESSAGE, &status_message},
                                           {NAME("flags"), FLAGS, NULL}};
static const struct message span_message = {FIELDS(span_fields)};

static const struct field scope_fields[] = {[1] = {NAME("name"), TEXT, NULL},
                                            {NAME("version"), TEXT, NULL},
                                            {NAME("attributes"), LIST, &attribute_message},
                                            {NAME("droppedAttributesCount"), COUNT, NULL}};
static const struct message scope_message = {FIELDS(scope_fields)};

static const struct field scope_spans_fields[] = {
    [1] = {NAME("scope"), MESSAGE, &scope_message}, [3] = {NAME("schemaUrl"), TEXT, NULL}};
static const struct message scope_spans_message = {FIELDS(scope_spans_fields)};

static const struct field resource_fields[] = {[1] = {NAME("attributes"), LIST, &attribute_message},
                                               {NAME("droppedAttributesCount"), COUNT, NULL},
                                               {NAME("entityRefs"), LIST, NULL}};
static const struct message resource_message = {FIELDS(resource_fields)};

static const struct field resource_spans_fields[] = {
    [1] = {NAME("resource"), MESSAGE, &resource_message}, [3] = {NAME("schemaUrl"), TEXT, NULL}};
static const struct message resource_spans_message = {FIELDS(resource_spans_fields)};

/* Lists that are taken item by item. */
enum { TRACES_RESOURCE_SPANS = 1, RESOURCE_SPANS_SCOPE_SPANS = 2, SCOPE_SPANS_SPANS = 2 };

#define NUMBERS (sizeof span_fields / sizeof *span_fields) /* no message has more */

/* --- values of JSON --- */

struct otlp_made {
    struct otlp_made *next;
    char text[];
};

static void free_made(struct otlp_protobuf *protobuf)
{
    for (struct otlp_made *next; protobuf->made; protobuf->made = next) {
        next = protobuf->made->next;
        free(protobuf->made);
    }
}

void otlp_protobuf_deinit(struct otlp_protobuf *protobuf)
{
    free_made(protobuf);
    free(protobuf->values);
    *protobuf = (struct otlp_protobuf){0};
}

/* Memory that stays as long as the message. */
static char *make_text(struct otlp_protobuf *protobuf, size_t len)
{
    struct otlp_made *made = xcalloc(1, sizeof *made + len);
    made->next = protobuf->made;
    protobuf->made = made;
    return made->text;
}

/* In yyjson's layout: a container is followed by what it contains. */
static size_t add(struct otlp_protobuf *protobuf, yyjson_val value)
{
    if (protobuf->count == protobuf->capacity)
        protobuf->values =
            xgrow(protobuf->values, &protobuf->capacity, protobuf->count + 1, sizeof *protobuf->values);
    protobuf->values[protobuf->count] = value;
    return protobuf->count++;
}

static void add_string(struct otlp_protobuf *protobuf, uint64_t type, const char *at, size_t len)
{
    add(protobuf, (yyjson_val){.tag = (uint64_t)len << YYJSON_TAG_BIT | type, .uni.str = at});
}

/* The container at `at` is complete. */
static void close_container(struct otlp_protobuf *protobuf, size_t at, uint64_t type, size_t count)
{
    yyjson_val *container = &protobuf->values[at];
    container->tag = (uint64_t)count << YYJSON_TAG_BIT | type;
    container->uni.ofs = (protobuf->count - at) * sizeof *container;
}

static bool is_ascii(const char *at, size_t len)
{
    uint64_t all = 0;
    for (uint64_t word; len >= sizeof word; at += sizeof word, len -= sizeof word) {
        memcpy(&word, at, sizeof word);
        all |= word;
    }
    for (; len; at++, len--)
        all |= (unsigned char)*at;
    return (all & 0x8080808080808080u) == 0;
}

/* As valid UTF-8. */
static void add_text(struct otlp_protobuf *protobuf, const char *at, size_t len)
{
    size_t ill_formed = 0;
    for (size_t i = is_ascii(at, len) ? len : 0; i < len;) {
        struct utf8_step step = utf8_next((const uint8_t *)at + i, len - i);
        ill_formed += !step.valid;
        i += step.len;
    }
    if (ill_formed) {
        size_t repaired = utf8_repair(NULL, at, len, UTF8_NO_LIMIT, UTF8_NO_LIMIT);
        char *text = make_text(protobuf, repaired);
        utf8_repair((uint8_t *)text, at, len, UTF8_NO_LIMIT, UTF8_NO_LIMIT);
        protobuf->replaced += ill_formed;
        at = text;
        len = repaired;
    }
    add_string(protobuf, YYJSON_TYPE_STR, at, len);
}

static void add_base64(struct otlp_protobuf *protobuf, const uint8_t *in, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t made = (len + 2) / 3 * 4;
    char *text = make_text(protobuf, made), *to = text;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t word =
            (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        *to++ = digits[word >> 18];
        *to++ = digits[word >> 12 & 63];
        *to++ = left > 1 ? digits[word >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[word & 63] : '=';
    }
    add_string(protobuf, YYJSON_TYPE_STR, text, made);
}

static void add_number(struct otlp_protobuf *protobuf, enum kind kind, uint64_t bits)
{
    uint64_t type = kind == BOOL && bits               ? YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE
                    : kind == BOOL                     ? YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_FALSE
                    : kind == DOUBLE                   ? YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL
                    : kind == INT && (int64_t)bits < 0 ? YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT
                                                       : YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT;
    add(protobuf, (yyjson_val){.tag = type, .uni.u64 = bits});
}

/* --- messages --- */

static void add_message(struct otlp_protobuf *protobuf, const struct message *message,
                        const struct protobuf_field *bytes, int depth);

/* Adds the next items of a list, or all that are left in the message. */
static void add_items(struct otlp_protobuf *protobuf, const struct field *field, uint32_t number,
                      struct protobuf_reader *reader, bool is_all, int depth)
{
    struct protobuf_field item;
    size_t list = add(protobuf, (yyjson_val){0}), count = 0;
    for (const uint8_t *start = reader->at; protobuf_next(reader, &item); start = reader->at) {
        if (protobuf_is(&item, number, PROTOBUF_BYTES)) {
            add_message(protobuf, field->message, &item, depth);
            count++;
        } else if (!is_all) {
            reader->at = start;
            break;
        }
    }
    close_container(protobuf, list, YYJSON_TYPE_ARR, count);
}

static void add_field(struct otlp_protobuf *protobuf, const struct field *field,
                      const struct protobuf_field *found, int depth)
{
    if (field->kind == MESSAGE)
        add_message(protobuf, field->message, found, depth);
    else if (field->kind == TEXT)
        add_text(protobuf, (const char *)found->bytes, found->length);
    else if (field->kind == ID)
        add_string(protobuf, YYJSON_TYPE_RAW, (const char *)found->bytes, found->length);
    else if (field->kind == BYTES)
        add_base64(protobuf, found->bytes, found->length);
    else
        add_number(protobuf, field->kind, found->value);
}

/* Adds the name of a field. Of several fields with one number the last one counts: those before lose it. */
static void add_name(struct otlp_protobuf *protobuf, const struct field *field, uint32_t *place)
{
    if (*place)
        protobuf->values[*place].tag = YYJSON_TYPE_STR;
    *place = (uint32_t)protobuf->count;
    add_string(protobuf, YYJSON_TYPE_STR, field->name, field->len);
}

/* Null if it is broken, or a value so deep that nobody takes it. */
static void add_message(struct otlp_protobuf *protobuf, const struct message *message,
                        const struct protobuf_field *bytes, int depth)
{
    struct protobuf_reader reader = protobuf_message(bytes);
    struct protobuf_field found;
    uint32_t names[NUMBERS] = {0}; /* by number: the place of the field's name, or 0 */
    uint32_t scattered = 0;        /* the lists, as bits, that were taken from the whole message */
    size_t object = add(protobuf, (yyjson_val){.tag = YYJSON_TYPE_NULL}), count = 0;
    depth += message == &value_message;
    if (!message || depth > OTLP_DEPTH_MAX + 1)
        return;
    for (const uint8_t *start = reader.at; protobuf_next(&reader, &found); start = reader.at) {
        uint32_t number = found.number < message->count ? found.number : 0;
        const struct field *field = &message->fields[number];
        if (wires[field->kind] != found.wire || scattered >> number & 1)
            continue;
        bool is_again = names[number];
        add_name(protobuf, field, &names[number]);
        count++;
        if (field->kind != LIST) {
            add_field(protobuf, field, &found, depth);
        } else if (is_again) {
            struct protobuf_reader whole = protobuf_message(bytes);
            scattered |= 1u << number;
            add_items(protobuf, field, number, &whole, true, depth);
        } else {
            reader.at = start;
            add_items(protobuf, field, number, &reader, false, depth);
        }
    }
    protobuf->is_broken |= reader.is_bad;
    if (reader.is_bad)
        protobuf->count = object + 1;
    else
        close_container(protobuf, object, YYJSON_TYPE_OBJ, count);
}

/* --- spans --- */

static enum status complain(struct error *err)
{
    return error_set(err, STATUS_INVALID, "this is not a message of OTLP protobuf");
}

/* The next message of a list. */
static bool next_of(struct protobuf_reader *reader, uint32_t number, struct protobuf_field *message)
{
    while (protobuf_next(reader, message)) {
        if (protobuf_is(message, number, PROTOBUF_BYTES))
            return true;
    }
    return false;
}

/* Tables do without attributes, events and links that are broken. */
static bool is_usable(const struct otlp_protobuf *protobuf, yyjson_val *added, const struct store *store)
{
    return !yyjson_is_null(added) && !(protobuf->is_broken && store_wants_events(store));
}

/* The batch is the first value. */
static enum status take_scope(struct otlp_protobuf *protobuf, struct otlp_json *json,
                              const struct protobuf_field *bytes, struct store *store, struct error *err)
{
    struct protobuf_reader reader = protobuf_message(bytes);
    struct protobuf_field item;
    enum status status = STATUS_OK;
    size_t start = protobuf->count;
    if (store->wants_fields) {
        add_message(protobuf, &scope_spans_message, bytes, 0);
        otlp_json_take_scope(json, protobuf->values, &protobuf->values[start], store);
    }
    while (status == STATUS_OK && next_of(&reader, SCOPE_SPANS_SPANS, &item)) {
        protobuf->count = start;
        add_message(protobuf, &span_message, &item, 0);
        yyjson_val *span = &protobuf->values[start];
        status =
            is_usable(protobuf, span, store) ? otlp_json_take_span(json, span, store, err) : complain(err);
    }
    protobuf->count = start;
    return status == STATUS_OK && reader.is_bad ? complain(err) : status;
}

static enum status take_batch(struct otlp_protobuf *protobuf, struct otlp_json *json,
                              const struct protobuf_field *bytes, struct store *store, struct error *err)
{
    struct protobuf_reader reader = protobuf_message(bytes);
    struct protobuf_field item;
    enum status status = STATUS_OK;
    protobuf->count = 0;
    add_message(protobuf, &resource_spans_message, bytes, 0);
    if (!is_usable(protobuf, protobuf->values, store) ||
        yyjson_is_null(yyjson_obj_get(protobuf->values, "resource")))
        return complain(err);
    otlp_json_take_resource(json, protobuf->values, store);
    while (status == STATUS_OK && next_of(&reader, RESOURCE_SPANS_SCOPE_SPANS, &item))
        status = take_scope(protobuf, json, &item, store, err);
    return status;
}

enum status otlp_protobuf_read(struct otlp_protobuf *protobuf, struct otlp_json *json, const char *bytes,
                               size_t len, struct store *store, struct error *err)
{
    struct protobuf_reader reader = protobuf_reader_of(bytes, len);
    struct protobuf_field item;
    enum status status = STATUS_OK;
    protobuf->replaced = 0;
    protobuf->is_broken = false;
    while (status == STATUS_OK && next_of(&reader, TRACES_RESOURCE_SPANS, &item))
        status = take_batch(protobuf, json, &item, store, err);
    if (status == STATUS_OK && (reader.is_bad || protobuf->is_broken))
        status = complain(err);
    store->omissions.replaced += protobuf->replaced;
    free_made(protobuf);
    return status;
}
