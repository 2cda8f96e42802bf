#include "agent/capture/nvtx/nvtx_payload.h"

#include "agent/capture/nvtx/nvtx_names.h"
#include "model/span.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN 7

static struct nvtx_payload payload;
static uint64_t next_id = NVTX_SCHEMA_ID_STATIC;

#define FIELDS (NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT)

static uint64_t add_schema(const struct nvtx_schema_entry *entries, size_t count, size_t pack)
{
    struct nvtx_schema_attributes schema = {.fieldMask =
                                                FIELDS | NVTX_SCHEMA_HAS_ID | NVTX_SCHEMA_HAS_ALIGNMENT,
                                            .type = NVTX_SCHEMA_STATIC,
                                            .entries = entries,
                                            .numEntries = count,
                                            .packAlign = pack,
                                            .schemaId = next_id};
    assert_int_equal(nvtx_payload_register_schema(DOMAIN, &schema), next_id);
    return next_id++;
}
#define ADD_SCHEMA(entries, pack) add_schema(entries, sizeof(entries) / sizeof *(entries), pack)

/* Copies the payload to a block of its exact size, so that a sanitizer detects reads beyond it. */
static void read_bytes(uint64_t id, const void *bytes, size_t size)
{
    static void *copy;
    free(copy);
    copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    struct nvtx_payload_data data = {id, size, copy};
    nvtx_payload_read(&payload, DOMAIN, &data, 1);
}

static const struct range_attr *attr(const char *key)
{
    for (uint32_t i = 0; i < payload.attr_count; i++)
        if (strlen(key) == payload.attrs[i].key_bytes &&
            memcmp(payload.attrs[i].key, key, payload.attrs[i].key_bytes) == 0)
            return &payload.attrs[i];
    fail_msg("no attribute %s", key);
    return NULL;
}

static void expect_int(const char *key, int64_t value)
{
    assert_int_equal(attr(key)->type, ATTR_INT);
    assert_int_equal(attr(key)->i, value);
}

static void expect_text(const char *key, const char *text)
{
    assert_int_equal(attr(key)->type, ATTR_STRING);
    assert_int_equal(attr(key)->bytes, strlen(text));
    assert_memory_equal(attr(key)->s, text, strlen(text));
}

struct step {
    int8_t small;
    uint32_t number;
    int64_t large;
    float loss;
    double rate;
    uint64_t huge;
    char phase[8];
};

static const struct nvtx_schema_entry step_entries[] = {
    {.type = NVTX_ENTRY_INT8, .name = "small"},
    {.type = NVTX_ENTRY_UINT32, .name = "number"},
    {.type = NVTX_ENTRY_INT64, .name = "large"},
    {.type = NVTX_ENTRY_FLOAT, .name = "loss"},
    {.type = NVTX_ENTRY_DOUBLE, .name = "rate"},
    {.type = NVTX_ENTRY_UINT64, .name = "huge"},
    {.type = NVTX_ENTRY_CSTRING, .name = "phase", .arrayOrUnionDetail = 8}};
static const struct step step = {-3, 4000000000u, -5000000000, 0.25f, 0.5, UINT64_MAX, "forward"};

static void test_a_struct_s_members_are_attributes(void **state)
{
    uint64_t id = ADD_SCHEMA(step_entries, 0);
    read_bytes(id, &step, sizeof step);
    assert_int_equal(payload.attr_count, 7);
    assert_int_equal(payload.left_out, 0);
    expect_int("nvtx.payload.small", -3);
    expect_int("nvtx.payload.number", 4000000000);
    expect_int("nvtx.payload.large", -5000000000);
    assert_true(attr("nvtx.payload.loss")->d == 0.25);
    assert_true(attr("nvtx.payload.rate")->d == 0.5);
    expect_text("nvtx.payload.huge", "18446744073709551615");
    expect_text("nvtx.payload.phase", "forward");
}

static void test_nothing_is_read_beyond_the_size(void **state)
{
    uint64_t id = ADD_SCHEMA(step_entries, 0);
    for (size_t size = 1; size <= sizeof step; size++) {
        read_bytes(id, &step, size);
        assert_int_equal(payload.attr_count + payload.left_out, 7);
    }
    read_bytes(id, &step, 8); /* truncated before the number */
    assert_int_equal(payload.attr_count, 2);
    struct nvtx_payload_data unknown = {id, NVTX_PAYLOAD_SIZE_UNKNOWN, &step}, none = {id, 8, NULL};
    nvtx_payload_read(&payload, DOMAIN, &unknown, 1);
    assert_int_equal(payload.left_out, 7);
    nvtx_payload_read(&payload, DOMAIN, &none, 1);
    assert_int_equal(payload.attr_count + payload.left_out, 0);
    nvtx_payload_read(&payload, DOMAIN, NULL, 1);
    nvtx_payload_read(&payload, DOMAIN + 1, &(struct nvtx_payload_data){id, sizeof step, &step}, 1);
    assert_int_equal(payload.attr_count, 0); /* another domain's */
    assert_int_equal(payload.left_out, 1);
}

static void test_packing_and_explicit_offsets(void **state)
{
    static const struct nvtx_schema_entry packed[] = {{.type = NVTX_ENTRY_INT8, .name = "a"},
                                                      {.type = NVTX_ENTRY_UINT16, .name = "b"},
                                                      {.type = NVTX_ENTRY_INT8, .name = "c", .offset = 6},
                                                      {.type = NVTX_ENTRY_INT8}};
    const uint8_t bytes[] = {1, 0x34, 0x12, 0, 0, 0, 5, 6};
    read_bytes(ADD_SCHEMA(packed, 1), bytes, sizeof bytes);
    expect_int("nvtx.payload.b", 0x1234);
    expect_int("nvtx.payload.c", 5);
    expect_int("nvtx.payload.3", 6); /* it has no name */
}

static void test_what_is_no_number_or_text_is_counted(void **state)
{
    static const struct nvtx_schema_entry entries[] = {
        {.type = NVTX_ENTRY_INT32, .flags = NVTX_ENTRY_FIXED_ARRAY, .arrayOrUnionDetail = 2, .name = "array"},
        {.type = NVTX_ENTRY_INT32, .name = "behind it"},
        {.type = NVTX_ENTRY_ADDRESS, .name = "address"},
        {.type = NVTX_ENTRY_INT32, .flags = NVTX_ENTRY_HIDE, .name = "hidden"},
        {.type = 12345, .name = "unheard of"},
        {.type = NVTX_ENTRY_INT32, .name = "nobody knows where"},
        {.type = NVTX_ENTRY_INT32, .name = "there", .offset = 4}};
    const struct {
        int32_t array[2], behind;
        void *address;
        int32_t hidden, rest[4];
    } given = {{1, 2}, 3, NULL, 4, {0}};
    read_bytes(ADD_SCHEMA(entries, 0), &given, sizeof given);
    assert_int_equal(payload.attr_count, 2);
    assert_int_equal(payload.left_out, 4);
    expect_int("nvtx.payload.behind it", 3);
    expect_int("nvtx.payload.there", 2);
}

static void test_texts_that_are_pointed_to_and_registered(void **state)
{
    static const struct nvtx_schema_entry entries[] = {
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_POINTER | NVTX_ENTRY_DEEP_COPY, .name = "ended"},
        {.type = NVTX_ENTRY_CSTRING_UTF8,
         .flags = NVTX_ENTRY_DEEP_COPY,
         .arrayOrUnionDetail = 3,
         .name = "cut"},
        {.type = NVTX_ENTRY_STRING_HANDLE, .flags = NVTX_ENTRY_MESSAGE, .name = "message"},
        {.type = NVTX_ENTRY_STRING_HANDLE, .name = "no handle"},
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_DEEP_COPY, .name = "null"},
        {.type = NVTX_ENTRY_CSTRING, .name = "without a length"}};
    char *cut = malloc(3); /* not NUL-terminated */
    memcpy(cut, "abc", 3);
    const void *given[6] = {"whole",  cut,  nvtx_names_register(NVTX_NAME_STRING, "said", 4),
                            &entries, NULL, NULL};
    read_bytes(ADD_SCHEMA(entries, 0), given, sizeof given);
    expect_text("nvtx.payload.ended", "whole");
    expect_text("nvtx.payload.cut", "abc");
    assert_int_equal(payload.message_bytes, 4);
    assert_memory_equal(payload.message, "said", 4);
    assert_int_equal(payload.attr_count, 2);
    assert_int_equal(payload.left_out, 1);
    free(cut);
}

static void test_enums_are_numbers(void **state)
{
    struct nvtx_enum_attributes given = {.fieldMask = NVTX_ENUM_HAS_SIZE, .sizeOfEnum = 2};
    uint64_t id = nvtx_payload_register_enum(DOMAIN, &given);
    assert_true(id >= NVTX_SCHEMA_ID_DYNAMIC);
    struct nvtx_schema_entry entries[] = {{.type = id, .name = "state"},
                                          {.type = NVTX_ENTRY_INT16, .name = "next"}};
    read_bytes(ADD_SCHEMA(entries, 0), (int16_t[]){-2, 9}, 4);
    expect_int("nvtx.payload.state", -2);
    expect_int("nvtx.payload.next", 9);
    given.fieldMask = 0;
    assert_int_equal(nvtx_payload_register_enum(DOMAIN, &given), 0);
    assert_int_equal(nvtx_payload_register_enum(DOMAIN, NULL), 0);
}

static void test_values_without_a_schema(void **state)
{
    double real = 1.5;
    read_bytes(NVTX_ENTRY_DOUBLE, &real, sizeof real);
    assert_true(attr("nvtx.payload")->d == 1.5);
    read_bytes(NVTX_ENTRY_CSTRING, "abc", 3);
    expect_text("nvtx.payload", "abc");
    read_bytes(NVTX_ENTRY_INT32, (int32_t[]){1, 2}, 8); /* an array */
    assert_int_equal(payload.left_out, 1);
    struct nvtx_payload_data several[] = {{NVTX_ENTRY_INT32, 4, (int32_t[]){3}},
                                          {NVTX_PAYLOAD_REFERENCED, 4, "abc"},
                                          {NVTX_ENTRY_CSTRING, NVTX_PAYLOAD_SIZE_UNKNOWN, "two"}};
    nvtx_payload_read(&payload, DOMAIN, several, 3);
    expect_int("nvtx.payload", 3);
    assert_int_equal(payload.attr_count, 1);
    assert_int_equal(payload.left_out, 1);
}

static void test_many_entries(void **state)
{
    struct nvtx_schema_entry entries[NVTX_ENTRIES_MAX + 2];
    uint8_t bytes[NVTX_ENTRIES_MAX + 2] = {0};
    memset(entries, 0, sizeof entries);
    for (size_t i = 0; i < NVTX_ENTRIES_MAX + 2; i++)
        entries[i].type = NVTX_ENTRY_UINT8;
    read_bytes(ADD_SCHEMA(entries, 0), bytes, sizeof bytes);
    assert_int_equal(payload.attr_count, NVTX_PAYLOAD_ATTRS_MAX);
    assert_int_equal(payload.attr_count + payload.left_out, NVTX_ENTRIES_MAX + 2);
}

static void test_what_is_refused_and_the_end_of_room(void **state)
{
    struct nvtx_schema_attributes schema = {.fieldMask = FIELDS,
                                            .type = 3, /* a union */
                                            .entries = step_entries,
                                            .numEntries = 7};
    uint64_t a_union = nvtx_payload_register_schema(DOMAIN, &schema);
    read_bytes(a_union, &step, sizeof step);
    assert_int_equal(payload.attr_count, 0);
    assert_int_equal(payload.left_out, 1);
    schema.type = NVTX_SCHEMA_STATIC;
    schema.fieldMask = NVTX_SCHEMA_HAS_TYPE;
    assert_int_equal(nvtx_payload_register_schema(DOMAIN, &schema), 0);
    assert_int_equal(nvtx_payload_register_schema(DOMAIN, NULL), 0);
    schema.fieldMask = FIELDS | NVTX_SCHEMA_HAS_ID;
    schema.schemaId = NVTX_SCHEMA_ID_STATIC; /* already registered */
    schema.numEntries = 1;
    assert_int_equal(nvtx_payload_register_schema(DOMAIN, &schema), NVTX_SCHEMA_ID_STATIC);
    read_bytes(NVTX_SCHEMA_ID_STATIC, &step, sizeof step);
    assert_int_equal(payload.attr_count, 7); /* unchanged */
    schema.fieldMask = FIELDS;
    uint64_t last = 0;
    for (int i = 0; i < NVTX_SCHEMAS_MAX; i++)
        last = nvtx_payload_register_schema(DOMAIN, &schema);
    assert_int_equal(last, 0);
}

static void ignore(const struct nccl_collective *collective)
{
    (void)collective;
}

static void test_bytes_of_collectives_are_read_if_they_are_followed(void **state)
{
    static const struct nvtx_schema_entry entries[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = NVTX_ENTRY_INT, .name = "Peer rank", .offset = 16}};
    static const struct {
        uint64_t communicator, bytes;
        int32_t peer;
    } given = {1ull << 63 | 5, 4096, 3};
    const struct nvtx_schema_attributes schema = {
        .fieldMask = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT,
        .type = NVTX_SCHEMA_STATIC,
        .entries = entries,
        .numEntries = 3};
    const struct nvtx_payload_data data = {nvtx_payload_register_schema(9, &schema), sizeof given, &given};
    const uint32_t usual = 1u << NCCL_COMMUNICATOR | 1u << NCCL_PEER;
    struct nccl_values values;
    nvtx_payload_read_nccl(&values, 9, &data, 1);
    assert_int_equal(values.present, usual);
    nccl_set_collective_hook(ignore);
    nvtx_payload_read_nccl(&values, 9, &data, 1);
    assert_int_equal(values.present, usual | 1u << NCCL_BYTES);
    assert_int_equal(values.value[NCCL_COMMUNICATOR], 1ull << 63 | 5);
    assert_int_equal(values.value[NCCL_BYTES], 4096);
    assert_int_equal(values.value[NCCL_PEER], 3);
    nccl_set_collective_hook(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_collectives_are_read_if_they_are_followed),
        cmocka_unit_test(test_a_struct_s_members_are_attributes),
        cmocka_unit_test(test_nothing_is_read_beyond_the_size),
        cmocka_unit_test(test_packing_and_explicit_offsets),
        cmocka_unit_test(test_what_is_no_number_or_text_is_counted),
        cmocka_unit_test(test_texts_that_are_pointed_to_and_registered),
        cmocka_unit_test(test_enums_are_numbers),
        cmocka_unit_test(test_values_without_a_schema),
        cmocka_unit_test(test_many_entries),
        cmocka_unit_test(test_what_is_refused_and_the_end_of_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
