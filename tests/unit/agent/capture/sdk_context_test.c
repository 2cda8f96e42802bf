#include "agent/capture/context/publish.h"
#include "agent/capture/context/sdk_context.h"

#include "agent/capture/threads/threads.h"
#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct record {
    uint8_t trace_id[16], span_id[8], valid, flags;
    uint16_t attrs_bytes;
};

typedef void publish_fn(struct record *record);
static publish_fn *publish;

static struct record make(uint8_t number)
{
    struct record record = {.valid = 1, .flags = 1};
    memset(record.trace_id, number, 16);
    memset(record.span_id, number, 8);
    return record;
}

/* The first byte of the trace ID, whose bytes are equal; 0: none. */
static int current(void)
{
    struct trace_id_pair ids;
    uint8_t flags;
    sdk_context_read(&ids, &flags);
    return ids.trace_id[7] == ids.span_id[3] && flags == (ids.trace_id[7] != 0) ? ids.trace_id[7] : -1;
}

static void *older_thread(void *argument)
{
    pthread_barrier_t *barrier = argument;
    struct record record = make(33);
    intptr_t seen = 0;
    pthread_barrier_wait(barrier); /* the library is loaded now */
    pthread_barrier_wait(barrier);
    seen = current() == 0; /* nothing published yet */
    publish(&record);
    seen = seen && current() == 33;
    publish(NULL);
    return seen && current() == 0 ? argument : NULL;
}

static void *younger_thread(void *unused)
{
    (void)unused;
    struct record record = make(44);
    intptr_t seen = current() == 0;
    publish(&record);
    return seen && current() == 44 ? &publish : NULL;
}

static void test_a_private_library_is_found(void **state)
{
    pthread_barrier_t barrier;
    pthread_t older, younger;
    void *older_is_right, *younger_is_right;
    sdk_context_poll(publish_variable);
    assert_false(atomic_load(&sdk_context_is_there));
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&older, NULL, older_thread, &barrier), 0);
    pthread_barrier_wait(&barrier);
    void *library = dlopen(FAKE_SDK, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    publish = (publish_fn *)(uintptr_t)dlsym(library, "fake_sdk_publish");
    assert_non_null(publish);
    sdk_context_poll(publish_variable);
    assert_true(atomic_load(&sdk_context_is_there));
    pthread_barrier_wait(&barrier);
    pthread_join(older, &older_is_right);
    assert_int_equal(pthread_create(&younger, NULL, younger_thread, NULL), 0);
    pthread_join(younger, &younger_is_right);
    assert_non_null(older_is_right);
    assert_non_null(younger_is_right);
}

static void test_what_is_not_valid_is_none(void **state)
{
    struct record record = make(55);
    publish(&record);
    assert_int_equal(current(), 55);
    record.valid = 0; /* a write is in progress */
    assert_int_equal(current(), 0);
    record.valid = 2;
    assert_int_equal(current(), 0);
    record.valid = 1;
    memset(record.span_id, 0, 8);
    struct trace_id_pair ids;
    uint8_t flags;
    sdk_context_read(&ids, &flags);
    assert_int_equal(ids.trace_id[0], 0);
    publish(NULL);
    assert_int_equal(current(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_private_library_is_found),
        cmocka_unit_test(test_what_is_not_valid_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
