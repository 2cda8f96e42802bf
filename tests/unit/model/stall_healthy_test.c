/* False alarms: a day of healthy training jobs, in simulated time, through the rules of model/hang/stall.h.
 *
 * A job has steps of about 6 s, in which the loader may be late; a checkpoint every 500 steps and an
 * evaluation every 1,000, whose kind the program tells or not; recompilations; and elastic restarts, each a
 * new process with a start, communicators, and first steps that compile. Looks may be late. */
#include "model/hang/stall.h"

#include "base/clock.h"
#include "base/hash.h"
#include "model/step.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

#define DAY_S     86400
#define SEEDS     40
#define STEPS_MIN 10000

static struct {
    uint64_t random;
    bool tells_kinds;
    double now_s, next_look_s;
    struct stall stall;
    struct stall_look look;
    uint32_t steps, alarms, reports;
} job;

static double uniform(void)
{
    return (double)(hash_mix(job.random++) >> 11) / (double)(1ull << 53);
}

static double between(double low, double high)
{
    return low + uniform() * (high - low);
}

/* Lognormal: most are near the median, some far above. */
static double around(double median, double spread)
{
    double normal = sqrt(-2 * log(uniform() + 1e-12)) * cos(6.283185307 * uniform());
    return median * exp(spread * normal);
}

static void look_until(double end_s)
{
    while (job.next_look_s < end_s) {
        job.look.now_ns = (uint64_t)(job.next_look_s * 1e9);
        enum stall_event event = stall_note(&job.stall, &job.look);
        job.reports += event == STALL_BEGINS;
        job.alarms += event == STALL_ALARMS || (event == STALL_BEGINS && job.stall.is_alarm);
        job.next_look_s += uniform() < 0.001 ? between(2, 8) : between(1, 1.05); /* some are late */
    }
    job.now_s = end_s;
}

static void rest(double seconds)
{
    look_until(job.now_s + seconds);
}

/* The GPU works, and CUPTI delivers its records once a second. */
static void work(double seconds)
{
    for (double end_s = job.now_s + seconds; job.now_s < end_s;) {
        job.look.enqueued += 20;
        job.look.gpu_ended_ns = (uint64_t)(job.now_s * 1e9);
        rest(end_s - job.now_s < 0.7 ? end_s - job.now_s : 0.7);
    }
}

static void begin_step(enum step_kind kind)
{
    job.look.steps++;
    job.look.step_kind = job.tells_kinds || kind == STEP_NONE ? (uint32_t)kind : (uint32_t)STEP_TRAIN;
}

static void train(void)
{
    begin_step(STEP_TRAIN);
    job.steps++;
    rest(uniform() < 0.02 ? between(1, 4) : 0.05); /* the loader */
    if (uniform() < 0.0005)
        rest(between(10, 45)); /* another shape is compiled */
    work(around(5.4, 0.08));
}

static void start_process(void)
{
    memset(&job.stall, 0, sizeof job.stall);
    memset(&job.look, 0, sizeof job.look);
    job.stall.after_ns = 5 * NS_PER_SECOND;
    job.look.step_kind = STEP_NONE;
    rest(between(20, 90));      /* imports and weights */
    job.look.is_in_call = true; /* ncclCommInitRank waits for the other ranks */
    rest(between(2, 20));
    job.look.is_in_call = false;
    for (int i = 0; i < 2; i++) {
        begin_step(STEP_TRAIN);
        work(1);
        rest(between(5, 90) / (i + 1)); /* compiles */
        work(5);
    }
}

static void run_day(uint64_t seed)
{
    memset(&job, 0, sizeof job);
    job.random = hash_mix(seed);
    job.tells_kinds = seed % 2;
    job.next_look_s = 1;
    start_process();
    while (job.now_s < DAY_S) {
        train();
        if (job.steps % 500 == 0) {
            begin_step(STEP_CHECKPOINT);
            rest(around(20, 0.3));
        }
        if (job.steps % 1000 == 0) {
            begin_step(STEP_EVALUATION);
            rest(between(2, 12));
            work(120);
        }
        if (job.steps % 3000 == 0)
            start_process(); /* a rank was lost elsewhere */
    }
}

static void test_a_day_has_at_most_one_alarm(void **state)
{
    uint32_t alarms = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_day(seed);
        assert_true(job.steps >= STEPS_MIN);
        assert_in_range(job.alarms, 0, 1);
        assert_in_range(job.reports, 1, 100); /* the day has long pauses */
        alarms += job.alarms;
    }
    assert_in_range(alarms, 0, SEEDS / 10);
}

/* Otherwise the test above would say nothing. */
static void test_a_hang_is_an_alarm(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_day(seed);
        uint32_t before = job.alarms;
        train();
        rest(305);
        assert_int_equal(job.alarms, before + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_day_has_at_most_one_alarm),
                                       cmocka_unit_test(test_a_hang_is_an_alarm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
