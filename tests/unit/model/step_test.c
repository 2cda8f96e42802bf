/* Tests the identity of steps and which ones are sampled. */
#include "model/step.h"

#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define STEPS        (1 << 16)
#define THRESHOLD(k) ((1ull << STEP_RANDOMNESS_BITS) - (1ull << (STEP_RANDOMNESS_BITS - (k))))

static struct step_identity identify(const struct step_rules *rules, int64_t number, uint64_t nonce,
                                     uint8_t kind)
{
    struct step_boundary at = {.number = number, .nonce = nonce, .kind = kind};
    return step_identify(rules, &at);
}

/* Over 2^16 steps and for several jobs, a ratio of 1/2^k takes exactly each 2^k-th step. */
static void test_a_ratio_takes_each_nth_step(void **state)
{
    for (uint64_t job = 0; job < 8; job++) {
        for (unsigned k = 0; k <= 10; k++) {
            struct step_rules rules = {.job = job * 0x1234567, .threshold = THRESHOLD(k)};
            int64_t last = -1, taken = 0;
            for (int64_t number = 0; number < STEPS; number++) {
                if (!step_is_sampled(&rules, number, STEP_TRAIN))
                    continue;
                if (last >= 0)
                    assert_int_equal(number - last, 1 << k);
                last = number;
                taken++;
            }
            assert_int_equal(taken, STEPS >> k);
        }
    }
}

/* A receiver that compares `rv` with `th` agrees, and the lower bits are spread evenly. */
static void test_the_randomness_explains_the_decision(void **state)
{
    uint32_t ones[24] = {0};
    struct step_rules rules = {.job = 99, .threshold = THRESHOLD(6)};
    for (int64_t number = 0; number < STEPS; number++) {
        uint64_t randomness = identify(&rules, number, 0, STEP_TRAIN).randomness;
        assert_true(randomness >> STEP_RANDOMNESS_BITS == 0);
        assert_int_equal(randomness >= rules.threshold, step_is_sampled(&rules, number, STEP_TRAIN));
        for (unsigned bit = 0; bit < 24; bit++)
            ones[bit] += randomness >> bit & 1;
    }
    for (unsigned bit = 0; bit < 24; bit++)
        assert_in_range(ones[bit], STEPS / 2 - 640, STEPS / 2 + 640); /* 5 standard deviations of 128 */
}

static void test_ranks_agree_and_jobs_differ(void **state)
{
    struct step_rules ranks[2] = {{.job = 7, .own = 1, .rank = 0}, {.job = 7, .own = 2, .rank = 1}};
    struct step_rules other = {.job = 8, .rank = 0};
    struct step_identity id = identify(&ranks[0], 12, 5, STEP_TRAIN);
    struct step_identity same = identify(&ranks[1], 12, 5, STEP_TRAIN);
    assert_memory_equal(id.trace_id, same.trace_id, 16);
    assert_memory_equal(id.span_id, same.span_id, 8);
    struct step_identity others[] = {
        identify(&other, 12, 5, STEP_TRAIN), identify(&ranks[0], 13, 5, STEP_TRAIN),
        identify(&ranks[0], 12, 6, STEP_TRAIN), identify(&ranks[0], 12, 5, STEP_EVALUATION)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_memory_not_equal(id.trace_id, others[i].trace_id, 16);
        assert_memory_not_equal(id.span_id, others[i].span_id, 8);
    }
}

/* A restart with another communicator must not change which steps are sampled. */
static void test_without_an_identity_a_process_is_alone(void **state)
{
    struct step_rules ranks[2] = {{.own = 1, .rank = 0}, {.own = 2, .rank = 1}};
    struct step_rules no_rank = {.job = 7, .own = 1, .rank = -1};
    assert_false(step_is_joint(&ranks[0], 0));
    assert_true(step_is_joint(&ranks[0], 77)); /* the communicator tells the job */
    assert_false(step_is_joint(&no_rank, 0));
    struct step_identity a = identify(&ranks[0], 1, 0, STEP_TRAIN), b = identify(&ranks[1], 1, 0, STEP_TRAIN);
    assert_memory_not_equal(a.trace_id, b.trace_id, 16);
    a = identify(&ranks[0], 1, 77, STEP_TRAIN);
    b = identify(&ranks[1], 1, 77, STEP_TRAIN);
    assert_memory_equal(a.trace_id, b.trace_id, 16);
}

static uint64_t spans_of_all(int64_t world, uint32_t spans_max, int64_t number, uint64_t *taking_part)
{
    uint64_t spans = 0;
    *taking_part = 0;
    for (int64_t rank = 0; rank < world; rank++) {
        struct step_rules rules = {
            .rank = rank, .world_size = world, .spans_max = spans_max, .threshold = THRESHOLD(6)};
        struct step_share share = step_share_of(&rules, number);
        spans += share.takes_part ? share.spans : 0;
        *taking_part += share.takes_part;
        assert_true(share.spans >= 2 && (rank || share.takes_part));
    }
    return spans;
}

static void test_all_ranks_together_stay_below_the_limit(void **state)
{
    static const int64_t worlds[] = {2, 3, 8, 64, 1000, 1024, 3999, 4000, 4001, 8000, 16384, 20000};
    uint64_t taking_part;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        for (int64_t number = 0; number < 1000; number += 333) {
            assert_in_range(spans_of_all(worlds[i], 8000, number, &taking_part), 1, 8000);
            assert_true(worlds[i] > 4000 || taking_part == (uint64_t)worlds[i]);
            assert_true(taking_part >= (uint64_t)worlds[i] || taking_part > 1990);
        }
    struct step_rules two = {.rank = 1, .world_size = 2, .spans_max = 8000};
    assert_int_equal(step_share_of(&two, 1).spans, 4000);
    two.spans_max = 0;
    assert_int_equal(step_share_of(&two, 1).spans, 0);
    two = (struct step_rules){.rank = -1, .world_size = -1, .spans_max = 8000};
    assert_int_equal(step_share_of(&two, 1).spans, 0); /* alone, so every span is kept */
    assert_true(step_share_of(&two, 1).takes_part);
}

/* With 1 step in 64, each sampled step is the turn of the next rank, and of the next subset. */
static void test_ranks_take_turns(void **state)
{
    struct step_rules rules = {.rank = 5, .world_size = 10000, .threshold = THRESHOLD(6), .spans_max = 8000};
    unsigned parts = 0, full = 0;
    for (int64_t number = 0; number < 64 * 10000; number += 64) {
        parts += step_share_of(&rules, number).takes_part;
        full += step_share_of(&rules, number).is_full_turn;
    }
    assert_int_equal(full, 1);
    assert_in_range(parts, 3333, 3334); /* three subsets */
    rules.world_size = 8;
    for (int64_t turn = 0; turn < 24; turn++)
        for (rules.rank = 0; rules.rank < 8; rules.rank++)
            assert_int_equal(step_share_of(&rules, turn * 64 + 17).is_full_turn, turn % 8 == rules.rank);
}

static void test_steps_3_and_4_are_certain(void **state)
{
    struct step_rules rules = {.job = 5, .threshold = 1ull << STEP_RANDOMNESS_BITS, .always_first = true};
    for (int64_t number = 0; number < 100; number++)
        assert_int_equal(step_is_sampled(&rules, number, STEP_TRAIN), number == 3 || number == 4);
    assert_false(step_is_sampled(&rules, 3, STEP_NONE));
    rules.always_first = false;
    assert_false(step_is_sampled(&rules, 3, STEP_TRAIN));
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static void test_no_two_steps_share_a_trace(void **state)
{
    static uint8_t ids[STEPS][16];
    struct step_rules rules = {.job = 3};
    for (int64_t number = 0; number < STEPS; number++)
        memcpy(ids[number], identify(&rules, number, 0, STEP_TRAIN).trace_id, 16);
    qsort(ids, STEPS, 16, compare);
    for (int64_t i = 1; i < STEPS; i++)
        assert_memory_not_equal(ids[i - 1], ids[i], 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_ratio_takes_each_nth_step),
                                       cmocka_unit_test(test_the_randomness_explains_the_decision),
                                       cmocka_unit_test(test_ranks_agree_and_jobs_differ),
                                       cmocka_unit_test(test_without_an_identity_a_process_is_alone),
                                       cmocka_unit_test(test_steps_3_and_4_are_certain),
                                       cmocka_unit_test(test_all_ranks_together_stay_below_the_limit),
                                       cmocka_unit_test(test_ranks_take_turns),
                                       cmocka_unit_test(test_no_two_steps_share_a_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
