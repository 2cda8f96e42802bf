/* Pipelines: two stages of four ranks each. Ranks 0 to 3 send to ranks 4 to 7. Each stage reduces its
 * gradients, the first and the last stage of each pipeline reduce those of the embeddings, and all ranks
 * reduce a norm. Times in the tests are us. */
#include "analysis/ranks/ranks.h"

#include "support/test.h"

#include <stdbool.h>
#include <string.h>

#define STAGE 4
#define RANKS (2 * STAGE)
#define STEPS 10
#define US    1000ull

static struct ranks *ranks;
static struct ranks_report report;
static uint64_t keys;

/* Work of each rank, then idle time before it sends or asks for data. */
struct rank_time {
    uint64_t compute, idle;
};

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

static void collective(uint32_t rank, uint64_t step, enum ranks_operation operation, uint64_t key,
                       uint64_t communicator, uint32_t participants, uint64_t start, uint64_t end)
{
    ranks_add_collective(ranks, rank,
                         &(struct ranks_collective){.key = key,
                                                    .communicator = communicator,
                                                    .operation = operation,
                                                    .participants = participants,
                                                    .bytes = 1 << 20,
                                                    .step = step,
                                                    .start_ns = start * US,
                                                    .end_ns = end * US});
}

/* All ranks in `members` start when they are ready, and end 10 us after the last of them. */
static void together(uint64_t step, enum ranks_operation operation, uint64_t communicator,
                     const uint32_t *members, uint32_t count, uint64_t *ready)
{
    uint64_t end = 0, key = ++keys;
    for (uint32_t i = 0; i < count; i++)
        end = ready[members[i]] > end ? ready[members[i]] : end;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = members[i];
        collective(rank, step, operation == RANKS_SEND && i ? RANKS_RECV : operation, key, communicator,
                   count, ready[rank], end + 10);
        ready[rank] = end + 10;
    }
}

static void run_step(uint64_t step, const struct rank_time *times, bool has_sends)
{
    uint64_t start = step * 100000, ready[RANKS];
    static const uint32_t stages[2][STAGE] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    static const uint32_t all[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (uint32_t i = 0; i < RANKS; i++) {
        ready[i] = start + times[i].compute + times[i].idle;
        ranks_add_step(
            ranks, i,
            &(struct ranks_step){
                .number = step, .start_ns = start * US, .end_ns = start * US + 1, .has_backlog = true});
        ranks_add_work(ranks, i, step, RANKS_COMPUTE, start * US, (start + times[i].compute) * US);
    }
    for (uint32_t i = 0; i < 2; i++)
        together(step, RANKS_REDUCE_SCATTER, 200 + i, stages[i], STAGE, ready);
    for (uint32_t i = 0; i < STAGE; i++) {
        uint32_t pair[2] = {i, i + STAGE};
        together(step, RANKS_ALL_REDUCE, 300 + i, pair, 2, ready);
    }
    for (uint32_t i = 0; i < STAGE; i++) {
        uint32_t pair[2] = {i, i + STAGE};
        if (has_sends)
            together(step, RANKS_SEND, 100 + i, pair, 2, ready);
    }
    together(step, RANKS_ALL_REDUCE, 400, all, RANKS, ready);
}

static void run(const struct rank_time *times, bool has_sends)
{
    for (uint64_t step = 1; step <= STEPS; step++)
        run_step(step, times, has_sends);
    ranks_finish(ranks, &report);
}

static const struct ranks_finding *find(enum ranks_finding_kind kind, size_t *count)
{
    const struct ranks_finding *found = NULL;
    *count = 0;
    for (size_t i = 0; i < report.finding_count; i++)
        if (report.findings[i].kind == kind) {
            found = &report.findings[i];
            ++*count;
        }
    return found;
}

static void test_a_stage_with_more_work_is_an_imbalance(void **state)
{
    struct rank_time times[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        times[i] = (struct rank_time){i < STAGE ? 1000 : 2000, 0};
    run(times, true);
    size_t count;
    assert_null(find(RANKS_STRAGGLER, &count));
    const struct ranks_finding *imbalance = find(RANKS_IMBALANCE, &count);
    assert_int_equal(count, 1);
    assert_non_null(strstr(imbalance->evidence,
                           "the pipeline stage of rank 4 (a) and 3 others, which has the "
                           "most work in 8 of 8 steps, is above the mean of all"));
}

static void test_without_sends_there_are_no_stages(void **state)
{
    struct rank_time times[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        times[i] = (struct rank_time){i < STAGE ? 1000 : 2000, 0};
    run(times, false);
    size_t count;
    find(RANKS_STRAGGLER, &count);
    assert_int_equal(count, 0); /* half of all ranks is no exception */
}

static void test_a_late_rank_is_compared_with_its_stage(void **state)
{
    struct rank_time times[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        times[i] = (struct rank_time){(i < STAGE ? 1000 : 2000) + (i == 1 ? 800 : 0), 0};
    run(times, true);
    size_t count;
    const struct ranks_finding *late = find(RANKS_STRAGGLER, &count);
    assert_int_equal(count, 1);
    assert_int_equal(late->rank, 1);
    assert_int_equal(late->delay_ns / US, 800);
}

/* Rank 5 has nothing to do while it waits for rank 1, and asks for the data late. */
static void test_idle_time_behind_a_late_rank_is_inherited(void **state)
{
    struct rank_time times[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        times[i] = (struct rank_time){1000 + (i == 1 ? 800 : 0), i == 5 ? 700 : 0};
    run(times, true);
    size_t count;
    const struct ranks_finding *late = find(RANKS_STRAGGLER, &count);
    assert_int_equal(count, 1);
    assert_int_equal(late->rank, 1);
    assert_null(find(RANKS_IMBALANCE, &count));
}

/* The same idle time in another pipeline is its own. */
static void test_idle_time_in_another_pipeline_is_not(void **state)
{
    struct rank_time times[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        times[i] = (struct rank_time){1000 + (i == 1 ? 800 : 0), i == 6 ? 700 : 0};
    run(times, true);
    size_t count;
    find(RANKS_STRAGGLER, &count);
    assert_int_equal(count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_stage_with_more_work_is_an_imbalance, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_sends_there_are_no_stages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_late_rank_is_compared_with_its_stage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_idle_time_behind_a_late_rank_is_inherited, setup, teardown),
        cmocka_unit_test_setup_teardown(test_idle_time_in_another_pipeline_is_not, setup, teardown),
    };
    return cmocka_run_group_tests_name("ranks_stages", tests, NULL, NULL);
}
