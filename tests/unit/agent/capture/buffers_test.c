#include "agent/capture/activity/buffers.h"

#include "base/accounting/counters.h"
#include "base/limits.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define BYTES ACTIVITY_BUFFER_BYTES_MIN
#define COUNT 70 /* more than one word of the bitmap */

static int setup_all(void **state)
{
    return buffers_init(BYTES, COUNT, 0) != STATUS_OK;
}

static uint8_t *request(void)
{
    uint8_t *data = (uint8_t *)1;
    size_t size = 1, records = 1;
    buffers_request(&data, &size, &records);
    assert_int_equal(records, 0);
    assert_int_equal(size, data ? BYTES : 0);
    return data;
}

static void complete(uint8_t *data, size_t valid)
{
    buffers_complete(NULL, 0, data, BYTES, valid);
}

static void return_next(const uint8_t *expected, uint32_t valid)
{
    struct activity_buffer *buffer = buffers_take_finished();
    assert_non_null(buffer);
    assert_ptr_equal(buffer->data, expected);
    assert_int_equal(buffer->valid, valid);
    buffers_give_back(buffer);
}

static void test_all_are_ready_and_zero(void **state)
{
    static const uint8_t zeros[BYTES];
    uint8_t *lent[COUNT];
    counters_reset();
    assert_int_equal(buffers_free(), COUNT);
    for (int i = 0; i < COUNT; i++) {
        lent[i] = request();
        assert_non_null(lent[i]);
        assert_int_equal((uintptr_t)lent[i] % CUPTI_RECORD_ALIGNMENT, 0);
        assert_memory_equal(lent[i], zeros, BYTES);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(lent[i], lent[j]);
    }
    assert_int_equal(buffers_free(), 0);
    assert_int_equal(counter_get(COUNTER_buffers_lent), COUNT);
    assert_int_equal(counter_get(COUNTER_buffers_refused), 0);
    assert_null(request());
    assert_int_equal(counter_get(COUNTER_buffers_refused), 1);
    assert_int_equal(counter_get(COUNTER_lost_no_buffer), 0); /* CUPTI counts the records */
    for (int i = 0; i < COUNT; i++)
        complete(lent[i], 0);
    for (int i = 0; i < COUNT; i++)
        return_next(lent[i], 0);
    assert_null(buffers_take_finished());
    assert_int_equal(buffers_free(), COUNT);
}

static void test_finished_buffers_come_oldest_first(void **state)
{
    uint8_t *a = request(), *b = request(), *c = request();
    complete(b, 10);
    complete(c, 20);
    return_next(b, 10);
    complete(a, 30); /* finished after c, so c is still first */
    return_next(c, 20);
    return_next(a, 30);
    assert_null(buffers_take_finished());
}

static void test_a_buffer_goes_back_as_zeros(void **state)
{
    static const uint8_t zeros[BYTES];
    uint8_t *data = request();
    memset(data, 0xff, 1000);
    complete(data, 1000);
    return_next(data, 1000);
    assert_ptr_equal(request(), data);
    assert_memory_equal(data, zeros, BYTES);
    complete(data, 0);
    return_next(data, 0);
}

static void test_what_cupti_says_is_not_believed_blindly(void **state)
{
    static uint8_t foreign[64];
    uint8_t *data = request(), *unlent = data + BYTES;
    complete(foreign, 64);
    complete(NULL, 0);
    complete(unlent, 64); /* one of our buffers, but not lent */
    assert_null(buffers_take_finished());
    complete(data, (size_t)BYTES * 2);
    complete(data, 8); /* a second return would make the list circular */
    return_next(data, BYTES);
    assert_null(buffers_take_finished());
    assert_int_equal(buffers_free(), COUNT);
}

static unsigned layouts_seen;

static void see_layouts(struct cupti_record_layout *const *layouts, size_t count)
{
    assert_null(layouts[0]);
    assert_int_equal(count, 2);
    layouts_seen++;
}

static void test_layouts_come_with_the_buffer(void **state)
{
    struct cupti_record_layout kind1, *layouts[2] = {NULL, &kind1};
    struct cupti_buffer_complete_info info = {
        .structSize = sizeof info, .ppRecordLayouts = layouts, .numRecordLayouts = 2};
    uint8_t *data;
    size_t size, records;
    for (int i = 0; i < 4; i++) {
        buffers_on_layouts = i == 0 ? NULL : see_layouts;
        buffers_request_v2(&data, &size, &records, NULL);
        assert_non_null(data);
        info.ppRecordLayouts = i == 2 ? NULL : layouts;
        buffers_complete_v2(data, BYTES, 16, i == 3 ? NULL : &info);
        assert_int_equal(layouts_seen, i == 0 ? 0 : 1);
        return_next(data, 16);
    }
}

#define PRODUCERS 8
#define ROUNDS    2000

static atomic_int producers_left;
static _Atomic uint64_t completed;

/* Every second buffer is completed by a neighboring thread, as CUPTI may do. */
static uint8_t *_Atomic handed_over;

static void *produce(void *number)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint8_t *data = request();
        if (!data) {
            sched_yield();
            continue;
        }
        uint64_t value = (uint64_t)(uintptr_t)number << 32 | i;
        for (int w = 0; w < 8; w++) {
            uint64_t seen;
            memcpy(&seen, data + 8 * w, 8);
            assert_int_equal(seen, 0);
            memcpy(data + 8 * w, &value, 8);
        }
        data = i % 2 ? atomic_exchange(&handed_over, data) : data;
        if (data) {
            complete(data, 64);
            atomic_fetch_add(&completed, 1);
        }
    }
    atomic_fetch_sub(&producers_left, 1);
    return NULL;
}

static uint64_t take_some(void)
{
    uint64_t taken = 0;
    struct activity_buffer *buffer;
    while ((buffer = buffers_take_finished()) != NULL) {
        uint64_t words[8];
        memcpy(words, buffer->data, sizeof words);
        assert_int_equal(buffer->valid, 64);
        assert_true(words[0] >> 32 >= 1 && words[0] >> 32 <= PRODUCERS);
        for (int w = 1; w < 8; w++)
            assert_int_equal(words[w], words[0]);
        buffers_give_back(buffer);
        taken++;
    }
    return taken;
}

static void test_threads_request_and_complete_while_one_takes(void **state)
{
    pthread_t threads[PRODUCERS];
    uint64_t taken = 0;
    atomic_store(&producers_left, PRODUCERS);
    for (uintptr_t i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, (void *)(i + 1)), 0);
    while (atomic_load(&producers_left))
        taken += take_some();
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    uint8_t *last = atomic_exchange(&handed_over, NULL);
    if (last) {
        complete(last, 64);
        completed++;
    }
    taken += take_some();
    assert_int_equal(taken, completed);
    assert_int_equal(buffers_free(), COUNT);
}

static _Atomic uint64_t late_bytes;

static void count_late(uint8_t *data, size_t valid)
{
    assert_non_null(data);
    atomic_fetch_add(&late_bytes, valid);
}

static void *complete_many(void *argument)
{
    uint8_t **lent = argument;
    for (int i = 0; i < COUNT / 2; i++)
        complete(lent[i], 64);
    return NULL;
}

/* A buffer that completes during buffers_end() is seen by exactly one of the two sides. Must be the last test
 * that takes buffers. */
static void test_no_buffer_falls_between_the_last_look_and_the_end(void **state)
{
    static uint8_t *lent[COUNT];
    uint64_t taken = 0;
    pthread_t thread;
    for (int i = 0; i < COUNT; i++)
        assert_non_null(lent[i] = request());
    assert_int_equal(pthread_create(&thread, NULL, complete_many, lent), 0);
    for (struct activity_buffer *buffer; taken < 5; taken += buffer != NULL)
        buffer = buffers_take_finished();
    buffers_end(count_late);
    pthread_join(thread, NULL);
    for (int i = COUNT / 2; i < COUNT; i++)
        complete(lent[i], 64);
    assert_int_equal(64 * taken + atomic_load(&late_bytes), 64 * COUNT);
    assert_null(buffers_take_finished());
}

/* Must be last: NULL is unsafe afterwards, and memory is allocated again. */
static void test_an_old_cupti_gets_a_buffer_that_nobody_reads(void **state)
{
    uint8_t *data;
    size_t size, records;
    assert_int_equal(buffers_init(BYTES, 1, 200), STATUS_OK);
    uint64_t lost = counter_get(COUNTER_lost_no_buffer);
    while (buffers_free())
        buffers_request(&data, &size, &records);
    buffers_request(&data, &size, &records);
    assert_non_null(data);
    assert_true(size >= 4096);
    assert_int_equal((uintptr_t)data % CUPTI_RECORD_ALIGNMENT, 0);
    assert_int_equal(counter_get(COUNTER_lost_no_buffer), lost); /* it was still empty */
    memset(data, 1, size);
    complete(data, 2001); /* not read; counted by size */
    assert_int_equal(counter_get(COUNTER_lost_no_buffer), lost + 11);
    assert_null(buffers_take_finished());
}

static void test_no_memory(void **state)
{
    assert_int_equal(buffers_init(UINT32_MAX, UINT32_MAX, 0), STATUS_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_ready_and_zero),
        cmocka_unit_test(test_finished_buffers_come_oldest_first),
        cmocka_unit_test(test_a_buffer_goes_back_as_zeros),
        cmocka_unit_test(test_what_cupti_says_is_not_believed_blindly),
        cmocka_unit_test(test_layouts_come_with_the_buffer),
        cmocka_unit_test(test_threads_request_and_complete_while_one_takes),
        cmocka_unit_test(test_no_buffer_falls_between_the_last_look_and_the_end),
        cmocka_unit_test(test_an_old_cupti_gets_a_buffer_that_nobody_reads),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup_all, NULL);
}
