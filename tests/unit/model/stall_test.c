#include "model/hang/stall.h"

#include "base/clock.h"
#include "model/step.h"
#include "support/test.h"

#include <string.h>

static struct stall stall;
static struct stall_look now;

static int begin(void **state)
{
    memset(&stall, 0, sizeof stall);
    stall.after_ns = 5 * NS_PER_SECOND;
    now = (struct stall_look){.now_ns = 1000 * NS_PER_SECOND, .steps = 10, .step_kind = STEP_TRAIN};
    return 0;
}

static enum stall_event look(void)
{
    now.now_ns += NS_PER_SECOND;
    return stall_note(&stall, &now);
}

/* Looks for so long that nothing moves. Returns the seconds after which an event came; 0: none. */
static unsigned wait(unsigned seconds, enum stall_event wanted)
{
    for (unsigned i = 1; i <= seconds; i++) {
        enum stall_event event = look();
        if (event == wanted)
            return i;
        assert_int_equal(event, STALL_NOTHING);
    }
    return 0;
}

static void move(unsigned looks)
{
    for (unsigned i = 0; i < looks; i++) {
        now.enqueued += 100;
        assert_int_equal(look(), STALL_NOTHING);
    }
}

static void test_a_learnt_step_stalls_after_five_seconds(void **state)
{
    move(11);
    assert_int_equal(wait(30, STALL_BEGINS), 5);
    assert_int_equal(stall.stalled_ns, now.now_ns - 5 * NS_PER_SECOND);
    assert_int_equal(stall.stalls, 1);
    assert_int_equal(wait(30, STALL_REPEATS), 10);
    assert_int_equal(wait(30, STALL_REPEATS), 10);
    now.gpu_ended_ns = now.now_ns + NS_PER_MS;
    assert_int_equal(look(), STALL_ENDS);
    assert_int_equal(look(), STALL_NOTHING);
}

static void test_a_long_stall_is_an_alarm(void **state)
{
    move(11);
    assert_int_equal(wait(30, STALL_BEGINS), 5);
    for (unsigned i = 0; i < 44; i++) {
        enum stall_event event = look();
        assert_true(event == STALL_NOTHING || event == STALL_REPEATS);
        assert_false(stall.is_alarm);
    }
    assert_int_equal(look(), STALL_ALARMS); /* after 50 s */
    assert_true(stall.is_alarm);
    assert_int_equal(wait(30, STALL_REPEATS), 10);
    now.enqueued++;
    assert_int_equal(look(), STALL_ENDS);
    assert_true(stall.is_alarm);                                   /* of the stall that has ended */
    assert_int_equal(stall_alarm_ns(&stall) / NS_PER_SECOND, 244); /* four times this pause of 61 s */
    for (unsigned i = 0; i < 2 * STALL_WINDOW; i++)
        move(1);
    assert_int_equal(stall_limit_ns(&stall) / NS_PER_SECOND, 5);
    assert_int_equal(stall_alarm_ns(&stall) / NS_PER_SECOND, 122); /* twice the longest ever */
    assert_int_equal(wait(30, STALL_BEGINS), 5);
    assert_false(stall.is_alarm);
}

static void test_first_steps_alarm_late(void **state)
{
    now.steps = 1;
    move(11);
    assert_int_equal(stall_alarm_ns(&stall) / NS_PER_SECOND, 300);
}

static void test_each_counter_moves(void **state)
{
    move(11);
    for (int round = 0; round < 12; round++) {
        wait(4, STALL_NOTHING);
        if (round % 3 == 0)
            now.gpu_ended_ns = now.now_ns + NS_PER_SECOND;
        now.steps += round % 3 == 1;
        now.enqueued += round % 3 == 2;
        assert_int_equal(look(), STALL_NOTHING);
    }
}

/* A flush in a stall brings ends from before it. */
static void test_an_end_counts_as_of_its_time(void **state)
{
    move(11);
    assert_int_equal(wait(30, STALL_BEGINS), 5);
    now.gpu_ended_ns = now.now_ns - 4 * NS_PER_SECOND;
    assert_int_equal(look(), STALL_NOTHING);
    assert_int_equal(stall.moved_ns, now.gpu_ended_ns);
    assert_int_equal(wait(30, STALL_REPEATS), 9);         /* of the same stall */
    now.gpu_ended_ns = now.now_ns + 3600 * NS_PER_SECOND; /* a wrong clock moves once */
    assert_int_equal(look(), STALL_ENDS);
    assert_int_equal(wait(90, STALL_BEGINS), 60); /* four times the pause since the end */
}

/* One look sees twenty steps and the first checkpoint: nothing is known of checkpoints. */
static void test_steps_of_another_kind_teach_nothing(void **state)
{
    move(2);
    now.steps += 20;
    assert_int_equal(look(), STALL_NOTHING);
    assert_int_equal(stall_limit_ns(&stall), 5 * NS_PER_SECOND);
    now.steps += 20;
    now.step_kind = STEP_CHECKPOINT;
    assert_int_equal(wait(60, STALL_BEGINS), 31);
}

static void test_first_steps_are_not_learnt(void **state)
{
    now.steps = 1;
    assert_int_equal(look(), STALL_NOTHING);
    now.steps = 11;
    assert_int_equal(look(), STALL_NOTHING);
    assert_int_equal(stall_limit_ns(&stall), 30 * NS_PER_SECOND); /* 9 */
    now.steps = 12;
    assert_int_equal(look(), STALL_NOTHING);
    assert_int_equal(stall_limit_ns(&stall), 5 * NS_PER_SECOND);
}

static void test_time_without_looks_is_no_movement(void **state)
{
    move(11);
    uint64_t moved_ns = stall.moved_ns;
    wait(2, STALL_BEGINS);
    now.now_ns += 600 * NS_PER_SECOND;
    assert_int_equal(look(), STALL_NOTHING);
    assert_true(stall.moved_ns > moved_ns);
    assert_int_equal(stall.moved_ns - stall.missed_ns, moved_ns);
}

static void test_before_it_is_learnt_thirty_seconds_count(void **state)
{
    move(3);
    assert_int_equal(wait(60, STALL_BEGINS), 30);
}

static void test_the_first_steps_may_take_longer(void **state)
{
    now.steps = 1;
    move(20);
    assert_int_equal(wait(60, STALL_BEGINS), 30);
    now.steps = 3; /* the pause was one of the first steps */
    assert_int_equal(look(), STALL_ENDS);
    move(10);
    assert_int_equal(wait(60, STALL_BEGINS), 5);
}

static void test_four_times_the_longest_pause(void **state)
{
    move(11);
    assert_int_equal(wait(3, STALL_BEGINS), 0);
    move(1); /* a pause of 4 s */
    assert_int_equal(stall_limit_ns(&stall), 16 * NS_PER_SECOND);
    assert_int_equal(wait(60, STALL_BEGINS), 16);
}

static void test_kinds_of_steps_are_learnt_separately(void **state)
{
    move(11);
    now.step_kind = STEP_CHECKPOINT;
    now.steps++;
    move(11);
    assert_int_equal(wait(4, STALL_BEGINS), 0);
    now.step_kind = STEP_TRAIN; /* the pause was in the checkpoint */
    move(1);
    assert_int_equal(wait(60, STALL_BEGINS), 5);
}

static void test_the_limit_has_a_limit(void **state)
{
    move(11);
    stall.kinds[STEP_TRAIN].longest = 3600 * NS_PER_SECOND;
    assert_int_equal(wait(400, STALL_BEGINS), 300);
}

static void test_old_pauses_are_forgotten(void **state)
{
    move(11);
    wait(3, STALL_BEGINS);
    move(2 * STALL_WINDOW);
    assert_int_equal(wait(60, STALL_BEGINS), 5);
}

static void test_an_idle_process_does_not_stall(void **state)
{
    now.step_kind = STEP_NONE;
    move(11);
    assert_int_equal(wait(3600, STALL_BEGINS), 0);
    now.is_in_call = true; /* the time before the call does not count */
    assert_int_equal(wait(60, STALL_BEGINS), 6);
    now.is_in_call = false;
    assert_int_equal(look(), STALL_ENDS);
    assert_int_equal(wait(3600, STALL_BEGINS), 0);
}

static void test_a_step_ends_and_nothing_follows(void **state)
{
    move(11);
    now.step_kind = STEP_NONE;
    now.steps++;
    assert_int_equal(wait(3600, STALL_BEGINS), 0);
}

static void test_a_stopped_process_does_not_stall(void **state)
{
    move(11);
    wait(2, STALL_BEGINS);
    now.now_ns += 600 * NS_PER_SECOND;
    assert_int_equal(look(), STALL_NOTHING);
    assert_int_equal(wait(60, STALL_BEGINS), 2); /* with the five seconds that were looked at */
    now.enqueued++;
    assert_int_equal(look(), STALL_ENDS);
    assert_in_range(stall_limit_ns(&stall), 5 * NS_PER_SECOND, 30 * NS_PER_SECOND);
}

static void test_reports_become_rarer(void **state)
{
    unsigned often = 0, rarely = 0;
    move(11);
    assert_int_equal(wait(30, STALL_BEGINS), 5);
    for (int i = 0; i < 4; i++)
        assert_int_equal(wait(60, STALL_REPEATS), 10);
    assert_int_equal(wait(60, STALL_ALARMS), 5); /* a report, too */
    for (int i = 5; i < 36; i++) {
        unsigned seconds = wait(60, STALL_REPEATS);
        often += seconds == 10;
        rarely += seconds == 60;
    }
    assert_int_equal(often, STALL_OFTEN - 5);
    assert_int_equal(rarely, 36 - STALL_OFTEN);
}

static void test_the_interval(void **state)
{
    assert_int_equal(stall_interval_ns(&stall), NS_PER_SECOND);
    stall.after_ns = NS_PER_SECOND / 2;
    assert_int_equal(stall_interval_ns(&stall), 100 * NS_PER_MS);
    stall.after_ns = 60 * NS_PER_SECOND;
    assert_int_equal(stall_interval_ns(&stall), NS_PER_SECOND);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_learnt_step_stalls_after_five_seconds),
        TEST(test_a_long_stall_is_an_alarm),
        TEST(test_first_steps_alarm_late),
        TEST(test_each_counter_moves),
        TEST(test_an_end_counts_as_of_its_time),
        TEST(test_steps_of_another_kind_teach_nothing),
        TEST(test_first_steps_are_not_learnt),
        TEST(test_time_without_looks_is_no_movement),
        TEST(test_before_it_is_learnt_thirty_seconds_count),
        TEST(test_the_first_steps_may_take_longer),
        TEST(test_four_times_the_longest_pause),
        TEST(test_kinds_of_steps_are_learnt_separately),
        TEST(test_the_limit_has_a_limit),
        TEST(test_old_pauses_are_forgotten),
        TEST(test_an_idle_process_does_not_stall),
        TEST(test_a_step_ends_and_nothing_follows),
        TEST(test_a_stopped_process_does_not_stall),
        TEST(test_reports_become_rarer),
        TEST(test_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
