#include "agent/encode/wire.h"

#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct wire_limits no_limits = {UINT32_MAX, SPAN_STRING_MAX, 128, 128, 128};

static const struct attr_key key_a = ATTR_KEY("a");
static const struct attr_key key_long = ATTR_KEY("cuda.memory_pool.release_threshold");

static char out[4 * CHUNK_BYTES];

static struct span simple_span(void)
{
    struct span span = {
        .kind = SPAN_KIND_INTERNAL, .name = "cudaMalloc", .name_len = 10, .start_ns = 5, .end_ns = 6};
    memcpy(span.trace_id, "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
    memcpy(span.span_id, "\xfe\xdc\xba\x98\x76\x54\x32\x10", 8);
    return span;
}

#define SIMPLE_IDS "{\"traceId\":\"0123456789abcdef0123456789abcdef\",\"spanId\":\"fedcba9876543210\""
#define SIMPLE_REST                                                                                          \
    ",\"kind\":1,\"startTimeUnixNano\":\"5\",\"endTimeUnixNano\":\"6\",\"name\":\"cudaMalloc\""

static const char *encode(const struct span *span, const struct wire_limits *limits)
{
    uint8_t *end = wire_json.put_span((uint8_t *)out, (uint8_t *)out + sizeof out - 1, span, limits, NULL);
    assert_non_null(end);
    *end = '\0';
    assert_int_equal(out[0], ',');
    return out + 1;
}

static void test_small_span(void **state)
{
    struct span span = simple_span();
    assert_string_equal(encode(&span, &no_limits), SIMPLE_IDS SIMPLE_REST "}");
    span.parent_span_id[7] = 1;
    span.flags = 0x101;
    span.trace_state = "a=1";
    assert_string_equal(
        encode(&span, &no_limits), SIMPLE_IDS
        ",\"traceState\":\"a=1\",\"parentSpanId\":\"0000000000000001\",\"flags\":257" SIMPLE_REST "}");
}

/* The value of a span's only attribute, as JSON. */
static void check_value(const struct span *span, const struct wire_limits *limits, const char *want)
{
    char rest[8192];
    snprintf(rest, sizeof rest, ",\"attributes\":[{\"key\":\"a\",\"value\":%s}]}", want);
    const char *attributes = strstr(encode(span, limits), ",\"attributes\"");
    assert_non_null(attributes);
    assert_string_equal(attributes, rest);
}

static void check_double(double value, const char *want)
{
    struct span span = simple_span();
    span_attr_add(&span, &key_a, ATTR_DOUBLE)->d = value;
    char json[64];
    snprintf(json, sizeof json, "{\"doubleValue\":%s}", want);
    check_value(&span, &no_limits, json);
}

static void test_every_type_of_attribute(void **state)
{
    struct span span = simple_span();
    span_attr_int(&span, &key_a, INT64_MIN);
    check_value(&span, &no_limits, "{\"intValue\":\"-9223372036854775808\"}");
    span.attr_count = 0;
    span_attr_bool(&span, &key_a, true);
    check_value(&span, &no_limits, "{\"boolValue\":true}");
    span.attr_count = 0;
    span_attr_bool(&span, &key_a, false);
    check_value(&span, &no_limits, "{\"boolValue\":false}");
    span.attr_count = 0;
    span_attr_pointer(&span, &key_a, 0x7f12ab);
    check_value(&span, &no_limits, "{\"stringValue\":\"0x7f12ab\"}");
    span.attr_count = 0;
    span_attr_dim3(&span, &key_a, 1, 20, UINT32_MAX);
    check_value(&span, &no_limits,
                "{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},{\"intValue\":\"20\"},{\"intValue\":"
                "\"4294967295\"}]}}");
    check_double(0.1, "0.1");
    check_double(-3, "-3");
    check_double(NAN, "\"NaN\"");
    check_double(INFINITY, "\"Infinity\"");
    check_double(-INFINITY, "\"-Infinity\"");
}

static void test_pointers_are_cut_like_strings(void **state)
{
    static const char *const wants[] = {"", "0", "0x", "0x7", "0x7f", "0x7f", "0x7f"};
    struct span span = simple_span();
    span_attr_pointer(&span, &key_a, 0x7f);
    for (uint32_t chars = 0; chars < sizeof wants / sizeof *wants; chars++) {
        struct wire_limits limits = no_limits;
        char json[64];
        limits.value_chars_max = chars;
        snprintf(json, sizeof json, "{\"stringValue\":\"%s\"}", wants[chars]);
        check_value(&span, &limits, json);
    }
}

static void check_string(const char *text, size_t len, uint32_t chars_max, uint32_t bytes_max,
                         const char *want)
{
    struct span span = simple_span();
    struct wire_limits limits = no_limits;
    limits.value_chars_max = chars_max;
    limits.string_bytes_max = bytes_max;
    span_attr_bytes(&span, &key_a, text, len);
    char json[4096];
    snprintf(json, sizeof json, "{\"stringValue\":\"%s\"}", want);
    check_value(&span, &limits, json);
}

#define STRING(text, want) check_string(text, sizeof(text) - 1, UINT32_MAX, SPAN_STRING_MAX, want)

static void test_strings_are_escaped(void **state)
{
    STRING("", "");
    STRING("void k<float, 4>(int*)", "void k<float, 4>(int*)");
    STRING("\"quoted\" \\ and / more", "\\\"quoted\\\" \\\\ and / more");
    STRING("\b\t\n\f\r\v", "\\b\\t\\n\\f\\r\\u000b");
    STRING("\0\x01\x1f\x7f", "\\u0000\\u0001\\u001f\x7f");
    STRING("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    STRING("bad \xff\xe2\x82 end", "bad \xef\xbf\xbd\xef\xbf\xbd end");
}

/* Each byte that needs escaping at each position of a word. */
static void test_escapes_at_every_place(void **state)
{
    for (unsigned byte = 0; byte < 0x80; byte++) {
        for (size_t place = 0; place < 20; place++) {
            char text[20], want[40] = "";
            memset(text, 'x', sizeof text);
            text[place] = (char)byte;
            memset(want, 'x', place);
            if (byte == '"' || byte == '\\')
                snprintf(want + place, 8, "\\%c", byte);
            else if (byte < 0x20 && strchr("\b\t\n\f\r", (int)byte) && byte)
                snprintf(want + place, 8, "\\%c", "btn?fr"[byte - 8]);
            else
                snprintf(want + place, 8, byte < 0x20 ? "\\u%04x" : "%c", byte);
            memset(want + strlen(want), 'x', 19 - place);
            check_string(text, sizeof text, UINT32_MAX, SPAN_STRING_MAX, want);
        }
    }
}

static void test_limits_count_characters_not_escapes(void **state)
{
    check_string("ab\n\xe2\x82\xac"
                 "cdefghij",
                 14, 4, SPAN_STRING_MAX, "ab\\n\xe2\x82\xac");
    check_string("abcdefghijkl", 12, 9, SPAN_STRING_MAX, "abcdefghi");
    check_string("abcdefghijkl", 12, 0, SPAN_STRING_MAX, "");
    check_string("ab\n\xe2\x82\xac"
                 "cdefghij",
                 14, UINT32_MAX, 5, "ab\\n");
    check_string("ab\n\xe2\x82\xac"
                 "cdefghij",
                 14, UINT32_MAX, 6, "ab\\n\xe2\x82\xac");
    check_string("\n\n\n\n", 4, UINT32_MAX, 2, "\\n\\n");
    check_string("\xff\xff", 2, UINT32_MAX, 5, "\xef\xbf\xbd");
}

static struct span rich_span(struct span_event *events, struct span_link *links)
{
    struct span span = simple_span();
    span_attr_int(&span, &key_a, 1);
    span_attr_string(&span, &key_long, "v");
    span.attrs_dropped = 3;
    span.status = SPAN_STATUS_ERROR;
    span.status_message = "no \"memory\"";
    span.events = events;
    span.event_count = 2;
    span.events_dropped = 9;
    span.links = links;
    span.link_count = 2;
    events[0] = (struct span_event){.time_ns = 77, .name = "first", .attr_count = 2};
    events[0].attrs[0] = (struct span_attr){.key = &key_a, .type = ATTR_INT, .i = 4};
    events[0].attrs[1] = (struct span_attr){.key = &key_a, .type = ATTR_INT, .i = 5};
    events[1] = (struct span_event){.time_ns = 78, .name = NULL};
    links[0] = (struct span_link){.flags = 257, .trace_state = "v=1"};
    memset(links[0].trace_id, 0xaa, 16);
    memset(links[0].span_id, 0xbb, 8);
    links[0].attr = (struct span_attr){.key = &key_a, .type = ATTR_BOOL, .i = 1};
    links[1] = links[0];
    links[1].flags = 0;
    links[1].trace_state = "";
    links[1].attr.key = NULL;
    return span;
}

#define LINK_IDS "{\"traceId\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"spanId\":\"bbbbbbbbbbbbbbbb\""

static void test_events_links_status(void **state)
{
    struct span_event events[2];
    struct span_link links[2];
    struct span span = rich_span(events, links);
    assert_string_equal(
        encode(&span, &no_limits), SIMPLE_IDS SIMPLE_REST
        ",\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":\"1\"}},"
        "{\"key\":\"cuda.memory_pool.release_threshold\",\"value\":{\"stringValue\":\"v\"}}],"
        "\"droppedAttributesCount\":3"
        ",\"events\":[{\"timeUnixNano\":\"77\",\"name\":\"first\",\"attributes\":[{\"key\":\"a\",\"value\":{"
        "\"intValue\":\"4\"}},"
        "{\"key\":\"a\",\"value\":{\"intValue\":\"5\"}}]},{\"timeUnixNano\":\"78\",\"name\":\"\"}],"
        "\"droppedEventsCount\":9"
        ",\"links\":[" LINK_IDS
        ",\"traceState\":\"v=1\",\"attributes\":[{\"key\":\"a\",\"value\":{\"boolValue\":true}}],"
        "\"flags\":257}," LINK_IDS "}]"
        ",\"status\":{\"message\":\"no \\\"memory\\\"\",\"code\":2}}");
    span = simple_span();
    span.status = SPAN_STATUS_OK;
    assert_string_equal(encode(&span, &no_limits), SIMPLE_IDS SIMPLE_REST ",\"status\":{\"code\":1}}");
    span.status = SPAN_STATUS_UNSET;
    span.status_message = "m";
    assert_string_equal(encode(&span, &no_limits), SIMPLE_IDS SIMPLE_REST ",\"status\":{\"message\":\"m\"}}");
}

static void test_limits_drop_and_count(void **state)
{
    struct span_event events[2];
    struct span_link links[2];
    struct span span = rich_span(events, links);
    span.status = SPAN_STATUS_UNSET;
    span.status_message = NULL;
    assert_string_equal(
        encode(&span, &(struct wire_limits){UINT32_MAX, SPAN_STRING_MAX, 1, 1, 0}), SIMPLE_IDS SIMPLE_REST
        ",\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":\"1\"}}],\"droppedAttributesCount\":4"
        ",\"events\":[{\"timeUnixNano\":\"77\",\"name\":\"first\",\"attributes\":[{\"key\":\"a\",\"value\":"
        "{\"intValue\":\"4\"}}],\"droppedAttributesCount\":1}],\"droppedEventsCount\":10"
        ",\"droppedLinksCount\":2}");
}

static void test_too_little_room(void **state)
{
    struct span_event events[2];
    struct span_link links[2];
    struct span span = rich_span(events, links);
    span_attr_string(&span, &key_long, "\x01 caf\xc3\xa9 \xff and what is plain");
    span_attr_add(&span, &key_long, ATTR_DOUBLE)->d = -1.2345678901234567e-300;
    uint8_t *end = wire_json.put_span((uint8_t *)out, (uint8_t *)out + sizeof out, &span, &no_limits, NULL);
    size_t size = (size_t)(end - (uint8_t *)out), room = 0;
    for (bool done = false; !done; room++) {
        uint8_t *small = malloc(room + 1);
        uint8_t *got = wire_json.put_span(small, small + room, &span, &no_limits, NULL);
        done = got != NULL;
        if (done) {
            assert_int_equal(got - small, size);
            assert_memory_equal(small, out, size);
        }
        free(small);
    }
    assert_in_range(room, size, size + 40);
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

static const char *encode_resource(const struct resource *resource, size_t room)
{
    uint8_t *end =
        wire_put_resource(&wire_json, (uint8_t *)out, (uint8_t *)out + room, resource, "u", &no_limits);
    assert_non_null(end);
    *end = '\0';
    return out;
}

static struct resource_attr array_of(enum resource_value type, union resource_item *items, size_t count)
{
    return (struct resource_attr){.type = type, .is_array = true, .items = items, .item_count = count};
}

static void test_resource(void **state)
{
    struct resource resource = {0};
    assert_string_equal(encode_resource(&resource, 1000),
                        "\"resource\":{\"attributes\":[]},\"schemaUrl\":\"u\",\"scopeSpans\":[{");
    add(&resource, "s\xff", (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = "a \"b\"")});
    add(&resource, "i", (struct resource_attr){.type = RESOURCE_INT, ITEM(.integer = -1)});
    add(&resource, "b", (struct resource_attr){.type = RESOURCE_BOOL, ITEM(.integer = 1)});
    add(&resource, "d", (struct resource_attr){.type = RESOURCE_DOUBLE, ITEM(.real = 0.5)});
    union resource_item strings[] = {{.string = "one"}, {.string = "two"}};
    add(&resource, "l",
        (struct resource_attr){.type = RESOURCE_STRING, .is_array = true, .items = strings, .item_count = 2});
    add(&resource, "e", (struct resource_attr){.type = RESOURCE_STRING, .is_array = true});
    union resource_item integers[] = {{.integer = 1}, {.integer = -16}}, truths[] = {{.integer = 1}, {0}},
                        reals[] = {{.real = 0.5}, {.real = -INFINITY}};
    add(&resource, "is", array_of(RESOURCE_INT, integers, 2));
    add(&resource, "bs", array_of(RESOURCE_BOOL, truths, 2));
    add(&resource, "ds", array_of(RESOURCE_DOUBLE, reals, 2));
    add(&resource, "es", array_of(RESOURCE_DOUBLE, NULL, 0));
    assert_string_equal(encode_resource(&resource, 2000),
                        "\"resource\":{\"attributes\":["
                        "{\"key\":\"s\xef\xbf\xbd\",\"value\":{\"stringValue\":\"a \\\"b\\\"\"}},"
                        "{\"key\":\"i\",\"value\":{\"intValue\":\"-1\"}},"
                        "{\"key\":\"b\",\"value\":{\"boolValue\":true}},"
                        "{\"key\":\"d\",\"value\":{\"doubleValue\":0.5}},"
                        "{\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"one\"},{"
                        "\"stringValue\":\"two\"}]}}},"
                        "{\"key\":\"e\",\"value\":{\"arrayValue\":{\"values\":[]}}},"
                        "{\"key\":\"is\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},{"
                        "\"intValue\":\"-16\"}]}}},"
                        "{\"key\":\"bs\",\"value\":{\"arrayValue\":{\"values\":[{\"boolValue\":true},{"
                        "\"boolValue\":false}]}}},"
                        "{\"key\":\"ds\",\"value\":{\"arrayValue\":{\"values\":[{\"doubleValue\":0.5},{"
                        "\"doubleValue\":\"-Infinity\"}]}}},"
                        "{\"key\":\"es\",\"value\":{\"arrayValue\":{\"values\":[]}}}"
                        "]},\"schemaUrl\":\"u\",\"scopeSpans\":[{");
}

static void test_resource_leaves_out_what_does_not_fit(void **state)
{
    static char longer[1000];
    memset(longer, 'l', sizeof longer - 1);
    struct resource resource = {0};
    add(&resource, "long", (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = longer)});
    add(&resource, "i", (struct resource_attr){.type = RESOURCE_INT, ITEM(.integer = 1)});
    add(&resource, "long", (struct resource_attr){.type = RESOURCE_STRING, ITEM(.string = longer)});
    assert_string_equal(encode_resource(&resource, 1000),
                        "\"resource\":{\"attributes\":[{\"key\":\"i\",\"value\":{\"intValue\":\"1\"}}],"
                        "\"droppedAttributesCount\":2},\"schemaUrl\":\"u\",\"scopeSpans\":[{");
}

static void test_parts_make_a_request(void **state)
{
    uint8_t parts[1000];
    uint8_t *scope_at =
        wire_put_resource(&wire_json, parts, parts + 700, &(struct resource){0}, "r", &no_limits);
    uint8_t *end = wire_put_scope(&wire_json, scope_at, parts + sizeof parts, "cuspan", "1.2.3", "s");
    struct wire_part resource = {parts, (size_t)(scope_at - parts)};
    struct wire_part scope = {scope_at, (size_t)(end - scope_at)};
    uint8_t *at = (uint8_t *)out + WIRE_HEAD_BYTES_MAX + resource.len + scope.len;
    for (int first = 0; first < 2; first++) {
        memcpy(at, ",{},{}", 6);
        uint8_t *head = wire_json.put_head(&wire_json, at, &resource, &scope, 6, first);
        size_t tail = wire_json.put_tail(at + 6, first);
        at[6 + tail] = '\0';
        assert_true(head >= (uint8_t *)out);
        char want[300];
        snprintf(want, sizeof want,
                 "%s\"resource\":{\"attributes\":[]},\"schemaUrl\":\"r\",\"scopeSpans\":[{\"scope\":{"
                 "\"name\":\"cuspan\","
                 "\"version\":\"1.2.3\"},\"schemaUrl\":\"s\",\"spans\":[{},{}]}]}%s",
                 first ? "{\"resourceSpans\":[{" : ",{", first ? "]}" : "");
        assert_string_equal((char *)head, want);
    }
    assert_null(wire_put_scope(&wire_json, parts, parts + 60, "cuspan", "1.2.3", "s"));
    assert_null(wire_put_resource(&wire_json, parts, parts + 60, &(struct resource){0}, "s", &no_limits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_span),
        cmocka_unit_test(test_every_type_of_attribute),
        cmocka_unit_test(test_pointers_are_cut_like_strings),
        cmocka_unit_test(test_strings_are_escaped),
        cmocka_unit_test(test_escapes_at_every_place),
        cmocka_unit_test(test_limits_count_characters_not_escapes),
        cmocka_unit_test(test_events_links_status),
        cmocka_unit_test(test_limits_drop_and_count),
        cmocka_unit_test(test_too_little_room),
        cmocka_unit_test(test_resource),
        cmocka_unit_test(test_resource_leaves_out_what_does_not_fit),
        cmocka_unit_test(test_parts_make_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
