/* Requests of profiles over several chunks: each length is exact, and a pool without chunks gets its own
 * back. tests/integration/agent/profiles_test.py decodes requests with generated classes. */
#include "agent/encode/profile_encoder.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS     8
#define MANY       6000 /* samples, whose names take more than a chunk */
#define NAME_BYTES 20

static struct chunk_pool *pool;
static struct profile_encoder *encoder;

static char names[MANY][NAME_BYTES + 1];
static struct profile_string strings[MANY + 1] = {{"", 0}};
static struct profile_mapping mappings[1];
static struct profile_function functions[MANY + 1];
static struct profile_location locations[MANY + 1];
static struct profile_node nodes[MANY + 1];
static struct profile_stack stacks[MANY + 1];
static struct profile_link links[2];
static struct profile_sample samples[MANY + 1];
static uint64_t values[MANY + 1];

static int setup(void **state)
{
    counters_reset();
    return chunk_pool_create(CHUNKS, &pool) == STATUS_OK &&
                   profile_encoder_create(pool, "scope", "1", &encoder) == STATUS_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    assert_int_equal(chunk_pool_free(pool), CHUNKS);
    profile_encoder_destroy(encoder);
    chunk_pool_destroy(pool);
    return 0;
}

static struct profile make(uint32_t count)
{
    memset(links[1].trace_id, 1, 16);
    memset(links[1].span_id, 2, 8);
    for (uint32_t i = 1; i <= count; i++) {
        snprintf(names[i - 1], sizeof names[i - 1], "%0*u", NAME_BYTES, i);
        strings[i] = (struct profile_string){names[i - 1], NAME_BYTES};
        functions[i] = (struct profile_function){.name = i};
        locations[i] = (struct profile_location){.function = i, .line = i, .type = PROFILE_FRAME_CUDA};
        nodes[i] = (struct profile_node){.caller = i - 1 < 3 ? i - 1 : 0, .location = i};
        stacks[i] = (struct profile_stack){.node = i};
        samples[i] = (struct profile_sample){.stack = i, .link = i % 2, .kind = i % 2};
        values[i] = 1000 * (uint64_t)i;
    }
    struct profile profile = {.begin_ns = 5,
                              .end_ns = 12,
                              .strings = strings,
                              .mappings = mappings,
                              .functions = functions,
                              .locations = locations,
                              .nodes = nodes,
                              .stacks = stacks,
                              .links = links,
                              .samples = samples,
                              .values = values,
                              .string_count = count + 1,
                              .mapping_count = 1,
                              .function_count = count + 1,
                              .location_count = count + 1,
                              .node_count = count + 1,
                              .stack_count = count + 1,
                              .link_count = 2,
                              .sample_count = count + 1};
    for (uint32_t i = 1; i <= count; i++)
        profile.samples_of[i % 2]++;
    return profile;
}

struct bytes {
    const uint8_t *at, *end;
};

static uint64_t varint(struct bytes *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(from->at < from->end && shift < 64);
        value |= (uint64_t)(*from->at & 0x7f) << shift;
        if (!(*from->at++ & 0x80))
            return value;
    }
}

/* The number of the next field, whose content is in `body` if it is a message or text. */
static unsigned next(struct bytes *from, struct bytes *body)
{
    uint64_t tag = varint(from), length = 0;
    *body = (struct bytes){NULL, NULL};
    if ((tag & 7) == 0)
        varint(from);
    else
        length = (tag & 7) == 1 ? 8 : varint(from);
    assert_true((tag & 7) <= 2 && length <= (size_t)(from->end - from->at));
    *body = (struct bytes){from->at, from->at + length};
    from->at += length;
    return (unsigned)(tag >> 3);
}

static unsigned count_fields(struct bytes from, unsigned wanted, struct bytes *last)
{
    unsigned count = 0;
    struct bytes body;
    *last = (struct bytes){NULL, NULL};
    while (from.at < from.end) {
        if (next(&from, &body) != wanted)
            continue;
        count++;
        *last = body;
    }
    return count;
}

/* Owned by the caller. */
static uint8_t *joined(const struct batch *batch, struct bytes *all)
{
    uint8_t *bytes = malloc(batch->bytes);
    size_t used = 0;
    for (const struct chunk *chunk = batch->chunks; chunk; chunk = chunk->next) {
        assert_true(used + chunk->end - chunk->begin <= batch->bytes);
        memcpy(bytes + used, chunk->data + chunk->begin, chunk->end - chunk->begin);
        used += chunk->end - chunk->begin;
    }
    assert_int_equal(used, batch->bytes);
    *all = (struct bytes){bytes, bytes + used};
    return bytes;
}

static void expect(uint32_t count)
{
    struct profile profile = make(count);
    struct batch *batch = profile_encoder_make(encoder, &profile);
    struct bytes all, resource, scope, part, dictionary, last;
    assert_non_null(batch);
    assert_int_equal(batch->spans, count);
    assert_int_equal(batch->format, BATCH_PROTOBUF);
    uint8_t *bytes = joined(batch, &all);
    assert_int_equal(count_fields(all, 1, &resource), 1);
    assert_int_equal(count_fields(resource, 2, &scope), 1);
    assert_int_equal(count_fields(scope, 2, &part), count > 1 ? 2 : 1); /* profiles */
    assert_int_equal(count_fields(part, 2, &last), (count + 1) / 2);    /* samples of the second one */
    assert_int_equal(count_fields(all, 2, &dictionary), 1);
    const unsigned tables[] = {1, count + 1, count + 1, 2, count + 4 + 1, 4, count + 1};
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        assert_int_equal(count_fields(dictionary, i + 1, &last), tables[i]);
    free(bytes);
    batch_release(batch);
}

static void test_one_sample(void **state)
{
    expect(1);
}

static void test_many_samples_fill_several_chunks(void **state)
{
    expect(MANY);
}

/* Fields lie across the ends of chunks at each place. */
static void test_all_sizes_around_a_chunk(void **state)
{
    for (uint32_t count = 1000; count < 1100; count++)
        expect(count);
}

static void test_without_chunks_there_is_no_request(void **state)
{
    struct profile profile = make(MANY);
    struct chunk *taken[CHUNKS];
    for (unsigned left = 0; left < 4; left++) {
        for (unsigned i = left; i < CHUNKS; i++)
            taken[i] = chunk_take(pool);
        assert_null(profile_encoder_make(encoder, &profile));
        assert_int_equal(chunk_pool_free(pool), left);
        for (unsigned i = left; i < CHUNKS; i++)
            chunk_give_back(pool, taken[i]);
    }
    assert_int_equal(counter_get(COUNTER_bytes_encoded), 0);
}

static void test_text_is_made_valid_and_cut(void **state)
{
    static char text[10000];
    struct profile profile = make(1);
    struct bytes all, dictionary, string = {NULL, NULL}, body;
    memset(text, 'x', sizeof text);
    text[0] = (char)0xff;
    strings[1] = (struct profile_string){text, sizeof text};
    struct batch *batch = profile_encoder_make(encoder, &profile);
    uint8_t *bytes = joined(batch, &all);
    assert_int_equal(count_fields(all, 2, &dictionary), 1);
    for (unsigned count = 0; count < 2;)
        if (next(&dictionary, &body) == 5 && ++count == 2)
            string = body;
    assert_int_equal(string.end - string.at, 4096);
    assert_memory_equal(string.at, "\xef\xbf\xbdxx", 5);
    free(bytes);
    batch_release(batch);
}

static void test_the_resource_and_its_schema(void **state)
{
    char url[SCHEMA_URL_MAX + 1];
    struct profile profile = make(1);
    struct resource resource = {0};
    struct bytes all, of_resource, part;
    memset(url, 'u', sizeof url);
    url[sizeof url - 1] = '\0';
    assert_int_equal(resource_set_string(&resource, "service.name", "me"), STATUS_OK);
    resource.schema_url = strdup(url);
    profile_encoder_set_resource(encoder, &resource);
    resource_deinit(&resource);
    struct batch *batch = profile_encoder_make(encoder, &profile);
    uint8_t *bytes = joined(batch, &all);
    assert_int_equal(count_fields(all, 1, &of_resource), 1);
    assert_int_equal(count_fields(of_resource, 1, &part), 1);
    assert_int_equal(count_fields(of_resource, 3, &part), 1);
    assert_int_equal(part.end - part.at, SCHEMA_URL_MAX);
    free(bytes);
    batch_release(batch);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_one_sample),
        TEST(test_many_samples_fill_several_chunks),
        TEST(test_all_sizes_around_a_chunk),
        TEST(test_without_chunks_there_is_no_request),
        TEST(test_text_is_made_valid_and_cut),
        TEST(test_the_resource_and_its_schema),
    };
    return cmocka_run_group_tests_name("profile_encoder", tests, NULL, NULL);
}
