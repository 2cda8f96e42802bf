#include "analysis/hang/hang.h"

#include "cli/util/xalloc.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct hang_model all;

static struct hang_rank *add_rank(int64_t number, uint32_t seats)
{
    struct hang_rank *rank = hang_add(&all);
    rank->rank = number;
    rank->seats = xcalloc(seats + 1, sizeof *rank->seats);
    return rank;
}

static struct hang_seat *add_seat(struct hang_rank *rank, uint64_t id, uint32_t size, uint32_t number)
{
    struct hang_seat *seat = &rank->seats[rank->seat_count++];
    *seat = (struct hang_seat){.id = id, .size = size, .rank = number, .local_ranks = 1};
    seat->calls = xcalloc(LIVE_ENTRIES, sizeof *seat->calls);
    return seat;
}

static void add_call(struct hang_seat *seat, enum collective_operation operation, uint64_t ordinal,
                     uint8_t flags)
{
    seat->calls[seat->call_count++] =
        (struct live_call_view){.number = seat->enqueued++,
                                .ordinal = ordinal,
                                .peer = collective_is_p2p(operation) ? 1 : LIVE_NO_PEER,
                                .operation = (uint8_t)operation,
                                .flags = flags};
}

static struct hang_model *jobs;
static size_t job_count;

static void split(void)
{
    jobs = hang_split(&all, &job_count);
}

static int clean(void **state)
{
    for (size_t i = 0; i < job_count; i++)
        hang_deinit(&jobs[i]);
    free(jobs);
    jobs = NULL;
    job_count = 0;
    hang_deinit(&all);
    return 0;
}

static void test_ranks_of_a_communicator_are_a_job(void **state)
{
    for (int64_t i = 3; i >= 0; i--)
        add_seat(add_rank(i, 2), i % 2 ? 10 : 20, 2, (uint32_t)i / 2);
    add_seat(&all.ranks[0], 30, 2, 0); /* rank 3 */
    split();
    assert_int_equal(job_count, 2);
    assert_int_equal(jobs[0].rank_count, 2);
    assert_int_equal(jobs[0].ranks[0].rank, 1);
    assert_int_equal(jobs[0].ranks[1].rank, 3);
    assert_int_equal(jobs[0].communicator_count, 2);
    assert_int_equal(jobs[1].ranks[1].rank, 2);
    assert_int_equal(all.rank_count, 0);
}

static void test_a_rank_without_communicators_joins_the_only_job(void **state)
{
    add_rank(1, 0)->world_size = 2;
    struct hang_rank *rank = add_rank(0, 1);
    rank->world_size = 2;
    add_seat(rank, 10, 2, 0);
    add_rank(5, 0)->world_size = 9; /* of another job */
    split();
    assert_int_equal(job_count, 2);
    assert_int_equal(jobs[0].rank_count, 2);
    assert_int_equal(jobs[1].ranks[0].rank, 5);
}

static void test_places_do_not_count_sends(void **state)
{
    struct hang_seat *one = add_seat(add_rank(0, 1), 10, 2, 0);
    struct hang_seat *two = add_seat(add_rank(1, 1), 10, 2, 1);
    add_call(one, COLLECTIVE_SEND, 0, 0);
    add_call(one, COLLECTIVE_ALL_REDUCE, 7, LIVE_ENDED);
    add_call(one, COLLECTIVE_SEND, 1, 0);
    add_call(one, COLLECTIVE_BROADCAST, 2, 0);
    add_call(two, COLLECTIVE_ALL_REDUCE, 7, 0);
    add_call(two, COLLECTIVE_BROADCAST, 2, 0);
    add_call(two, COLLECTIVE_ALL_REDUCE, 8, 0);
    split();
    const struct hang_seat *first = &jobs[0].ranks[0].seats[0], *second = &jobs[0].ranks[1].seats[0];
    assert_true(first->is_aligned && second->is_aligned);
    assert_int_equal(first->collective_count, 2);
    assert_int_equal(first->window, 9);
    assert_int_equal(first->entered, 11);
    assert_int_equal(first->ended, 10);
    assert_int_equal(second->entered, 12);
    assert_int_equal(hang_call_at(second, 10)->operation, COLLECTIVE_BROADCAST);
    assert_null(hang_call_at(second, 12));
    assert_null(hang_call_at(second, 8));
    assert_int_equal(jobs[0].communicators[0].floor, 10);
    assert_int_equal(jobs[0].communicators[0].least, 11);
    assert_int_equal(jobs[0].communicators[0].most, 12);
}

static void test_places_are_unknown_if_operations_were_forgotten(void **state)
{
    struct hang_seat *one = add_seat(add_rank(0, 1), 10, 2, 0);
    struct hang_seat *two = add_seat(add_rank(1, 1), 10, 2, 1);
    one->enqueued = 100;
    add_call(one, COLLECTIVE_SEND, 0, 0);
    add_call(two, COLLECTIVE_ALL_REDUCE, 0, 0);
    split();
    assert_false(jobs[0].ranks[0].seats[0].is_aligned);
    assert_true(jobs[0].ranks[1].seats[0].is_aligned);
}

static void test_a_missing_call_makes_the_places_unknown(void **state)
{
    struct hang_seat *one = add_seat(add_rank(0, 1), 10, 2, 0);
    add_call(one, COLLECTIVE_ALL_REDUCE, 0, 0);
    one->enqueued++; /* that was being written */
    add_call(one, COLLECTIVE_ALL_REDUCE, 2, 0);
    split();
    assert_false(jobs[0].ranks[0].seats[0].is_aligned);
}

static void test_several_ranks_in_a_process_count_once(void **state)
{
    struct hang_seat *one = add_seat(add_rank(0, 1), 10, 4, HANG_NONE);
    one->local_ranks = 2;
    for (uint64_t i = 0; i < 5; i++)
        add_call(one, COLLECTIVE_ALL_REDUCE, i / 2, 0);
    one->completed = 2;
    split();
    assert_int_equal(jobs[0].ranks[0].seats[0].entered, 2);
    assert_int_equal(jobs[0].ranks[0].seats[0].ended, 1);
    assert_int_equal(jobs[0].ranks[0].seats[0].collective_count, 2);
}

static void test_values_of_hostile_writers_are_bounded(void **state)
{
    struct hang_rank *rank = add_rank(INT64_MAX, 1);
    rank->world_size = INT64_MAX;
    struct hang_seat *seat = add_seat(rank, 10, UINT32_MAX, 77);
    seat->local_ranks = 0;
    seat->enqueued = seat->completed = UINT64_MAX;
    split();
    assert_int_equal(jobs[0].ranks[0].rank, -1);
    assert_int_equal(jobs[0].ranks[0].world_size, -1);
    assert_int_equal(jobs[0].ranks[0].seats[0].rank, HANG_NONE);
    assert_int_equal(hang_expected(&jobs[0]), 1);
}

static struct hang_rank *add_ended(int64_t number, enum hang_where end, uint64_t looked_ns)
{
    struct hang_rank *rank = add_rank(number, 1);
    rank->where = HANG_SYNC;
    rank->watch = LIVE_STALLED;
    rank->end = end;
    rank->looked_ns = looked_ns;
    add_seat(rank, 10, 2, (uint32_t)number);
    return rank;
}

static void test_an_ended_process_is_dead_if_others_live(void **state)
{
    add_ended(0, HANG_DEAD, 1);
    add_ended(1, HANG_UNKNOWN, 1);
    split();
    assert_int_equal(jobs[0].ranks[0].where, HANG_DEAD);
    assert_int_equal(jobs[0].ranks[0].watch, LIVE_NOT_WATCHED);
    assert_int_equal(jobs[0].ranks[1].where, HANG_SYNC);
    assert_false(hang_has_ended(&jobs[0]));
}

static void test_of_an_ended_job_the_last_second_counts(void **state)
{
    add_ended(0, HANG_DEAD, 1);
    add_ended(1, HANG_DEAD, HANG_STILL_NS);
    add_ended(2, HANG_FINISHED, 2 * (uint64_t)HANG_STILL_NS);
    split();
    assert_int_equal(jobs[0].ranks[0].where, HANG_DEAD); /* long before the others */
    assert_int_equal(jobs[0].ranks[1].where, HANG_DEAD);
    assert_int_equal(jobs[0].ranks[2].where, HANG_SYNC);
    assert_int_equal(jobs[0].ranks[2].watch, LIVE_STALLED);
    assert_true(hang_has_ended(&jobs[0]));
}

static void test_ranks_of_other_users_are_other_jobs(void **state)
{
    add_seat(add_rank(0, 1), 10, 2, 0);
    struct hang_rank *other = add_rank(1, 1);
    other->user = 1000;
    add_seat(other, 10, 2, 1);
    split();
    assert_int_equal(job_count, 2);
}

static void test_what_a_live_state_shows_after_a_flush(void **state)
{
    static struct live_view view = {
        .pid = 9,
        .has_look = true,
        .exact_ns = 100,
        .work = LIVE_WORK_KERNEL,
        .communicator_count = 1,
        .cuda_call_count = 1,
        .cuda_calls = {{.thread = 12, .name = "cudaStreamSynchronize"}},
        .thread_line_count = 2,
        .line_count = 3,
        .lines = {{9, "main.py:1 main"}, {12, "/a b/train.py:7 T.step"}, {5, "loss.py:3 loss"}}};
    struct live_communicator_view *of = &view.communicators[0];
    of->id = 1;
    of->enqueued = of->call_count = of->local_ranks = 1;
    of->calls[0] = (struct live_call_view){
        .code = 5, .operation = COLLECTIVE_REDUCE, .flags = LIVE_RETURNED | LIVE_TRACED};
    const struct hang_rank *rank = hang_add_live(&all, "node", &view);
    assert_int_equal(rank->gpu, HANG_GPU_COMPUTE);
    assert_string_equal(rank->line, "/a b/train.py:7"); /* of the thread in the call */
    assert_string_equal(rank->function, "cudaStreamSynchronize");
    assert_true(rank->seats[0].is_exact);
    assert_string_equal(rank->seats[0].calls[0].line, "loss.py:3 loss");
    view.cuda_call_count = 0;
    view.exact_ns = 0;
    rank = hang_add_live(&all, "node", &view);
    assert_string_equal(rank->line, "main.py:1");
    assert_string_equal(rank->function, "main");
    assert_false(rank->seats[0].is_exact);
}

static void test_texts_are_kept_once(void **state)
{
    char text[] = "train.py:7";
    const char *one = hang_keep(&all, text);
    text[0] = 'b';
    const char *other = hang_keep(&all, text);
    text[0] = 't';
    assert_ptr_equal(one, hang_keep(&all, text));
    assert_string_equal(other, "brain.py:7");
    assert_null(hang_keep(&all, NULL));
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_ranks_of_a_communicator_are_a_job),
                                       TEST(test_a_rank_without_communicators_joins_the_only_job),
                                       TEST(test_places_do_not_count_sends),
                                       TEST(test_places_are_unknown_if_operations_were_forgotten),
                                       TEST(test_a_missing_call_makes_the_places_unknown),
                                       TEST(test_several_ranks_in_a_process_count_once),
                                       TEST(test_values_of_hostile_writers_are_bounded),
                                       TEST(test_an_ended_process_is_dead_if_others_live),
                                       TEST(test_of_an_ended_job_the_last_second_counts),
                                       TEST(test_ranks_of_other_users_are_other_jobs),
                                       TEST(test_what_a_live_state_shows_after_a_flush),
                                       TEST(test_texts_are_kept_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
