/* Tests which spans a step's share goes to. */
#include "agent/correlate/trace/step_budget.h"

#include "model/collective.h"
#include "support/test.h"

#include <string.h>

#define WORK 5000

static uint64_t random_now;

static uint64_t next_random(void)
{
    random_now = collective_mix(random_now, 1);
    return random_now;
}

/* From 1 us to 4 ms, many short ones. */
static uint64_t next_length(void)
{
    return 1000 + (4000000ull >> next_random() % 12) + next_random() % 1000;
}

static struct step_budget budget;
static struct step_lengths lengths;

/* A share of `spans` for a step like `load`, after another one with the same GPU work. */
static void begin(uint32_t spans, struct step_load load)
{
    memset(&lengths, 0, sizeof lengths);
    random_now = 7;
    for (uint32_t i = 0; i < load.work; i++)
        step_lengths_add(&lengths, next_length());
    step_budget_init(&budget, spans);
    step_budget_foresee(&budget, &load);
}

static void test_what_fits_is_complete(void **state)
{
    const struct step_load load = {.calls = 100, .work = 90, .collectives = 5};
    begin(197, load);
    assert_false(budget.is_selecting);
    for (int i = 0; i < 100; i++) {
        assert_true(step_budget_takes_call(&budget, &load));
        step_budget_reserve(&budget, 100);
    }
    begin(196, load);
    assert_true(budget.is_selecting);
    assert_false(step_budget_takes_call(&budget, &load));
}

/* Nearly all of the share is used, and never more. The longest work is there. */
static void test_the_longest_work_is_chosen(void **state)
{
    static const uint32_t shares[] = {3, 7, 31, 125, 1000, 4000};
    const struct step_load load = {.calls = WORK, .work = WORK};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        uint32_t taken = 0, long_taken = 0, long_seen = 0;
        uint64_t long_ns = shares[i] < WORK / 12 ? 5000000 : 2000000;
        begin(shares[i], load);
        random_now = 8;
        for (int n = 0; n < WORK; n++) {
            uint64_t ns = next_length();
            bool takes = step_budget_takes_work(&budget, &load, &lengths, ns);
            if (takes)
                step_budget_reserve(&budget, 400);
            taken += takes;
            long_seen += ns > long_ns;
            long_taken += takes && ns > long_ns;
        }
        assert_in_range(taken, shares[i] * 8 / 10 - 2, shares[i] - 2);
        assert_int_equal(long_taken, long_seen);
    }
}

/* Work of one length is chosen from the beginning to the end of the step. */
static void test_equal_work_is_chosen_evenly(void **state)
{
    const struct step_load load = {.calls = 1000, .work = 1000};
    begin(102, load);
    memset(&lengths, 0, sizeof lengths);
    for (int i = 0; i < 1000; i++)
        step_lengths_add(&lengths, 5000);
    int taken = 0;
    for (int i = 0; i < 1000; i++) {
        if (step_budget_takes_work(&budget, &load, &lengths, 5000)) {
            step_budget_reserve(&budget, 400);
            taken++;
        }
        assert_in_range(taken, (i + 1) * 9 / 100 - (i >= 11), (i + 1) * 9 / 100 + 1);
    }
}

/* A rank with fewer collectives or a larger share has all those that another one has. */
static void test_ranks_choose_the_same_collectives(void **state)
{
    static const uint32_t counts[] = {500, 500, 2000, 100};
    struct step_budget ranks[4];
    uint32_t chosen[4] = {0};
    for (int rank = 0; rank < 4; rank++) {
        struct step_load load = {.calls = 6000, .work = 5000, .collectives = counts[rank]};
        begin(125, load);
        ranks[rank] = budget;
    }
    for (uint64_t key = 0; key < 500; key++) {
        struct step_load load = {.collectives = 500};
        bool takes[4];
        for (int rank = 0; rank < 4; rank++) {
            takes[rank] = step_budget_takes_collective(&ranks[rank], &load, collective_mix(3, key));
            chosen[rank] += takes[rank];
            if (takes[rank])
                step_budget_reserve(&ranks[rank], 800);
        }
        assert_int_equal(takes[0], takes[1]);
        assert_true(takes[0] || !takes[2]);
        assert_true(takes[3] || !takes[0] || chosen[3] >= ranks[3].collectives_max);
    }
    assert_in_range(chosen[0], 35, 57); /* three quarters of the share's bytes */
    assert_in_range(chosen[2], 5, chosen[0] - 1);
}

/* Nothing was known of the step: its end still has its longest work. */
static void test_a_quarter_is_left_for_a_surprise(void **state)
{
    struct step_load load = {0};
    uint32_t calls = 0, long_taken = 0;
    begin(400, load);
    step_budget_init(&budget, 400);
    step_budget_foresee(&budget, NULL);
    for (load.calls = 0; load.calls < 1000; load.calls++, load.work++)
        if (step_budget_takes_call(&budget, &load)) {
            step_budget_reserve(&budget, 400);
            calls++;
        }
    assert_int_equal(calls, 298);
    for (int i = 0; i < 1000; i++) {
        uint64_t ns = i % 20 ? 2000 : 1000000;
        step_lengths_add(&lengths, ns);
        if (step_budget_takes_work(&budget, &load, &lengths, ns)) {
            step_budget_reserve(&budget, 400);
            long_taken += ns == 1000000;
        }
    }
    assert_in_range(long_taken, 45, 50); /* the first ones came when no length was known */
    assert_in_range(budget.spans, 380, 400);
}

/* Work with large spans is chosen until the end of the step, though fewer. */
static void test_large_spans_are_fewer(void **state)
{
    const struct step_load load = {.calls = WORK, .work = WORK};
    uint32_t taken = 0, late = 0;
    begin(1000, load);
    random_now = 8;
    for (int n = 0; n < WORK; n++) {
        if (!step_budget_takes_work(&budget, &load, &lengths, next_length()))
            continue;
        step_budget_reserve(&budget, 900);
        taken++;
        late += n > WORK * 9 / 10;
    }
    assert_in_range(taken, 400, 1000 * 500 / 900);
    assert_in_range(late, taken / 20, taken / 5);
    assert_true(budget.bytes <= 1000 * STEP_SPAN_BYTES + 400);
}

/* Spans with long names use up the bytes before the number. */
static void test_bytes_are_limited(void **state)
{
    const struct step_load load = {.calls = 10};
    static struct span span;
    static char name[10000];
    begin(100, load);
    span.name_len = sizeof name;
    span.name = name;
    uint32_t sent = 0;
    while (step_budget_has_room(&budget)) {
        step_budget_spend(&budget, &span);
        sent++;
    }
    assert_int_equal(sent, 5);
}

static void test_the_histogram_forgets(void **state)
{
    memset(&lengths, 0, sizeof lengths);
    for (int i = 0; i < 3000000; i++)
        step_lengths_add(&lengths, i < 1000000 ? 5 : 1ull << 63);
    uint32_t sum = 0;
    for (int i = 0; i < STEP_LENGTHS; i++)
        sum += lengths.count[i];
    assert_int_equal(sum, lengths.total);
    assert_true(lengths.count[STEP_LENGTHS - 4] > 4 * (sum - lengths.count[STEP_LENGTHS - 4]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_fits_is_complete),
                                       cmocka_unit_test(test_the_longest_work_is_chosen),
                                       cmocka_unit_test(test_equal_work_is_chosen_evenly),
                                       cmocka_unit_test(test_ranks_choose_the_same_collectives),
                                       cmocka_unit_test(test_a_quarter_is_left_for_a_surprise),
                                       cmocka_unit_test(test_large_spans_are_fewer),
                                       cmocka_unit_test(test_bytes_are_limited),
                                       cmocka_unit_test(test_the_histogram_forgets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
