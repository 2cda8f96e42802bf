#include "analysis/ranks/ranks.h"

#include "support/test.h"

#include <stdbool.h>
#include <string.h>

#define STEP 7

static struct ranks *job_of(unsigned count, const struct ranks_limits *limits)
{
    struct ranks *ranks = ranks_create(limits);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(ranks_add(ranks, i, i < 2 ? "a" : "b", "GPU"), i);
        ranks_add_step(ranks, i, &(struct ranks_step){.number = STEP, .start_ns = 1000, .end_ns = 2000});
    }
    return ranks;
}

static struct ranks_report report_of(struct ranks *ranks)
{
    struct ranks_report report;
    ranks_finish(ranks, &report);
    return report;
}

static void end(struct ranks *ranks, struct ranks_report *report)
{
    ranks_report_deinit(report);
    ranks_destroy(ranks);
}

static void add_collective(struct ranks *ranks, uint32_t rank, uint64_t key, uint32_t participants,
                           uint64_t bytes, uint64_t start_ns, uint64_t end_ns)
{
    ranks_add_collective(ranks, rank,
                         &(struct ranks_collective){.key = key,
                                                    .communicator = 5,
                                                    .operation = RANKS_ALL_REDUCE,
                                                    .participants = participants,
                                                    .bytes = bytes,
                                                    .step = STEP,
                                                    .start_ns = start_ns,
                                                    .end_ns = end_ns});
}

static void test_parts_are_disjoint(void **state)
{
    struct ranks *ranks = job_of(1, NULL);
    ranks_add_step(ranks, 0, &(struct ranks_step){STEP, 1000, 2000, .has_backlog = true});
    ranks_add_call(ranks, 0, STEP, 1050, 1060, false);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1100, 1300);
    ranks_add_work(ranks, 0, STEP, RANKS_COMMUNICATION, 1200, 1500);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1250, 1280); /* inside the first */
    ranks_add_work(ranks, 0, STEP, RANKS_COPY, 1400, 1600);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1700, 2100); /* beyond the end of the step on the host */
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.step_count, 2);
    const struct ranks_parts *parts = &report.steps[0].parts;
    assert_int_equal(parts->duration_ns, 1100);
    assert_int_equal(parts->compute_ns, 600);
    assert_int_equal(parts->exposed_ns, 200);
    assert_int_equal(parts->copies_ns, 100);
    assert_int_equal(parts->idle_ns, 200);
    assert_int_equal(parts->loader_ns, 50);
    assert_int_equal(report.steps[0].communication_ns, 300);
    assert_int_equal(report.steps[1].rank, RANKS_NONE);
    assert_int_equal(report.losses.unsorted, 0);
    end(ranks, &report);
}

/* The next step begins on the host while the GPU still works for the first: its time starts after that work.
 */
static void test_steps_do_not_overlap(void **state)
{
    struct ranks *ranks = job_of(1, NULL);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1000, 3000);
    ranks_add_step(ranks, 0, &(struct ranks_step){.number = STEP + 1, .start_ns = 2000, .end_ns = 2500});
    ranks_add_work(ranks, 0, STEP + 1, RANKS_COMPUTE, 3000, 5000);
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.steps[0].parts.duration_ns, 2000);
    assert_int_equal(report.steps[2].parts.duration_ns, 2000);
    assert_int_equal(report.steps[2].parts.idle_ns, 0);
    end(ranks, &report);
}

/* It has the number of the step that it divides, whose parts are then not compared. */
static void test_a_divided_step(void **state)
{
    uint64_t evaluation = ranks_step_number(STEP, RANKS_EVALUATION);
    struct ranks *ranks = ranks_create(NULL);
    assert_int_not_equal(evaluation, STEP);
    ranks_add(ranks, 0, "a", NULL);
    ranks_add_step(ranks, 0, &(struct ranks_step){STEP, 1000, 2000, .has_totals = true});
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1000, 2000);
    ranks_add_step(ranks, 0, &(struct ranks_step){evaluation, 2000, 8000, .kind = RANKS_EVALUATION});
    ranks_add_work(ranks, 0, evaluation, RANKS_COMPUTE, 2000, 8000);
    ranks_add_step(ranks, 0, &(struct ranks_step){STEP, 8000, 9000, .has_totals = true});
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 8000, 9000);
    struct ranks_report report = report_of(ranks);
    for (size_t i = 0; i < report.step_count; i++)
        assert_int_not_equal(report.steps[i].kind, RANKS_TRAIN);
    assert_int_equal(report.losses.unsorted, 0);
    end(ranks, &report);
}

/* A program that runs ahead begins the step while the GPU still works for the one before. */
static struct ranks_parts parts_with(const struct ranks_step *step)
{
    struct ranks *ranks = ranks_create(NULL);
    ranks_add(ranks, 0, "a", NULL);
    ranks_add_step(ranks, 0, step);
    ranks_add_call(ranks, 0, STEP, 1010, 1020, false);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1800, 2000);
    struct ranks_report report = report_of(ranks);
    struct ranks_parts parts = report.steps[0].parts;
    end(ranks, &report);
    return parts;
}

static void test_a_step_after_one_that_is_not_sampled(void **state)
{
    struct ranks_step step = {.number = STEP, .start_ns = 1000, .end_ns = 2000};
    struct ranks_parts parts = parts_with(&step); /* the GPU may have worked until 1800 */
    assert_int_equal(parts.duration_ns, 200);
    assert_int_equal(parts.idle_ns, 0);
    step.has_backlog = true;
    step.backlog_ns = 500;
    parts = parts_with(&step);
    assert_int_equal(parts.duration_ns, 500);
    assert_int_equal(parts.idle_ns, 300);
    step.backlog_ns = 900; /* other streams may end later */
    parts = parts_with(&step);
    assert_int_equal(parts.duration_ns, 200);
}

/* Ranks with too many spans send some of them, and totals. */
static void test_totals_replace_missing_work(void **state)
{
    struct ranks_step step = {
        .number = STEP, .start_ns = 1000, .end_ns = 2000, .has_backlog = true, .is_partial = true};
    struct ranks *ranks = job_of(1, NULL);
    ranks_add_step(ranks, 0, &step);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1100, 1200);
    struct ranks_report report = report_of(ranks);
    assert_false(report.steps[0].has_parts);
    assert_int_equal(report.steps[0].parts.duration_ns, 1000);
    end(ranks, &report);
    step.has_totals = true;
    step.compute_ns = 600;
    step.exposed_ns = 250;
    step.copies_ns = 50;
    struct ranks_parts parts = parts_with(&step);
    assert_int_equal(parts.duration_ns, 1000);
    assert_int_equal(parts.compute_ns, 600);
    assert_int_equal(parts.exposed_ns, 250);
    assert_int_equal(parts.idle_ns, 100);
}

/* Exposed time before compute is no waiting: the collective cannot be what the compute waited for. */
static void test_waiting_lasts_until_the_end(void **state)
{
    struct ranks *ranks = job_of(2, NULL);
    add_collective(ranks, 0, 9, 2, 3000, 1000, 1500);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1300, 1600); /* its host was late */
    add_collective(ranks, 1, 9, 2, 3000, 1200, 1500);
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.steps[0].parts.exposed_ns, 300);
    assert_int_equal(report.steps[0].waiting_ns, 0);
    assert_int_equal(report.steps[0].own_ns, 1000);
    end(ranks, &report);
    ranks = job_of(2, NULL);
    add_collective(ranks, 0, 9, 2, 3000, 1000, 1500);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1300, 1310); /* of another stream */
    add_collective(ranks, 1, 9, 2, 3000, 1200, 1500);
    report = report_of(ranks);
    assert_int_equal(report.steps[0].waiting_ns, 200);
    end(ranks, &report);
    ranks = job_of(2, NULL);
    add_collective(ranks, 0, 9, 2, 3000, 1000, 1500);
    ranks_add_work(ranks, 0, STEP, RANKS_COMPUTE, 1100,
                   1250); /* only then it waits: without rank 1, not at all */
    add_collective(ranks, 1, 9, 2, 3000, 1400, 1500);
    report = report_of(ranks);
    assert_int_equal(report.steps[0].waiting_ns, 250);
    end(ranks, &report);
}

static void test_a_gpu_has_a_name(void **state)
{
    struct ranks *ranks = job_of(1, NULL);
    ranks_set_gpu(ranks, 0, "GPU 3, NVIDIA H100");
    ranks_set_gpu(ranks, 7, "of no rank");
    struct ranks_report report = report_of(ranks);
    assert_string_equal(report.ranks[0].gpu, "GPU 3, NVIDIA H100");
    end(ranks, &report);
}

static void test_waits_are_beyond_the_shortest(void **state)
{
    struct ranks *ranks = job_of(4, NULL);
    static const uint64_t starts[] = {1100, 1400, 1200, 1300}; /* rank 1 is last */
    for (uint32_t i = 0; i < 4; i++)
        add_collective(ranks, i, 9, 4, 3000, starts[i], 1500);
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.instances, 1);
    assert_int_equal(report.collective_count, 1);
    const struct ranks_collective_row *row = &report.collectives[0];
    assert_float_equal(row->transfer_ns, 100, 1e-9);
    assert_float_equal(row->skew_ns, 300, 1e-9);
    assert_float_equal(row->wait_ns, 150, 1e-9);
    assert_float_equal(row->algbw, 3000 / 100e-9, 1);
    assert_float_equal(row->busbw, 3000 / 100e-9 * 1.5, 1);
    assert_int_equal(row->last_rank, 1);
    assert_int_equal(row->last_count, 1);
    assert_int_equal(row->host_count, 2);
    assert_int_equal(report.ranks[1].last_count, 1);
    end(ranks, &report);
}

static void test_bytes_that_differ_have_no_bandwidth(void **state)
{
    struct ranks *ranks = job_of(2, NULL);
    add_collective(ranks, 0, 9, 2, 3000, 1000, 1500);
    add_collective(ranks, 1, 9, 2, 3001, 1000, 1500);
    struct ranks_report report = report_of(ranks);
    assert_false(report.collectives[0].has_transfer);
    assert_float_equal(report.collectives[0].busbw, 0, 1e-9);
    assert_int_equal(report.ranks[0].instance_count, 1); /* but they show who arrives last */
    end(ranks, &report);
}

static void test_incomplete_and_ambiguous_are_counted(void **state)
{
    struct ranks *ranks = job_of(2, NULL);
    add_collective(ranks, 0, 1, 2, 10, 1000, 1500); /* rank 1 lacks it */
    add_collective(ranks, 0, 2, 2, 10, 1000, 1500); /* rank 0 has it twice */
    add_collective(ranks, 0, 2, 2, 10, 1600, 1700);
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.losses.incomplete, 1);
    assert_int_equal(report.losses.ambiguous, 1);
    assert_int_equal(report.instances, 0);
    end(ranks, &report);
}

static void test_limits_are_kept_and_counted(void **state)
{
    struct ranks_limits limits = ranks_default_limits;
    limits.ranks_max = 3;
    limits.steps_max = 3;
    limits.open_entries_max = 2;
    struct ranks *ranks = job_of(3, &limits);
    assert_int_equal(ranks_add(ranks, 3, "c", NULL), RANKS_NONE);
    ranks_add_step(ranks, 0, &(struct ranks_step){.number = STEP + 1});
    for (uint64_t key = 1; key <= 4; key++)
        add_collective(ranks, 0, key, 2, 10, 1000, 1500);
    add_collective(ranks, 1, 4, 2, 10, 1000, 1500); /* the youngest is still open */
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.losses.ranks, 1);
    assert_int_equal(report.losses.steps, 1);
    assert_int_equal(report.losses.evicted, 2);
    assert_int_equal(report.losses.incomplete, 3);
    assert_int_equal(report.instances, 1);
    end(ranks, &report);
}

/* Times of send and recv contain waiting on both sides, so the quickest tenth is the transfer, and no rank is
 * late. */
static void test_pairs_have_rows_of_their_own(void **state)
{
    struct ranks *ranks = job_of(4, NULL);
    for (uint64_t i = 0; i < 20; i++)
        for (uint32_t rank = 0; rank < 4; rank++)
            ranks_add_collective(ranks, rank,
                                 &(struct ranks_collective){.key = 10 * i + rank / 2,
                                                            .communicator = 5,
                                                            .operation = RANKS_SEND_RECV,
                                                            .participants = 2,
                                                            .bytes = 100,
                                                            .step = STEP,
                                                            .start_ns = 1000,
                                                            .end_ns = 1100 + i * 10});
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.collective_count, 2);
    assert_int_equal(report.collectives[1].first_rank, 2);
    assert_int_equal(report.collectives[1].second_rank, 3);
    assert_true(report.collectives[0].transfer_ns <= 120);
    assert_int_equal(report.ranks[0].instance_count, 0);
    end(ranks, &report);
}

/* From step 11 on, transfers between two ranks take 400 us instead of 200. One side or the other waits before
 * that, by turns, so the longer of the two durations says nothing. */
static void test_a_pair_becomes_slow(void **state)
{
    struct ranks *ranks = ranks_create(NULL);
    for (uint32_t i = 0; i < 2; i++)
        (void)ranks_add(ranks, i, i ? "b" : "a", "GPU");
    for (uint64_t step = 1; step <= 20; step++) {
        uint64_t start = step * 10000000, transfer = step > 10 ? 400000 : 200000;
        for (uint32_t i = 0; i < 2; i++)
            ranks_add_step(ranks, i, &(struct ranks_step){step, start, start + 1, .has_backlog = true});
        for (uint64_t j = 0; j < 4; j++)
            for (uint32_t i = 0; i < 2; i++) {
                uint64_t waits = (step + j) % 2 == i ? 700000 + step * 10000 : 0,
                         end = start + (j + 1) * 2000000;
                ranks_add_collective(ranks, i,
                                     &(struct ranks_collective){.key = step * 100 + j,
                                                                .communicator = 5,
                                                                .operation = RANKS_SEND,
                                                                .participants = 2,
                                                                .bytes = 8 << 20,
                                                                .step = step,
                                                                .start_ns = end - transfer - waits,
                                                                .end_ns = end});
            }
    }
    struct ranks_report report = report_of(ranks);
    size_t links = 0;
    for (size_t i = 0; i < report.finding_count; i++)
        if (report.findings[i].kind == RANKS_SLOW_LINK) {
            links++;
            assert_int_equal(report.findings[i].steps, 10);
            assert_in_range(report.findings[i].delay_ns, 199000, 201000);
        }
    assert_int_equal(links, 1);
    end(ranks, &report);
}

static void test_a_job_without_data(void **state)
{
    struct ranks *ranks = ranks_create(NULL);
    struct ranks_report report = report_of(ranks);
    assert_int_equal(report.step_count + report.finding_count + report.clock_count, 0);
    end(ranks, &report);
}

static void test_operations(void **state)
{
    for (enum ranks_operation i = 0; i <= RANKS_OTHER; i++)
        assert_int_equal(ranks_operation_of(ranks_operations[i].word), i);
    assert_int_equal(ranks_operation_of("something"), RANKS_OTHER);
    assert_float_equal(ranks_bus_factor(RANKS_ALL_REDUCE, 4), 1.5, 1e-9);
    assert_float_equal(ranks_bus_factor(RANKS_ALL_GATHER, 4), 0.75, 1e-9);
    assert_float_equal(ranks_bus_factor(RANKS_BROADCAST, 4), 1, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_disjoint),
        cmocka_unit_test(test_steps_do_not_overlap),
        cmocka_unit_test(test_a_divided_step),
        cmocka_unit_test(test_a_step_after_one_that_is_not_sampled),
        cmocka_unit_test(test_totals_replace_missing_work),
        cmocka_unit_test(test_waiting_lasts_until_the_end),
        cmocka_unit_test(test_a_gpu_has_a_name),
        cmocka_unit_test(test_waits_are_beyond_the_shortest),
        cmocka_unit_test(test_bytes_that_differ_have_no_bandwidth),
        cmocka_unit_test(test_incomplete_and_ambiguous_are_counted),
        cmocka_unit_test(test_limits_are_kept_and_counted),
        cmocka_unit_test(test_pairs_have_rows_of_their_own),
        cmocka_unit_test(test_a_pair_becomes_slow),
        cmocka_unit_test(test_a_job_without_data),
        cmocka_unit_test(test_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
