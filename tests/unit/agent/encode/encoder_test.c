#include "agent/encode/encoder.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { POOL_CHUNKS = 32 };

static struct chunk_pool *pool;
static struct encoder *encoder;
static uint8_t *body; /* the last sealed batch, contiguous, with a NUL at the end */
static size_t body_len;

static const struct attr_key key = ATTR_KEY("key");

static struct encoder_options defaults(enum batch_format format)
{
    return (struct encoder_options){
        .format = format,
        .pool = pool,
        .scope_name = "cuspan",
        .scope_version = "1.2.3",
        .schema_url = "https://schema",
        .value_length_limit = UINT32_MAX,
        .attribute_count_limit = 128,
        .event_count_limit = 128,
        .link_count_limit = 128,
        .batch_spans_max = 100000,
        .batch_bytes_max = 4 << 20,
    };
}

static void begin(struct encoder_options options)
{
    options.pool = pool;
    assert_int_equal(encoder_create(&options, &encoder), STATUS_OK);
}

static int setup(void **state)
{
    encoder = NULL;
    return chunk_pool_create(POOL_CHUNKS, &pool) == STATUS_OK ? 0 : -1;
}

/* No test may leak. */
static int teardown(void **state)
{
    encoder_destroy(encoder);
    bool whole = chunk_pool_free(pool) == POOL_CHUNKS;
    chunk_pool_destroy(pool);
    free(body);
    body = NULL;
    return whole ? 0 : -1;
}

static struct span make_span(uint16_t resource, uint64_t id)
{
    struct span span = {
        .kind = SPAN_KIND_INTERNAL, .name = "call", .name_len = 4, .start_ns = 1, .end_ns = 2};
    span.resource = resource;
    span.trace_id[0] = 1;
    memcpy(span.span_id, &id, sizeof id);
    return span;
}

static enum status add(uint16_t resource, uint64_t id)
{
    struct span span = make_span(resource, id);
    return encoder_add(encoder, &span);
}

static enum status add_text(uint16_t resource, char fill, size_t len)
{
    static char text[2 * SPAN_STRING_MAX];
    struct span span = make_span(resource, 1);
    memset(text, fill, len);
    span_attr_bytes(&span, &key, text, len);
    return encoder_add(encoder, &span);
}

/* Seals the batch, checks its figures, and concatenates its bytes. Returns the number of chunks. */
static size_t seal(uint32_t spans)
{
    size_t chunks = 0;
    assert_int_equal(encoder_span_count(encoder), spans);
    struct batch *batch = encoder_seal(encoder);
    assert_non_null(batch);
    assert_int_equal(encoder_span_count(encoder), 0);
    assert_int_equal(batch->spans, spans);
    assert_ptr_equal(batch->pool, pool);
    free(body);
    body = malloc(batch->bytes + 1);
    body_len = 0;
    for (struct chunk *chunk = batch->chunks; chunk; chunk = chunk->next, chunks++) {
        assert_true(chunk->begin < chunk->end && chunk->end <= CHUNK_BYTES);
        memcpy(body + body_len, chunk->data + chunk->begin, chunk->end - chunk->begin);
        body_len += chunk->end - chunk->begin;
    }
    assert_int_equal(body_len, batch->bytes);
    body[body_len] = '\0';
    batch_release(batch);
    return chunks;
}

static size_t count_of(const char *needle)
{
    size_t count = 0;
    for (const char *at = (const char *)body; (at = strstr(at, needle)); at++)
        count++;
    return count;
}

/* Parses the request: the number of spans in each ResourceSpans, in order; returns the number of
 * ResourceSpans. */
static uint64_t varint(const uint8_t **p)
{
    uint64_t value = 0;
    unsigned shift = 0;
    do
        value |= (uint64_t)(**p & 0x7f) << shift;
    while (shift += 7, *(*p)++ & 0x80);
    return value;
}

static uint32_t count_fields(const uint8_t *p, const uint8_t *end, uint8_t tag, const uint8_t **found)
{
    uint32_t count = 0;
    while (p < end) {
        uint8_t got = *p++;
        assert_int_equal(got & 7, 2); /* every field down to the spans is length-delimited */
        uint64_t len = varint(&p);
        assert_true(len <= (uint64_t)(end - p));
        if (got == tag && !count++ && found) {
            found[0] = p;
            found[1] = p + len;
        }
        p += len;
    }
    assert_ptr_equal(p, end);
    return count;
}

static size_t walk(uint32_t *spans)
{
    size_t sections = 0;
    for (const uint8_t *p = body; p < body + body_len;) {
        const uint8_t *scope_spans[2] = {0};
        assert_int_equal(*p++, 0x0a);
        uint64_t len = varint(&p);
        assert_true(len <= (uint64_t)(body + body_len - p));
        assert_int_equal(count_fields(p, p + len, 0x12, scope_spans), 1);
        spans[sections++] = count_fields(scope_spans[0], scope_spans[1], 0x12, NULL);
        p += len;
    }
    return sections;
}

static void test_nothing_to_seal(void **state)
{
    begin(defaults(BATCH_PROTOBUF));
    assert_null(encoder_seal(encoder));
    assert_int_equal(add(0, 1), STATUS_OK);
    seal(1);
    assert_null(encoder_seal(encoder));
}

static void test_sections_by_resource(void **state)
{
    uint32_t spans[RESOURCES_MAX];
    begin(defaults(BATCH_PROTOBUF));
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(add(i % 3 ? RESOURCE_DEVICE(0) : RESOURCE_DEVICE(DEVICES_MAX - 1), i), STATUS_OK);
    assert_int_equal(seal(10), 2);
    assert_int_equal(walk(spans), 2);
    assert_int_equal(spans[0], 6);
    assert_int_equal(spans[1], 4);
    assert_int_equal(add(RESOURCE_PROCESS, 1), STATUS_OK);
    assert_int_equal(seal(1), 1);
    assert_int_equal(walk(spans), 1);
    assert_int_equal(spans[0], 1);
}

static void test_spans_cross_chunks(void **state)
{
    uint32_t spans[RESOURCES_MAX];
    begin(defaults(BATCH_PROTOBUF));
    for (uint64_t i = 0; i < 4000; i++)
        assert_int_equal(add(i % 2, i), STATUS_OK);
    assert_true(seal(4000) > 2);
    assert_int_equal(walk(spans), 2);
    assert_int_equal(spans[0], 2000);
    assert_int_equal(spans[1], 2000);
}

#define HEAD(attrs)                                                                                          \
    "{\"resource\":{\"attributes\":[" attrs                                                                  \
    "]},\"schemaUrl\":\"https://schema\",\"scopeSpans\":[{\"scope\":{"                                       \
    "\"name\":\"cuspan\",\"version\":\"1.2.3\"},\"schemaUrl\":\"https://schema\",\"spans\":["
#define SPAN(id)                                                                                             \
    "{\"traceId\":\"01000000000000000000000000000000\",\"spanId\":\"" id "\",\"kind\":1,"                    \
    "\"startTimeUnixNano\":\"1\",\"endTimeUnixNano\":\"2\",\"name\":\"call\"}"

static void test_json_request(void **state)
{
    begin(defaults(BATCH_JSON));
    assert_int_equal(add(2, 1), STATUS_OK);
    assert_int_equal(add(1, 2), STATUS_OK);
    assert_int_equal(add(2, 3), STATUS_OK);
    seal(3);
    assert_string_equal((char *)body, "{\"resourceSpans\":[" HEAD("") SPAN("0200000000000000") "]}]}," HEAD(
                                          "") SPAN("0100000000000000") "," SPAN("0300000000000000") "]}]}]}");
    assert_int_equal(add(1, 2), STATUS_OK);
    seal(1);
    assert_string_equal((char *)body, "{\"resourceSpans\":[" HEAD("") SPAN("0200000000000000") "]}]}]}");
}

static void test_json_commas_across_chunks(void **state)
{
    begin(defaults(BATCH_JSON));
    for (uint64_t i = 0; i < 1500; i++)
        assert_int_equal(add(i % 2, i), STATUS_OK);
    assert_true(seal(1500) > 2);
    assert_int_equal(count_of("{\"traceId\""), 1500);
    assert_int_equal(count_of("},{\"traceId\""), 1498);
    assert_int_equal(count_of("[{\"traceId\""), 2);
    assert_int_equal(count_of("\n"), 0);
}

static struct resource named(const char *name)
{
    static union resource_item items[8];
    static unsigned used;
    union resource_item *item = &items[used++ % 8];
    struct resource resource = {.attr_count = 1};
    item->string = name;
    resource.attrs[0] =
        (struct resource_attr){.key = "n", .type = RESOURCE_STRING, .item_count = 1, .items = item};
    return resource;
}

#define NAME(name) "{\"key\":\"n\",\"value\":{\"stringValue\":\"" name "\"}}"

static void test_a_replaced_resource_holds_for_the_next_batch(void **state)
{
    struct resource old = named("old"), new = named("new and longer than the old one");
    begin(defaults(BATCH_JSON));
    assert_int_equal(encoder_set_resource(encoder, 1, &old), STATUS_OK);
    assert_int_equal(add(1, 1), STATUS_OK);
    assert_int_equal(encoder_set_resource(encoder, 1, &old), STATUS_OK);
    assert_int_equal(encoder_set_resource(encoder, 1, &new), STATUS_OK);
    assert_int_equal(add(1, 1), STATUS_OK);
    seal(2);
    assert_int_equal(count_of(NAME("old")), 1);
    assert_int_equal(count_of("new"), 0);
    assert_int_equal(add(1, 1), STATUS_OK);
    seal(1);
    assert_int_equal(count_of("old\""), 0);
    assert_int_equal(count_of("new and longer"), 1);
    assert_int_equal(encoder_set_resource(encoder, RESOURCES_MAX, &old), STATUS_INVALID);
}

static void test_a_resource_has_its_own_schema(void **state)
{
    struct resource resource = named("r");
    resource.schema_url = (char *)(uintptr_t) "https://other";
    begin(defaults(BATCH_JSON));
    assert_int_equal(encoder_set_resource(encoder, 0, &resource), STATUS_OK);
    assert_int_equal(add(0, 1), STATUS_OK);
    seal(1);
    assert_int_equal(count_of(NAME("r") "]},\"schemaUrl\":\"https://other\",\"scopeSpans\""), 1);
    assert_int_equal(count_of("},\"schemaUrl\":\"https://schema\",\"spans\""), 1);
}

static void test_a_large_resource_leaves_room_for_spans(void **state)
{
    static char texts[8][ENCODER_RESOURCE_STRING_MAX + 100];
    struct resource resource = {0};
    for (int i = 0; i < 8; i++) {
        memset(texts[i], 'a' + i, sizeof texts[i] - 1);
        resource.attrs[i] = named(texts[i]).attrs[0];
        resource.attr_count++;
    }
    begin(defaults(BATCH_JSON));
    assert_int_equal(encoder_set_resource(encoder, 0, &resource), STATUS_OK);
    assert_int_equal(add_text(0, 'x', SPAN_STRING_MAX), STATUS_OK);
    assert_int_equal(seal(1), 1);
    assert_int_equal(count_of("\"droppedAttributesCount\":5"), 1);
    resource.schema_url = malloc(ENCODER_RESOURCE_BYTES_MAX);
    memset(resource.schema_url, 'u', ENCODER_RESOURCE_BYTES_MAX - 1);
    resource.schema_url[ENCODER_RESOURCE_BYTES_MAX - 1] = '\0';
    assert_int_equal(encoder_set_resource(encoder, 0, &resource), STATUS_INVALID);
    free(resource.schema_url);
}

static void test_the_longest_schema_url_leaves_room_for_attributes(void **state)
{
    static const enum batch_format formats[] = {BATCH_PROTOBUF, BATCH_JSON};
    char url[SCHEMA_URL_MAX + 1] = {0};
    memset(url, '\1', SCHEMA_URL_MAX); /* each takes six bytes in JSON */
    struct resource resource = named("shop");
    resource.schema_url = url;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        begin(defaults(formats[i]));
        assert_int_equal(encoder_set_resource(encoder, 0, &resource), STATUS_OK);
        assert_int_equal(add(0, 1), STATUS_OK);
        seal(1);
        assert_non_null(memmem(body, body_len, "shop", 4));
        encoder_destroy(encoder);
        encoder = NULL;
    }
}

static struct span_attr shared_attr;
static struct span_shared shared;

static enum status add_shared(int64_t value, uint32_t version, int64_t own)
{
    struct span span = make_span(0, 1);
    shared_attr = (struct span_attr){.key = &key, .type = ATTR_INT, .i = value};
    shared = (struct span_shared){
        .slot = 5, .version = version, .name = "call", .name_len = 4, .attr_count = 1, .attrs = &shared_attr};
    span.shared = &shared;
    if (own)
        span_attr_int(&span, &key, own);
    return encoder_add(encoder, &span);
}

#define ATTR_JSON(value) "{\"key\":\"key\",\"value\":{\"intValue\":\"" value "\"}}"

/* It is written once: its content is not read again until another one uses its slot. */
static void test_a_shared_part_is_written_once(void **state)
{
    begin(defaults(BATCH_JSON));
    assert_int_equal(add_shared(11, 1, 0), STATUS_OK);
    assert_int_equal(add_shared(22, 1, 77), STATUS_OK);
    assert_int_equal(add_shared(33, 2, 0), STATUS_OK);
    seal(3);
    assert_int_equal(count_of("\"attributes\":[" ATTR_JSON("11") "]"), 1);
    assert_int_equal(count_of("\"attributes\":[" ATTR_JSON("11") "," ATTR_JSON("77") "]"), 1);
    assert_int_equal(count_of("\"attributes\":[" ATTR_JSON("33") "]"), 1);
    assert_int_equal(count_of("\"name\":\"call\""), 3);
}

static void test_a_shared_part_within_the_limits(void **state)
{
    struct encoder_options options = defaults(BATCH_JSON);
    options.attribute_count_limit = 1;
    begin(options);
    assert_int_equal(add_shared(11, 1, 77), STATUS_OK);
    seal(1);
    assert_int_equal(count_of("\"attributes\":[" ATTR_JSON("11") "],\"droppedAttributesCount\":1"), 1);
    assert_int_equal(count_of("77"), 0);
}

static void test_a_shared_part_too_long_to_keep(void **state)
{
    static char text[4000];
    memset(text, 'x', sizeof text);
    shared_attr = (struct span_attr){.key = &key, .type = ATTR_STRING, .s = text, .len = sizeof text};
    shared = (struct span_shared){
        .slot = 5, .version = 1, .name = "call", .name_len = 4, .attr_count = 1, .attrs = &shared_attr};
    for (enum batch_format format = BATCH_PROTOBUF; format <= BATCH_JSON; format++) {
        begin(defaults(format));
        struct span span = make_span(0, 1);
        span.shared = &shared;
        assert_int_equal(encoder_add(encoder, &span), STATUS_OK);
        assert_int_equal(encoder_add(encoder, &span), STATUS_OK);
        seal(2);
        assert_true(body_len > 2 * sizeof text);
        encoder_destroy(encoder);
        encoder = NULL;
    }
}

static void test_full_by_spans(void **state)
{
    struct encoder_options options = defaults(BATCH_PROTOBUF);
    options.batch_spans_max = 3;
    begin(options);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(add(0, 1), STATUS_OK);
        assert_int_equal(add(0, 1), STATUS_FULL);
        assert_int_equal(add(1, 1), STATUS_FULL);
        seal(3);
    }
}

/* Fills up to the limit with spans of one size; a rejected span fits into the next batch. */
static void fill_to_bytes(enum batch_format format, uint64_t bytes_max, uint16_t resources)
{
    struct encoder_options options = defaults(format);
    options.batch_bytes_max = bytes_max;
    begin(options);
    for (int round = 0; round < 3; round++) {
        uint32_t spans = 0;
        enum status status;
        while ((status = add_text((uint16_t)(spans % resources), 'x', 1000)) == STATUS_OK)
            spans++;
        assert_int_equal(status, STATUS_FULL);
        seal(spans);
        assert_in_range(body_len, bytes_max - 2000 * resources, bytes_max);
    }
    assert_int_equal(chunk_pool_free(pool), POOL_CHUNKS);
    encoder_destroy(encoder);
    encoder = NULL;
}

static void test_full_by_bytes(void **state)
{
    fill_to_bytes(BATCH_PROTOBUF, 50000, 1);
    fill_to_bytes(BATCH_PROTOBUF, 200000, 1);
    fill_to_bytes(BATCH_PROTOBUF, 200000, 3);
    fill_to_bytes(BATCH_JSON, 50000, 1);
    fill_to_bytes(BATCH_JSON, 200000, 3);
    fill_to_bytes(BATCH_JSON, CHUNK_BYTES, 1);
}

/* Each further resource adds a head. */
static void test_heads_count_towards_the_bytes(void **state)
{
    for (enum batch_format format = BATCH_PROTOBUF; format <= BATCH_JSON; format++) {
        struct encoder_options options = defaults(format);
        options.batch_bytes_max = 3000;
        begin(options);
        uint16_t spans = 0;
        while (add(spans, 1) == STATUS_OK)
            spans++;
        assert_int_equal(add(spans, 1), STATUS_FULL);
        seal(spans);
        assert_in_range(body_len, 2000, 3000);
        encoder_destroy(encoder);
        encoder = NULL;
    }
}

static void test_a_span_beyond_the_bound_is_refused(void **state)
{
    struct encoder_options options = defaults(BATCH_PROTOBUF);
    options.batch_bytes_max = 500;
    begin(options);
    assert_int_equal(add_text(0, 'x', 1000), STATUS_INVALID);
    assert_int_equal(add(0, 1), STATUS_OK);
    assert_int_equal(add_text(0, 'x', 1000), STATUS_FULL);
    assert_int_equal(add_text(1, 'x', 1000), STATUS_FULL);
    seal(1);
    assert_int_equal(add(RESOURCES_MAX, 1), STATUS_INVALID);
}

static void test_no_chunk_left(void **state)
{
    struct chunk *taken = NULL;
    begin(defaults(BATCH_PROTOBUF));
    while (chunk_pool_free(pool) > 1) {
        struct chunk *chunk = chunk_take(pool);
        chunk->next = taken;
        taken = chunk;
    }
    uint32_t spans = 0;
    enum status status;
    while ((status = add_text(0, 'x', 1000)) == STATUS_OK)
        spans++;
    assert_int_equal(status, STATUS_NO_MEMORY);
    assert_int_equal(add(1, 1), STATUS_NO_MEMORY);
    assert_int_equal(add(0, 1), STATUS_OK); /* a small one still fits */
    assert_int_equal(seal(spans + 1), 1);
    assert_int_equal(add(1, 1), STATUS_OK);
    seal(1);
    chunk_give_back(pool, taken);
}

static void test_chunks_are_left_for_others(void **state)
{
    struct encoder_options options = defaults(BATCH_PROTOBUF);
    options.chunks_left_free = 2;
    begin(options);
    enum status status;
    uint32_t spans = 0;
    while ((status = add_text(0, 'x', 1000)) == STATUS_OK)
        spans++;
    assert_int_equal(status, STATUS_NO_MEMORY);
    assert_int_equal(chunk_pool_free(pool), 2);
    seal(spans);
}

/* Two strings that do not fit into one chunk are truncated; so are events. */
static void test_too_large_a_span_is_squeezed(void **state)
{
    static char text[SPAN_STRING_MAX];
    static struct span_event events[SPAN_EVENTS_MAX];
    struct span span = make_span(0, 1);
    memset(text, 'x', sizeof text);
    for (int i = 0; i < SPAN_EVENTS_MAX; i++) {
        events[i] = (struct span_event){.name = "event", .attr_count = 1};
        events[i].attrs[0] = (struct span_attr){.key = &key, .type = ATTR_STRING, .s = text, .len = 2000};
    }
    span_attr_bytes(&span, &key, text, sizeof text);
    span.events = events;
    span.event_count = SPAN_EVENTS_MAX;
    begin(defaults(BATCH_JSON));
    assert_int_equal(encoder_add(encoder, &span), STATUS_OK);
    assert_int_equal(seal(1), 1);
    assert_int_equal(count_of("\"droppedEventsCount\":128"), 1);
    assert_in_range(body_len, 256, 1000);
    span.event_count = 10; /* these fit completely */
    assert_int_equal(encoder_add(encoder, &span), STATUS_OK);
    seal(1);
    assert_int_equal(count_of("\"name\":\"event\""), 10);
    assert_in_range(body_len, SPAN_STRING_MAX + 20000, CHUNK_BYTES);
}

static void test_a_span_that_cannot_be_squeezed(void **state)
{
    static char text[SPAN_STRING_MAX];
    struct span span = make_span(0, 1);
    for (int i = 0; i < SPAN_ATTRS_MAX; i++)
        span_attr_bytes(&span, &key, text, sizeof text); /* NULs: six bytes each in JSON */
    begin(defaults(BATCH_JSON));
    assert_int_equal(encoder_add(encoder, &span), STATUS_INVALID);
    assert_int_equal(add(0, 1), STATUS_OK);
    assert_int_equal(encoder_add(encoder, &span), STATUS_INVALID);
    seal(1);
    encoder_destroy(encoder);
    begin(defaults(BATCH_PROTOBUF));
    assert_int_equal(encoder_add(encoder, &span), STATUS_OK);
    seal(1);
}

static void test_unsealed_spans_go_back_with_the_encoder(void **state)
{
    begin(defaults(BATCH_PROTOBUF));
    for (uint16_t i = 0; i < 5; i++)
        assert_int_equal(add(i, 1), STATUS_OK);
    assert_int_equal(chunk_pool_free(pool), POOL_CHUNKS - 5);
}

static void test_options_that_cannot_be(void **state)
{
    struct encoder *none = NULL;
    struct encoder_options options = defaults(BATCH_PROTOBUF);
    options.batch_spans_max = 0;
    assert_int_equal(encoder_create(&options, &none), STATUS_INVALID);
    options = defaults(BATCH_PROTOBUF);
    options.batch_bytes_max = 0;
    assert_int_equal(encoder_create(&options, &none), STATUS_INVALID);
    static char long_name[2000];
    memset(long_name, 'n', sizeof long_name - 1);
    options = defaults(BATCH_PROTOBUF);
    options.scope_name = long_name;
    assert_int_equal(encoder_create(&options, &none), STATUS_INVALID);
    options = defaults(BATCH_JSON);
    options.schema_url = long_name;
    assert_int_equal(encoder_create(&options, &none), STATUS_INVALID);
    assert_null(none);
}

static void test_bytes_are_counted(void **state)
{
    counters_reset();
    begin(defaults(BATCH_PROTOBUF));
    assert_int_equal(add(0, 1), STATUS_OK);
    assert_int_equal(counter_get(COUNTER_bytes_encoded), 0);
    seal(1);
    assert_int_equal(counter_get(COUNTER_bytes_encoded), body_len);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_to_seal),
        TEST(test_sections_by_resource),
        TEST(test_spans_cross_chunks),
        TEST(test_json_request),
        TEST(test_json_commas_across_chunks),
        TEST(test_a_replaced_resource_holds_for_the_next_batch),
        TEST(test_a_resource_has_its_own_schema),
        TEST(test_a_large_resource_leaves_room_for_spans),
        TEST(test_the_longest_schema_url_leaves_room_for_attributes),
        TEST(test_a_shared_part_is_written_once),
        TEST(test_a_shared_part_within_the_limits),
        TEST(test_a_shared_part_too_long_to_keep),
        TEST(test_full_by_spans),
        TEST(test_full_by_bytes),
        TEST(test_heads_count_towards_the_bytes),
        TEST(test_a_span_beyond_the_bound_is_refused),
        TEST(test_no_chunk_left),
        TEST(test_chunks_are_left_for_others),
        TEST(test_too_large_a_span_is_squeezed),
        TEST(test_a_span_that_cannot_be_squeezed),
        TEST(test_unsealed_spans_go_back_with_the_encoder),
        TEST(test_options_that_cannot_be),
        TEST(test_bytes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
