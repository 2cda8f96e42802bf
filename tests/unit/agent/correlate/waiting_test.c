#include "agent/correlate/join/waiting.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MAX 64

struct sweep {
    unsigned count;
    uint32_t ids[SEEN_MAX];
    uint64_t since[SEEN_MAX];
    uint32_t done_modulo; /* removes records whose ID is a multiple; 0: none */
};

static struct activity_record make(uint32_t id)
{
    struct activity_record record = {.correlation_id = id, .kind = 10, .name = "name", .start_ns = id * 10};
    record.present = 1ull << 63 | 1ull << (id % 63) | 1;
    record.values[63] = id * 100;
    record.values[id % 63] = id * 200;
    record.values[0] = 10;
    return record;
}

static bool see(void *context, const void *entry, uint64_t since_ns)
{
    struct activity_record unpacked, *record = &unpacked;
    waiting_unpack(entry, record);
    struct sweep *sweep = context;
    uint32_t id = record->correlation_id;
    struct activity_record want = make(id);
    assert_true(sweep->count < SEEN_MAX);
    assert_int_equal(record->present, want.present);
    assert_int_equal(record->start_ns, want.start_ns);
    assert_int_equal(record->kind, 10);
    assert_string_equal(record->name, "name");
    for (int i = 0; i < 64; i++)
        if (want.present >> i & 1)
            assert_int_equal(record->values[i], want.values[i]);
    sweep->ids[sweep->count] = id;
    sweep->since[sweep->count++] = since_ns;
    return sweep->done_modulo && id % sweep->done_modulo == 0;
}

static bool push(struct entry_queue *queue, uint32_t id, uint64_t now_ns)
{
    struct activity_record record = make(id);
    return waiting_push(queue, &record, now_ns);
}

static void test_records_wait_in_order(void **state)
{
    struct entry_queue *queue;
    struct sweep sweep = {.done_modulo = 3};
    assert_int_equal(entry_queue_create(64 * 1024, &queue), STATUS_OK);
    assert_int_equal(entry_queue_count(queue), 0);
    for (uint32_t id = 1; id <= 10; id++)
        assert_true(push(queue, id, 1000 + id));
    assert_int_not_equal(entry_queue_count(queue), 0);
    entry_queue_sweep(queue, see, &sweep);
    assert_int_equal(sweep.count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(sweep.ids[i], i + 1);
        assert_int_equal(sweep.since[i], 1001 + i);
    }
    sweep = (struct sweep){.done_modulo = 1};
    assert_true(push(queue, 11, 2000));
    entry_queue_sweep(queue, see, &sweep);
    static const uint32_t left[] = {1, 2, 4, 5, 7, 8, 10, 11};
    assert_int_equal(sweep.count, 8);
    assert_memory_equal(sweep.ids, left, sizeof left);
    assert_int_equal(entry_queue_count(queue), 0);
    sweep = (struct sweep){0};
    entry_queue_sweep(queue, see, &sweep);
    assert_int_equal(sweep.count, 0);
    free(queue);
}

static void test_a_full_queue_refuses(void **state)
{
    struct entry_queue *queue;
    struct sweep sweep = {.done_modulo = 2};
    uint32_t count = 0;
    assert_int_equal(entry_queue_create(2048, &queue), STATUS_OK);
    while (push(queue, count + 1, 0))
        count++;
    assert_in_range(count, 8, SEEN_MAX);
    assert_false(push(queue, 1, 0));
    entry_queue_sweep(queue, see, &sweep);
    assert_int_equal(sweep.count, count);
    assert_true(push(queue, 50, 0)); /* there is room again */
    sweep = (struct sweep){.done_modulo = 1};
    entry_queue_sweep(queue, see, &sweep);
    assert_int_equal(sweep.ids[sweep.count - 1], 50);
    free(queue);
}

static void test_a_record_without_and_with_all_fields(void **state)
{
    struct entry_queue *queue;
    struct activity_record record = {.correlation_id = 1};
    assert_int_equal(entry_queue_create(sizeof record + 64, &queue), STATUS_OK);
    record.present = UINT64_MAX;
    assert_true(waiting_push(queue, &record, 0));
    assert_false(waiting_push(queue, &record, 0));
    free(queue);
    assert_int_equal(entry_queue_create(16, &queue), STATUS_OK); /* too small for any */
    record.present = 0;
    assert_false(waiting_push(queue, &record, 0));
    assert_int_equal(entry_queue_count(queue), 0);
    free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_wait_in_order),
        cmocka_unit_test(test_a_full_queue_refuses),
        cmocka_unit_test(test_a_record_without_and_with_all_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
