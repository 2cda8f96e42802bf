#include "base/buffers/ring.h"

#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE 1

struct record {
    uint32_t bytes;
    uint32_t type;
    uint64_t words[];
};

static struct ring ring;
static uint8_t *memory;

static int setup(void **state)
{
    memory = aligned_alloc(64, RING_BYTES_MIN);
    memset(memory, 0xa5, RING_BYTES_MIN);
    ring_init(&ring, memory, RING_BYTES_MIN);
    return 0;
}

static int teardown(void **state)
{
    free(memory);
    return 0;
}

/* A record of `bytes` in which each word is `value`. */
static bool put(uint32_t bytes, uint64_t value)
{
    struct record *record = ring_reserve(&ring, bytes);
    if (!record)
        return false;
    *record = (struct record){bytes, TYPE};
    for (uint32_t i = 0; i < bytes / 8 - 1; i++)
        record->words[i] = value;
    ring_commit(&ring, bytes);
    return true;
}

static const struct record *peek(void)
{
    return ring_peek(&ring, ring_published(&ring));
}

static void expect_next(uint32_t bytes, uint64_t value)
{
    const struct record *record = peek();
    assert_non_null(record);
    assert_int_equal(record->bytes, bytes);
    for (uint32_t i = 0; i < bytes / 8 - 1; i++)
        assert_int_equal(record->words[i], value);
    ring_release(&ring);
}

static void test_an_empty_ring_gives_nothing(void **state)
{
    assert_null(peek());
    assert_int_equal(ring_used(&ring), 0);
}

static void test_records_come_in_order(void **state)
{
    assert_true(put(40, 1));
    assert_true(put(64, 2));
    assert_int_equal(ring_used(&ring), 104);
    expect_next(40, 1);
    expect_next(64, 2);
    assert_null(peek());
    assert_int_equal(ring_used(&ring), 0);
}

static void test_nothing_is_seen_before_the_commit(void **state)
{
    struct record *record = ring_reserve(&ring, 64);
    *record = (struct record){64, TYPE};
    assert_null(peek());
    /* A second reservation replaces the first. */
    assert_ptr_equal(ring_reserve(&ring, 40), record);
    assert_true(put(40, 7));
    expect_next(40, 7);
    assert_null(peek());
}

static void test_a_commit_may_be_shorter_than_the_reservation(void **state)
{
    struct record *record = ring_reserve(&ring, CALL_RECORD_BYTES);
    *record = (struct record){16, TYPE};
    record->words[0] = 3;
    ring_commit(&ring, 16);
    assert_true(put(24, 4));
    expect_next(16, 3);
    expect_next(24, 4);
}

static void test_a_full_ring_refuses_until_room_is_given_back(void **state)
{
    uint64_t count = 0;
    while (put(512, count))
        count++;
    assert_int_equal(count, RING_BYTES_MIN / 512);
    assert_false(put(8, 0));
    expect_next(512, 0);
    assert_true(put(512, count));
    assert_false(put(8, 0));
    for (uint64_t i = 1; i <= count; i++)
        expect_next(512, i);
    assert_null(peek());
}

static void test_a_record_never_crosses_the_end(void **state)
{
    for (int i = 0; i < 7; i++)
        assert_true(put(1024, 1));
    assert_true(put(1016, 2)); /* 8 bytes are left: the smallest gap */
    for (int i = 0; i < 4; i++)
        expect_next(1024, 1);
    assert_true(put(1024, 3));
    assert_int_equal(ring.reserved, RING_BYTES_MIN);
    for (int i = 0; i < 3; i++)
        expect_next(1024, 1);
    expect_next(1016, 2);
    expect_next(1024, 3);
    assert_null(peek());
    assert_int_equal(ring_used(&ring), 0);
}

static void test_the_gap_counts_as_used(void **state)
{
    for (int i = 0; i < 15; i++)
        assert_true(put(520, 1));
    expect_next(520, 1); /* 392 at the end, 520 at the beginning: 528 fit in neither */
    assert_false(put(528, 2));
    assert_true(put(520, 2)); /* fills the beginning */
    assert_false(put(8, 2));
    for (int i = 0; i < 14; i++)
        expect_next(520, 1);
    expect_next(520, 2);
    assert_null(peek());
}

static void test_peek_stops_at_its_bound(void **state)
{
    assert_true(put(40, 1));
    uint64_t end = ring_published(&ring);
    assert_true(put(40, 2));
    assert_non_null(ring_peek(&ring, end));
    ring_release(&ring);
    assert_null(ring_peek(&ring, end));
    expect_next(40, 2);
}

/* --- one producer, one consumer
 * ------------------------------------------------------------------------------------ */

#define TORTURE_RECORDS 300000

static uint32_t next_bytes(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return 16 + (*state >> 20) % 128 * 8;
}

static void *produce(void *unused)
{
    uint32_t random = 1;
    for (uint64_t i = 0; i < TORTURE_RECORDS; i++) {
        uint32_t bytes = next_bytes(&random);
        while (!put(bytes, i))
            sched_yield();
    }
    return unused;
}

static void test_producer_and_consumer_agree(void **state)
{
    pthread_t producer;
    uint32_t random = 1, wrong = 0;
    assert_int_equal(pthread_create(&producer, NULL, produce, NULL), 0);
    for (uint64_t i = 0; i < TORTURE_RECORDS; i++) {
        const struct record *record;
        while (!(record = peek()))
            sched_yield();
        wrong += record->bytes != next_bytes(&random) || record->type != TYPE;
        wrong += ((uintptr_t)record & 7) || (const uint8_t *)record + record->bytes > memory + RING_BYTES_MIN;
        for (uint32_t w = 0; w < record->bytes / 8 - 1; w++)
            wrong += record->words[w] != i;
        assert_int_equal(wrong, 0);
        ring_release(&ring);
    }
    pthread_join(producer, NULL);
    assert_null(peek());
    assert_int_equal(ring_used(&ring), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_empty_ring_gives_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_come_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_seen_before_the_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_commit_may_be_shorter_than_the_reservation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_ring_refuses_until_room_is_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_never_crosses_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_gap_counts_as_used, setup, teardown),
        cmocka_unit_test_setup_teardown(test_peek_stops_at_its_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(test_producer_and_consumer_agree, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
