#include "analysis/hang/hang_analyze.h"

#include "cli/util/xalloc.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/* A job of four ranks, one communicator of all and one of each pair (0 1), (2 3). */
static struct hang_model all;
static struct hang_model *jobs;
static size_t job_count;
static struct hang_verdict verdict;
static uint64_t clock_ns;

#define WORLD 7
#define PAIRS 8 /* and 9 */

static int make(void **state)
{
    clock_ns = 0;
    for (uint32_t i = 0; i < 4; i++) {
        struct hang_rank *rank = hang_add(&all);
        rank->rank = i;
        rank->pid = 100 + (int32_t)i;
        rank->world_size = 4;
        rank->host = hang_keep(&all, "node1");
        rank->where = HANG_SYNC;
        rank->watch = LIVE_STALLED;
        rank->is_still = true;
        rank->seats = xcalloc(2, sizeof *rank->seats);
        rank->seat_count = 2;
        rank->seats[0] =
            (struct hang_seat){.id = WORLD, .size = 4, .rank = i, .local_ranks = 1, .is_exact = true};
        rank->seats[1] = (struct hang_seat){
            .id = PAIRS + i / 2, .size = 2, .rank = i % 2, .local_ranks = 1, .is_exact = true};
        for (int s = 0; s < 2; s++)
            rank->seats[s].calls = xcalloc(LIVE_ENTRIES, sizeof *rank->seats[s].calls);
    }
    return 0;
}

static int clean(void **state)
{
    hang_verdict_deinit(&verdict);
    for (size_t i = 0; i < job_count; i++)
        hang_deinit(&jobs[i]);
    free(jobs);
    hang_deinit(&all);
    return 0;
}

static struct live_call_view *call(uint32_t rank, int seat, enum collective_operation operation,
                                   uint64_t bytes)
{
    struct hang_seat *to = &all.ranks[rank].seats[seat];
    struct live_call_view *made = &to->calls[to->call_count++];
    *made = (struct live_call_view){.number = to->enqueued++,
                                    .enqueued_ns = ++clock_ns,
                                    .bytes = bytes,
                                    .thread = 1,
                                    .peer = LIVE_NO_PEER,
                                    .operation = (uint8_t)operation};
    made->ordinal = made->number;
    return made;
}

static void call_all(int seat, enum collective_operation operation, uint64_t bytes)
{
    for (uint32_t i = 0; i < 4; i++)
        call(i, seat, operation, bytes);
}

static void analyze(void)
{
    jobs = hang_split(&all, &job_count);
    assert_int_equal(job_count, 1);
    hang_analyze(&jobs[0], &verdict);
}

static void expect(enum hang_kind kind, bool is_sure, int rank)
{
    analyze();
    assert_int_equal(verdict.kind, kind);
    assert_int_equal(verdict.is_sure, is_sure);
    if (rank >= 0) {
        assert_int_equal(verdict.rank_count, 1);
        assert_int_equal(verdict.ranks[0], rank);
    }
}

static void expect_headline(const char *expected)
{
    struct text text = {0};
    hang_add_headline(&text, &jobs[0], &verdict);
    assert_string_equal(text.data, expected);
    text_deinit(&text);
}

static void test_nothing_stands_still(void **state)
{
    for (int i = 0; i < 4; i++)
        all.ranks[i].watch = LIVE_MOVING;
    call(0, 0, COLLECTIVE_ALL_REDUCE, 8);
    expect(HANG_NOTHING, false, -1);
    expect_headline("no rank stands still");
}

/* It can be a pause. */
static void test_no_stall_yet(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4096);
    all.ranks[2].seats[0].calls[0].bytes = 2048;
    for (int i = 0; i < 4; i++) {
        all.ranks[i].watch = LIVE_STILL;
        all.ranks[i].stalled_ns = 6000000000;
    }
    expect(HANG_SIZE, false, 2);
    assert_false(verdict.is_stall);
    struct text text = {0};
    hang_add_summary(&text, &jobs[0], &verdict, false);
    assert_memory_equal(text.data, "No movement for 6.00 s, 4 of 4 ranks known: rank 2", 50);
    text_deinit(&text);
}

static void test_a_size_of_the_minority_differs(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4096);
    call_all(0, COLLECTIVE_ALL_REDUCE, 4096);
    all.ranks[2].seats[0].calls[1].bytes = 2048;
    expect(HANG_SIZE, true, 2);
    assert_int_equal(verdict.place, 1);
    expect_headline(
        "rank 2 calls all_reduce of 2 KiB where the others make call 1 of communicator 7 (4 ranks), "
        "all_reduce of 4 KiB");
}

static void test_unknown_values_do_not_differ(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4096);
    all.ranks[2].seats[0].calls[0].bytes = UINT64_MAX;
    all.ranks[1].seats[0].calls[0].datatype = 3;
    expect(HANG_INSIDE, false, -1);
    assert_int_equal(verdict.rank_count, 4);
}

static void test_a_difference_that_has_ended_is_none(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4096);
    call_all(0, COLLECTIVE_BROADCAST, 1);
    all.ranks[2].seats[0].calls[0].bytes = 2048;
    for (int i = 0; i < 4; i++)
        all.ranks[i].seats[0].completed = 1;
    expect(HANG_INSIDE, false, -1);
    assert_int_equal(verdict.place, 1);
}

static void test_two_ranks_alone_do_not_say_who_is_wrong(void **state)
{
    all.ranks[2].seat_count = all.ranks[3].seat_count = 1;
    free(all.ranks[2].seats[1].calls);
    free(all.ranks[3].seats[1].calls);
    call(0, 1, COLLECTIVE_ALL_REDUCE, 4096);
    call(1, 1, COLLECTIVE_ALL_GATHER, 4096);
    expect(HANG_OPERATION, false, -1);
    assert_int_equal(verdict.rank_count, 2);
}

static void test_equal_communicators_say_who_is_wrong(void **state)
{
    call_all(1, COLLECTIVE_ALL_REDUCE, 4096);
    all.ranks[1].seats[1].calls[0].operation = COLLECTIVE_ALL_GATHER;
    expect(HANG_OPERATION, true, 1);
}

static void test_later_calls_show_a_skip(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 1);
    for (uint32_t i = 0; i < 4; i++)
        if (i != 3)
            call(i, 0, COLLECTIVE_BROADCAST, 2);
    call_all(0, COLLECTIVE_ALL_GATHER, 3);
    call_all(0, COLLECTIVE_REDUCE, 4);
    expect(HANG_SKIPPED, true, 3);
    expect_headline("rank 3 skipped call 1 of communicator 7 (4 ranks), broadcast of 2 B");
}

static void test_later_calls_show_one_too_many(void **state)
{
    call(1, 0, COLLECTIVE_BROADCAST, 2);
    call_all(0, COLLECTIVE_ALL_GATHER, 3);
    call_all(0, COLLECTIVE_REDUCE, 4);
    expect(HANG_EXTRA, true, 1);
}

/* Equal calls: only what was called in between shows the skip. */
static void test_calls_of_another_communicator_show_a_skip(void **state)
{
    for (int step = 0; step < 3; step++) {
        for (uint32_t i = 0; i < 4; i++) {
            call(i, 1, COLLECTIVE_ALL_REDUCE, 4096);
            if (step < 2 || i != 2)
                call(i, 1, COLLECTIVE_ALL_REDUCE, 4096);
        }
        call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    }
    for (int i = 0; i < 4; i++) {
        all.ranks[i].seats[0].completed = 2;
        all.ranks[i].seats[1].completed = i < 2 ? 6 : 5;
    }
    expect(HANG_SKIPPED, true, 2);
    assert_int_equal(jobs[0].communicators[verdict.communicator].id, PAIRS + 1);
    assert_int_equal(verdict.place, 5);
}

static void test_other_threads_make_a_skip_unsure(void **state)
{
    for (int step = 0; step < 3; step++) {
        for (uint32_t i = 0; i < 4; i++)
            for (int n = 0; n < (step < 2 || i != 2 ? 2 : 1); n++)
                call(i, 1, COLLECTIVE_ALL_REDUCE, 4096)->thread = 9;
        call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    }
    for (int i = 0; i < 4; i++) {
        all.ranks[i].seats[0].completed = 2;
        all.ranks[i].seats[1].completed = i < 2 ? 6 : 5;
    }
    expect(HANG_SKIPPED, false, 2);
}

/* As in reports: two calls of a rank may seem to be made at once. */
static void test_equal_times_show_no_order(void **state)
{
    for (int step = 0; step < 3; step++) {
        call_all(1, COLLECTIVE_ALL_REDUCE, 4096);
        for (uint32_t i = 0; i < 4; i++)
            if (step < 2 || i != 3)
                call(i, 0, COLLECTIVE_ALL_REDUCE, 4);
    }
    for (int i = 0; i < 4; i++) {
        all.ranks[i].seats[0].completed = 2;
        all.ranks[i].seats[1].completed = 3;
    }
    all.ranks[2].seats[1].calls[2].enqueued_ns = all.ranks[2].seats[0].calls[1].enqueued_ns;
    expect(HANG_BEHIND, false, 3);
}

static void wait_for(uint32_t missing)
{
    for (uint32_t i = 0; i < 4; i++)
        if (i != missing)
            call(i, 0, COLLECTIVE_ALL_REDUCE, 4);
}

static void test_a_host_elsewhere_is_the_cause(void **state)
{
    wait_for(1);
    all.ranks[1].where = HANG_STORAGE;
    all.ranks[1].function = hang_keep(&all, "read_batch");
    all.ranks[1].line = hang_keep(&all, "data.py:3");
    expect(HANG_ON_HOST, true, 1);
    expect_headline("rank 1 is waiting for storage, in read_batch at data.py:3; others wait for call 0 of "
                    "communicator 7 (4 ranks), all_reduce of 4 B");
}

static void test_a_host_that_moves_is_not_sure(void **state)
{
    wait_for(1);
    all.ranks[1].where = HANG_BUSY;
    all.ranks[1].is_still = false;
    expect(HANG_ON_HOST, false, 1);
}

static void test_an_unknown_place_is_not_sure(void **state)
{
    wait_for(1);
    all.ranks[1].where = HANG_UNKNOWN;
    expect(HANG_ON_HOST, false, 1);
}

static void test_death_comes_before_other_places(void **state)
{
    call(0, 0, COLLECTIVE_ALL_REDUCE, 4);
    call(3, 0, COLLECTIVE_ALL_REDUCE, 4);
    all.ranks[1].where = HANG_LOCK;
    all.ranks[2].where = HANG_DEAD;
    expect(HANG_DIED, true, 2);
    expect_headline("rank 2 is dead; others wait for call 0 of communicator 7 (4 ranks), all_reduce of 4 B");
}

static void test_a_rank_died_after_its_call(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    all.ranks[2].where = HANG_DEAD;
    expect(HANG_DIED, true, 2);
}

/* As it is written once a second, it may have made more calls than its state has. */
static void test_a_dead_rank_may_have_made_later_calls(void **state)
{
    for (int i = 0; i < 3; i++)
        wait_for(2);
    for (int i = 0; i < 4; i++)
        all.ranks[i].seats[0].is_exact = false;
    all.ranks[2].where = HANG_DEAD;
    expect(HANG_DIED, true, 2);
    expect_headline("rank 2 is dead; others wait for call 0 of communicator 7 (4 ranks), all_reduce of 4 B, "
                    "or for a later call");
}

/* Others know that calls have ended which its state does not have yet. */
static void test_a_dead_rank_made_later_calls(void **state)
{
    for (int i = 0; i < 4; i++)
        wait_for(2);
    for (int i = 0; i < 4; i++) {
        all.ranks[i].seats[0].is_exact = false;
        all.ranks[i].seats[0].completed = i == 2 ? 0 : 2;
    }
    all.ranks[2].where = HANG_DEAD;
    expect(HANG_DIED, true, 2);
    expect_headline("rank 2 is dead; others wait for call 2 of communicator 7 (4 ranks), all_reduce of 4 B, "
                    "or for a later call");
}

/* One of them knows which calls have ended. */
static void test_exact_ends_say_in_which_call_a_rank_died(void **state)
{
    for (int i = 0; i < 3; i++)
        wait_for(2);
    for (int i = 0; i < 4; i++)
        all.ranks[i].seats[0].is_exact = i == 1;
    all.ranks[1].seats[0].completed = 2;
    all.ranks[2].where = HANG_DEAD;
    expect(HANG_DIED, true, 2);
    assert_false(verdict.or_later);
}

static void forget_calls(uint32_t rank)
{
    for (uint32_t s = 0; s < all.ranks[rank].seat_count; s++)
        free(all.ranks[rank].seats[s].calls);
    all.ranks[rank].seat_count = 0;
}

/* Its state is older than its first call. */
static void rank_dies(uint64_t seconds_before)
{
    wait_for(2);
    forget_calls(2);
    all.ranks[2].where = all.ranks[2].end = HANG_DEAD;
    for (int i = 0; i < 4; i++) {
        all.ranks[i].stalled_ns = i == 2 ? 0 : 5000000000;
        all.ranks[i].looked_ns = 1000000000000 + (i == 2 ? 0 : 5000000000 + seconds_before * 1000000000);
        for (uint32_t s = 0; s < all.ranks[i].seat_count; s++)
            all.ranks[i].seats[s].is_exact = false;
    }
}

static void test_a_rank_died_before_its_first_call(void **state)
{
    rank_dies(59);
    expect(HANG_DIED, false, 2);
    expect_headline("rank 2 is dead; others wait for a call");
}

static void test_a_rank_of_an_earlier_start_died(void **state)
{
    rank_dies(61);
    expect(HANG_UNKNOWN_CAUSE, false, -1);
}

static void test_a_dead_rank_that_was_started_again(void **state)
{
    rank_dies(1);
    all.ranks[3].rank = 2;
    expect(HANG_UNKNOWN_CAUSE, false, -1);
}

static void test_ended_and_stopped_processes(void **state)
{
    wait_for(1);
    all.ranks[1].where = HANG_FINISHED;
    expect(HANG_ENDED, true, 1);
}

static void test_stopped_processes(void **state)
{
    wait_for(1);
    all.ranks[1].where = HANG_STOPPED;
    all.ranks[1].is_still = false; /* its watch is stopped, too */
    expect(HANG_HALTED, true, 1);
}

static void test_a_call_of_cuda_that_waits_for_others_is_not_the_cause(void **state)
{
    wait_for(1);
    all.ranks[0].where = HANG_CUDA;
    all.ranks[1].where = HANG_LOCK;
    expect(HANG_ON_HOST, true, 1);
}

static void test_a_call_of_cuda_that_does_not_return(void **state)
{
    wait_for(1);
    all.ranks[1].where = HANG_CUDA;
    all.ranks[1].function = hang_keep(&all, "cudaMalloc");
    expect(HANG_IN_CUDA, true, 1);
}

static void test_a_rank_that_waits_for_its_gpu_is_behind(void **state)
{
    wait_for(1);
    expect(HANG_BEHIND, false, 1);
}

static void test_a_kernel_that_does_not_end(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    all.ranks[3].gpu = HANG_GPU_COMPUTE;
    expect(HANG_KERNEL, true, 3);
}

static void test_the_network_is_sure_only_if_all_gpus_are_inside(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    for (int i = 0; i < 4; i++) {
        all.ranks[i].gpu = HANG_GPU_COLLECTIVE;
        all.ranks[i].seats[0].calls[0].datatype = 8;
    }
    expect(HANG_INSIDE, true, -1);
}

/* It may wait in a call before. */
static void test_it_is_not_sure_if_ends_of_one_are_not_exact(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    for (int i = 0; i < 4; i++) {
        all.ranks[i].gpu = HANG_GPU_COLLECTIVE;
        all.ranks[i].seats[0].calls[0].datatype = 8;
    }
    all.ranks[3].seats[0].is_exact = false;
    expect(HANG_INSIDE, false, -1);
}

static void test_it_is_not_sure_if_data_types_may_differ(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    for (int i = 0; i < 4; i++)
        all.ranks[i].gpu = HANG_GPU_COLLECTIVE;
    expect(HANG_INSIDE, false, -1);
}

static void test_a_silent_member_may_be_the_cause(void **state)
{
    wait_for(3);
    hang_rank_deinit(&all.ranks[3]);
    all.rank_count = 3;
    expect(HANG_NO_REPORT, false, -1);
    assert_int_equal(verdict.silent_count, 1);
    expect_headline(
        "all ranks that are known wait for call 0 of communicator 7 (4 ranks), all_reduce of 4 B; "
        "nothing is known of rank 3");
}

static void test_a_receive_waits_for_the_sender(void **state)
{
    call(0, 1, COLLECTIVE_RECV, 64)->peer = 1;
    call(2, 1, COLLECTIVE_RECV, 64)->peer = 1;
    call(3, 1, COLLECTIVE_SEND, 64)->peer = 0;
    all.ranks[2].seats[1].calls[0].flags = all.ranks[3].seats[1].calls[0].flags = LIVE_ENDED;
    all.ranks[1].where = HANG_LOADER;
    expect(HANG_ON_HOST, true, 1);
    expect_headline(
        "rank 1 is waiting for a worker process; others wait for call 0 of communicator 8 (2 ranks), "
        "recv of 64 B from its rank 1");
}

static void test_a_send_and_its_receive_do_not_end(void **state)
{
    call(0, 1, COLLECTIVE_SEND, 64)->peer = 1;
    call(1, 1, COLLECTIVE_RECV, 64)->peer = 0;
    expect(HANG_INSIDE, false, -1);
    assert_int_equal(jobs[0].communicators[verdict.communicator].id, PAIRS);
    assert_int_equal(verdict.call.operation, COLLECTIVE_SEND);
}

static void order(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        call(i, i == 1, COLLECTIVE_ALL_REDUCE, i == 1 ? 8 : 4);
        call(i, i != 1, COLLECTIVE_ALL_REDUCE, i == 1 ? 4 : 8);
    }
    for (int i = 2; i < 4; i++)
        all.ranks[i].seats[1].completed = 0;
}

static void test_another_order_is_a_circle(void **state)
{
    order();
    expect(HANG_ORDER, true, 1);
}

static void test_another_order_without_exact_ends_is_not_sure(void **state)
{
    order();
    for (int i = 0; i < 4; i++)
        all.ranks[i].seats[0].is_exact = all.ranks[i].seats[1].is_exact = false;
    expect(HANG_ORDER, false, 1);
}

static void test_nothing_differs(void **state)
{
    call_all(0, COLLECTIVE_ALL_REDUCE, 4);
    for (int i = 0; i < 4; i++)
        all.ranks[i].seats[0].is_exact = false;
    expect(HANG_UNKNOWN_CAUSE, false, -1);
    assert_int_equal(verdict.communicator, HANG_NONE);
}

static void test_the_report_fits_the_screen(void **state)
{
    char *printed = NULL;
    size_t size;
    struct hang_style style = {80, false};
    wait_for(1);
    all.ranks[1].where = HANG_LOCK;
    all.ranks[1].line = hang_keep(&all, "a\033[31m.py:3");
    all.ranks[1].stalled_ns = 42000000000;
    analyze();
    FILE *out = open_memstream(&printed, &size);
    hang_print(out, &jobs[0], &verdict, &style);
    fclose(out);
    assert_non_null(strstr(printed, "HANG for 42.0 s, 4 of 4 ranks known: rank 1 is waiting for a lock"));
    assert_non_null(strstr(printed, "This is sure.\nRank 1 is process 101 on node1.\n"));
    assert_non_null(strstr(printed, ">      1  1   "));
    assert_non_null(strstr(printed, "       3  0,2,3 "));
    assert_non_null(strstr(printed, "data types"));
    assert_null(strchr(printed, '\033'));
    free(printed);
}

static void test_json(void **state)
{
    char *printed = NULL;
    size_t size;
    wait_for(1);
    all.ranks[1].where = HANG_LOCK;
    analyze();
    FILE *out = open_memstream(&printed, &size);
    struct json_writer json = JSON_WRITER(out);
    hang_write(&json, &jobs[0], &verdict);
    fclose(out);
    assert_non_null(strstr(printed, "{\"kind\":\"host\",\"stall\":true,\"sure\":true,"));
    assert_non_null(
        strstr(printed, "\"culprits\":[{\"rank\":1,\"host\":\"node1\",\"pid\":101,\"where\":\"lock\"}]"));
    assert_non_null(strstr(printed, "\"call\":{\"communicator\":\"7\",\"size\":4,\"number\":0,\"operation\":"
                                    "\"all_reduce\",\"bytes\":4}"));
    free(printed);
}

static void test_many_ranks_are_shortened(void **state)
{
    struct text text = {0};
    struct hang_model model = {0};
    uint32_t ranks[40];
    for (uint32_t i = 0; i < 40; i++) {
        hang_add(&model)->rank = 2 * i;
        ranks[i] = i;
    }
    hang_add_ranks(&text, &model, ranks, 40);
    assert_string_equal(text.data, "ranks 0,2,4,6,8,10,12,14 and 32 more");
    text_clear(&text);
    model.ranks[0].rank = -1;
    model.ranks[0].pid = 77;
    hang_add_ranks(&text, &model, ranks, 1);
    assert_string_equal(text.data, "process 77");
    text_deinit(&text);
    hang_deinit(&model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_nothing_stands_still),
                                       TEST(test_no_stall_yet),
                                       TEST(test_a_size_of_the_minority_differs),
                                       TEST(test_unknown_values_do_not_differ),
                                       TEST(test_a_difference_that_has_ended_is_none),
                                       TEST(test_two_ranks_alone_do_not_say_who_is_wrong),
                                       TEST(test_equal_communicators_say_who_is_wrong),
                                       TEST(test_later_calls_show_a_skip),
                                       TEST(test_later_calls_show_one_too_many),
                                       TEST(test_calls_of_another_communicator_show_a_skip),
                                       TEST(test_other_threads_make_a_skip_unsure),
                                       TEST(test_equal_times_show_no_order),
                                       TEST(test_a_host_elsewhere_is_the_cause),
                                       TEST(test_a_host_that_moves_is_not_sure),
                                       TEST(test_an_unknown_place_is_not_sure),
                                       TEST(test_death_comes_before_other_places),
                                       TEST(test_a_rank_died_after_its_call),
                                       TEST(test_a_dead_rank_may_have_made_later_calls),
                                       TEST(test_a_dead_rank_made_later_calls),
                                       TEST(test_exact_ends_say_in_which_call_a_rank_died),
                                       TEST(test_a_rank_died_before_its_first_call),
                                       TEST(test_a_rank_of_an_earlier_start_died),
                                       TEST(test_a_dead_rank_that_was_started_again),
                                       TEST(test_ended_and_stopped_processes),
                                       TEST(test_stopped_processes),
                                       TEST(test_a_call_of_cuda_that_waits_for_others_is_not_the_cause),
                                       TEST(test_a_call_of_cuda_that_does_not_return),
                                       TEST(test_a_rank_that_waits_for_its_gpu_is_behind),
                                       TEST(test_a_kernel_that_does_not_end),
                                       TEST(test_the_network_is_sure_only_if_all_gpus_are_inside),
                                       TEST(test_it_is_not_sure_if_ends_of_one_are_not_exact),
                                       TEST(test_it_is_not_sure_if_data_types_may_differ),
                                       TEST(test_a_silent_member_may_be_the_cause),
                                       TEST(test_a_receive_waits_for_the_sender),
                                       TEST(test_a_send_and_its_receive_do_not_end),
                                       TEST(test_another_order_is_a_circle),
                                       TEST(test_another_order_without_exact_ends_is_not_sure),
                                       TEST(test_nothing_differs),
                                       TEST(test_the_report_fits_the_screen),
                                       TEST(test_json),
                                       cmocka_unit_test(test_many_ranks_are_shortened)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
