/* tests/integration/agent/hang_test.py decodes requests with generated classes. */
#include "agent/encode/log_encoder.h"

#include "base/text/protobuf_reader.h"
#include "model/semconv.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS 2

static struct chunk_pool *pool;
static struct log_encoder encoder;
static struct resource resource;

static int begin(bool is_json)
{
    if (chunk_pool_create(CHUNKS, &pool) != STATUS_OK)
        return -1;
    resource = (struct resource){0};
    log_encoder_init(&encoder, is_json, pool, "scope", "1.2");
    if (resource_set_string(&resource, "service.name", "trainer") != STATUS_OK)
        return -1;
    log_encoder_set_resource(&encoder, &resource);
    return 0;
}

static int setup_json(void **state)
{
    return begin(true);
}

static int setup_protobuf(void **state)
{
    return begin(false);
}

static int teardown(void **state)
{
    assert_int_equal(chunk_pool_free(pool), CHUNKS);
    resource_deinit(&resource);
    chunk_pool_destroy(pool);
    return 0;
}

static struct span_attr attrs[2];

static struct log_record record(void)
{
    attrs[0] = (struct span_attr){.key = ATTR(SEMCONV_COLLECTIVE_ORDINAL), .type = ATTR_INT, .i = 41};
    attrs[1] = (struct span_attr){
        .key = ATTR(SEMCONV_COLLECTIVE_OPERATION), .type = ATTR_STRING, .s = "all_reduce", .len = 10};
    return (struct log_record){.time_ns = 1700000000000000001u,
                               .severity = LOG_SEVERITY_WARN,
                               .event_name = "cuspan.hang",
                               .body = "rank 3 \"stands\"\xff",
                               .attr_count = 2,
                               .attrs = attrs};
}

static void test_json(void **state)
{
    struct log_record one = record();
    struct batch *batch = log_encoder_make(&encoder, &one);
    assert_non_null(batch);
    assert_int_equal(batch->format, BATCH_JSON);
    assert_int_equal(batch->spans, 1);
    char text[2048] = "";
    memcpy(text, batch->chunks->data + batch->chunks->begin, batch->bytes);
    assert_string_equal(
        text, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
              "\"stringValue\":\"trainer\"}}]},\"schemaUrl\":\"" ENCODER_SCHEMA_URL
              "\",\"scopeLogs\":[{\"scope\":{\"name\":\"scope\",\"version\":\"1.2\"},\"schemaUrl\":"
              "\"" ENCODER_SCHEMA_URL
              "\",\"logRecords\":[{\"timeUnixNano\":\"1700000000000000001\",\"observedTimeUnixNano\":"
              "\"1700000000000000001\",\"severityNumber\":13,\"severityText\":\"WARN\",\"eventName\":"
              "\"cuspan.hang\","
              "\"body\":{\"stringValue\":\"rank 3 \\\"stands\\\"\xef\xbf\xbd\"},\"attributes\":[{\"key\":"
              "\"collective.ordinal\",\"value\":{\"intValue\":\"41\"}},{\"key\":\"collective.operation\","
              "\"value\":{"
              "\"stringValue\":\"all_reduce\"}}]}]}]}]}");
    batch_release(batch);
}

/* The nested message of a field; fails if there is none. */
static struct protobuf_reader into(struct protobuf_reader from, uint32_t number)
{
    struct protobuf_field field;
    while (protobuf_next(&from, &field))
        if (field.number == number)
            return protobuf_message(&field);
    fail_msg("no field %u", number);
    return from;
}

static void test_protobuf(void **state)
{
    struct log_record one = record();
    struct batch *batch = log_encoder_make(&encoder, &one);
    assert_non_null(batch);
    assert_int_equal(batch->format, BATCH_PROTOBUF);
    struct protobuf_reader group =
        into(protobuf_reader_of(batch->chunks->data + batch->chunks->begin, batch->bytes), 1);
    (void)into(group, 1);
    (void)into(into(group, 2), 1);
    struct protobuf_reader log = into(into(group, 2), 2);
    struct protobuf_field field;
    uint64_t seen = 0;
    while (protobuf_next(&log, &field))
        seen |= 1u << field.number;
    assert_int_equal(seen, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 11 | 1u << 12);
    assert_false(log.is_bad);
    batch_release(batch);
}

static void test_a_record_that_does_not_fit(void **state)
{
    struct log_record one = record();
    char *large = malloc(CHUNK_BYTES + 1);
    memset(large, 'x', CHUNK_BYTES);
    large[CHUNK_BYTES] = 0;
    one.body = large;
    assert_null(log_encoder_make(&encoder, &one));
    large[CHUNK_BYTES - 4096] = 0;
    struct batch *batch = log_encoder_make(&encoder, &one);
    assert_non_null(batch);
    batch_release(batch);
    free(large);
}

static void test_no_chunk_is_free(void **state)
{
    struct log_record one = record();
    struct chunk *first = chunk_take(pool);
    first->next = chunk_take(pool);
    assert_null(log_encoder_make(&encoder, &one));
    chunk_give_back(pool, first);
}

static void test_without_a_resource(void **state)
{
    struct log_record one = record();
    log_encoder_init(&encoder, true, pool, "scope", "1.2");
    struct batch *batch = log_encoder_make(&encoder, &one);
    assert_non_null(batch);
    assert_memory_equal(batch->chunks->data + batch->chunks->begin, "{\"resourceLogs\":[{\"scopeLogs\":[",
                        31);
    batch_release(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_json, setup_json, teardown),
        cmocka_unit_test_setup_teardown(test_protobuf, setup_protobuf, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_that_does_not_fit, setup_json, teardown),
        cmocka_unit_test_setup_teardown(test_no_chunk_is_free, setup_json, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_resource, setup_json, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
