#include "support/correlate_harness.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/call_spans.h"

static void tell_device(uint32_t id, const char *name)
{
    struct activity_record record = {.kind = ACTIVITY_DEVICE};
    set_field(&record, "cuda.device.id", id);
    set_field(&record, "cuda.device.name", (uint64_t)(uintptr_t)name);
    gpu_join_add(correlate, &record);
}

static void test_work_waits_for_its_devices_description(void **state)
{
    struct correlate_options options = usual_options();
    options.expects_devices = true;
    begin_as(&options);
    assert_false(correlate_wants_records(correlate));
    launch(1, 1000);
    kernel("first", 1, 2000, 2100);
    assert_true(correlate_wants_records(correlate));
    assert_false(correlate_wants_records(correlate)); /* asked for only once */
    tick_after(20);
    assert_int_equal(device_count, 0);
    tell_device(0, "H200");
    tick_after(20);
    expect_child(only("first"), only("cudaLaunchKernel"));
    assert_int_equal(device_count, 1);
    assert_string_equal(devices[0].name, "H200");
    launch(2, 3000);
    kernel("second", 2, 4000, 4100);
    only("second");
}

static void test_a_device_that_nobody_describes_keeps_no_work_back(void **state)
{
    struct correlate_options options = usual_options();
    options.expects_devices = true;
    begin_as(&options);
    launch(1, 1000);
    kernel("first", 1, 2000, 2100);
    tick_after(90); /* wait_ms is 100 */
    assert_int_equal(device_count, 0);
    tick_after(20);
    only("first");
    assert_int_equal(device_count, 1);
    assert_string_equal(devices[0].name, "");
    launch(2, 3000);
    kernel("second", 2, 4000, 4100);
    only("second");
}

static void test_a_device_is_told_once(void **state)
{
    begin();
    tell_device(3, "H200");
    assert_int_equal(device_count, 1);
    assert_int_equal(devices[0].index, RESOURCE_DEVICE(3));
    assert_string_equal(devices[0].name, "H200");
    launch(1, 1000);
    for (int i = 0; i < 3; i++) {
        struct activity_record record = make_kernel("k", 1, 1500, 1600);
        record.device_id = 3;
        gpu_join_add(correlate, &record);
    }
    assert_int_equal(device_count, 1);
    assert_int_equal(spans[3].span.resource, RESOURCE_DEVICE(3));
    for (int i = 0; i < 3; i++)
        kernel("k", 1, 1500, 1600); /* device 0, which was not described */
    assert_int_equal(device_count, 2);
    assert_int_equal(devices[1].index, RESOURCE_DEVICE(0));
    assert_string_equal(devices[1].name, "");
    tell_device(0, "late");
    assert_int_equal(device_count, 3);
    assert_string_equal(devices[2].name, "late");
}

static void test_devices_beyond_the_table(void **state)
{
    begin();
    tell_device(DEVICES_MAX, "too many");
    tell_device(UINT32_MAX, "unknown");
    struct activity_record record = make_kernel("k", 0, 1500, 1600);
    record.device_id = DEVICES_MAX;
    gpu_join_add(correlate, &record);
    record.device_id = UINT32_MAX;
    gpu_join_add(correlate, &record);
    assert_int_equal(device_count, 0);
    assert_int_equal(spans[0].span.resource, RESOURCE_PROCESS);
    assert_int_equal(spans[1].span.resource, RESOURCE_PROCESS);
}

static void test_the_null_stream_is_marked(void **state)
{
    struct activity_record context = {.kind = ACTIVITY_CONTEXT, .context_id = 1};
    begin();
    context.present = 1 << 4;
    context.values[4] = 7;
    gpu_join_add(correlate, &context);
    kernel("on_null", 0, 1500, 1600);
    assert_int_equal(attr_int(only("on_null"), "cuda.stream.default"), 1);
    struct activity_record record = make_kernel("on_other", 0, 1500, 1600);
    record.stream_id = 8;
    gpu_join_add(correlate, &record);
    assert_null(attr(only("on_other"), "cuda.stream.default"));
    record = make_kernel("of_other", 0, 1500, 1600);
    record.context_id = 2;
    gpu_join_add(correlate, &record);
    assert_null(attr(only("of_other"), "cuda.stream.default"));
}

static void tell_handle(uint32_t context_id, uint64_t handle)
{
    struct name_record record = {
        .head = {sizeof record, RECORD_NAME, 0, NAMED_CONTEXT_ID}, .handle = handle, .id = context_id};
    correlate_name(correlate, &record);
}

static void work_in_context(uint32_t context_id, uint32_t correlation_id)
{
    struct call_record launch = {
        .head = {sizeof launch, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaLaunchKernel")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .context_id = context_id,
        .correlation_id = correlation_id};
    struct activity_record record = {.kind = ACTIVITY_KERNEL,
                                     .correlation_id = correlation_id,
                                     .context_id = context_id,
                                     .name = "work",
                                     .start_ns = BASE_NS + 2000,
                                     .end_ns = BASE_NS + 2100};
    span_count = 0;
    call_spans_add(correlate, &thread, &launch);
    gpu_join_add(correlate, &record);
}

static void test_contexts_have_the_programs_names(void **state)
{
    begin();
    tell_handle(3, 0xc3);
    tell_handle(4, 0xc4);
    name_object(NAMED_CONTEXT, 0xc3, "training");
    work_in_context(3, 1);
    expect_text(only("cudaLaunchKernel"), "cuda.context.name", "training");
    expect_text(only("work"), "cuda.context.name", "training");
    work_in_context(4, 2);
    assert_null(attr(only("cudaLaunchKernel"), "cuda.context.name"));
    assert_null(attr(only("work"), "cuda.context.name"));
    work_in_context(5, 3); /* its handle is unknown */
    assert_null(attr(only("work"), "cuda.context.name"));
    struct resource_record gone = {.head = {sizeof gone, RECORD_RESOURCE, 0, 2}, .handle = 0xc3};
    call_spans_resource(correlate, &thread, &gone);
    tell_handle(6, 0xc3); /* the handle of another context */
    work_in_context(6, 4);
    assert_null(attr(only("work"), "cuda.context.name"));
}

static void test_devices_have_the_programs_names(void **state)
{
    begin();
    name_object(NAMED_DEVICE, 0, "left");
    assert_int_equal(device_count, 0);
    work_in_context(1, 1);
    assert_int_equal(device_count, 1);
    assert_string_equal(devices[0].label, "left");
    name_object(NAMED_DEVICE, 0, "right");
    assert_int_equal(device_count, 2);
    assert_int_equal(devices[1].index, devices[0].index);
    assert_string_equal(devices[1].label, "right");
    name_object(NAMED_DEVICE, 1, "not seen yet");
    name_object(NAMED_DEVICE, 1000000, "none");
    assert_int_equal(device_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_work_waits_for_its_devices_description),
        TEST(test_a_device_that_nobody_describes_keeps_no_work_back),
        TEST(test_a_device_is_told_once),
        TEST(test_devices_beyond_the_table),
        TEST(test_the_null_stream_is_marked),
        TEST(test_contexts_have_the_programs_names),
        TEST(test_devices_have_the_programs_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
