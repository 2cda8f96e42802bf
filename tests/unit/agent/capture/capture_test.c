/* Tests the order in which one round hands over boundaries of steps, calls and GPU records, and records that
 * the sink takes later. */
#include "agent/capture/capture.h"

#include "agent/abi/layouts.h"
#include "agent/capture/activity/buffers.h"
#include "agent/capture/activity/decode.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/context/steps.h"
#include "model/cuda/activities.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define BUFFER_BYTES 4096
#define EVENTS_MAX   16

/* The sink's calls, in order: "step 3", "call", "work". */
static char events[EVENTS_MAX][16];
static size_t event_count;
static int64_t step_inside_call; /* a step that begins while a ring is drained; 0: none */

static void see(const char *what)
{
    assert_true(event_count < EVENTS_MAX);
    snprintf(events[event_count++], sizeof events[0], "%s", what);
}

static void on_step(void *context, struct step_boundary *boundary)
{
    char text[16];
    (void)context;
    snprintf(text, sizeof text, "step %d", (int)boundary->number);
    see(text);
}

static void on_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    (void)context, (void)thread, (void)call;
    see("call");
    if (step_inside_call)
        steps_begin(step_inside_call, STEP_TRAIN, STEP_BY_API);
    step_inside_call = 0;
}

static void on_activity(void *context, const struct activity_record *activity)
{
    (void)context;
    assert_int_equal(activity->kind, ACTIVITY_KERNEL);
    see("work");
}

static unsigned refusals; /* of code that are still to come */

static bool on_code(void *context, const struct code_record *code)
{
    (void)context;
    assert_int_equal(code->id, 7);
    see(refusals ? "later" : "code");
    bool is_taken = refusals == 0;
    refusals -= !is_taken;
    return is_taken;
}

static const struct capture_sink sink = {
    .on_call = on_call, .on_activity = on_activity, .on_step = on_step, .on_code = on_code};

static void expect(size_t count, const char *const *wanted)
{
    assert_int_equal(event_count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(events[i], wanted[i]);
}
#define EXPECT(...)                                                                                          \
    expect(sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *), (const char *[]){__VA_ARGS__})

/* Records that have their kind only. */
static int setup_all(void **state)
{
    static struct cupti_field_layout field = {.fieldId = 0, .offset = 0, .size = 4, .alignment = 4};
    static struct cupti_record_layout layout = {
        .structSize = sizeof layout, .pEntries = &field, .numFields = 1, .recordSize = 8};
    struct cupti_record_layout *by_kind[ACTIVITY_KINDS_MAX] = {NULL};
    by_kind[ACTIVITY_KERNEL] = &layout;
    decode_learn_layouts(by_kind, ACTIVITY_KINDS_MAX);
    return buffers_init(BUFFER_BYTES, 4, 0) != STATUS_OK || threads_init(64 * 1024, 256 * 1024) != STATUS_OK;
}

static int setup(void **state)
{
    event_count = 0;
    return 0;
}

static void finish_buffer(void)
{
    uint32_t kind = ACTIVITY_KERNEL;
    uint8_t *data;
    size_t bytes, max_records;
    buffers_request(&data, &bytes, &max_records);
    assert_non_null(data);
    memcpy(data, &kind, sizeof kind);
    buffers_complete(NULL, 0, data, bytes, 8);
}

static void write_call(void)
{
    struct host_thread *self = thread_current();
    assert_non_null(self);
    struct call_record *call = ring_reserve(&self->ring, sizeof *call);
    assert_non_null(call);
    *call = (struct call_record){.head = {sizeof *call, RECORD_CALL, CALL_RUNTIME, 1}};
    ring_commit(&self->ring, sizeof *call);
}

/* Work without a call belongs to the step of its time, so the step must be known. */
static void test_steps_come_before_work_without_any_thread(void **state)
{
    finish_buffer();
    steps_begin(1, STEP_TRAIN, STEP_BY_API);
    capture_pump(&sink);
    EXPECT("step 1", "work");
}

static void test_steps_come_before_calls_and_work(void **state)
{
    finish_buffer();
    steps_begin(2, STEP_TRAIN, STEP_BY_API);
    write_call();
    capture_pump(&sink);
    EXPECT("step 2", "call", "work");
}

/* The last ring's head has been read when the step begins. */
static void test_a_step_that_begins_while_the_last_ring_is_drained(void **state)
{
    finish_buffer();
    write_call();
    step_inside_call = 3;
    capture_pump(&sink);
    EXPECT("call", "step 3", "work");
}

static void write_code(void)
{
    struct host_thread *self = thread_current();
    assert_non_null(self);
    struct code_record *code = ring_reserve(&self->ring, sizeof *code);
    assert_non_null(code);
    *code = (struct code_record){.head = {sizeof *code, RECORD_CODE, 0, 0}, .id = 7};
    ring_commit(&self->ring, sizeof *code);
}

static void *call_on_another_thread(void *unused)
{
    write_call();
    return unused;
}

/* Later records of its thread wait, others do not. */
static void test_code_that_the_sink_takes_later(void **state)
{
    pthread_t other;
    write_call();
    write_code();
    write_call();
    refusals = 2;
    assert_true(capture_pump(&sink) > 0);
    EXPECT("call", "later");
    assert_int_equal(pthread_create(&other, NULL, call_on_another_thread, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    finish_buffer();
    event_count = 0;
    assert_true(capture_pump(&sink) > 0);
    EXPECT("later", "call", "work");
    event_count = 0;
    capture_pump(&sink);
    EXPECT("code", "call");
    event_count = 0;
    assert_int_equal(capture_pump(&sink), 0);
    assert_int_equal(event_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_steps_come_before_work_without_any_thread, setup),
        cmocka_unit_test_setup(test_steps_come_before_calls_and_work, setup),
        cmocka_unit_test_setup(test_a_step_that_begins_while_the_last_ring_is_drained, setup),
        cmocka_unit_test_setup(test_code_that_the_sink_takes_later, setup)};
    return cmocka_run_group_tests(tests, setup_all, NULL);
}
