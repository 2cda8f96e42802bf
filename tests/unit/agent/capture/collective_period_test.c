/* Tests the steps that are found in sequences of collectives. Each letter of a sequence is one of them: a to
 * m are reductions of different sizes, n to y are gathers, z is a broadcast. */
#include "agent/capture/nccl/collective_period.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 100000

static struct collective_period period;
static uint64_t fed, step_count, lost_count;
static struct {
    uint64_t at; /* collectives before it */
    int64_t number;
} steps[STEPS_MAX];

static void start_over(void)
{
    memset(&period, 0, sizeof period);
    fed = step_count = lost_count = 0;
}

static enum period_event feed_one(enum collective_operation operation, uint64_t bytes)
{
    int64_t number = -1;
    enum period_event event = collective_period_note(&period, operation, bytes, &number);
    lost_count += event == PERIOD_LOST;
    if (event == PERIOD_STEP) {
        assert_true(step_count < STEPS_MAX);
        steps[step_count].at = fed;
        steps[step_count++].number = number;
    }
    fed++;
    return event;
}

static enum period_event feed_letter(char letter)
{
    enum collective_operation operation = letter < 'n'   ? COLLECTIVE_ALL_REDUCE
                                          : letter < 'z' ? COLLECTIVE_ALL_GATHER
                                                         : COLLECTIVE_BROADCAST;
    return feed_one(operation, 1000u * (uint64_t)letter);
}

static void feed(const char *letters, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (const char *letter = letters; *letter; letter++)
            feed_letter(*letter);
}

/* All steps so far, from the given number of collectives on, begin `offset` collectives after a multiple of
 * `length`, and are numbered without a gap. */
static void expect_steps(uint64_t first, uint64_t length, uint64_t offset)
{
    uint64_t seen = 0;
    for (uint64_t i = 0; i < step_count; i++) {
        if (steps[i].at < first)
            continue;
        assert_int_equal(steps[i].at % length, offset % length);
        if (seen++) {
            assert_int_equal(steps[i].at, steps[i - 1].at + length);
            assert_int_equal(steps[i].number, steps[i - 1].number + 1);
        }
    }
    assert_true(seen > 0);
}

/* Gradients in buckets: a step begins with the first one. */
static void test_buckets(void **state)
{
    start_over();
    feed("zzz", 1); /* the parameters */
    feed("abcd", 400);
    expect_steps(0, 4, 3);
    assert_true(steps[0].at <= PERIOD_PROOF + 64);
    assert_int_equal(steps[0].number, (int64_t)(steps[0].at - 3) / 4); /* those before count */
    assert_int_equal(steps[step_count - 1].at, 3 + 399 * 4);
    assert_int_equal(lost_count, 0);
}

static void test_one_collective_in_each_step(void **state)
{
    start_over();
    feed("a", PERIOD_PROOF + 200);
    expect_steps(0, 1, 0);
    assert_int_equal(steps[0].number, steps[0].at);
}

/* The buckets change after the first step. */
static void test_rebuilt_buckets(void **state)
{
    start_over();
    feed("zzabcdz", 1);
    feed("efg", 300);
    expect_steps(0, 3, 7);
    assert_int_equal(steps[0].number, (int64_t)(steps[0].at - 7) / 3);
}

/* A step begins where no gradients are reduced for the longest time. */
static void test_a_step_begins_with_the_forward_pass(void **state)
{
    static const struct {
        const char *first, *each;
        unsigned begin;                 /* in `each` */
    } cases[] = {{"zz", "nopoanb", 0},  /* parameters gathered, in reverse order again with the gradients */
                 {"anb", "nopoanb", 0}, /* the end of a step is first */
                 {"", "abcno", 3},      /* sharded optimizer: gathers after it */
                 {"o", "zabc", 0},      /* buffers, then gradients */
                 {"", "oabcn", 4},      /* a series around the end */
                 {"", "nanbncndnen", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].each);
        start_over();
        feed(cases[i].first, 1);
        feed(cases[i].each, 400);
        expect_steps(0, length, strlen(cases[i].first) + cases[i].begin);
        assert_int_equal(lost_count, 0);
    }
}

static void feed_model(unsigned layers)
{
    feed("y", 1);
    for (unsigned pass = 0; pass < 2; pass++)
        feed(pass ? "na" : "n", layers);
    feed("b", 1);
}

/* Equal layers repeat within a step. */
static void test_layers_are_no_steps(void **state)
{
    for (unsigned layers = 1; layers <= 170; layers += 13) {
        start_over();
        uint64_t length = 3 * layers + 2;
        feed("zz", 1);
        for (unsigned i = 0; i < 20 + 800 / length; i++)
            feed_model(layers);
        expect_steps(0, length, 2);
        assert_int_equal(lost_count, 0);
    }
}

/* A period that ended soon was no step, and the next one needs more proof. */
static void test_more_layers_than_the_proof(void **state)
{
    start_over();
    unsigned layers = PERIOD_PROOF / 2 + 100;
    for (unsigned i = 0; i < 12; i++)
        feed_model(layers);
    uint64_t wrong = 0;
    while (steps[wrong + 1].at - steps[wrong].at < 100)
        wrong++;
    assert_in_range(wrong, 1, 110);
    assert_int_equal(lost_count, 1);
    expect_steps(steps[wrong + 1].at, 3 * layers + 2, 0);
    assert_int_equal(steps[wrong + 1].number, steps[wrong].number + 1);
}

static void test_without_a_reduction_there_is_no_step(void **state)
{
    start_over();
    feed("nopq", 2000);
    feed("z", 2000);
    assert_int_equal(step_count, 0);
    feed("nopa", 2000);
    expect_steps(0, 4, 8000 + 2000);
}

/* Deterministic, and without a period that could be found. */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void test_no_period(void **state)
{
    uint32_t random = 1;
    start_over();
    for (unsigned i = 0; i < 100000; i++)
        feed_letter((char)('a' + next_random(&random) % 2));
    assert_int_equal(step_count, 0);
    feed("abc", 10000); /* after them, it is found */
    expect_steps(0, 3, 100000);
}

static void feed_long(uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        feed_one(COLLECTIVE_REDUCE_SCATTER, 5000 + i);
}

static void test_the_longest_period(void **state)
{
    start_over();
    for (unsigned i = 0; i < 30; i++)
        feed_long(PERIOD_MAX);
    expect_steps(0, PERIOD_MAX, steps[0].at); /* the first one is not kept */
    start_over();
    for (unsigned i = 0; i < 30; i++)
        feed_long(PERIOD_MAX + 1);
    assert_int_equal(step_count, 0);
}

static void test_a_sequence_longer_than_the_memory(void **state)
{
    start_over();
    for (unsigned i = 0; i < 5; i++) { /* windows in which nothing repeats */
        feed_long(PERIOD_MAX + 700);
        feed_long(PERIOD_MAX + 500);
    }
    uint64_t before = fed;
    feed("abc", 5000);
    expect_steps(0, 3, before);
}

static void test_another_period(void **state)
{
    start_over();
    feed("abc", 2000);
    expect_steps(0, 3, 0);
    uint64_t count = step_count;
    int64_t number = steps[count - 1].number;
    feed("defg", 1000);
    assert_int_equal(lost_count, 1);
    assert_true(steps[count].at >= 6000 + PERIOD_PROOF);
    expect_steps(6000, 4, 6000);
    assert_int_equal(steps[count].number, number + 1); /* continues */
}

/* The same number of collectives each time: at first only the sum of two micro-batches is a step. */
static void test_accumulation(void **state)
{
    start_over();
    feed("nonono"
         "nonaob",
         400);
    expect_steps(0, 12, 0);
    feed("nonono"
         "nonono"
         "nonaob",
         400);
    assert_int_equal(lost_count, 1);
    expect_steps(4800 + 700, 18, 4800);
}

/* A known period goes on after an evaluation, from its second step on. */
static void test_evaluation(void **state)
{
    start_over();
    feed("nonaob", 500);
    uint64_t count = step_count;
    assert_int_equal(steps[count - 1].at, 499 * 6);
    feed("nono", 100); /* forward passes; the first one is taken for that of a step */
    assert_int_equal(step_count, count + 1);
    assert_int_equal(lost_count, 1);
    feed("nonaob", 100);
    assert_int_equal(steps[count + 1].at, 3400 + 6);
    assert_int_equal(steps[count + 1].number, steps[count].number + 1);
    expect_steps(3401, 6, 3400);
    assert_int_equal(step_count, count + 100);
    assert_int_equal(lost_count, 1);
}

/* A few other collectives between two steps do not matter. */
static void test_others_between_steps(void **state)
{
    start_over();
    feed("abcd", 1000);
    for (unsigned i = 0; i < 10; i++) {
        feed("m", PERIOD_OTHERS_MAX);
        feed("abcd", 10);
    }
    assert_int_equal(lost_count, 0);
    assert_int_equal(steps[step_count - 1].number, 1000 + 100 - 1);
    feed("m", PERIOD_OTHERS_MAX + 1);
    assert_int_equal(lost_count, 1);
    feed("abcd", 3);
    assert_int_equal(steps[step_count - 1].number, 1000 + 100 + 1);
}

/* Such as a metric: the repetition is certain before the first of them, and is found again. */
static void test_regular_others(void **state)
{
    start_over();
    for (unsigned i = 0; i < 10; i++) {
        feed("abcdefgh", 258);
        feed("m", 1);
    }
    assert_true(step_count > 2580 - 2 * PERIOD_PROOF / 8);
}

/* Not in one that is not certain, which may be equal layers. */
static void test_no_others_before_a_period_is_certain(void **state)
{
    start_over();
    feed("abcd", 200);
    assert_true(step_count > 0);
    feed("mabcd", 1);
    assert_int_equal(lost_count, 1);
    uint64_t count = step_count;
    feed("abcd", 200); /* would have been enough before */
    assert_int_equal(step_count, count);
    feed("abcd", 200);
    assert_true(step_count > count);
}

/* An interruption within a step. */
static void test_a_broken_step(void **state)
{
    start_over();
    feed("aabc", 2000);
    uint64_t count = step_count;
    feed("aabaaabcaabc", 1);
    assert_int_equal(lost_count, 1);
    feed("aabc", 2);
    assert_true(step_count > count);
    uint64_t after = 8000 + 12;
    expect_steps(after, 4, after);
}

static void test_bytes_and_operation_tell_collectives_apart(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        start_over();
        for (unsigned n = 0; n < 3000; n++)
            feed_one(i && n % 2 ? COLLECTIVE_REDUCE : COLLECTIVE_ALL_REDUCE, !i && n % 2 ? 4096 : 8192);
        expect_steps(0, 2, 0);
    }
}

static uint64_t shortest_period(const char *letters, uint64_t length)
{
    for (uint64_t shorter = 1; shorter < length; shorter++)
        if (length % shorter == 0 && memcmp(letters, letters + shorter, length - shorter) == 0)
            return shorter;
    return length;
}

/* Any sequence after any start: the shortest period is found, and soon. */
static void test_random_steps(void **state)
{
    uint32_t random = 3;
    for (unsigned round = 0; round < 400; round++) {
        char letters[200] = "";
        uint32_t length = 1 + next_random(&random) % (sizeof letters - 1), start = next_random(&random) % 300;
        for (uint32_t i = 0; i < length; i++)
            letters[i] = (char)(next_random(&random) % 2 ? 'a' : next_random(&random) % 2 ? 'n' : 'b');
        letters[0] = 'a';
        start_over();
        for (uint32_t i = 0; i < start; i++)
            feed_letter((char)('a' + next_random(&random) % 26));
        feed(letters, 6000 / length);
        uint64_t wanted = shortest_period(letters, length);
        assert_true(step_count > 0 && steps[0].at < start + 2 * (PERIOD_PROOF + start + 3 * length));
        expect_steps(0, wanted, steps[0].at);
        assert_int_equal(period.length, wanted);
        assert_int_equal(lost_count, 0);
    }
}

/* Nothing else counts: no time, thread or memory of earlier ones. */
static void test_the_same_sequence_has_the_same_steps(void **state)
{
    static uint64_t at[STEPS_MAX];
    static int64_t numbers[STEPS_MAX];
    uint64_t count = 0;
    for (unsigned rank = 0; rank < 2; rank++) {
        uint32_t random = 7;
        start_over();
        for (unsigned phase = 0; phase < 40; phase++) {
            static const char *const sequences[] = {"abc", "nopaqb", "zabcd", "no", "a", "m", "nananab"};
            const char *sequence = sequences[next_random(&random) % 7];
            feed(sequence, next_random(&random) % 3000);
            feed(sequence + strlen(sequence) / 2, 1);
        }
        assert_true(step_count > 1000);
        for (uint64_t i = 0; i < step_count; i++) {
            assert_true(rank == 0 || (at[i] == steps[i].at && numbers[i] == steps[i].number));
            assert_true(i == 0 || steps[i].number == steps[i - 1].number + 1);
            at[i] = steps[i].at;
            numbers[i] = steps[i].number;
        }
        assert_true(rank == 0 || count == step_count);
        count = step_count;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_one_collective_in_each_step),
        cmocka_unit_test(test_rebuilt_buckets),
        cmocka_unit_test(test_a_step_begins_with_the_forward_pass),
        cmocka_unit_test(test_layers_are_no_steps),
        cmocka_unit_test(test_more_layers_than_the_proof),
        cmocka_unit_test(test_without_a_reduction_there_is_no_step),
        cmocka_unit_test(test_no_period),
        cmocka_unit_test(test_the_longest_period),
        cmocka_unit_test(test_a_sequence_longer_than_the_memory),
        cmocka_unit_test(test_another_period),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_others_between_steps),
        cmocka_unit_test(test_regular_others),
        cmocka_unit_test(test_no_others_before_a_period_is_certain),
        cmocka_unit_test(test_a_broken_step),
        cmocka_unit_test(test_bytes_and_operation_tell_collectives_apart),
        cmocka_unit_test(test_random_steps),
        cmocka_unit_test(test_the_same_sequence_has_the_same_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
