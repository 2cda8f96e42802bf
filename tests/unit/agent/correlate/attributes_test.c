#include "agent/correlate/spans/attributes.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static struct span span;
static struct attribute_plan plan;
static struct activity_record record;
static struct {
    struct call_record call;
    uint64_t values[CALL_VALUES_MAX];
} call;

static int setup(void **state)
{
    memset(&span, 0, sizeof span);
    memset(&record, 0, sizeof record);
    memset(&call, 0, sizeof call);
    attributes_init(&plan, DETAIL_DEFAULT);
    return 0;
}

static const struct span_attr *attr(const char *key)
{
    for (uint32_t i = 0; i < span.attr_count; i++)
        if (strcmp(span.attrs[i].key->name, key) == 0)
            return &span.attrs[i];
    return NULL;
}

static const struct span_attr *has(const char *key, enum attr_type type)
{
    const struct span_attr *found = attr(key);
    if (!found)
        fail_msg("no attribute %s", key);
    assert_int_equal(found->type, type);
    assert_int_equal(found->key->tag, 0x0a);
    assert_int_equal(found->key->len, strlen(key));
    return found;
}

static const struct call_info *find(enum call_domain domain, const char *name)
{
    uint16_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint16_t cbid = 1; cbid < count; cbid++)
        if (call_info(domain, cbid) && strcmp(call_name(call_info(domain, cbid)), name) == 0)
            return call_info(domain, cbid);
    fail_msg("no call %s", name);
    return NULL;
}

static void set(const char *key, uint64_t value)
{
    for (uint8_t i = 0; i < activity_table[record.kind].field_count; i++) {
        if (strcmp(activity_table[record.kind].fields[i].key.name, key) == 0) {
            record.present |= 1ull << i;
            record.values[i] = value;
            return;
        }
    }
    fail_msg("no field %s", key);
}

/* --- calls
 * ---------------------------------------------------------------------------------------------------------
 */

static void test_parameters_of_a_launch(void **state)
{
    static const uint64_t values[] = {0x1234, 1 | 2ull << 32, 3, 4 | 5ull << 32, 6, 4096, 0x99};
    memcpy(call.call.values, values, sizeof values);
    call.call.present = 0x1f;
    attributes_of_call(&span, find(CALL_RUNTIME, "cudaLaunchKernel"), &call.call);
    assert_int_equal(span.attr_count, 5);
    assert_int_equal(has("cuda.arg.function", ATTR_POINTER)->i, 0x1234);
    assert_memory_equal(has("cuda.arg.grid", ATTR_DIM3)->dim, ((uint32_t[]){1, 2, 3}), 12);
    assert_memory_equal(has("cuda.arg.block", ATTR_DIM3)->dim, ((uint32_t[]){4, 5, 6}), 12);
    assert_int_equal(has("cuda.arg.shared_memory", ATTR_INT)->i, 4096);
    assert_int_equal(has("cuda.arg.stream", ATTR_POINTER)->i, 0x99);
}

static void test_absent_parameters_take_no_room(void **state)
{
    call.call.present = 1 << 2 | 1 << 4; /* block and stream */
    call.call.values[0] = 7 | 8ull << 32;
    call.call.values[1] = 9;
    call.call.values[2] = 0x55;
    attributes_of_call(&span, find(CALL_RUNTIME, "cudaLaunchKernel"), &call.call);
    assert_int_equal(span.attr_count, 2);
    assert_memory_equal(has("cuda.arg.block", ATTR_DIM3)->dim, ((uint32_t[]){7, 8, 9}), 12);
    assert_int_equal(has("cuda.arg.stream", ATTR_POINTER)->i, 0x55);
}

static void test_strings_and_what_follows_them(void **state)
{
    const struct call_info *info = find(CALL_DRIVER, "cuModuleGetFunction");
    call.call.present = 7;
    call.call.values[0] = 1;
    call.call.values[1] = 2;
    call.call.values[2] = 9; /* length, then two words */
    memcpy(&call.call.values[3], "my_kernel", 9);
    attributes_of_call(&span, info, &call.call);
    assert_int_equal(has("cuda.arg.name", ATTR_STRING)->len, 9);
    assert_memory_equal(has("cuda.arg.name", ATTR_STRING)->s, "my_kernel", 9);
    setup(NULL);
    call.call.present = 4;
    attributes_of_call(&span, info, &call.call); /* empty */
    assert_int_equal(has("cuda.arg.name", ATTR_STRING)->len, 0);
}

/* A call with another parameter after a string. */
static const struct call_info *find_string_in_the_middle(uint8_t *index)
{
    for (uint16_t cbid = 1; cbid < call_count_driver; cbid++) {
        const struct call_info *info = call_info(CALL_DRIVER, cbid);
        for (*index = 0; info && *index + 1 < info->param_count; ++*index)
            if (call_params[info->param + *index].type == PARAM_STRING &&
                call_params[info->param + *index + 1].type != PARAM_STRING)
                return info;
    }
    fail_msg("no call has one");
    return NULL;
}

static void test_a_string_takes_whole_words(void **state)
{
    uint8_t index = 0;
    const struct call_info *info = find_string_in_the_middle(&index);
    const char *key = call_param_keys[call_params[info->param + index + 1].key].name;
    for (uint64_t length = 0; length <= CALL_STRING_BYTES; length++) {
        setup(NULL);
        call.call.present = 3u << index;
        call.call.values[0] = length;
        memset(&call.call.values[1], 'x', length);
        call.call.values[1 + (length + 7) / 8] = 0x77;
        call.call.values[2 + (length + 7) / 8] = 0x99;
        attributes_of_call(&span, info, &call.call);
        assert_int_equal(span.attr_count, 2);
        assert_int_equal(attr(key)->type == ATTR_DIM3 ? attr(key)->dim[0] : (uint64_t)attr(key)->i, 0x77);
    }
}

static void test_enums_and_numbers(void **state)
{
    double half = 0.5;
    const struct call_info *copy = find(CALL_RUNTIME, "cudaMemcpyAsync");
    call.call.present = 1 << 3;
    call.call.values[0] = 1;
    attributes_of_call(&span, copy, &call.call);
    const struct span_attr *kind = has("cuda.arg.kind", ATTR_STRING);
    assert_memory_equal(kind->s, "HostToDevice", kind->len);
    setup(NULL);
    call.call.present = 1 << 3;
    call.call.values[0] = (uint64_t)-5; /* the table has no name for it */
    attributes_of_call(&span, copy, &call.call);
    assert_int_equal(has("cuda.arg.kind", ATTR_INT)->i, -5);
    setup(NULL);
    call.call.present = 1;
    memcpy(call.call.values, &half, 8);
    attributes_of_call(&span, find(CALL_RUNTIME, "cudaEventElapsedTime"), &call.call);
    assert_true(has("cuda.arg.milliseconds", ATTR_DOUBLE)->d == 0.5);
}

static void test_a_full_span_counts_what_it_drops(void **state)
{
    span.attr_count = SPAN_ATTRS_MAX - 1;
    call.call.present = 0x1f;
    attributes_of_call(&span, find(CALL_RUNTIME, "cudaLaunchKernel"), &call.call);
    assert_int_equal(span.attr_count, SPAN_ATTRS_MAX);
    assert_int_equal(span.attrs_dropped, 4);
}

/* --- activity
 * ------------------------------------------------------------------------------------------------------ */

static void put_fields(void)
{
    attributes_of_activity(&span, &plan.lasting[record.kind], &record);
    attributes_of_activity(&span, &plan.own[record.kind], &record);
}

static void test_fields_of_a_kernel(void **state)
{
    record.kind = ACTIVITY_KERNEL;
    set("cuda.kernel.registers", 32);
    set("cuda.kernel.grid", 7);
    set("cuda.kernel.shared_memory.dynamic", (uint64_t)-1);
    set("cuda.kernel.launch_type", 1); /* only with full detail */
    set("cuda.kernel.name", 8);        /* stored elsewhere: never read here */
    set("cuda.device.id", 3);
    set("cuda.stream.id", 4);
    put_fields();
    assert_int_equal(has("cuda.kernel.registers", ATTR_INT)->i, 32);
    assert_int_equal(has("cuda.kernel.grid", ATTR_DIM3)->dim[0], 7);
    assert_int_equal(has("cuda.kernel.shared_memory.dynamic", ATTR_INT)->i, -1);
    assert_int_equal(has("cuda.stream.id", ATTR_INT)->i, 4);
    assert_null(attr("cuda.kernel.launch_type"));
    assert_null(attr("cuda.kernel.name"));
    assert_null(attr("cuda.device.id"));
    assert_null(attr("cuda.kernel.block")); /* not in the record */
    attributes_init(&plan, DETAIL_FULL);
    span.attr_count = 0;
    put_fields();
    assert_memory_equal(has("cuda.kernel.launch_type", ATTR_STRING)->s, "cooperative_single_device", 25);
}

static void test_a_pthread_handle_is_no_thread_id(void **state)
{
    record.kind = ACTIVITY_OVERHEAD;
    set("cuspan.thread.id", 4711);
    put_fields();
    assert_int_equal(has("cuspan.thread.id", ATTR_INT)->i, 4711);
    set("cuspan.thread.id", 139822679822464);
    span.attr_count = 0;
    put_fields();
    assert_null(attr("cuspan.thread.id"));
}

static void test_graphs_only_where_there_is_one(void **state)
{
    record.kind = ACTIVITY_KERNEL;
    set("cuda.graph.id", 0);
    set("cuda.graph.node.id", 0);
    put_fields();
    assert_int_equal(span.attr_count, 0);
    set("cuda.graph.id", 2);
    set("cuda.graph.node.id", 1ull << 33);
    put_fields();
    assert_int_equal(has("cuda.graph.id", ATTR_INT)->i, 2);
    assert_int_equal(has("cuda.graph.node.id", ATTR_INT)->i, 1ll << 33);
}

static void test_names_by_kind(void **state)
{
    record.kind = ACTIVITY_MEMCPY;
    assert_string_equal(attributes_name(&plan, &record).text,
                        "memcpy"); /* the direction is not in the record */
    set("cuda.memcpy.kind", 8);
    struct profile_string name = attributes_name(&plan, &record);
    assert_string_equal(name.text, "memcpy DeviceToDevice");
    assert_int_equal(name.bytes, strlen(name.text));
    set("cuda.memcpy.kind", 99);
    assert_string_equal(attributes_name(&plan, &record).text, "memcpy");
    record.kind = ACTIVITY_KERNEL;
    assert_string_equal(attributes_name(&plan, &record).text, "kernel");
}

static bool is_among(const struct fields *fields, const char *key)
{
    for (uint8_t i = 0; i < fields->count; i++)
        if (strcmp(activity_table[ACTIVITY_KERNEL].fields[fields->ids[i]].key.name, key) == 0)
            return true;
    return false;
}

/* Shared parts must be distinguished by all of their content; a span's own attributes do not belong to them.
 * */
static void test_what_records_have_alike(void **state)
{
    const struct fields *lasting = &plan.lasting[ACTIVITY_KERNEL], *key = &plan.key[ACTIVITY_KERNEL];
    assert_true(plan.is_shared[ACTIVITY_KERNEL] && plan.is_shared[ACTIVITY_MEMCPY]);
    assert_false(plan.is_shared[ACTIVITY_OVERHEAD]); /* not GPU work */
    assert_false(is_among(lasting, "cuda.correlation.id"));
    assert_false(is_among(key, "cuda.correlation.id"));
    assert_true(is_among(&plan.own[ACTIVITY_KERNEL], "cuda.correlation.id"));
    for (uint8_t i = 0; i < lasting->count; i++)
        assert_non_null(memchr(key->ids, lasting->ids[i], key->count));
    uint8_t parts = 0; /* y and z of the grid and the block */
    for (uint8_t i = 0; i < key->count; i++)
        parts += activity_table[ACTIVITY_KERNEL].fields[key->ids[i]].type == FIELD_DIM3_YZ;
    assert_int_equal(parts, 4);
}

static void test_kinds_that_have_a_time(void **state)
{
    assert_true(plan.has_start[ACTIVITY_KERNEL]);
    assert_true(plan.has_start[ACTIVITY_MEMORY2]);
    assert_false(plan.has_start[ACTIVITY_DEVICE]);
    assert_false(plan.has_start[ACTIVITY_NAME]);
    assert_false(plan.has_start[0]);
    for (unsigned kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
        assert_true(!activity_table[kind].is_gpu_work || plan.has_start[kind]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_parameters_of_a_launch, setup),
        cmocka_unit_test_setup(test_absent_parameters_take_no_room, setup),
        cmocka_unit_test_setup(test_strings_and_what_follows_them, setup),
        cmocka_unit_test_setup(test_a_string_takes_whole_words, setup),
        cmocka_unit_test_setup(test_enums_and_numbers, setup),
        cmocka_unit_test_setup(test_a_full_span_counts_what_it_drops, setup),
        cmocka_unit_test_setup(test_fields_of_a_kernel, setup),
        cmocka_unit_test_setup(test_a_pthread_handle_is_no_thread_id, setup),
        cmocka_unit_test_setup(test_graphs_only_where_there_is_one, setup),
        cmocka_unit_test_setup(test_names_by_kind, setup),
        cmocka_unit_test_setup(test_what_records_have_alike, setup),
        cmocka_unit_test_setup(test_kinds_that_have_a_time, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
