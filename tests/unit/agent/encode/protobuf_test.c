#include "agent/encode/wire.h"

#include "support/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A parser of wire bytes, independent of the encoder: it takes one field after the other and fails on any
 * that is not expected. */
struct walker {
    const uint8_t *p;
    const uint8_t *end;
};

static uint64_t take_varint(struct walker *w)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(w->p < w->end && shift < 64);
        uint8_t byte = *w->p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            assert_true(byte != 0 || shift == 0); /* minimal */
            return value;
        }
    }
}

static void take_tag(struct walker *w, unsigned field, unsigned type)
{
    uint64_t tag = take_varint(w);
    assert_int_equal(tag >> 3, field);
    assert_int_equal(tag & 7, type);
}

static bool next_is(const struct walker *w, unsigned field)
{
    struct walker ahead = *w;
    return w->p < w->end && take_varint(&ahead) >> 3 == field;
}

static uint64_t take_int(struct walker *w, unsigned field)
{
    take_tag(w, field, 0);
    return take_varint(w);
}

static uint64_t take_fixed(struct walker *w, unsigned field, unsigned bytes)
{
    uint64_t value = 0;
    take_tag(w, field, bytes == 8 ? 1 : 5);
    assert_true((size_t)(w->end - w->p) >= bytes);
    memcpy(&value, w->p, bytes);
    w->p += bytes;
    return value;
}

static struct walker take_message(struct walker *w, unsigned field)
{
    take_tag(w, field, 2);
    uint64_t len = take_varint(w);
    assert_true((uint64_t)(w->end - w->p) >= len);
    struct walker inner = {w->p, w->p + len};
    w->p += len;
    return inner;
}

static void take_bytes(struct walker *w, unsigned field, const void *want, size_t len)
{
    struct walker inner = take_message(w, field);
    assert_int_equal(inner.end - inner.p, len);
    assert_memory_equal(inner.p, want, len);
}

static void take_text(struct walker *w, unsigned field, const char *want)
{
    take_bytes(w, field, want, strlen(want));
}

static void at_end(const struct walker *w)
{
    assert_ptr_equal(w->p, w->end);
}

/* A KeyValue; returns its AnyValue. */
static struct walker take_pair(struct walker *w, unsigned field, const char *key)
{
    struct walker pair = take_message(w, field);
    take_text(&pair, 1, key);
    struct walker value = take_message(&pair, 2);
    at_end(&pair);
    return value;
}

static void take_string_attr(struct walker *w, unsigned field, const char *key, const char *want)
{
    struct walker value = take_pair(w, field, key);
    take_text(&value, 1, want);
    at_end(&value);
}

static void take_int_attr(struct walker *w, unsigned field, const char *key, int64_t want)
{
    struct walker value = take_pair(w, field, key);
    assert_int_equal((int64_t)take_int(&value, 3), want);
    at_end(&value);
}

static const struct wire_limits no_limits = {UINT32_MAX, SPAN_STRING_MAX, 128, 128, 128};

static const struct attr_key key_int = ATTR_KEY("an.integer");
static const struct attr_key key_string = ATTR_KEY("a.string");
static const struct attr_key key_bool = ATTR_KEY("a.bool");
static const struct attr_key key_double = ATTR_KEY("a.double");
static const struct attr_key key_pointer = ATTR_KEY("a.pointer");
static const struct attr_key key_dim = ATTR_KEY("a.dim3");
static const struct attr_key key_31 = ATTR_KEY("a.key.with.thirty.one.bytes.xyz");
#define TEXT_62 "a.key.as.long.as.a.key.can.be.of.sixty.two.bytes.and.not.more1"
static const struct attr_key key_62 = ATTR_KEY(TEXT_62);

static uint8_t buffer[4 * CHUNK_BYTES];

static struct span simple_span(void)
{
    struct span span = {0};
    memcpy(span.trace_id, "0123456789abcdef", 16);
    memcpy(span.span_id, "ABCDEFGH", 8);
    span.kind = SPAN_KIND_INTERNAL;
    span.name = "cudaMalloc";
    span.name_len = 10;
    span.start_ns = 1790000000123456789u;
    span.end_ns = 1790000000123456790u;
    return span;
}

/* Encodes and opens the field `spans` of ScopeSpans. */
static struct walker encode(const struct span *span, const struct wire_limits *limits)
{
    uint8_t *end = wire_protobuf.put_span(buffer, buffer + sizeof buffer, span, limits, NULL);
    assert_non_null(end);
    struct walker w = {buffer, end};
    struct walker inner = take_message(&w, 2);
    at_end(&w);
    return inner;
}

static uint32_t shared_ints; /* attributes of the shared part: 1, 2, ... */

/* The fields up to the span's own attributes. */
static void take_beginning(struct walker *w, const struct span *span)
{
    take_bytes(w, 1, span->trace_id, 16);
    if (span->flags)
        assert_int_equal(take_fixed(w, 16, 4), span->flags);
    assert_int_equal(take_int(w, 6), span->kind);
    take_bytes(w, 5, span->name, span->name_len);
    for (uint32_t i = 0; i < shared_ints; i++)
        take_int_attr(w, 9, "an.integer", i + 1);
    if (next_is(w, 4))
        take_bytes(w, 4, span->parent_span_id, 8);
    take_bytes(w, 2, span->span_id, 8);
    assert_int_equal(take_fixed(w, 7, 8), span->start_ns);
    assert_int_equal(take_fixed(w, 8, 8), span->end_ns);
}

static void test_bytes_of_a_small_span(void **state)
{
    static const char want[] = "\x12\x3c"
                               "\x0a\x10"
                               "0123456789abcdef"
                               "\x30\x01"
                               "\x2a\x0a"
                               "cudaMalloc"
                               "\x12\x08"
                               "ABCDEFGH"
                               "\x39\x15\xcd\x4e\x2b\x84\x5b\xd7\x18"
                               "\x41\x16\xcd\x4e\x2b\x84\x5b\xd7\x18";
    struct span span = simple_span();
    uint8_t *end = wire_protobuf.put_span(buffer, buffer + sizeof buffer, &span, &no_limits, NULL);
    assert_int_equal(end - buffer, sizeof want - 1);
    assert_memory_equal(buffer, want, sizeof want - 1);
}

static void test_root_has_no_parent_and_child_has(void **state)
{
    struct span span = simple_span();
    struct walker w = encode(&span, &no_limits);
    take_beginning(&w, &span);
    at_end(&w);
    memcpy(span.parent_span_id, "\0\0\0\0\0\0\0p", 8);
    w = encode(&span, &no_limits);
    take_bytes(&w, 1, span.trace_id, 16);
    take_int(&w, 6);
    take_bytes(&w, 5, span.name, span.name_len);
    take_bytes(&w, 4, span.parent_span_id, 8);
    take_bytes(&w, 2, span.span_id, 8);
}

static void test_every_type_of_attribute(void **state)
{
    struct span span = simple_span();
    span_attr_int(&span, &key_int, -5);
    span_attr_string(&span, &key_string, "text");
    span_attr_string(&span, &key_31, "");
    span_attr_bool(&span, &key_bool, false);
    span_attr_bool(&span, &key_bool, true);
    span_attr_add(&span, &key_double, ATTR_DOUBLE)->d = -0.125;
    span_attr_pointer(&span, &key_pointer, 0x7f12ab);
    span_attr_pointer(&span, &key_pointer, UINT64_MAX);
    span_attr_dim3(&span, &key_dim, 1, 300, UINT32_MAX);
    struct walker w = encode(&span, &no_limits);
    take_beginning(&w, &span);
    take_int_attr(&w, 9, "an.integer", -5);
    take_string_attr(&w, 9, "a.string", "text");
    take_string_attr(&w, 9, key_31.name, "");
    struct walker value = take_pair(&w, 9, "a.bool");
    assert_int_equal(take_int(&value, 2), 0);
    value = take_pair(&w, 9, "a.bool");
    assert_int_equal(take_int(&value, 2), 1);
    value = take_pair(&w, 9, "a.double");
    uint64_t bits = take_fixed(&value, 4, 8);
    assert_int_equal(bits, 0xbfc0000000000000u);
    take_string_attr(&w, 9, "a.pointer", "0x7f12ab");
    take_string_attr(&w, 9, "a.pointer", "0xffffffffffffffff");
    value = take_pair(&w, 9, "a.dim3");
    struct walker array = take_message(&value, 5);
    const uint64_t dims[] = {1, 300, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct walker item = take_message(&array, 1);
        assert_int_equal(take_int(&item, 3), dims[i]);
        at_end(&item);
    }
    at_end(&array);
    at_end(&w);
}

static void test_pointers_are_cut_like_strings(void **state)
{
    struct span span = simple_span();
    span_attr_pointer(&span, &key_pointer, UINT64_MAX);
    span_attr_pointer(&span, &key_pointer, 0x7f);
    for (uint32_t chars = 0; chars < 20; chars++) {
        struct wire_limits limits = no_limits;
        char want[19] = "0xffffffffffffffff";
        limits.value_chars_max = chars;
        want[chars < 18 ? chars : 18] = '\0';
        struct walker w = encode(&span, &limits);
        take_beginning(&w, &span);
        take_string_attr(&w, 9, "a.pointer", want);
        strcpy(want, "0x7f");
        want[chars < 4 ? chars : 4] = '\0';
        take_string_attr(&w, 9, "a.pointer", want);
        at_end(&w);
    }
}

static void test_integers_of_every_length(void **state)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int64_t less = 0; less < 2; less++) {
            struct span span = simple_span();
            int64_t value = (int64_t)((1ull << bit) - (uint64_t)less);
            span_attr_int(&span, &key_62, value);
            struct walker w = encode(&span, &no_limits);
            take_beginning(&w, &span);
            take_int_attr(&w, 9, TEXT_62, value);
            at_end(&w);
        }
    }
}

/* Lengths around each point where an enclosing length takes one more byte. */
static void test_strings_of_every_length(void **state)
{
    static char text[SPAN_STRING_MAX + 2];
    memset(text, 'x', sizeof text - 1);
    const struct attr_key *keys[] = {&key_string, &key_31, &key_62};
    for (size_t len = 0; len <= SPAN_STRING_MAX; len += len < 400 || (len > 16000 && len < 16500) ? 1 : 97) {
        struct span span = simple_span();
        span.name = text;
        span.name_len = (uint32_t)len + 1;
        if (len == SPAN_STRING_MAX)
            span.name_len = (uint32_t)len;
        const struct attr_key *key = keys[len % 3];
        span_attr_bytes(&span, key, text, len);
        span_attr_int(&span, &key_int, 1);
        struct walker w = encode(&span, &no_limits);
        take_beginning(&w, &span);
        char name[ATTR_KEY_BYTES_MAX + 1] = {0};
        memcpy(name, key->name, key->len);
        struct walker value = take_pair(&w, 9, name);
        take_bytes(&value, 1, text, len);
        take_int_attr(&w, 9, "an.integer", 1);
        at_end(&w);
    }
}

static void test_text_is_repaired_and_cut(void **state)
{
    struct span span = simple_span();
    struct wire_limits limits = no_limits;
    span.name = "kern\xff";
    span.name_len = 5;
    span.trace_state = "a=\xc3";
    span.status_message = "b\x80";
    span_attr_string(&span, &key_string, "x\xe2\x82\xac\xff\xffy");
    span_attr_string(&span, &key_string, "plain and longer");
    limits.value_chars_max = 4;
    struct walker w = encode(&span, &limits);
    take_bytes(&w, 1, span.trace_id, 16);
    take_text(&w, 3, "a=\xef\xbf\xbd");
    take_int(&w, 6);
    take_text(&w, 5, "kern\xef\xbf\xbd");
    take_bytes(&w, 2, span.span_id, 8);
    take_fixed(&w, 7, 8);
    take_fixed(&w, 8, 8);
    take_string_attr(&w, 9, "a.string", "x\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd");
    take_string_attr(&w, 9, "a.string", "plai");
    struct walker status = take_message(&w, 15);
    take_text(&status, 2, "b\xef\xbf\xbd");
    at_end(&status);
    at_end(&w);
}

static void test_string_max_cuts_names_and_values(void **state)
{
    static char text[SPAN_STRING_MAX + 100];
    for (size_t i = 0; i + 3 <= sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    struct span span = simple_span();
    span.name = text;
    span.name_len = sizeof text;
    span_attr_bytes(&span, &key_string, text, sizeof text);
    struct walker w = encode(&span, &no_limits);
    take_bytes(&w, 1, span.trace_id, 16);
    take_int(&w, 6);
    take_bytes(&w, 5, text, SPAN_STRING_MAX / 3 * 3);
    take_bytes(&w, 2, span.span_id, 8);
    take_fixed(&w, 7, 8);
    take_fixed(&w, 8, 8);
    struct walker value = take_pair(&w, 9, "a.string");
    take_bytes(&value, 1, text, SPAN_STRING_MAX / 3 * 3);
}

static struct span rich_span(struct span_event *events, struct span_link *links)
{
    struct span span = simple_span();
    span_attr_int(&span, &key_int, 1);
    span_attr_int(&span, &key_int, 2);
    span.attrs_dropped = 3;
    span.flags = 0x301;
    span.status = SPAN_STATUS_ERROR;
    span.status_message = "out of memory";
    span.events = events;
    span.event_count = 2;
    span.events_dropped = 200;
    span.links = links;
    span.link_count = 2;
    events[0] = (struct span_event){.time_ns = 77, .name = "first", .attr_count = 2};
    events[0].attrs[0] = (struct span_attr){.key = &key_int, .type = ATTR_INT, .i = 4};
    events[0].attrs[1] =
        (struct span_attr){.key = &key_62, .type = ATTR_STRING, .s = "long enough for two", .len = 19};
    events[1] = (struct span_event){.time_ns = 78, .name = NULL};
    links[0] = (struct span_link){.flags = 0x101, .trace_state = "v=1"};
    memcpy(links[0].trace_id, "fedcba9876543210", 16);
    memcpy(links[0].span_id, "12345678", 8);
    links[0].attr = (struct span_attr){.key = &key_bool, .type = ATTR_BOOL, .i = 1};
    links[1] = links[0];
    links[1].flags = 0;
    links[1].trace_state = NULL;
    links[1].attr.key = NULL;
    return span;
}

static void take_rich_links(struct walker *w)
{
    struct walker link = take_message(w, 13);
    take_text(&link, 1, "fedcba9876543210");
    take_text(&link, 2, "12345678");
    take_text(&link, 3, "v=1");
    struct walker value = take_pair(&link, 4, "a.bool");
    assert_int_equal(take_int(&value, 2), 1);
    assert_int_equal(take_fixed(&link, 6, 4), 0x101);
    at_end(&link);
    link = take_message(w, 13);
    take_text(&link, 1, "fedcba9876543210");
    take_text(&link, 2, "12345678");
    at_end(&link);
}

static void test_events_links_status_flags(void **state)
{
    struct span_event events[2];
    struct span_link links[2];
    struct span span = rich_span(events, links);
    struct walker w = encode(&span, &no_limits);
    take_beginning(&w, &span);
    take_int_attr(&w, 9, "an.integer", 1);
    take_int_attr(&w, 9, "an.integer", 2);
    assert_int_equal(take_int(&w, 10), 3);
    struct walker event = take_message(&w, 11);
    assert_int_equal(take_fixed(&event, 1, 8), 77);
    take_text(&event, 2, "first");
    take_int_attr(&event, 3, "an.integer", 4);
    take_string_attr(&event, 3, TEXT_62, "long enough for two");
    at_end(&event);
    event = take_message(&w, 11);
    assert_int_equal(take_fixed(&event, 1, 8), 78);
    at_end(&event);
    assert_int_equal(take_int(&w, 12), 200);
    take_rich_links(&w);
    struct walker status = take_message(&w, 15);
    take_text(&status, 2, "out of memory");
    assert_int_equal(take_int(&status, 3), 2);
    at_end(&status);
    at_end(&w);
}

static void test_limits_drop_and_count(void **state)
{
    struct span_event events[2];
    struct span_link links[2];
    struct span span = rich_span(events, links);
    struct walker w = encode(&span, &(struct wire_limits){UINT32_MAX, SPAN_STRING_MAX, 1, 1, 1});
    take_beginning(&w, &span);
    take_int_attr(&w, 9, "an.integer", 1);
    assert_int_equal(take_int(&w, 10), 4);
    struct walker event = take_message(&w, 11);
    take_fixed(&event, 1, 8);
    take_text(&event, 2, "first");
    take_int_attr(&event, 3, "an.integer", 4);
    assert_int_equal(take_int(&event, 4), 1);
    at_end(&event);
    assert_int_equal(take_int(&w, 12), 201);
    take_message(&w, 13);
    assert_int_equal(take_int(&w, 14), 1);

    w = encode(&span, &(struct wire_limits){UINT32_MAX, SPAN_STRING_MAX, 0, 0, 0});
    take_beginning(&w, &span);
    assert_int_equal(take_int(&w, 10), 5);
    assert_int_equal(take_int(&w, 12), 202);
    assert_int_equal(take_int(&w, 14), 2);
}

static struct span_shared shared_of(const struct span_attr *attrs, uint32_t count)
{
    return (struct span_shared){
        .version = 1, .name = "cudaMalloc", .name_len = 10, .attr_count = count, .attrs = attrs};
}

static void test_a_shared_part_is_copied(void **state)
{
    struct span span = simple_span(), other = simple_span();
    span_attr_int(&other, &key_int, 1);
    span_attr_int(&other, &key_int, 2);
    struct span_shared shared = shared_of(other.attrs, 2);
    uint8_t bytes[1024];
    uint8_t *end = wire_protobuf.put_shared(bytes, bytes + sizeof bytes, &shared, &no_limits);
    assert_non_null(end);
    struct wire_part part = {bytes, (size_t)(end - bytes)};
    span.shared = &shared;
    span_attr_int(&span, &key_int, 8);
    end = wire_protobuf.put_span(buffer, buffer + sizeof buffer, &span, &no_limits, &part);
    struct walker w = {buffer, end}, inner = take_message(&w, 2);
    shared_ints = 2;
    take_beginning(&inner, &span);
    take_int_attr(&inner, 9, "an.integer", 8);
    at_end(&inner);
    shared_ints = 0;
    for (size_t room = 0; room < part.len; room++)
        assert_null(wire_protobuf.put_shared(bytes, bytes + room, &shared, &no_limits));
}

/* Shared attributes come first, so a span's own attributes are dropped before them. */
static void test_limits_hold_for_shared_and_own_attributes_together(void **state)
{
    struct span span = simple_span(), other = simple_span();
    span_attr_int(&other, &key_int, 1);
    span_attr_int(&other, &key_int, 2);
    struct span_shared shared = shared_of(other.attrs, 2);
    span.shared = &shared;
    span_attr_int(&span, &key_int, 3);
    span_attr_int(&span, &key_int, 4);
    for (uint32_t max = 0; max <= 4; max++) {
        struct walker w = encode(&span, &(struct wire_limits){UINT32_MAX, SPAN_STRING_MAX, max, 1, 1});
        shared_ints = max < 2 ? max : 2;
        take_beginning(&w, &span);
        for (uint32_t i = 3; i <= max; i++)
            take_int_attr(&w, 9, "an.integer", i);
        if (max < 4)
            assert_int_equal(take_int(&w, 10), 4 - max);
        at_end(&w);
        shared_ints = 0;
    }
}

/* With every buffer that is too small, the result is NULL and nothing past it is written (a sanitizer
 * checks). */
static void test_too_little_room(void **state)
{
    struct span_event events[2];
    struct span_link links[2];
    struct span span = rich_span(events, links);
    static char bad[500];
    memset(bad, 0xff, sizeof bad);
    span.trace_state = "state=\xff";
    span.name = bad;
    span.name_len = sizeof bad;
    span_attr_bytes(&span, &key_62, bad, sizeof bad);
    span_attr_pointer(&span, &key_62, UINT64_MAX);
    span_attr_dim3(&span, &key_62, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    uint8_t *end = wire_protobuf.put_span(buffer, buffer + sizeof buffer, &span, &no_limits, NULL);
    size_t size = (size_t)(end - buffer), room = 0;
    for (;; room++) {
        uint8_t *small = malloc(room + 1);
        uint8_t *got = wire_protobuf.put_span(small, small + room, &span, &no_limits, NULL);
        bool done = got != NULL;
        if (done) {
            assert_int_equal(got - small, size);
            assert_memory_equal(small, buffer, size);
        }
        free(small);
        if (done)
            break;
    }
    assert_in_range(room, size, size + 400);
}

static void add(struct resource *resource, const char *key, struct resource_attr attr)
{
    attr.key = key;
    resource->attrs[resource->attr_count++] = attr;
}

/* One value, for a struct resource_attr. */
#define ITEM(value)                                                                                          \
    .item_count = 1, .items = &(union resource_item)                                                         \
    {                                                                                                        \
        value                                                                                                \
    }

static void test_resource(void **state)
{
    struct resource resource = {0};
    union resource_item strings[] = {{.string = "one"}, {.string = "tw\xff"}};
    add(&resource, "service.name",
        (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = "caf\xc3\xa9 \xff")});
    add(&resource, "empty", (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = "")});
    add(&resource, "pid", (struct resource_attr){.type = RESOURCE_INT, ITEM(.integer = 4711)});
    add(&resource, "yes", (struct resource_attr){.type = RESOURCE_BOOL, ITEM(.integer = 1)});
    add(&resource, "pi", (struct resource_attr){.type = RESOURCE_DOUBLE, ITEM(.real = 3.5)});
    add(&resource, "args",
        (struct resource_attr){.type = RESOURCE_STRING, .is_array = true, .items = strings, .item_count = 2});
    add(&resource, "none", (struct resource_attr){.type = RESOURCE_STRING, .is_array = true});
    uint8_t *end =
        wire_put_resource(&wire_protobuf, buffer, buffer + 4096, &resource, "https://schema", &no_limits);
    struct walker w = {buffer, end};
    struct walker inner = take_message(&w, 1);
    take_string_attr(&inner, 1, "service.name", "caf\xc3\xa9 \xef\xbf\xbd");
    take_string_attr(&inner, 1, "empty", "");
    take_int_attr(&inner, 1, "pid", 4711);
    struct walker value = take_pair(&inner, 1, "yes");
    assert_int_equal(take_int(&value, 2), 1);
    value = take_pair(&inner, 1, "pi");
    assert_int_equal(take_fixed(&value, 4, 8), 0x400c000000000000u);
    value = take_pair(&inner, 1, "args");
    struct walker array = take_message(&value, 5);
    struct walker item = take_message(&array, 1);
    take_text(&item, 1, "one");
    item = take_message(&array, 1);
    take_text(&item, 1, "tw\xef\xbf\xbd");
    at_end(&array);
    value = take_pair(&inner, 1, "none");
    array = take_message(&value, 5);
    at_end(&array);
    at_end(&inner);
    take_text(&w, 3, "https://schema");
    at_end(&w);
}

static struct walker take_array(struct walker *inner, const char *key)
{
    struct walker value = take_pair(inner, 1, key);
    struct walker array = take_message(&value, 5);
    at_end(&value);
    return array;
}

static void test_arrays_in_a_resource_keep_their_type(void **state)
{
    struct resource resource = {0};
    union resource_item integers[] = {{.integer = 1}, {.integer = -1}}, truths[] = {{.integer = 1}, {0}},
                        reals[] = {{.real = 3.5}};
    add(&resource, "is",
        (struct resource_attr){.type = RESOURCE_INT, .is_array = true, .items = integers, .item_count = 2});
    add(&resource, "bs",
        (struct resource_attr){.type = RESOURCE_BOOL, .is_array = true, .items = truths, .item_count = 2});
    add(&resource, "ds",
        (struct resource_attr){.type = RESOURCE_DOUBLE, .is_array = true, .items = reals, .item_count = 1});
    add(&resource, "none", (struct resource_attr){.type = RESOURCE_INT, .is_array = true});
    uint8_t *end = wire_put_resource(&wire_protobuf, buffer, buffer + 4096, &resource, "", &no_limits);
    struct walker w = {buffer, end};
    struct walker inner = take_message(&w, 1);
    struct walker array = take_array(&inner, "is");
    struct walker item = take_message(&array, 1);
    assert_int_equal(take_int(&item, 3), 1);
    item = take_message(&array, 1);
    assert_int_equal(take_int(&item, 3), UINT64_MAX);
    at_end(&array);
    array = take_array(&inner, "bs");
    item = take_message(&array, 1);
    assert_int_equal(take_int(&item, 2), 1);
    item = take_message(&array, 1);
    assert_int_equal(take_int(&item, 2), 0);
    at_end(&array);
    array = take_array(&inner, "ds");
    item = take_message(&array, 1);
    assert_int_equal(take_fixed(&item, 4, 8), 0x400c000000000000u);
    at_end(&array);
    array = take_array(&inner, "none");
    at_end(&array);
    at_end(&inner);
}

static void test_an_array_that_does_not_fit_is_left_out(void **state)
{
    static union resource_item many[1000];
    struct resource resource = {0};
    add(&resource, "many",
        (struct resource_attr){.type = RESOURCE_DOUBLE, .is_array = true, .items = many, .item_count = 1000});
    add(&resource, "short", (struct resource_attr){.type = RESOURCE_INT, ITEM(.integer = 1)});
    uint8_t *room = malloc(2000);
    uint8_t *end = wire_put_resource(&wire_protobuf, room, room + 2000, &resource, "u", &no_limits);
    struct walker w = {room, end};
    struct walker inner = take_message(&w, 1);
    take_int_attr(&inner, 1, "short", 1);
    assert_int_equal(take_int(&inner, 2), 1);
    at_end(&inner);
    free(room);
}

static void test_resource_leaves_out_what_does_not_fit(void **state)
{
    static char longer[3000];
    memset(longer, 'l', sizeof longer - 1);
    struct resource resource = {0};
    add(&resource, "long", (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = longer)});
    add(&resource, "cut", (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = longer)});
    add(&resource, "short", (struct resource_attr){.type = RESOURCE_INT, ITEM(.integer = 1)});
    struct wire_limits limits = {UINT32_MAX, 2000, 0, 0, 0};
    uint8_t *room = malloc(3000);
    uint8_t *end = wire_put_resource(&wire_protobuf, room, room + 3000, &resource, "u", &limits);
    struct walker w = {room, end};
    struct walker inner = take_message(&w, 1);
    struct walker value = take_pair(&inner, 1, "long");
    take_bytes(&value, 1, longer, 2000);
    take_int_attr(&inner, 1, "short", 1);
    assert_int_equal(take_int(&inner, 2), 1);
    at_end(&inner);
    take_text(&w, 3, "u");
    free(room);
}

static void test_head_leads_to_the_spans(void **state)
{
    uint8_t parts[600];
    uint8_t *scope_at =
        wire_put_resource(&wire_protobuf, parts, parts + 500, &(struct resource){0}, "r", &no_limits);
    uint8_t *end = wire_put_scope(&wire_protobuf, scope_at, parts + 600, "cuspan", "1.2.3", "s");
    struct wire_part resource = {parts, (size_t)(scope_at - parts)};
    struct wire_part scope = {scope_at, (size_t)(end - scope_at)};
    const uint64_t sizes[] = {1, 60, 100, 127, 128, 16000, 16383, 16384, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *at = buffer + WIRE_HEAD_BYTES_MAX + resource.len + scope.len;
        memset(buffer, 0xee, (size_t)(at - buffer) + 1);
        uint8_t *head = wire_protobuf.put_head(&wire_protobuf, at, &resource, &scope, sizes[i], i == 0);
        assert_true(head >= buffer);
        assert_int_equal(*at, 0xee);
        struct walker w = {head, at + sizes[i]};
        struct walker section = take_message(&w, 1);
        at_end(&w);
        struct walker inner = take_message(&section, 1);
        at_end(&inner);
        take_text(&section, 3, "r");
        struct walker spans = take_message(&section, 2);
        at_end(&section);
        inner = take_message(&spans, 1);
        take_text(&inner, 1, "cuspan");
        take_text(&inner, 2, "1.2.3");
        at_end(&inner);
        take_text(&spans, 3, "s");
        assert_ptr_equal(spans.p, at);
        assert_int_equal(wire_protobuf.put_tail(at, true), 0);
    }
}

static void test_scope_without_room(void **state)
{
    uint8_t room[200];
    for (size_t size = 0; size < 60; size++)
        assert_null(wire_put_scope(&wire_protobuf, room, room + size, "a scope with a name", "1.2.3",
                                   "https://a.schema"));
    assert_null(wire_put_resource(&wire_protobuf, room, room + 100, &(struct resource){0}, "https://a.schema",
                                  &no_limits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_a_small_span),
        cmocka_unit_test(test_root_has_no_parent_and_child_has),
        cmocka_unit_test(test_every_type_of_attribute),
        cmocka_unit_test(test_pointers_are_cut_like_strings),
        cmocka_unit_test(test_integers_of_every_length),
        cmocka_unit_test(test_strings_of_every_length),
        cmocka_unit_test(test_text_is_repaired_and_cut),
        cmocka_unit_test(test_string_max_cuts_names_and_values),
        cmocka_unit_test(test_events_links_status_flags),
        cmocka_unit_test(test_a_shared_part_is_copied),
        cmocka_unit_test(test_limits_hold_for_shared_and_own_attributes_together),
        cmocka_unit_test(test_limits_drop_and_count),
        cmocka_unit_test(test_too_little_room),
        cmocka_unit_test(test_resource),
        cmocka_unit_test(test_arrays_in_a_resource_keep_their_type),
        cmocka_unit_test(test_an_array_that_does_not_fit_is_left_out),
        cmocka_unit_test(test_resource_leaves_out_what_does_not_fit),
        cmocka_unit_test(test_head_leads_to_the_spans),
        cmocka_unit_test(test_scope_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
