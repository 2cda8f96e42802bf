#include "command/top/top_ranks.h"

#include "analysis/ranks/ranks.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static struct top_agent agents[4];
static const struct top_poll poll = {.agents = agents, .count = 4};
static struct top_rank *ranks;

static int setup(void **state)
{
    memset(agents, 0, sizeof agents);
    for (size_t i = 0; i < 4; i++) {
        agents[i].pid = 104 - (long)i;
        agents[i].has_figures = true;
    }
    return 0;
}

static int teardown(void **state)
{
    free(ranks);
    ranks = NULL;
    return 0;
}

static struct top_steps *put(size_t row, const char *job, int64_t rank)
{
    struct top_steps *steps = &agents[row].figures.steps;
    *steps = (struct top_steps){.is_there = true, .rank = rank, .number = 70, .kind = "train"};
    snprintf(steps->job, sizeof steps->job, "%s", job);
    return steps;
}

/* A step of 100 ms. */
static void put_step(struct top_steps *steps, int64_t number, uint64_t communication_ns)
{
    steps->sampled[steps->sampled_count++] = (struct top_step){.number = number,
                                                               .is_whole = true,
                                                               .compute_ns = 100 * MS - communication_ns,
                                                               .exposed_ns = communication_ns,
                                                               .communication_ns = communication_ns};
}

static size_t find(void)
{
    free(ranks);
    return top_ranks_find(&poll, &ranks);
}

static void test_the_late_rank(void **state)
{
    const uint64_t communication_ms[] = {40, 41, 10, 39};
    for (size_t i = 0; i < 4; i++)
        put_step(put(i, "job", 3 - (int64_t)i), 64, communication_ms[i] * MS);
    assert_int_equal(find(), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ranks[i].steps->rank, i);
        assert_int_equal(ranks[i].pid, 101 + i);
        assert_true(ranks[i].is_compared);
        assert_int_equal(ranks[i].is_late, i == 1);
    }
    /* Without communication: 60, 59, 90 and 61 ms. */
    assert_int_equal(ranks[1].delay_ns, 30 * MS);
    assert_int_equal(ranks[0].delay_ns, 1 * MS);
    assert_int_equal(ranks[2].delay_ns, -2 * MS);
}

/* Polled a moment later, a rank is a sampled step further. */
static void test_ranks_are_compared_in_the_same_step(void **state)
{
    agents[2].has_figures = agents[3].has_figures = false;
    put_step(put(0, "job", 0), 128, 50 * MS);
    put_step(&agents[0].figures.steps, 64, 20 * MS);
    put_step(put(1, "job", 1), 64, 30 * MS);
    assert_int_equal(find(), 2);
    assert_int_equal(ranks[0].sampled->number, 64);
    assert_int_equal(ranks[0].delay_ns, 10 * MS);
    assert_true(ranks[0].is_late);
    assert_false(ranks[1].is_late);
}

static void test_ranks_without_a_common_step(void **state)
{
    agents[3].has_figures = false;
    put_step(put(0, "job", 0), 128, 50 * MS);
    put_step(put(1, "job", 1), 64, 30 * MS);
    put(2, "job", 2);
    assert_int_equal(find(), 3);
    assert_int_equal(ranks[0].sampled->number, 128);
    assert_int_equal(ranks[1].sampled->number, 64);
    assert_null(ranks[2].sampled);
    for (size_t i = 0; i < 3; i++)
        assert_false(ranks[i].is_compared || ranks[i].is_late);
}

/* They wait for each other in calls of the host, whose time looks like their own. */
static void test_ranks_without_communication_on_gpus(void **state)
{
    agents[2].has_figures = agents[3].has_figures = false;
    put_step(put(0, "job", 0), 64, 30 * MS);
    put_step(put(1, "job", 1), 64, 0);
    agents[0].figures.steps.sampled[0].host_ns = 60 * MS;
    agents[1].figures.steps.sampled[0].host_ns = 90 * MS;
    assert_int_equal(find(), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ranks[i].sampled->number, 64);
        assert_false(ranks[i].is_compared || ranks[i].is_late);
    }
}

static void test_jobs_are_apart(void **state)
{
    put_step(put(0, "b", 1), 64, 10 * MS);
    put_step(put(1, "a", 0), 64, 50 * MS);
    put_step(put(2, "b", 0), 64, 30 * MS);
    assert_int_equal(find(), 3); /* the fourth program has no steps */
    assert_string_equal(ranks[0].steps->job, "a");
    assert_false(ranks[0].is_compared); /* alone */
    assert_true(ranks[2].is_late);
    assert_int_equal(ranks[2].delay_ns, 20 * MS);
}

static void expect_the_same(const struct ranks_report *report)
{
    assert_int_equal(find(), 4);
    assert_int_equal(report->step_count, 5); /* and that of all ranks */
    for (size_t i = 0; i < 4; i++) {
        assert_true(report->steps[i].has_delay && ranks[i].is_compared);
        assert_int_equal(report->steps[i].delay_ns, ranks[i].delay_ns);
        assert_int_equal(report->steps[i].is_late, ranks[i].is_late);
    }
}

/* Steps with totals instead of spans. Rank 2 computes for longer. */
static void test_the_same_as_stat(void **state)
{
    struct ranks *all = ranks_create(NULL);
    struct ranks_report report;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t compute_ns = (i == 2 ? 60 : 50 + i) * MS, exposed_ns = 90 * MS - compute_ns;
        struct top_steps *steps = put(i, "job", i);
        put_step(steps, 64, exposed_ns);
        steps->sampled[0].compute_ns = compute_ns;
        steps->sampled[0].idle_ns = 10 * MS;
        ranks_add(all, i, "host", NULL);
        ranks_add_step(all, i,
                       &(struct ranks_step){.number = 64,
                                            .start_ns = MS,
                                            .end_ns = 101 * MS,
                                            .end = RANKS_END_STEP,
                                            .has_backlog = true,
                                            .is_partial = true,
                                            .has_totals = true,
                                            .compute_ns = compute_ns,
                                            .exposed_ns = exposed_ns});
        ranks_add_collective(all, i,
                             &(struct ranks_collective){.key = 1,
                                                        .communicator = 1,
                                                        .operation = RANKS_ALL_REDUCE,
                                                        .participants = 4,
                                                        .bytes = 8,
                                                        .step = 64,
                                                        .start_ns = 101 * MS - exposed_ns,
                                                        .end_ns = 101 * MS});
    }
    ranks_finish(all, &report);
    expect_the_same(&report);
    assert_true(ranks[2].is_late);
    assert_int_equal(ranks[2].delay_ns, 9 * MS);
    ranks_report_deinit(&report);
    ranks_destroy(all);
}

/* The others wait for rank 2 on their GPUs, but their hosts are nearly as slow: without rank 2, the step
 * would be shorter by 6 ms and not by 60. */
static void test_slow_hosts_of_the_peers(void **state)
{
    struct ranks *all = ranks_create(NULL);
    struct ranks_report report;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t compute_ns = (i == 2 ? 90 : 30) * MS, begin_ns = 1000 * MS, end_ns = 1100 * MS;
        struct top_steps *steps = put(i, "job", i);
        put_step(steps, 64, 100 * MS - compute_ns);
        steps->sampled[0].host_ns = 84 * MS;
        ranks_add(all, i, "host", NULL);
        ranks_add_step(all, i,
                       &(struct ranks_step){.number = 64,
                                            .start_ns = begin_ns,
                                            .end_ns = end_ns,
                                            .end = RANKS_END_STEP,
                                            .has_backlog = true});
        for (uint64_t ms = 1; ms <= 84; ms++)
            ranks_add_call(all, i, 64, begin_ns + ms * MS - MS / 100, begin_ns + ms * MS, false);
        ranks_add_work(all, i, 64, RANKS_COMPUTE, begin_ns, begin_ns + compute_ns);
        ranks_add_collective(all, i,
                             &(struct ranks_collective){.key = 1,
                                                        .communicator = 1,
                                                        .operation = RANKS_ALL_REDUCE,
                                                        .participants = 4,
                                                        .bytes = 8,
                                                        .step = 64,
                                                        .start_ns = begin_ns + compute_ns,
                                                        .end_ns = end_ns});
    }
    ranks_finish(all, &report);
    expect_the_same(&report);
    assert_int_equal(ranks[2].delay_ns, 6 * MS);
    assert_true(ranks[2].is_late);
    ranks_report_deinit(&report);
    ranks_destroy(all);
    /* If the work of one host is unknown, that of no other one counts. */
    agents[0].figures.steps.sampled[0].host_ns = 0;
    assert_int_equal(find(), 4);
    assert_int_equal(ranks[2].delay_ns, 60 * MS);
    assert_int_equal(ranks[0].delay_ns, 0);
}

/* The first one, or one that an evaluation divides, says nothing about the ranks. */
static void test_steps_that_are_not_whole(void **state)
{
    agents[2].has_figures = agents[3].has_figures = false;
    for (size_t i = 0; i < 2; i++) {
        struct top_steps *steps = put(i, "job", (int64_t)i);
        put_step(steps, 65, 10 * MS);
        put_step(steps, 64, (20 + 20 * i) * MS);
    }
    agents[1].figures.steps.sampled[0].is_whole = false;
    assert_int_equal(find(), 2);
    assert_int_equal(ranks[0].sampled->number, 64);
    assert_int_equal(ranks[0].delay_ns, 20 * MS);
    agents[0].figures.steps.sampled[1].is_whole = false;
    assert_int_equal(find(), 2);
    assert_false(ranks[0].is_compared || ranks[1].is_compared);
}

/* Less than 1 % of the step: noise. */
static void test_nobody_is_late(void **state)
{
    agents[2].has_figures = agents[3].has_figures = false;
    put_step(put(0, "job", 0), 64, 20 * MS);
    put_step(put(1, "job", 1), 64, 20 * MS + MS / 2);
    assert_int_equal(find(), 2);
    assert_int_equal(ranks[0].delay_ns, MS / 2);
    assert_false(ranks[0].is_late || ranks[1].is_late);
}

static void test_the_time_of_a_step(void **state)
{
    struct top_steps *some = put(0, "job", 0), *none = put(1, "job", 1);
    agents[2].has_figures = agents[3].has_figures = false;
    some->count = 4;
    some->total_ns = 400 * MS;
    none->last_ns = 70 * MS; /* longer than the interval */
    assert_int_equal(find(), 2);
    assert_int_equal(ranks[0].step_ns, 100 * MS);
    assert_int_equal(ranks[1].step_ns, 70 * MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_the_late_rank),
                                       TEST(test_ranks_are_compared_in_the_same_step),
                                       TEST(test_ranks_without_a_common_step),
                                       TEST(test_ranks_without_communication_on_gpus),
                                       TEST(test_jobs_are_apart),
                                       TEST(test_nobody_is_late),
                                       TEST(test_the_same_as_stat),
                                       TEST(test_slow_hosts_of_the_peers),
                                       TEST(test_steps_that_are_not_whole),
                                       TEST(test_the_time_of_a_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
