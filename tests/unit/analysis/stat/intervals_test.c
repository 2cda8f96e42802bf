#include "analysis/stat/base/intervals.h"

#include "support/test.h"

#include <stdlib.h>

#define END 400

static uint64_t random_state = 3;

static uint64_t draw(uint64_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % bound;
}

/* Compares with an array that says for each ns whether it is covered. */
static void all_questions_are_answered(void **state)
{
    for (int round = 0; round < 50; round++) {
        struct intervals intervals = {0};
        bool covered[END] = {false};
        for (uint64_t start = draw(20); start < END - 60; start += draw(1 + (uint64_t)round)) {
            uint64_t end = start + draw(30);
            intervals_add(&intervals, start, end);
            for (uint64_t at = start; at < end; at++)
                covered[at] = true;
            if (start > END / 2 && round == 0)
                break;
            start++;
        }
        for (uint64_t from = 0; from < END; from += 1 + draw(7)) {
            uint64_t gaps = 0, before = 0;
            for (uint64_t at = 0; at < from; at++)
                before += covered[at];
            assert_int_equal(intervals_covered(&intervals, from), before);
            assert_int_equal(intervals_cover(&intervals, from), covered[from]);
            for (uint64_t until = from; until < END; until++) {
                assert_int_equal(intervals_gaps(&intervals, from, until), gaps);
                gaps += !covered[until];
            }
        }
        intervals_deinit(&intervals);
    }
}

static void forgotten_time_has_no_gaps(void **state)
{
    struct intervals intervals = {0};
    for (uint64_t start = 10; start < 100; start += 10)
        intervals_add(&intervals, start, start + 4);
    assert_int_equal(intervals_gaps(&intervals, 0, 100), 64);
    intervals_keep(&intervals, 3); /* from 70 on */
    assert_int_equal(intervals.count, 3);
    assert_int_equal(intervals.capacity, 3); /* the rest of the memory is freed */
    assert_int_equal(intervals_gaps(&intervals, 0, 100), 18);
    assert_int_equal(intervals_gaps(&intervals, 0, 60), 0);
    assert_int_equal(intervals_gaps(&intervals, 75, 82), 5);
    assert_int_equal(intervals_covered(&intervals, 100), 36);
    assert_int_equal(intervals_gaps(&intervals, 50, 20), 0);
    intervals_deinit(&intervals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_questions_are_answered),
        cmocka_unit_test(forgotten_time_has_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
