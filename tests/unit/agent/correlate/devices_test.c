#include "agent/correlate/trace/devices.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static struct activity_record record;

static void set(const char *key, uint64_t value)
{
    for (uint8_t i = 0; i < activity_table[ACTIVITY_DEVICE].field_count; i++) {
        if (strcmp(activity_table[ACTIVITY_DEVICE].fields[i].key.name, key) == 0) {
            record.present |= 1ull << i;
            record.values[i] = value;
            return;
        }
    }
    fail_msg("no field %s", key);
}

static const char *text_of(const struct resource *resource, const char *key)
{
    const struct resource_attr *found = resource_find(resource, key);
    return found ? found->items->string : NULL;
}

static void test_a_device_with_all_it_has(void **state)
{
    static const uint8_t uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    struct resource resource = {0};
    uint32_t device;
    record = (struct activity_record){.kind = ACTIVITY_DEVICE, .device_id = UINT32_MAX};
    set("cuda.device.id", 2);
    set("cuda.device.name", (uint64_t)(uintptr_t) "NVIDIA H200");
    set("cuda.device.uuid", (uint64_t)(uintptr_t)uuid);
    set("cuda.device.memory.bytes", 150754820096);
    assert_int_equal(devices_describe(&record, &device, &resource), STATUS_OK);
    assert_int_equal(device, 2);
    assert_string_equal(text_of(&resource, "cuda.device.uuid"), "GPU-00010203-0405-0607-0809-aabbccddeeff");
    assert_string_equal(text_of(&resource, "hw.id"), "GPU-00010203-0405-0607-0809-aabbccddeeff");
    assert_string_equal(text_of(&resource, "hw.name"), "NVIDIA H200");
    assert_string_equal(text_of(&resource, "hw.model"), "NVIDIA H200");
    assert_string_equal(text_of(&resource, "hw.vendor"), "NVIDIA");
    assert_string_equal(text_of(&resource, "hw.type"), "gpu");
    assert_int_equal(resource_find(&resource, "cuda.device.memory.bytes")->items->integer, 150754820096);
    resource_deinit(&resource);
}

static void test_a_mig_instance_is_part_of_a_gpu(void **state)
{
    static const uint8_t uuid[16] = {0xaa}, instance[16] = {0xbb};
    struct resource resource = {0};
    uint32_t device;
    record = (struct activity_record){.kind = ACTIVITY_DEVICE, .device_id = UINT32_MAX};
    set("cuda.device.id", 0);
    set("cuda.device.uuid", (uint64_t)(uintptr_t)uuid);
    set("cuda.device.mig.enabled", 1);
    set("cuda.device.mig.gpu_instance.id", 2);
    set("cuda.device.mig.compute_instance.id", 0);
    set("cuda.device.mig.uuid", (uint64_t)(uintptr_t)instance);
    assert_int_equal(devices_describe(&record, &device, &resource), STATUS_OK);
    assert_string_equal(text_of(&resource, "cuda.device.uuid"), "GPU-aa000000-0000-0000-0000-000000000000");
    assert_string_equal(text_of(&resource, "cuda.device.mig.uuid"),
                        "MIG-bb000000-0000-0000-0000-000000000000");
    assert_string_equal(text_of(&resource, "hw.id"), "MIG-bb000000-0000-0000-0000-000000000000");
    assert_string_equal(text_of(&resource, "hw.parent"), "GPU-aa000000-0000-0000-0000-000000000000");
    assert_int_equal(resource_find(&resource, "cuda.device.mig.gpu_instance.id")->items->integer, 2);
    assert_int_equal(resource_find(&resource, "cuda.device.mig.compute_instance.id")->items->integer, 0);
    resource_deinit(&resource);
    set("cuda.device.mig.enabled", 0);
    set("cuda.device.mig.gpu_instance.id", UINT32_MAX);
    set("cuda.device.mig.uuid", (uint64_t)(uintptr_t)(const uint8_t[16]){0});
    assert_int_equal(devices_describe(&record, &device, &resource), STATUS_OK);
    assert_string_equal(text_of(&resource, "hw.id"), "GPU-aa000000-0000-0000-0000-000000000000");
    assert_null(resource_find(&resource, "hw.parent"));
    assert_null(resource_find(&resource, "cuda.device.mig.uuid"));
    assert_null(resource_find(&resource, "cuda.device.mig.gpu_instance.id"));
    resource_deinit(&resource);
}

static void test_a_peer_copy_names_both_ends(void **state)
{
    static struct devices devices;
    static struct span span;
    for (uint32_t device = 0; device < 2; device++) {
        struct resource resource = {0};
        assert_int_equal(resource_set_string(&resource, "hw.id", device ? "GPU-one" : "GPU-zero"), STATUS_OK);
        devices_note(&devices, device, &resource);
        devices_note(&devices, DEVICES_MAX, &resource);
        resource_deinit(&resource);
        devices_note(&devices, device, &resource); /* nothing new is known */
    }
    struct activity_record copy = {.kind = ACTIVITY_MEMCPY_PEER, .present = 1 << 11 | 1 << 13};
    copy.values[11] = 1;
    devices_add_ends(&devices, &copy, &span);
    assert_int_equal(span.attr_count, 2);
    assert_string_equal(span.attrs[0].key->name, "cuda.memcpy.src_device.hw.id");
    assert_memory_equal(span.attrs[0].s, "GPU-one", span.attrs[0].len);
    assert_string_equal(span.attrs[1].key->name, "cuda.memcpy.dst_device.hw.id");
    assert_memory_equal(span.attrs[1].s, "GPU-zero", span.attrs[1].len);
    copy.values[11] = 2; /* nothing is known about it */
    copy.values[13] = UINT32_MAX;
    devices_add_ends(&devices, &copy, &span);
    copy.present = 0;
    copy.values[11] = 1;
    devices_add_ends(&devices, &copy, &span);
    copy = (struct activity_record){.kind = ACTIVITY_MEMCPY, .present = UINT64_MAX};
    devices_add_ends(&devices, &copy, &span);
    assert_int_equal(span.attr_count, 2);
}

static void test_a_device_of_which_little_is_known(void **state)
{
    struct resource resource = {0};
    uint32_t device;
    record = (struct activity_record){.kind = ACTIVITY_DEVICE, .device_id = 5};
    set("cuda.device.name", 0);
    assert_int_equal(devices_describe(&record, &device, &resource), STATUS_OK);
    assert_int_equal(device, 5);
    assert_null(resource_find(&resource, "hw.name"));
    assert_null(resource_find(&resource, "hw.id"));
    assert_string_equal(text_of(&resource, "hw.type"), "gpu");
    resource_deinit(&resource);
    assert_int_equal(devices_describe_unknown(6, &resource), STATUS_OK);
    assert_int_equal(resource_find(&resource, "cuda.device.id")->items->integer, 6);
    assert_string_equal(text_of(&resource, "hw.type"), "gpu");
    resource_deinit(&resource);
}

static void test_a_full_resource_is_an_error(void **state)
{
    struct resource resource = {0};
    uint32_t device;
    char key[16];
    for (int i = 0; i < RESOURCE_ATTRS_MAX; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(resource_set_int(&resource, key, i), STATUS_OK);
    }
    record = (struct activity_record){.kind = ACTIVITY_DEVICE};
    set("cuda.device.name", (uint64_t)(uintptr_t) "x");
    assert_int_equal(devices_describe(&record, &device, &resource), STATUS_FULL);
    assert_int_equal(devices_describe_unknown(1, &resource), STATUS_FULL);
    resource_deinit(&resource);
}

static struct activity_record context(uint32_t id, uint32_t null_stream)
{
    struct activity_record made = {.kind = ACTIVITY_CONTEXT, .context_id = id, .present = 1 << 4};
    made.values[4] = null_stream;
    return made;
}

static void test_null_streams_of_contexts(void **state)
{
    static struct devices devices;
    struct activity_record first = context(1, 7), second = context(2, 9), none = context(0, 5),
                           silent = context(3, 11);
    silent.present = 0;
    devices_note_context(&devices, &first);
    devices_note_context(&devices, &second);
    devices_note_context(&devices, &none);
    devices_note_context(&devices, &silent);
    assert_true(devices_is_null_stream(&devices, 1, 7));
    assert_false(devices_is_null_stream(&devices, 1, 9));
    assert_true(devices_is_null_stream(&devices, 2, 9));
    assert_false(devices_is_null_stream(&devices, 0, 5));
    assert_false(devices_is_null_stream(&devices, 0, 0));
    assert_false(devices_is_null_stream(&devices, 3, 11));
    assert_false(devices_is_null_stream(&devices, 1 + CONTEXTS_KEPT, 7)); /* another one in the same slot */
    struct activity_record later = context(1 + CONTEXTS_KEPT, 3);
    devices_note_context(&devices, &later);
    assert_true(devices_is_null_stream(&devices, 1 + CONTEXTS_KEPT, 3));
    assert_false(devices_is_null_stream(&devices, 1, 7));
}

/* devices.c contains CUPTI's numbers of the fields: the generated table must agree. */
static void test_the_fields_that_are_known_by_number(void **state)
{
    const struct activity_field *peer = activity_table[ACTIVITY_MEMCPY_PEER].fields;
    assert_string_equal(peer[11].key.name, "cuda.memcpy.src_device.id");
    assert_string_equal(peer[12].key.name, "cuda.memcpy.src_context.id");
    assert_string_equal(peer[13].key.name, "cuda.memcpy.dst_device.id");
    assert_string_equal(peer[14].key.name, "cuda.memcpy.dst_context.id");
    for (unsigned i = 11; i < 15; i++)
        assert_int_equal(peer[i].detail, ACTIVITY_DEFAULT);
    assert_string_equal(activity_table[ACTIVITY_CONTEXT].fields[4].key.name, "cuda.context.null_stream.id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_with_all_it_has),
        cmocka_unit_test(test_a_mig_instance_is_part_of_a_gpu),
        cmocka_unit_test(test_a_peer_copy_names_both_ends),
        cmocka_unit_test(test_a_device_of_which_little_is_known),
        cmocka_unit_test(test_a_full_resource_is_an_error),
        cmocka_unit_test(test_null_streams_of_contexts),
        cmocka_unit_test(test_the_fields_that_are_known_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
