#include "analysis/stat/findings/repeats.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>

#define TOKENS_MAX 600

static uint32_t tokens[TOKENS_MAX];

/* By the definition: every maximal stretch of every period, unless a smaller period covers it. */
static size_t find_slowly(size_t count, size_t period_max, size_t times, struct repeat *out)
{
    size_t found = 0;
    for (size_t period = 1; period <= period_max; period++) {
        for (size_t start = 0; start + period < count;) {
            size_t end = start + period;
            while (end < count && tokens[end] == tokens[end - period])
                end++;
            bool is_known = false;
            for (size_t i = 0; i < found; i++)
                is_known |= out[i].start <= start && out[i].start + out[i].length >= end &&
                            period % out[i].period == 0;
            if ((end - start) / period >= times && !is_known)
                out[found++] = (struct repeat){start, end - start, period};
            start = end - period + 1;
        }
    }
    return found;
}

static int compare(const void *a, const void *b)
{
    const struct repeat *x = a, *y = b;
    if (x->period != y->period)
        return x->period < y->period ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void assert_found(size_t count, size_t period_max, size_t times)
{
    static struct repeat wanted[TOKENS_MAX * TOKENS_MAX];
    struct repeat *got;
    size_t wanted_count = find_slowly(count, period_max, times, wanted);
    size_t got_count = repeats_find(tokens, count, period_max, times, &got);
    qsort(wanted, wanted_count, sizeof *wanted, compare);
    if (got_count)
        qsort(got, got_count, sizeof *got, compare);
    assert_int_equal(got_count, wanted_count);
    for (size_t i = 0; i < got_count; i++) {
        assert_int_equal(got[i].period, wanted[i].period);
        assert_int_equal(got[i].start, wanted[i].start);
        assert_int_equal(got[i].length, wanted[i].length);
    }
    free(got);
}

static uint32_t random_state = 1;

static uint32_t next_random(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 10) % below;
}

static void test_random_sequences_agree_with_the_definition(void **state)
{
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + next_random(200);
        uint32_t letters = 1 + next_random(4);
        for (size_t i = 0; i < count; i++)
            tokens[i] = next_random(letters);
        assert_found(count, 1 + next_random(64), REPEATS_LEAST + next_random(3));
    }
}

/* Random tokens with repetitions, as in programs. */
static void test_planted_repetitions_agree_with_the_definition(void **state)
{
    for (int round = 0; round < 200; round++) {
        size_t count = 0;
        while (count < 400) {
            size_t period = 1 + next_random(40), length = next_random(180), first = count;
            for (size_t i = 0; i < length && count < 400; i++, count++)
                tokens[count] = i < period ? next_random(6) : tokens[first + i % period];
        }
        assert_found(count, 64, REPEATS_LEAST);
    }
}

static void test_a_loop_is_one_repetition(void **state)
{
    struct repeat *got;
    for (size_t i = 0; i < 500; i++)
        tokens[i] = i < 7 ? 100 + (uint32_t)i : (uint32_t)((i - 7) % 12);
    assert_int_equal(repeats_find(tokens, 500, 64, 10, &got), 1);
    assert_int_equal(got->start, 7);
    assert_int_equal(got->length, 493);
    assert_int_equal(got->period, 12);
    free(got);
}

static void test_of_nothing_there_is_none(void **state)
{
    struct repeat *got;
    assert_int_equal(repeats_find(tokens, 0, 64, 3, &got), 0);
    assert_null(got);
    for (size_t i = 0; i < 100; i++)
        tokens[i] = (uint32_t)i;
    assert_int_equal(repeats_find(tokens, 100, 64, 3, &got), 0);
    assert_null(got);
}

/* A limit on the period excludes longer ones, and nothing else. */
static void test_periods_beyond_the_bound_are_left_out(void **state)
{
    struct repeat *got;
    for (size_t i = 0; i < 400; i++)
        tokens[i] = (uint32_t)(i % 40);
    assert_int_equal(repeats_find(tokens, 400, 39, 3, &got), 0);
    assert_int_equal(repeats_find(tokens, 400, 40, 3, &got), 1);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sequences_agree_with_the_definition),
        cmocka_unit_test(test_planted_repetitions_agree_with_the_definition),
        cmocka_unit_test(test_a_loop_is_one_repetition),
        cmocka_unit_test(test_of_nothing_there_is_none),
        cmocka_unit_test(test_periods_beyond_the_bound_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
