#include "support/correlate_harness.h"
#include "agent/correlate/call_spans.h"

#define UNKNOWN_EVENT 99

static void test_ids_come_round(void **state)
{
    const uint64_t hours = 3600 * NS_PER_SECOND;
    settings.session.age_max_ms = UINT32_MAX;
    begin();
    launch(UINT32_MAX, 1000);
    kernel("last", UINT32_MAX, 1500, 1600);
    launch(1, 2000);
    kernel("first", 1, 2500, 2600);
    expect_child(only("last"), &spans[0]);
    expect_child(only("first"), &spans[2]);
    /* Hours later ID 1 is used again. Its record arrives first; the old call is not its parent. */
    kernel("again", 1, 12 * hours + 500, 12 * hours + 600);
    assert_int_equal(span_count, 4);
    launch(1, 12 * hours);
    tick_after(20);
    expect_child(only("again"), &spans[4]);
    assert_int_equal(attr_int(only("again"), "cuda.start_delay"), 500);
}

static void test_calls_that_never_get_a_record_are_given_up(void **state)
{
    settings.correlation.pending_max = 8;
    begin();
    for (uint32_t id = 1; id <= 20; id++)
        launch(id, 1000 * id);
    assert_int_equal(counter_get(COUNTER_pending_evicted), 12);
    kernel("late", 2, 30000, 30001); /* its call is too old */
    kernel("kept", 20, 30000, 30001);
    assert_non_null(only("kept"));
    correlate_finish(correlate);
    assert_int_equal(counter_get(COUNTER_orphans), 1);
    expect_child(only("late"), only("program"));
}

static void test_calls_without_gpu_work_do_not_wait(void **state)
{
    settings.correlation.pending_max = 4;
    begin();
    launch(1, 1000);
    for (uint32_t id = 2; id < 50; id++)
        call_full(CALL_RUNTIME, "cudaStreamSynchronize", id, 1000 * id, 1000 * id + 1, 0);
    for (uint32_t id = 50; id < 60; id++)
        call_full(CALL_RUNTIME, "cudaLaunchKernel", id, 1000 * id, 1000 * id + 1,
                  1); /* failed: expects no record */
    assert_int_equal(counter_get(COUNTER_pending_evicted), 0);
    kernel("work", 1, 70000, 70001);
    expect_child(only("work"), &spans[0]);
}

static void test_a_failed_call_says_so(void **state)
{
    begin();
    call_full(CALL_RUNTIME, "cudaMalloc", 1, 1000, 1001, 2);
    call_full(CALL_DRIVER, "cuModuleLoad", 2, 2000, 2001, 301);
    call_full(CALL_RUNTIME, "cudaFree", 3, 3000, 3001, 987654);
    const struct kept *failed = only("cudaMalloc");
    assert_int_equal(failed->span.status, SPAN_STATUS_ERROR);
    assert_string_equal(failed->span.status_message, "cudaErrorMemoryAllocation");
    expect_text(failed, "error.type", "cudaErrorMemoryAllocation");
    assert_int_equal(attr_int(failed, "cuda.error.code"), 2);
    failed = only("cuModuleLoad");
    expect_text(failed, "error.type", "CUDA_ERROR_FILE_NOT_FOUND");
    expect_text(failed, "cuda.api", "driver");
    failed = only("cudaFree");
    expect_text(failed, "error.type", "_OTHER");
    assert_null(failed->span.status_message);
    assert_int_equal(attr_int(failed, "cuda.error.code"), 987654);
}

static void test_odd_calls(void **state)
{
    struct call_record unknown = {.head = {sizeof unknown, RECORD_CALL, CALL_RUNTIME, 65535}};
    begin();
    call_spans_add(correlate, &thread, &unknown);
    assert_int_equal(span_count, 0);
    call_full(CALL_RUNTIME, "cudaMalloc", 0, 1000, 1000, 0); /* no ID, no length */
    assert_int_equal(only("cudaMalloc")->span.end_ns, BASE_NS + 1001);
    kernel("unrelated", 0, 2000, 2001);
    correlate_finish(correlate);
    expect_child(only("unrelated"), only("program"));
}

static void resource_on(uint64_t tid, uint16_t cbid, uint64_t time)
{
    struct thread_info other = {.tid = tid};
    struct resource_record record = {.head = {sizeof record, RECORD_RESOURCE, 3, cbid},
                                     .time_ns = BASE_NS + time,
                                     .id = 5,
                                     .bytes = 4096,
                                     .handle = 0x7000};
    call_spans_resource(correlate, &other, &record);
}

static void test_a_module_loaded_inside_a_call_is_its_event(void **state)
{
    begin();
    resource_on(42, CUPTI_RESOURCE_MODULE_LOADED, 1050);
    resource_on(43, CUPTI_RESOURCE_MODULE_LOADED, 1050); /* on another thread */
    resource_on(42, UNKNOWN_EVENT, 1050);                /* ignored */
    launch(1, 1000);
    const struct kept *call = only("cudaLaunchKernel");
    assert_int_equal(call->span.event_count, 1);
    assert_string_equal(call->events[0].name, "cuda.module.loaded");
    assert_int_equal(call->events[0].time_ns, BASE_NS + 1050);
    assert_string_equal(call->events[0].attrs[0].key->name, "cuda.module.id");
    assert_int_equal(call->events[0].attrs[0].i, 5);
    assert_int_equal(call->events[0].attrs[1].i, 4096);
    launch(2, 2000);
    assert_int_equal(spans[1].span.event_count, 0);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.event_count, 1); /* from the other thread */
}

static void test_what_happens_outside_a_call_is_the_session_s(void **state)
{
    begin();
    resource_on(42, CUPTI_RESOURCE_CONTEXT_CREATED, 500);
    resource_on(42, CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
                5000); /* later than the call: the next one may have it */
    launch(1, 1000);
    assert_int_equal(only("cudaLaunchKernel")->span.event_count, 0);
    correlate_finish(correlate);
    const struct kept *session = only("program");
    assert_int_equal(session->span.event_count, 2);
    assert_string_equal(session->events[0].name, "cuda.context.created");
    assert_string_equal(session->events[1].name, "cuda.context.destroyed");
    assert_int_equal(session->events[0].attrs[0].type, ATTR_POINTER);
    assert_int_equal(session->events[0].attrs[0].i, 0x7000);
}

static void test_many_events_inside_a_call(void **state)
{
    begin();
    for (int i = 0; i < 40; i++) /* more than are held: the rest become events of the session */
        resource_on(42, CUPTI_RESOURCE_MODULE_LOADED, 1050);
    launch(1, 1000);
    assert_int_equal(only("cudaLaunchKernel")->span.event_count, 8);
    assert_int_equal(only("cudaLaunchKernel")->span.events_dropped, 24);
    resource_on(42, CUPTI_RESOURCE_MODULE_LOADED, 2050); /* there is room again */
    launch(2, 2000);
    assert_int_equal(spans[1].span.event_count, 1);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.event_count, 8);
}

static void test_what_happened_outside_of_calls_is_the_sessions(void **state)
{
    struct resource_record loaded = {.head = {sizeof loaded, RECORD_RESOURCE, 0, 6},
                                     .time_ns = BASE_NS + 500};
    begin();
    attach(5); /* all work belongs to a request: there is no session yet */
    call_spans_resource(correlate, &thread, &loaded);
    launch(1, 1000);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.event_count, 1);
    assert_int_equal(only("cudaLaunchKernel")->span.event_count, 0);
}

static void test_streams_and_threads_have_the_programs_names(void **state)
{
    union {
        struct call_record record;
        char bytes[sizeof(struct call_record) + 8];
    } sync = {.record = {.head = {sizeof sync, RECORD_CALL, CALL_RUNTIME,
                                  find_call(CALL_RUNTIME, "cudaStreamSynchronize")},
                         .start_ns = BASE_NS + 1000,
                         .end_ns = BASE_NS + 1100,
                         .correlation_id = 1,
                         .present = 1}};
    uint64_t handle = 0x7f0000;
    memcpy(sync.record.values, &handle, 8);
    begin();
    name_object(NAMED_THREAD, 42, "loader");
    name_object(NAMED_STREAM, handle, "copies");
    call_spans_add(correlate, &thread, &sync.record);
    kernel("work", 1, 2000, 2100);
    expect_text(only("cudaStreamSynchronize"), "thread.name", "loader");
    expect_text(only("cudaStreamSynchronize"), "cuda.stream.name", "copies");
    expect_text(only("work"), "cuda.stream.name", "copies");
    span_count = 0;
    sync.record.head.cbid = find_call(CALL_RUNTIME, "cudaStreamDestroy");
    call_spans_add(correlate, &thread, &sync.record);
    sync.record.head.cbid = find_call(CALL_RUNTIME, "cudaStreamSynchronize");
    call_spans_add(correlate, &thread, &sync.record);
    expect_text(only("cudaStreamDestroy"), "cuda.stream.name", "copies");
    assert_null(attr(only("cudaStreamSynchronize"), "cuda.stream.name"));
}

static void event_call(const char *function, int32_t result)
{
    union {
        struct call_record record;
        char bytes[sizeof(struct call_record) + 8];
    } call = {.record = {.head = {sizeof call, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, function)},
                         .start_ns = BASE_NS + 1000,
                         .end_ns = BASE_NS + 1100,
                         .result = result,
                         .present = 1}};
    uint64_t handle = 0x7e0000;
    memcpy(call.record.values, &handle, 8);
    span_count = 0;
    call_spans_add(correlate, &thread, &call.record);
}

static void test_events_have_the_programs_names(void **state)
{
    begin();
    event_call("cudaEventSynchronize", 0);
    assert_null(attr(only("cudaEventSynchronize"), "cuda.event.name"));
    name_object(NAMED_EVENT, 0x7e0000, "copied");
    event_call("cudaEventSynchronize", 0);
    expect_text(only("cudaEventSynchronize"), "cuda.event.name", "copied");
    event_call("cudaEventDestroy", 1); /* failed: the event still exists */
    event_call("cudaEventDestroy", 0);
    expect_text(only("cudaEventDestroy"), "cuda.event.name", "copied");
    event_call("cudaEventSynchronize", 0);
    assert_null(attr(only("cudaEventSynchronize"), "cuda.event.name"));
}

static void test_nothing_to_destroy(void **state)
{
    correlate_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ids_come_round),
        TEST(test_calls_that_never_get_a_record_are_given_up),
        TEST(test_calls_without_gpu_work_do_not_wait),
        TEST(test_a_failed_call_says_so),
        TEST(test_odd_calls),
        TEST(test_a_module_loaded_inside_a_call_is_its_event),
        TEST(test_what_happens_outside_a_call_is_the_session_s),
        TEST(test_many_events_inside_a_call),
        TEST(test_what_happened_outside_of_calls_is_the_sessions),
        TEST(test_streams_and_threads_have_the_programs_names),
        TEST(test_events_have_the_programs_names),
        TEST(test_nothing_to_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
