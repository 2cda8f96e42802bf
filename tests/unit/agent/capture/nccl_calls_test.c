#include "agent/capture/nccl/nccl_calls.h"

#include "model/span.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct range_attr attrs[NCCL_CALL_ATTRS_MAX];
static uint32_t attr_count;

static struct nccl_values values_of(uint64_t communicator)
{
    struct nccl_values values = {.present = 1u << NCCL_COMMUNICATOR};
    values.value[NCCL_COMMUNICATOR] = communicator;
    return values;
}

static void set(struct nccl_values *values, enum nccl_value which, uint64_t value)
{
    values->present |= 1u << which;
    values->value[which] = value;
}

static void call_with(const char *name, const struct nccl_values *values)
{
    attr_count = nccl_note_call(name, (uint32_t)strlen(name), values, attrs, NULL);
}

static void call(const char *name, uint64_t communicator)
{
    struct nccl_values values = values_of(communicator);
    call_with(name, &values);
}

/* -1: none. */
static int64_t attr(const char *key)
{
    for (uint32_t i = 0; i < attr_count; i++)
        if (strlen(key) == attrs[i].key_bytes && memcmp(key, attrs[i].key, attrs[i].key_bytes) == 0)
            return attrs[i].i;
    return -1;
}

static void init(uint64_t communicator, uint32_t ranks, uint32_t rank)
{
    struct nccl_values values = values_of(communicator);
    set(&values, NCCL_RANKS, ranks);
    set(&values, NCCL_RANK, rank);
    nccl_note_values(&values);
}

static void test_counts_by_communicator_and_operation(void **state)
{
    for (int64_t i = 0; i < 3; i++) {
        call("ncclAllReduce", 100);
        assert_int_equal(attr("collective.ordinal"), i);
        assert_int_equal(attr_count, 1); /* ranks and rank are unknown */
    }
    call("ncclAllGather", 100);
    assert_int_equal(attr("collective.ordinal"), 0);
    call("ncclAllReduce", 101);
    assert_int_equal(attr("collective.ordinal"), 0);
    call("ncclAllReduce", 100);
    assert_int_equal(attr("collective.ordinal"), 3);
}

static void test_send_and_recv_count_by_peer(void **state)
{
    struct nccl_values values = values_of(200);
    set(&values, NCCL_PEER, 1);
    call_with("ncclSend", &values);
    assert_int_equal(attr("collective.ordinal"), 0);
    call_with("ncclRecv", &values);
    assert_int_equal(attr("collective.ordinal"), 0);
    call_with("ncclSend", &values);
    assert_int_equal(attr("collective.ordinal"), 1);
    set(&values, NCCL_PEER, 2);
    call_with("ncclSend", &values);
    assert_int_equal(attr("collective.ordinal"), 0);
}

static void test_other_functions_are_not_counted(void **state)
{
    struct nccl_values nothing = {.present = 0};
    call("ncclGroupStart", 300);
    assert_int_equal(attr_count, 0);
    call("AllReduce", 300);
    assert_int_equal(attr_count, 0);
    call("nccl", 300);
    assert_int_equal(attr_count, 0);
    call("ncclAllReduce", 0); /* without a communicator the call fails */
    assert_int_equal(attr_count, 0);
    call_with("ncclAllReduce", &nothing); /* before NCCL 2.25 */
    assert_int_equal(attr_count, 0);
}

static void test_knows_ranks_and_rank(void **state)
{
    init(400, 16, 5);
    call("ncclAllReduce", 400);
    assert_int_equal(attr("collective.ranks"), 16);
    assert_int_equal(attr("collective.rank"), 5);
    init(400, 16, 5); /* ncclCommDestroy has the same payload */
    call("ncclAllReduce", 400);
    assert_int_equal(attr("collective.ordinal"), 1);
    assert_int_equal(attr("collective.rank"), 5);
}

static void test_payloads_of_a_parent_are_no_ranks(void **state)
{
    struct nccl_values values = values_of(500);
    set(&values, NCCL_RANKS, 16);
    set(&values, NCCL_RANK, 5);
    set(&values, NCCL_OF_PARENT, 400);
    nccl_note_values(&values);
    call("ncclAllReduce", 500);
    assert_int_equal(attr("collective.ranks"), -1);
}

static void test_several_ranks_in_a_process_share_ordinals(void **state)
{
    struct nccl_values values = values_of(600);
    set(&values, NCCL_DEVICES, 2);
    nccl_note_values(&values); /* ncclCommInitAll */
    init(601, 4, 2);
    init(601, 4, 3);
    for (uint64_t communicator = 600; communicator <= 601; communicator++) {
        for (int64_t i = 0; i < 6; i++) {
            call("ncclAllReduce", communicator);
            assert_int_equal(attr("collective.ordinal"), i / 2);
            assert_int_equal(attr("collective.ranks"), communicator == 600 ? 2 : 4);
            assert_int_equal(attr("collective.rank"), -1); /* one of two */
        }
    }
}

static uint64_t hooked[3];

static void hook(uint64_t communicator, uint32_t ranks, uint32_t rank)
{
    hooked[0] = communicator;
    hooked[1] = ranks;
    hooked[2] = rank;
}

static void test_tells_of_communicators(void **state)
{
    nccl_set_communicator_hook(hook);
    nccl_note_communicator(700, 8, 7);
    assert_int_equal(hooked[0], 700);
    assert_int_equal(hooked[1], 8);
    assert_int_equal(hooked[2], 7);
    nccl_set_communicator_hook(NULL);
    nccl_note_communicator(701, 8, 7);
    assert_int_equal(hooked[0], 700);
}

static struct nccl_collective told;
static unsigned told_count;

static void on_collective(const struct nccl_collective *collective)
{
    told = *collective;
    told_count++;
}

static void test_tells_of_collectives(void **state)
{
    struct nccl_values values = values_of(800);
    nccl_set_collective_hook(on_collective);
    call_with("ncclAllReduce", &values); /* bytes unknown */
    assert_int_equal(told_count, 0);
    set(&values, NCCL_BYTES, 4096);
    set(&values, NCCL_PEER, 1);
    call_with("ncclSend", &values);
    call_with("ncclGroupStart", &values);
    assert_int_equal(told_count, 0);
    call_with("ncclReduceScatter", &values);
    assert_int_equal(told_count, 1);
    assert_int_equal(told.communicator, 800);
    assert_int_equal(told.operation, COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(told.bytes, 4096);
    assert_int_equal(told.ranks, 0); /* unknown */
    assert_false(told.is_shared);
    init(800, 8, 5);
    call_with("ncclReduceScatter", &values);
    assert_int_equal(told.ranks, 8);
    assert_false(told.is_shared);
    init(800, 8, 6);
    call_with("ncclReduceScatter", &values);
    assert_true(told.is_shared);
    nccl_set_collective_hook(NULL);
    call_with("ncclReduceScatter", &values);
    assert_int_equal(told_count, 3);
}

static void test_entries_have_meanings(void **state)
{
    assert_int_equal(nccl_value_of("NCCL communicator ID"), NCCL_COMMUNICATOR);
    assert_int_equal(nccl_value_of("No. of ranks"), NCCL_RANKS);
    assert_int_equal(nccl_value_of("Rank"), NCCL_RANK);
    assert_int_equal(nccl_value_of("No. of devices"), NCCL_DEVICES);
    assert_int_equal(nccl_value_of("Peer rank"), NCCL_PEER);
    assert_int_equal(nccl_value_of("Parent NCCL communicator ID"), NCCL_OF_PARENT);
    assert_int_equal(nccl_value_of("num_exclude"), NCCL_OF_PARENT);
    assert_int_equal(nccl_value_of("Message size [bytes]"), NCCL_BYTES);
    assert_int_equal(nccl_value_of(NULL), NCCL_NOTHING);
}

#define CALLS 20000

static void *call_often(void *unused)
{
    struct range_attr own[NCCL_CALL_ATTRS_MAX];
    for (int i = 0; i < CALLS; i++) {
        struct nccl_values values = values_of(1000 + (uint64_t)i % 500);
        assert_int_equal(nccl_note_call("ncclReduce", 10, &values, own, NULL), 1);
    }
    return unused;
}

static void test_threads_lose_no_count(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t i = 0; i < 500; i++) {
        call("ncclReduce", 1000 + i);
        assert_int_equal(attr("collective.ordinal"), 4 * CALLS / 500);
    }
}

/* The last test: it uses up the tables. */
static void test_full_tables_give_no_wrong_numbers(void **state)
{
    uint32_t without = 0;
    for (uint64_t i = 0; i < NCCL_COUNTS_MAX + 1000; i++) {
        init(100000 + i, 2, 1);
        call("ncclBroadcast", 100000 + i);
        int64_t ordinal = attr("collective.ordinal");
        assert_true(ordinal == 0 || ordinal == -1);
        without += ordinal == -1;
    }
    assert_true(without >= 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_by_communicator_and_operation),
        cmocka_unit_test(test_send_and_recv_count_by_peer),
        cmocka_unit_test(test_other_functions_are_not_counted),
        cmocka_unit_test(test_knows_ranks_and_rank),
        cmocka_unit_test(test_payloads_of_a_parent_are_no_ranks),
        cmocka_unit_test(test_several_ranks_in_a_process_share_ordinals),
        cmocka_unit_test(test_tells_of_communicators),
        cmocka_unit_test(test_tells_of_collectives),
        cmocka_unit_test(test_entries_have_meanings),
        cmocka_unit_test(test_threads_lose_no_count),
        cmocka_unit_test(test_full_tables_give_no_wrong_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
