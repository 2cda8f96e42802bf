/* How late a rank is: its own time, without what it spends for others, and who is a straggler. Times in the
 * tests are us. */
#include "analysis/ranks/ranks.h"

#include "support/test.h"

#include <stdbool.h>
#include <string.h>

#define RANKS 8
#define LATE  3
#define US    1000ull

static struct ranks *ranks;
static struct ranks_report report;

static int setup(void **state)
{
    ranks = ranks_create(NULL);
    for (unsigned i = 0; i < RANKS; i++)
        ranks_add(ranks, i, "a", NULL);
    return 0;
}

static int teardown(void **state)
{
    ranks_report_deinit(&report);
    ranks_destroy(ranks);
    return 0;
}

static void begin_step(uint64_t step, uint64_t start_us)
{
    for (unsigned i = 0; i < RANKS; i++)
        ranks_add_step(
            ranks, i,
            &(struct ranks_step){
                .number = step, .start_ns = start_us * US, .end_ns = start_us * US + 1, .has_backlog = true});
}

static void compute(uint32_t rank, uint64_t step, uint64_t start_us, uint64_t end_us)
{
    ranks_add_work(ranks, rank, step, RANKS_COMPUTE, start_us * US, end_us * US);
}

static void reduce(uint32_t rank, uint64_t step, uint64_t key, uint64_t start_us, uint64_t end_us)
{
    ranks_add_collective(ranks, rank,
                         &(struct ranks_collective){.key = step * 100 + key,
                                                    .communicator = 5,
                                                    .operation = RANKS_ALL_REDUCE,
                                                    .participants = RANKS,
                                                    .bytes = 1 << 20,
                                                    .step = step,
                                                    .start_ns = start_us * US,
                                                    .end_ns = end_us * US});
}

/* How much longer the late rank's own time is than that of each other rank. */
static void expect_delay(uint64_t delay_us)
{
    ranks_finish(ranks, &report);
    for (size_t i = 0; i < RANKS; i++)
        if (i != LATE)
            assert_int_equal((report.steps[LATE].own_ns - report.steps[i].own_ns) / US, delay_us);
}

/* The transfer of 140 us ends 70 us after the others' compute. So 70 of 200 us are no delay: the others are
 * blocked, too. */
static void run_hidden(uint64_t kernel_us, uint64_t idle_us)
{
    begin_step(1, 1000);
    for (uint32_t i = 0; i < RANKS; i++) {
        uint64_t end = 1170 + (i == LATE ? kernel_us : 0), ready = end + (i == LATE ? idle_us : 0);
        compute(i, 1, 1000, 1100);
        reduce(i, 1, 1, 1100, 1240);
        compute(i, 1, 1100, end);
        reduce(i, 1, 2, ready > 1240 ? ready : 1240, 1447);
        compute(i, 1, 1447, 1500);
    }
    expect_delay(130);
}

static void test_a_longer_kernel_beside_a_transfer(void **state)
{
    run_hidden(200, 0);
}

static void test_a_late_launch_beside_a_transfer(void **state)
{
    run_hidden(0, 200);
}

/* The others have no work left when the late rank arrives, so the transfers that it hides block them. */
static void test_collectives_queue_behind_a_late_one(void **state)
{
    begin_step(1, 1000);
    for (uint32_t i = 0; i < RANKS; i++) {
        uint64_t ready = i == LATE ? 1600 : 1100;
        compute(i, 1, 1000, ready);
        reduce(i, 1, 1, ready, 1740);
        compute(i, 1, ready, ready + 300);
        reduce(i, 1, 2, 1740, 1880);
        reduce(i, 1, 3, i == LATE ? 1900 : 1880, 1977);
        compute(i, 1, 1977, 2000);
    }
    expect_delay(500);
}

/* Ranks differ by up to 300 us in each step, and the late one is 150 us above that in each second step: too
 * little for single steps. */
static void run_many(uint64_t late_us)
{
    unsigned random = 1;
    for (uint64_t step = 1; step <= 40; step++) {
        uint64_t start = step * 100000, ready[RANKS], last = 0;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            random = random * 1103515245 + 12345;
            ready[i] = start + 20000 + random / 65536 % 300 + (i == LATE && step % 2 ? late_us : 0);
            last = ready[i] > last ? ready[i] : last;
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            compute(i, step, start, ready[i]);
            reduce(i, step, 1, ready[i], last + 100);
        }
    }
    ranks_finish(ranks, &report);
}

/* The transfer takes a fifth of the step, and the rank is late by a tenth. */
static void test_a_late_rank_comes_before_exposed_communication(void **state)
{
    for (uint64_t step = 1; step <= 20; step++) {
        uint64_t start = step * 100000;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t ready = start + (i == LATE ? 8000 : 7000);
            compute(i, step, start, ready);
            reduce(i, step, 1, ready, start + 10000);
        }
    }
    ranks_finish(ranks, &report);
    assert_int_equal(report.finding_count, 2);
    assert_int_equal(report.findings[0].kind, RANKS_STRAGGLER);
    assert_int_equal(report.findings[1].kind, RANKS_EXPOSED);
    assert_true(report.findings[0].saving_ns < report.findings[1].saving_ns);
}

static void test_late_on_average(void **state)
{
    run_many(250);
    assert_int_equal(report.finding_count, 1);
    assert_int_equal(report.findings[0].kind, RANKS_STRAGGLER);
    assert_int_equal(report.findings[0].rank, LATE);
    assert_in_range(report.findings[0].steps, 16, 24);
    assert_in_range(report.findings[0].delay_ns / 1000, 200, 333); /* ranks differ by more than that */
}

static void test_noise_is_not_late(void **state)
{
    run_many(0);
    assert_int_equal(report.finding_count, 0);
}

/* One other rank is late by 2 ms in each of the first 10 steps, and then LATE by `late_us` in the next 30.
 * With two ranks, LATE is early while the other one is late. */
static void run_pair(uint64_t late_us)
{
    const uint32_t pair[] = {0, LATE};
    for (uint64_t step = 1; step <= 40; step++) {
        uint64_t start = step * 100000, ready[] = {start + 5000, start + 5000};
        if (step <= 10)
            ready[0] += 2000;
        else
            ready[1] += late_us;
        uint64_t last = ready[0] > ready[1] ? ready[0] : ready[1];
        begin_step(step, start);
        for (uint32_t i = 0; i < 2; i++) {
            compute(pair[i], step, start, ready[i]);
            ranks_add_collective(ranks, pair[i],
                                 &(struct ranks_collective){.key = step * 100,
                                                            .communicator = 5,
                                                            .operation = RANKS_ALL_REDUCE,
                                                            .participants = 2,
                                                            .bytes = 1 << 20,
                                                            .step = step,
                                                            .start_ns = ready[i] * US,
                                                            .end_ns = (last + 100) * US});
        }
    }
    ranks_finish(ranks, &report);
}

static bool has_straggler(void)
{
    for (size_t i = 0; i < report.finding_count; i++)
        if (report.findings[i].kind == RANKS_STRAGGLER)
            return report.findings[i].rank == LATE;
    return false;
}

static void test_another_rank_was_late_before(void **state)
{
    run_pair(30000);
    assert_true(has_straggler());
}

static void test_two_ranks_that_are_late_in_turn(void **state)
{
    run_pair(2000);
    assert_false(has_straggler());
}

/* LATE pauses in each sixth step, and in each step another rank is late by less, in turn: together with LATE
 * as often as LATE alone. */
static void run_rare(uint64_t pause_us)
{
    for (uint64_t step = 1; step <= 30; step++) {
        uint64_t start = step * 100000, ready[RANKS], last = 0;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            bool is_in_turn = step % RANKS == i;
            ready[i] = start + 20000 + (is_in_turn ? 1500 : 0) + (i == LATE && step % 6 == 0 ? pause_us : 0);
            last = ready[i] > last ? ready[i] : last;
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            compute(i, step, start, ready[i]);
            reduce(i, step, 1, ready[i], last + 100);
        }
    }
    ranks_finish(ranks, &report);
}

static void test_rare_pauses_beside_ranks_that_are_late_by_less(void **state)
{
    run_rare(15000);
    assert_true(has_straggler());
    assert_in_range(report.findings[0].delay_ns / 1000, 14000, 16000);
    assert_int_equal(report.findings[0].steps, 4); /* the last step does not count */
}

static void test_ranks_that_are_late_in_turn(void **state)
{
    run_rare(0);
    for (size_t i = 0; i < report.finding_count; i++)
        assert_int_not_equal(report.findings[i].kind, RANKS_STRAGGLER);
}

/* The work of LATE takes longer, in time that its host needs for launches on all ranks, or that the others
 * wait for it. */
static void run_more_work(bool is_hidden)
{
    for (uint64_t step = 1; step <= 10; step++) {
        uint64_t start = step * 100000;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t work = i == LATE ? 15000 : 10000, ready = start + (is_hidden ? 20000 : work);
            compute(i, step, start, start + work);
            reduce(i, step, 1, ready, start + (is_hidden ? 20000 : 15000) + 100);
        }
    }
    ranks_finish(ranks, &report);
}

static void test_work_that_delays_nobody_is_no_imbalance(void **state)
{
    run_more_work(true);
    assert_int_equal(report.finding_count, 0);
}

static void test_work_that_the_others_wait_for(void **state)
{
    run_more_work(false);
    assert_true(has_straggler());
}

/* LATE has the most work in two of three steps, and the least in the third one, so it is no straggler. */
static void test_an_imbalance_names_its_rank(void **state)
{
    for (uint64_t step = 1; step <= 31; step++) {
        uint64_t start = step * 100000, more = step % 3 ? 2000 : 0;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t work = i == LATE ? 18000 + 2 * more : 20000;
            compute(i, step, start, start + work);
            reduce(i, step, 1, start + work, start + 20100 + more);
        }
    }
    ranks_finish(ranks, &report);
    assert_int_equal(report.finding_count, 1);
    assert_int_equal(report.findings[0].kind, RANKS_IMBALANCE);
    assert_non_null(
        strstr(report.findings[0].evidence, "rank 3 (a), which has the most work in 19 of 29 steps"));
}

/* Of two ranks, LATE is slow in most steps, so that the differences of both have two levels. */
static void test_one_of_two_ranks_is_late_in_most_steps(void **state)
{
    const uint32_t pair[] = {0, LATE};
    for (uint64_t step = 1; step <= 13; step++) {
        uint64_t start = step * 100000,
                 ready[] = {start + 5000 + step % 3 * 20, start + 5000 + step % 4 * 15};
        ready[1] += step > 4 ? 1200 : 0;
        begin_step(step, start);
        for (uint32_t i = 0; i < 2; i++) {
            compute(pair[i], step, start, ready[i]);
            ranks_add_collective(ranks, pair[i],
                                 &(struct ranks_collective){.key = step * 100,
                                                            .communicator = 5,
                                                            .operation = RANKS_ALL_REDUCE,
                                                            .participants = 2,
                                                            .bytes = 1 << 20,
                                                            .step = step,
                                                            .start_ns = ready[i] * US,
                                                            .end_ns = (start + 6500) * US});
        }
    }
    ranks_finish(ranks, &report);
    assert_true(has_straggler());
}

/* All ranks of LATE's host are late in each second step, and LATE is late by far more in all steps. */
/* Pairs of ranks do the same work, as in a pipeline. LATE pauses in three steps, and another rank in one. */
static void test_rare_pauses_of_one_of_two_peers(void **state)
{
    for (uint64_t step = 1; step <= 30; step++) {
        uint64_t start = step * 100000, pause = step % 9 == 5 ? 8000 : 0;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t ready = start + 20000 + i / 2 * 1000 + (i == LATE ? pause : !i && step == 8 ? 6000 : 0);
            compute(i, step, start, ready);
            ranks_add_collective(ranks, i,
                                 &(struct ranks_collective){.key = step * 100 + i / 2,
                                                            .communicator = 10 + i / 2,
                                                            .operation = RANKS_ALL_REDUCE,
                                                            .participants = 2,
                                                            .bytes = 1u << (12 + i / 2 * 3),
                                                            .step = step,
                                                            .start_ns = ready * US,
                                                            .end_ns = (start + 25000 + pause) * US});
            reduce(i, step, 50, start + 25000 + pause, start + 25050 + pause);
        }
    }
    ranks_finish(ranks, &report);
    assert_true(has_straggler());
}

/* Each of the other ranks is late once, by as much: LATE is it in four steps by chance. */
static void test_ranks_that_are_late_by_chance(void **state)
{
    static const uint32_t late[] = {RANKS, 1,     6,    RANKS, LATE,  7, 2,    LATE,  RANKS,
                                    5,     RANKS, LATE, 0,     RANKS, 4, LATE, RANKS, RANKS};
    for (uint64_t step = 1; step <= sizeof late / sizeof *late; step++) {
        uint64_t start = step * 100000;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            compute(i, step, start, start + 20000 + (i == late[step - 1] ? 3000 : 0));
            reduce(i, step, 1, start + 20000 + (i == late[step - 1] ? 3000 : 0), start + 23100);
        }
    }
    ranks_finish(ranks, &report);
    assert_false(has_straggler());
}

static void test_a_rank_is_later_than_its_late_host(void **state)
{
    bool found_rank = false;
    (void)teardown(state);
    ranks = ranks_create(NULL);
    for (unsigned i = 0; i < RANKS; i++)
        ranks_add(ranks, i, i < RANKS / 2 ? "a" : "b", NULL);
    for (uint64_t step = 1; step <= 30; step++) {
        uint64_t start = step * 100000;
        begin_step(step, start);
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t ready = start + 20000 + (i < RANKS / 2 && step % 2 ? 600 : 0) + (i == LATE ? 5000 : 0);
            compute(i, step, start, ready);
            reduce(i, step, 1, ready, start + 26000);
        }
    }
    ranks_finish(ranks, &report);
    for (size_t i = 0; i < report.finding_count; i++)
        found_rank |= report.findings[i].kind == RANKS_STRAGGLER && report.findings[i].rank == LATE;
    assert_true(found_rank);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_longer_kernel_beside_a_transfer),
        TEST(test_a_late_launch_beside_a_transfer),
        TEST(test_collectives_queue_behind_a_late_one),
        TEST(test_a_late_rank_comes_before_exposed_communication),
        TEST(test_late_on_average),
        TEST(test_noise_is_not_late),
        TEST(test_another_rank_was_late_before),
        TEST(test_two_ranks_that_are_late_in_turn),
        TEST(test_rare_pauses_beside_ranks_that_are_late_by_less),
        TEST(test_ranks_that_are_late_in_turn),
        TEST(test_work_that_delays_nobody_is_no_imbalance),
        TEST(test_work_that_the_others_wait_for),
        TEST(test_an_imbalance_names_its_rank),
        TEST(test_one_of_two_ranks_is_late_in_most_steps),
        TEST(test_rare_pauses_of_one_of_two_peers),
        TEST(test_ranks_that_are_late_by_chance),
        TEST(test_a_rank_is_later_than_its_late_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
