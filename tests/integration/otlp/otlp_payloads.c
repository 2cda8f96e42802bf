/* Random spans as OTLP, for an independent decoder: every batch as NNN.pb and NNN.json, and in spans.jsonl
 * the input, before any limit or repair (strings in hex). otlp_decode.py reads all three.
 *
 *   otlp_payloads FOLDER SEED SPANS [VALUE_CHARS ATTRIBUTES EVENTS LINKS]
 */
#include "agent/encode/encoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESOURCES  4 /* of which the last is never set */
#define STRING_MAX 120
#define ITEMS_MAX  200

static uint64_t random_state;
static FILE *spec;
static struct chunk_pool *pool;
static struct encoder *encoders[2];
static const char *const suffixes[2] = {"pb", "json"};
static const char *folder;
static unsigned batches;

static void die(const char *what)
{
    fprintf(stderr, "otlp_payloads: %s\n", what);
    exit(1);
}

static uint64_t random_next(void)
{
    uint64_t x = (random_state += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint32_t below(uint32_t bound)
{
    return (uint32_t)(random_next() % bound);
}

/* All magnitudes are equally likely. Times are never 0, which protobuf would leave out. */
static uint64_t random_number(void)
{
    return random_next() >> below(64);
}

static const struct attr_key keys[] = {
    ATTR_KEY("k"),
    ATTR_KEY("cuda.grid"),
    ATTR_KEY("a.key.of.29.bytes.............."),
    ATTR_KEY("a.key.of.30.bytes.............-"),
    ATTR_KEY("a.key.of.31.bytes.............--"),
    ATTR_KEY("error.type"),
    ATTR_KEY("a.key.as.long.as.a.key.can.be.of.sixty.two.bytes.and.not.more1"),
};

static const char *const pieces[] = {
    "kernel",
    "<float, 4>",
    "\xc3\xa9",
    "\xe2\x82\xac",
    "\xf0\x9f\x98\x80",
    "\xff",
    "\xc3",
    "\xe2\x82",
    "\xf0\x9f\x98",
    "\xed\xa0\x80",
    "\"",
    "\\",
    "\n",
    "\x01",
    "\xf4\x90\x80",
    "\x7f",
    "at::native::copy",
    "/",
    "\xef\xbf\xbd",
    "\xc0\xaf",
    "\xe0\x80",
};

/* Strings of a span live until the next span. */
static char arena[128 * 1024];
static struct span_attr items[ITEMS_MAX]; /* of arrays */
static size_t arena_used, items_used;

static char *random_string(size_t max, size_t *len)
{
    char *text = arena + arena_used;
    size_t want = below((uint32_t)max + 1), style = below(4);
    *len = 0;
    while (*len < want) {
        char piece[8] = {0};
        if (style == 0)
            piece[0] = (char)(' ' + below(95));
        else if (style == 1)
            piece[0] = (char)below(256);
        const char *from = style < 2 ? piece : pieces[below(sizeof pieces / sizeof *pieces)];
        size_t n = style < 2 ? 1 : strlen(from);
        memcpy(text + *len, from, n);
        *len += n;
    }
    arena_used += *len + 1;
    text[*len] = '\0';
    return text;
}

/* For fields that end at a NUL. */
static const char *random_c_string(size_t max)
{
    size_t len;
    char *text = random_string(max, &len);
    for (size_t i = 0; i < len; i++)
        text[i] = text[i] ? text[i] : '0';
    return text;
}

static const char *maybe_c_string(size_t max)
{
    return below(4) ? NULL : random_c_string(max);
}

static void random_value(struct span_attr *attr, enum attr_type type)
{
    attr->type = (uint8_t)type;
    switch ((enum attr_type)attr->type) {
    case ATTR_INT:
    case ATTR_POINTER:
        attr->i = (int64_t)(below(2) ? random_number() : 0 - random_number());
        break;
    case ATTR_BOOL:
        attr->i = below(2);
        break;
    case ATTR_DOUBLE: {
        uint64_t bits = random_next();
        if (below(8) == 0)
            bits = (uint64_t)below(2) << 63 | 0x7ff0000000000000u; /* infinite */
        else if (below(2))
            attr->d = (double)(int32_t)bits / 1000, memcpy(&bits, &attr->d, 8);
        memcpy(&attr->d, &bits, 8);
        if (attr->d != attr->d)
            attr->d = __builtin_nan(""); /* JSON knows one NaN */
        break;
    }
    case ATTR_STRING: {
        size_t len;
        attr->s = random_string(STRING_MAX, &len);
        attr->len = (uint32_t)len;
        break;
    }
    case ATTR_DIM3:
        for (int i = 0; i < 3; i++)
            attr->dim[i] = (uint32_t)random_number() >> below(32);
        break;
    case ATTR_ARRAY: {
        enum attr_type of = below(2) ? ATTR_INT : ATTR_STRING;
        attr->len = items_used < ITEMS_MAX ? below((uint32_t)(ITEMS_MAX - items_used) % 5 + 1) : 0;
        attr->items = &items[items_used];
        for (uint32_t i = 0; i < attr->len; i++)
            random_value(&items[items_used++], of);
        break;
    }
    }
}

static void random_attr(struct span_attr *attr)
{
    attr->key = &keys[below(sizeof keys / sizeof *keys)];
    random_value(attr, below(ATTR_ARRAY + 1));
}

static void random_bytes(uint8_t *to, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)random_next();
}

static struct span_event events[8];
static struct span_link links[SPAN_LINKS_MAX];

static void random_events(struct span *span)
{
    span->events = events;
    span->event_count = below(4) ? 0 : below(8);
    span->events_dropped = below(8) ? 0 : below(1000);
    for (uint32_t i = 0; i < span->event_count; i++) {
        events[i] = (struct span_event){.time_ns = random_number() | 1, .name = random_c_string(30)};
        events[i].attr_count = below(7);
        for (uint32_t a = 0; a < events[i].attr_count; a++)
            random_attr(&events[i].attrs[a]);
    }
}

static void random_links(struct span *span)
{
    span->links = links;
    span->link_count = below(4) ? 0 : below(SPAN_LINKS_MAX + 1);
    for (uint32_t i = 0; i < span->link_count; i++) {
        links[i] = (struct span_link){.flags = below(2) ? 0 : (uint32_t)random_next()};
        random_bytes(links[i].trace_id, 16);
        random_bytes(links[i].span_id, 8);
        links[i].trace_state = maybe_c_string(30);
        if (below(2))
            random_attr(&links[i].attr);
    }
}

/* Now and then a text at the limit of a string's length, with few others, so that it fits into a
 * chunk. */
static void random_long_name(struct span *span)
{
    static char text[SPAN_STRING_MAX + 64];
    memset(text, 'n', sizeof text);
    memcpy(text + SPAN_STRING_MAX - 5, "\xe2\x82\xac\xe2\x82\xac", 6);
    span->name = text;
    span->name_len = SPAN_STRING_MAX - 32 + below(96);
    if (span->attr_count > 8)
        span->attr_count = 8;
}

static void random_span(struct span *span)
{
    arena_used = items_used = 0;
    *span = (struct span){.flags = below(2) ? 0x101 : (uint32_t)random_number(),
                          .resource = (uint16_t)below(RESOURCES)};
    random_bytes(span->trace_id, 16);
    random_bytes(span->span_id, 8);
    if (below(3))
        random_bytes(span->parent_span_id, 8);
    span->kind = (uint8_t)below(6);
    span->status = (uint8_t)below(3);
    span->status_message = maybe_c_string(60);
    span->trace_state = maybe_c_string(60);
    span->start_ns = random_number() | 1;
    span->end_ns = random_number() | 1;
    size_t len;
    span->name = random_string(60, &len);
    span->name_len = (uint32_t)len;
    span->attr_count = below(8) ? below(16) : below(SPAN_ATTRS_MAX + 1);
    span->attrs_dropped = below(8) ? 0 : below(1000);
    for (uint32_t i = 0; i < span->attr_count; i++)
        random_attr(&span->attrs[i]);
    random_events(span);
    random_links(span);
    if (below(50) == 0)
        random_long_name(span);
}

static void tell_hex(const char *name, const void *bytes, size_t len)
{
    fprintf(spec, "\"%s\":\"", name);
    for (size_t i = 0; i < len; i++)
        fprintf(spec, "%02x", ((const uint8_t *)bytes)[i]);
    fputs("\",", spec);
}

static void tell_text(const char *name, const char *text)
{
    tell_hex(name, text ? text : "", text ? strlen(text) : 0);
}

static void tell_number(const char *name, uint64_t number)
{
    fprintf(spec, "\"%s\":%" PRIu64 ",", name, number);
}

static void tell_value(const struct span_attr *attr)
{
    static const char *const types[] = {"int", "bool", "double", "string", "pointer", "dim3", "array"};
    fprintf(spec, "\"type\":\"%s\",", types[attr->type]);
    if (attr->type == ATTR_STRING)
        tell_hex("value", attr->s, attr->len);
    else if (attr->type == ATTR_DIM3)
        fprintf(spec, "\"value\":[%u,%u,%u],", attr->dim[0], attr->dim[1], attr->dim[2]);
    else if (attr->type != ATTR_ARRAY)
        tell_number("value", (uint64_t)attr->i); /* of a double: its bits */
}

static void tell_attr(const struct span_attr *attr)
{
    fputc('{', spec);
    tell_hex("key", attr->key->name, attr->key->len);
    tell_value(attr);
    if (attr->type == ATTR_ARRAY) {
        fputs("\"value\":[", spec);
        for (uint32_t i = 0; i < attr->len; i++) {
            fputc('{', spec);
            tell_value(&attr->items[i]);
            fputs("\"\":0},", spec);
        }
        fputs("0],", spec);
    }
    fputs("\"\":0},", spec);
}

static void tell_attrs(const struct span_attr *attrs, uint32_t count)
{
    fputs("\"attrs\":[", spec);
    for (uint32_t i = 0; i < count; i++)
        tell_attr(&attrs[i]);
    fputs("0],", spec);
}

static void tell_events(const struct span *span)
{
    fputs("\"events\":[", spec);
    for (uint32_t i = 0; i < span->event_count; i++) {
        fputc('{', spec);
        tell_text("name", events[i].name);
        tell_number("time", events[i].time_ns);
        tell_attrs(events[i].attrs, events[i].attr_count);
        fputs("\"\":0},", spec);
    }
    fputs("0],", spec);
}

static void tell_links(const struct span *span)
{
    fputs("\"links\":[", spec);
    for (uint32_t i = 0; i < span->link_count; i++) {
        fputc('{', spec);
        tell_hex("trace_id", links[i].trace_id, 16);
        tell_hex("span_id", links[i].span_id, 8);
        tell_text("trace_state", links[i].trace_state);
        tell_number("flags", links[i].flags);
        tell_attrs(&links[i].attr, links[i].attr.key != NULL);
        fputs("\"\":0},", spec);
    }
    fputs("0],", spec);
}

static void tell_span(const struct span *span)
{
    fputs("{\"what\":\"span\",", spec);
    tell_number("resource", span->resource);
    tell_hex("trace_id", span->trace_id, 16);
    tell_hex("span_id", span->span_id, 8);
    tell_hex("parent", span->parent_span_id, 8);
    tell_text("trace_state", span->trace_state);
    tell_hex("name", span->name, span->name_len);
    tell_number("kind", span->kind);
    tell_number("status", span->status);
    tell_text("status_message", span->status_message);
    tell_number("flags", span->flags);
    tell_number("start", span->start_ns);
    tell_number("end", span->end_ns);
    tell_number("attrs_dropped", span->attrs_dropped);
    tell_number("events_dropped", span->events_dropped);
    tell_attrs(span->attrs, span->attr_count);
    tell_events(span);
    tell_links(span);
    fputs("\"\":0}\n", spec);
}

static void tell_item(enum resource_value type, const union resource_item *item)
{
    static const char *const types[] = {"string", "int", "bool", "double"};
    fprintf(spec, "{\"type\":\"%s\",", types[type]);
    if (type == RESOURCE_STRING)
        tell_text("value", item->string);
    else
        tell_number("value", (uint64_t)item->integer); /* of a double: its bits */
    fputs("\"\":0},", spec);
}

static void tell_resource(unsigned index, const struct resource *resource)
{
    fprintf(spec, "{\"what\":\"resource\",\"index\":%u,\"attrs\":[", index);
    for (size_t i = 0; i < resource->attr_count; i++) {
        const struct resource_attr *attr = &resource->attrs[i];
        fputs("{", spec);
        tell_text("key", attr->key);
        tell_number("is_array", attr->is_array);
        fputs("\"items\":[", spec);
        for (size_t item = 0; item < attr->item_count; item++)
            tell_item(attr->type, &attr->items[item]);
        fputs("0]},", spec);
    }
    fputs("0]}\n", spec);
}

#define ARRAY(name, type_of_items, values)                                                                   \
    {                                                                                                        \
        .key = name, .type = type_of_items, .is_array = true, .items = values,                               \
        .item_count = sizeof values / sizeof *values                                                         \
    }
#define ONE(name, type_of_item, value)                                                                       \
    {                                                                                                        \
        .key = name, .type = type_of_item, .item_count = 1, .items = &(union resource_item)                  \
        {                                                                                                    \
            value                                                                                            \
        }                                                                                                    \
    }

static void set_resources(void)
{
    for (uint16_t index = 0; index + 1 < RESOURCES; index++) {
        union resource_item integers[] = {{.integer = -4711 * index}, {.integer = INT64_MAX}, {0}};
        union resource_item truths[] = {{.integer = 1}, {0}},
                            reals[] = {{.real = 0.1 * index}, {.real = -1e300}};
        union resource_item args[] = {
            {.string = "python3"}, {.string = "train.py"}, {.string = "--caf\xc3\xa9=\xff"}};
        struct resource_attr attrs[] = {
            ONE("service.name", RESOURCE_STRING, .string = index ? "gpu \xe2\x82" : "host"),
            ONE("process.pid", RESOURCE_INT, .integer = -4711 * index),
            ARRAY("process.command_args", RESOURCE_STRING, args),
            ONE("hw.\"odd\"", RESOURCE_DOUBLE, .real = 0.1 * index),
            ONE("yes", RESOURCE_BOOL, .integer = index == 0),
            ONE("empty", RESOURCE_STRING, .string = ""),
            ARRAY("integers", RESOURCE_INT, integers),
            ARRAY("truths", RESOURCE_BOOL, truths),
            ARRAY("reals", RESOURCE_DOUBLE, reals),
            {.key = "none", .type = RESOURCE_INT, .is_array = true},
        };
        struct resource resource = {.attr_count = index == 1 ? 1 : sizeof attrs / sizeof *attrs};
        memcpy(resource.attrs, attrs, sizeof attrs);
        tell_resource(index, &resource);
        for (int i = 0; i < 2; i++) {
            if (encoder_set_resource(encoders[i], index, &resource) != STATUS_OK)
                die("cannot set a resource");
        }
    }
}

static FILE *open_file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        die(path);
    return file;
}

static void write_batches(void)
{
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "%03u.%s", batches, suffixes[i]);
        struct batch *batch = encoder_seal(encoders[i]);
        FILE *file = open_file(name);
        for (const struct chunk *chunk = batch ? batch->chunks : NULL; chunk; chunk = chunk->next)
            fwrite(chunk->data + chunk->begin, 1, chunk->end - chunk->begin, file);
        fclose(file);
        batch_release(batch);
    }
    batches++;
}

static void add_span(const struct span *span)
{
    for (int i = 0; i < 2; i++) {
        enum status status = encoder_add(encoders[i], span);
        if (status == STATUS_OK)
            continue;
        if (i == 1) /* the batches of both have the same spans: start both again */
            die("the first encoder took a span and the second did not");
        write_batches();
        if (encoder_add(encoders[i], span) != STATUS_OK)
            die("an empty encoder did not take a span");
    }
}

static void create_encoders(char **limits)
{
    struct encoder_options options = {
        .pool = pool,
        .scope_name = "cuspan",
        .scope_version = CUSPAN_VERSION,
        .schema_url = ENCODER_SCHEMA_URL,
        .value_length_limit = limits ? (uint32_t)atoi(limits[0]) : UINT32_MAX,
        .attribute_count_limit = limits ? (uint32_t)atoi(limits[1]) : 128,
        .event_count_limit = limits ? (uint32_t)atoi(limits[2]) : 128,
        .link_count_limit = limits ? (uint32_t)atoi(limits[3]) : 128,
        .batch_spans_max = 700,
        .batch_bytes_max = 64 << 20,
    };
    for (int i = 0; i < 2; i++) {
        options.format = i ? BATCH_JSON : BATCH_PROTOBUF;
        if (encoder_create(&options, &encoders[i]) != STATUS_OK)
            die("cannot create an encoder");
    }
    fprintf(spec,
            "{\"what\":\"options\",\"value_chars\":%u,\"attrs\":%u,\"events\":%u,\"links\":%u,\"string_"
            "bytes\":%d}\n",
            options.value_length_limit, options.attribute_count_limit, options.event_count_limit,
            options.link_count_limit, SPAN_STRING_MAX);
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 8) {
        fputs("usage: otlp_payloads FOLDER SEED SPANS [VALUE_CHARS ATTRIBUTES EVENTS LINKS]\n", stderr);
        return 2;
    }
    folder = argv[1];
    random_state = strtoull(argv[2], NULL, 10);
    if (chunk_pool_create(512, &pool) != STATUS_OK)
        die("no memory");
    spec = open_file("spans.jsonl");
    create_encoders(argc == 8 ? argv + 4 : NULL);
    set_resources();
    for (long left = atol(argv[3]); left > 0; left--) {
        struct span span;
        random_span(&span);
        tell_span(&span);
        add_span(&span);
    }
    write_batches();
    fclose(spec);
    for (int i = 0; i < 2; i++)
        encoder_destroy(encoders[i]);
    bool whole = chunk_pool_free(pool) == chunk_pool_size(pool);
    chunk_pool_destroy(pool);
    if (!whole)
        die("chunks were not given back");
    return 0;
}
