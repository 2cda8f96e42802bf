#include "agent/capture/activity/decode.h"

#include "base/accounting/counters.h"
#include "agent/abi/layouts.h"
#include "model/cuda/activities.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <pthread.h>

#define RECORDS_MAX 32
#define UNFINISHED  0x80000000u /* in the kind */

static struct activity_record seen[RECORDS_MAX];
static size_t seen_count;
static _Alignas(8) uint8_t buffer[4096];

static void see(void *context, const struct activity_record *record)
{
    assert_ptr_equal(context, &seen_count);
    assert_true(seen_count < RECORDS_MAX);
    seen[seen_count++] = *record;
}

static int setup(void **state)
{
    seen_count = 0;
    memset(buffer, 0, sizeof buffer);
    counters_reset();
    return 0;
}

static uint8_t field_with_role(uint16_t kind, enum activity_role role)
{
    for (uint8_t i = 0; i < activity_table[kind].field_count; i++)
        if (activity_table[kind].fields[i].role == role)
            return i;
    fail_msg("kind %u has no field of role %d", kind, role);
    return 0;
}

static uint8_t field_named(uint16_t kind, const char *key)
{
    for (uint8_t i = 0; i < activity_table[kind].field_count; i++)
        if (strcmp(activity_table[kind].fields[i].key.name, key) == 0)
            return i;
    fail_msg("kind %u has no field %s", kind, key);
    return 0;
}

struct layout {
    uint16_t kind;
    struct cupti_record_layout record;
    struct cupti_field_layout fields[ACTIVITY_FIELDS_MAX];
};

static void layout_begin(struct layout *layout, uint16_t kind)
{
    memset(layout, 0, sizeof *layout);
    layout->kind = kind;
    layout->record = (struct cupti_record_layout){
        .structSize = sizeof layout->record, .pEntries = layout->fields, .numFields = 1, .recordSize = 4};
    layout->fields[0] = (struct cupti_field_layout){.fieldId = 0, .offset = 0, .size = 4, .alignment = 4};
}

/* Packed: no padding between fields. Returns the field's offset. */
static size_t layout_add(struct layout *layout, int field, size_t size)
{
    size_t offset = layout->record.recordSize;
    layout->fields[layout->record.numFields++] =
        (struct cupti_field_layout){.fieldId = field, .offset = offset, .size = size, .alignment = 1};
    layout->record.recordSize += size;
    return offset;
}

static void learn(struct layout *layout)
{
    struct cupti_record_layout *by_kind[ACTIVITY_KINDS_MAX + 4] = {NULL};
    by_kind[layout->kind] = &layout->record;
    by_kind[ACTIVITY_KINDS_MAX + 1] = &layout->record; /* a kind of a later CUPTI */
    decode_learn_layouts(by_kind, ACTIVITY_KINDS_MAX + 4);
}

static void put32(size_t at, uint32_t value)
{
    memcpy(buffer + at, &value, 4);
}

static void put64(size_t at, uint64_t value)
{
    memcpy(buffer + at, &value, 8);
}

static size_t decode(size_t valid)
{
    return decode_buffer(NULL, buffer, valid, see, &seen_count);
}

static void test_packed_kernels(void **state)
{
    struct layout layout;
    layout_begin(&layout, ACTIVITY_KERNEL);
    size_t start = layout_add(&layout, field_with_role(ACTIVITY_KERNEL, ROLE_START), 8);
    size_t end = layout_add(&layout, field_with_role(ACTIVITY_KERNEL, ROLE_END), 8);
    size_t correlation = layout_add(&layout, field_with_role(ACTIVITY_KERNEL, ROLE_CORRELATION), 8);
    size_t device = layout_add(&layout, field_with_role(ACTIVITY_KERNEL, ROLE_DEVICE), 4);
    size_t stream = layout_add(&layout, field_with_role(ACTIVITY_KERNEL, ROLE_STREAM), 8);
    size_t name = layout_add(&layout, field_with_role(ACTIVITY_KERNEL, ROLE_NAME), 8);
    size_t dynamic =
        layout_add(&layout, field_named(ACTIVITY_KERNEL, "cuda.kernel.shared_memory.dynamic"), 4);
    size_t registers = layout_add(&layout, field_named(ACTIVITY_KERNEL, "cuda.kernel.registers"), 2);
    size_t launch = layout_add(&layout, field_named(ACTIVITY_KERNEL, "cuda.kernel.launch_type"), 1);
    layout_add(&layout, 63, 3); /* a field of a later CUPTI */
    learn(&layout);
    for (size_t i = 0; i < 2; i++) {
        size_t at = i * layout.record.recordSize;
        put32(at, ACTIVITY_KERNEL | (i == 1 ? UNFINISHED : 0));
        put64(at + start, 1000 + i);
        put64(at + end, 2000 + i);
        put64(at + correlation, 0xfffffff0u + i);
        put32(at + device, 3);
        put64(at + stream, 7);
        put64(at + name, (uint64_t)(uintptr_t) "kernel");
        put32(at + dynamic, (uint32_t)-1);
        buffer[at + registers] = 0xff;
        buffer[at + registers + 1] = 0xff;
        buffer[at + launch] = 0xfe;
    }
    assert_int_equal(decode(2 * layout.record.recordSize), 2);
    assert_int_equal(seen_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct activity_record *record = &seen[i];
        assert_int_equal(record->kind, ACTIVITY_KERNEL);
        assert_int_equal(record->start_ns, 1000 + i);
        assert_int_equal(record->end_ns, 2000 + i);
        assert_int_equal(record->correlation_id, 0xfffffff0u + i);
        assert_int_equal(record->device_id, 3);
        assert_int_equal(record->stream_id, 7);
        assert_int_equal(record->context_id, 0); /* not in the layout */
        assert_int_equal(record->graph_node_id, 0);
        assert_string_equal(record->name, "kernel");
        assert_int_equal(record->values[field_named(ACTIVITY_KERNEL, "cuda.kernel.shared_memory.dynamic")],
                         UINT64_MAX);
        assert_int_equal(record->values[field_named(ACTIVITY_KERNEL, "cuda.kernel.registers")], 0xffff);
        assert_int_equal((int64_t)record->values[field_named(ACTIVITY_KERNEL, "cuda.kernel.launch_type")],
                         -2);
        assert_int_equal(__builtin_popcountll(record->present), 10);
        assert_false(record->present >> 63 & 1);
    }
    assert_int_equal(counters_lost(), 0);
}

static void test_a_learned_layout_stays(void **state)
{
    struct layout layout;
    layout_begin(&layout, ACTIVITY_MEMSET);
    size_t start = layout_add(&layout, field_with_role(ACTIVITY_MEMSET, ROLE_START), 8);
    learn(&layout);
    size_t bytes = layout.record.recordSize;
    layout_begin(&layout, ACTIVITY_MEMSET);
    learn(&layout); /* a second layout for the same kind */
    put32(0, ACTIVITY_MEMSET);
    put64(start, 5);
    assert_int_equal(decode(bytes), 1);
    assert_int_equal(seen[0].start_ns, 5);
    assert_int_equal(seen[0].end_ns, 5); /* a kind without an end */
    assert_int_equal(seen[0].device_id, UINT32_MAX);
    assert_null(seen[0].name);
}

static void test_arrays_and_reals(void **state)
{
    struct layout layout;
    uint8_t uuid_field = field_named(ACTIVITY_DEVICE, "cuda.device.uuid");
    layout_begin(&layout, ACTIVITY_DEVICE);
    size_t uuid = layout_add(&layout, uuid_field, 16);
    learn(&layout);
    put32(0, ACTIVITY_DEVICE);
    memcpy(buffer + uuid, "0123456789abcdef", 16);
    assert_int_equal(decode(layout.record.recordSize), 1);
    assert_ptr_equal((const uint8_t *)(uintptr_t)seen[0].values[uuid_field], buffer + uuid);
}

static void expect_malformed(size_t valid, size_t records)
{
    seen_count = 0;
    counters_reset();
    assert_int_equal(decode(valid), records);
    assert_int_equal(counter_get(COUNTER_lost_malformed), 1);
}

static void test_malformed_buffers_end_where_they_fail(void **state)
{
    struct layout layout;
    layout_begin(&layout, ACTIVITY_MEMCPY);
    size_t start = layout_add(&layout, field_with_role(ACTIVITY_MEMCPY, ROLE_START), 8);
    learn(&layout);
    size_t bytes = layout.record.recordSize;
    put32(0, ACTIVITY_MEMCPY);
    put64(start, 1);
    stderr_begin();
    expect_malformed(bytes - 1, 0); /* truncated */
    expect_malformed(3, 0);         /* shorter than a kind */
    put32(bytes, 0);
    expect_malformed(2 * bytes, 1);
    put32(bytes, ACTIVITY_GRAPH_TRACE); /* no layout was supplied */
    expect_malformed(2 * bytes, 1);
    put32(bytes, ACTIVITY_KINDS_MAX);
    expect_malformed(2 * bytes, 1);
    put32(bytes, UINT32_MAX);
    expect_malformed(2 * bytes, 1);
    char *text = stderr_end();
    assert_int_equal(times_in(text, "\n"), 1); /* logged once */
    free(text);
    setup(NULL);
    assert_int_equal(decode(0), 0);
    assert_int_equal(counters_lost(), 0);
}

static void test_a_layout_that_makes_no_sense(void **state)
{
    struct layout layout;
    stderr_begin();
    layout_begin(&layout, ACTIVITY_OVERHEAD);
    layout.record.recordSize = 0; /* would loop forever */
    learn(&layout);
    put32(0, ACTIVITY_OVERHEAD);
    expect_malformed(64, 0);
    layout_begin(&layout, ACTIVITY_JIT);
    layout_add(&layout, field_with_role(ACTIVITY_JIT, ROLE_START), 8);
    layout.fields[1].offset = 1000; /* beyond the record */
    layout.fields[0].fieldId = -1;
    learn(&layout);
    memset(buffer, 0, sizeof buffer);
    put32(0, ACTIVITY_JIT);
    assert_int_equal(decode(layout.record.recordSize), 1);
    assert_int_equal(seen[0].present, 0);
    assert_int_equal(seen[0].start_ns, 0);
    free(stderr_end());
}

/* Buffers complete on several threads while one thread decodes. */
static struct layout stream_layout;

static void *learn_often(void *unused)
{
    for (int i = 0; i < 1000; i++)
        learn(&stream_layout);
    return unused;
}

static void test_layouts_may_come_on_many_threads(void **state)
{
    pthread_t threads[4];
    layout_begin(&stream_layout, ACTIVITY_SYNCHRONIZATION);
    size_t start = layout_add(&stream_layout, field_with_role(ACTIVITY_SYNCHRONIZATION, ROLE_START), 8);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, learn_often, NULL), 0);
    put32(0, ACTIVITY_SYNCHRONIZATION);
    put64(start, 99);
    stderr_begin();
    while (decode(stream_layout.record.recordSize) == 0) {
    }
    free(stderr_end());
    assert_int_equal(seen[0].start_ns, 99);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static size_t record_bytes; /* of the fake CUPTI's walk */

static uint32_t fake_next_record(uint8_t *data, size_t valid, struct cupti_activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + record_bytes : data;
    uint32_t kind;
    if (next >= data + valid)
        return CUPTI_MAX_LIMIT_REACHED;
    memcpy(&kind, next, sizeof kind);
    if (kind & UNFINISHED)
        return CUPTI_INVALID_PARAMETER;
    *record = (struct cupti_activity *)(void *)next;
    return CUPTI_OK;
}

static const struct activity_layout *init_classic(uint32_t version, uint16_t kind)
{
    uint64_t fields[ACTIVITY_KINDS_MAX] = {0};
    const struct activity_layout *layout = layout_classic(version, kind);
    assert_non_null(layout);
    fields[kind] = ~(1ull << field_with_role(kind, ROLE_CONTEXT));
    decode_init_classic(version, fields);
    record_bytes = layout->bytes;
    return layout;
}

static void expect_classic_kernel(uint32_t version)
{
    struct cupti cupti = {.cuptiActivityGetNextRecord = fake_next_record};
    const struct activity_layout *layout = init_classic(version, ACTIVITY_KERNEL);
    memset(buffer, 0, sizeof buffer);
    for (size_t i = 0; i < 3; i++) {
        size_t at = i * record_bytes;
        put32(at, i == 1 ? 60 : ACTIVITY_KERNEL); /* one record of an unknown kind */
        put64(at + (size_t)layout->fields[field_with_role(ACTIVITY_KERNEL, ROLE_START)].offset, 10 + i);
        put64(at + (size_t)layout->fields[field_with_role(ACTIVITY_KERNEL, ROLE_END)].offset, 20 + i);
        put32(at + (size_t)layout->fields[field_with_role(ACTIVITY_KERNEL, ROLE_CORRELATION)].offset,
              30 + (uint32_t)i);
        put32(at + (size_t)layout->fields[field_with_role(ACTIVITY_KERNEL, ROLE_CONTEXT)].offset, 9);
        put32(at + (size_t)layout->fields[field_named(ACTIVITY_KERNEL, "cuda.kernel.grid")].offset,
              (uint32_t)-1);
    }
    seen_count = 0;
    assert_int_equal(decode_buffer(&cupti, buffer, 3 * record_bytes, see, &seen_count), 2);
    assert_int_equal(seen[0].start_ns, 10);
    assert_int_equal(seen[1].start_ns, 12);
    assert_int_equal(seen[1].end_ns, 22);
    assert_int_equal(seen[1].correlation_id, 32);
    assert_int_equal(seen[1].context_id, 0); /* not requested */
    assert_int_equal(counters_lost(), 0);
}

static void test_classic_kernels_of_each_version(void **state)
{
    for (uint8_t i = 0; i < layout_version_count; i++)
        expect_classic_kernel(layout_versions[i].first);
    expect_classic_kernel(layout_newest_version + 10000); /* newer than the tables */
}

static void test_a_cut_classic_record_is_counted(void **state)
{
    struct cupti cupti = {.cuptiActivityGetNextRecord = fake_next_record};
    init_classic(CUPTI_VERSION_13_0, ACTIVITY_KERNEL);
    put32(0, ACTIVITY_KERNEL);
    put32(record_bytes, ACTIVITY_KERNEL);
    stderr_begin();
    assert_int_equal(decode_buffer(&cupti, buffer, record_bytes + 8, see, &seen_count), 1);
    free(stderr_end());
    assert_int_equal(counter_get(COUNTER_lost_malformed), 1);
}

/* As they were seen on a GPU. CUPTI gives no record after the first one. */
static void test_classic_records_that_are_not_finished(void **state)
{
    struct cupti cupti = {.cuptiActivityGetNextRecord = fake_next_record};
    const struct activity_layout *layout = init_classic(CUPTI_VERSION_13_5, ACTIVITY_KERNEL);
    for (size_t i = 0; i < 4; i++) {
        put32(i * record_bytes, ACTIVITY_KERNEL | (i == 1 ? 0 : UNFINISHED));
        put32(i * record_bytes +
                  (size_t)layout->fields[field_with_role(ACTIVITY_KERNEL, ROLE_CORRELATION)].offset,
              30 + (uint32_t)i);
    }
    assert_int_equal(decode_buffer(&cupti, buffer, 4 * record_bytes, see, &seen_count), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(seen[i].correlation_id, 30 + i);
    assert_int_equal(seen[3].start_ns, 0);
    assert_int_equal(counters_lost(), 0);
}

/* The end of a buffer of CUPTI 13.5 on an H200 (tests/gpu/sleep.sh): a kernel, and a copy that is not
 * finished. */
static const uint32_t unfinished[] = {
    0xa,        0x100000,   1,      1,         0x9ae021a7, 0x18ec5eaf, 0x9ae02427, 0x18ec5eaf, 0x9ae02427,
    0x18ec5eaf, 0,          1,      0xf,       1,          1,          1,          0x20,       1,
    1,          0,          0,      0,         0x9480000,  0x12b4b,    0xd0ce,     0,          0x6c00f850,
    0x7f2e,     0x8801acd0, 0x7f2e, 0,         0,          0,          0,          0,          0x8000,
    0,          0,          0,      0,         0,          0,          2,          1,          0,
    0,          0,          1,      0x9480000, 0,          0,          0,          0,          0,
    0,          0,          1,      0,         0,          0,          0,          0,          0x80000001,
    0x1030201,  0x48c0,     0,      0,         0,          0,          0,          0,          1,
    0xf,        0x12b5b,    0,      0,         0x8801a140, 0x7f2e,     0,          0,          0,
    2,          1,          0,      1,         0,          0,          0,          0,          0,
};

static uint32_t real_next_record(uint8_t *data, size_t valid, struct cupti_activity **record)
{
    uint16_t kind;
    memcpy(&kind, *record ? (uint8_t *)*record : data, sizeof kind);
    record_bytes = layout_classic(CUPTI_VERSION_13_5, kind)->bytes;
    return fake_next_record(data, valid, record);
}

static void test_a_real_record_that_is_not_finished(void **state)
{
    struct cupti cupti = {.cuptiActivityGetNextRecord = real_next_record};
    uint64_t fields[ACTIVITY_KINDS_MAX];
    memset(fields, 0xff, sizeof fields);
    decode_init_classic(CUPTI_VERSION_13_5, fields);
    memcpy(buffer, unfinished, sizeof unfinished);
    assert_int_equal(decode_buffer(&cupti, buffer, sizeof unfinished, see, &seen_count), 2);
    assert_int_equal(seen[0].kind, ACTIVITY_KERNEL);
    assert_int_equal(seen[0].end_ns - seen[0].start_ns, 0x2427 - 0x21a7);
    assert_int_equal(seen[0].correlation_id, 0x12b4b);
    assert_int_equal(seen[1].kind, ACTIVITY_MEMCPY);
    assert_int_equal(seen[1].correlation_id, 0x12b5b);
    assert_int_equal(seen[1].start_ns | seen[1].end_ns, 0);
    assert_int_equal(seen[1].stream_id, 0xf);
    assert_int_equal(counters_lost(), 0);
}

static void test_layouts_of_unknown_versions(void **state)
{
    assert_null(layout_classic(CUPTI_VERSION_12_0 - 1, ACTIVITY_KERNEL));
    assert_null(layout_classic(CUPTI_VERSION_13_0, ACTIVITY_KINDS_MAX));
    assert_null(layout_classic(CUPTI_VERSION_13_0, 0));
    assert_ptr_equal(layout_classic(UINT32_MAX, ACTIVITY_KERNEL),
                     layout_classic(layout_newest_version, ACTIVITY_KERNEL));
    for (uint16_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++) {
        const struct activity_layout *layout = layout_classic(layout_newest_version, kind);
        for (int i = 0; layout && i < ACTIVITY_FIELDS_MAX; i++)
            if (layout->fields[i].offset >= 0)
                assert_true(layout->fields[i].offset + layout->fields[i].size <= layout->bytes);
    }
}

int main(void)
{
    /* User-defined records first: choosing classic records is irreversible. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_packed_kernels, setup),
        cmocka_unit_test_setup(test_a_learned_layout_stays, setup),
        cmocka_unit_test_setup(test_arrays_and_reals, setup),
        cmocka_unit_test_setup(test_malformed_buffers_end_where_they_fail, setup),
        cmocka_unit_test_setup(test_a_layout_that_makes_no_sense, setup),
        cmocka_unit_test_setup(test_layouts_may_come_on_many_threads, setup),
        cmocka_unit_test_setup(test_classic_kernels_of_each_version, setup),
        cmocka_unit_test_setup(test_a_cut_classic_record_is_counted, setup),
        cmocka_unit_test_setup(test_classic_records_that_are_not_finished, setup),
        cmocka_unit_test_setup(test_a_real_record_that_is_not_finished, setup),
        cmocka_unit_test_setup(test_layouts_of_unknown_versions, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
