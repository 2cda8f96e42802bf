/* Tests the steps that NCCL's collectives report, and the choice among communicators. Each test is a process
 * of its own, because all of it is global. */
#include "agent/capture/context/collective_steps.h"

#include "agent/capture/context/steps.h"
#include "agent/capture/nccl/collective_period.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/active_contexts.h"
#include "agent/capture/sleep/mode.h"
#include "support/apart.h"

#include <pthread.h>
#include <string.h>

#define WORLD  100 /* communicators */
#define HALF   101
#define OTHER  102
#define WARM   (2 * PERIOD_PROOF) /* collectives after which a period is known */
#define BUCKET 4096

static const struct step_rules every = {.job = 7, .rank = 1, .world_size = 4};
/* One step in 8. */
static const struct step_rules some = {
    .threshold = (1ull << 56) - (1ull << 53), .is_limited = true, .job = 7, .rank = 1, .world_size = 4};

static void call_of(uint64_t communicator, const char *function, uint64_t bytes)
{
    struct range_attr attrs[NCCL_CALL_ATTRS_MAX];
    struct nccl_values values = {.present = 1u << NCCL_COMMUNICATOR | 1u << NCCL_BYTES};
    values.value[NCCL_COMMUNICATOR] = communicator;
    values.value[NCCL_BYTES] = bytes;
    (void)nccl_note_call(function, (uint32_t)strlen(function), &values, attrs, NULL);
}

static void reduce(uint64_t communicator, uint64_t bytes)
{
    call_of(communicator, "ncclAllReduce", bytes);
}

/* Steps of so many buckets. */
static void train(uint64_t communicator, unsigned steps, unsigned buckets)
{
    for (unsigned step = 0; step < steps; step++)
        for (unsigned bucket = 0; bucket < buckets; bucket++)
            reduce(communicator, BUCKET + bucket);
}

static void begin(const struct step_rules *rules)
{
    nccl_note_communicator(WORLD, 4, 1);
    nccl_note_communicator(HALF, 2, 1);
    collective_steps_observe();
    steps_start(rules, NULL);
    collective_steps_start(rules->world_size > 1);
}

static bool take(struct step_boundary *boundary)
{
    uint64_t missed;
    bool found = steps_take(boundary, &missed);
    assert_int_equal(missed, 0);
    return found;
}

static void expect_none(void)
{
    struct step_boundary boundary;
    assert_false(take(&boundary));
}

/* Takes all boundaries, which must be steps numbered without a gap. Returns their number; the last one is
 * that of the latest boundary. */
static unsigned take_steps(int64_t *first, int64_t *last)
{
    struct step_boundary boundary;
    unsigned count = 0;
    while (take(&boundary)) {
        assert_int_equal(boundary.kind, STEP_TRAIN);
        assert_int_equal(boundary.source, STEP_BY_COLLECTIVES);
        assert_true(count == 0 || boundary.number == *last + 1);
        *last = boundary.number;
        *first = count++ ? *first : boundary.number;
    }
    return count;
}

static void expect_steps(unsigned count, int64_t last)
{
    int64_t first_is = -1, last_is = -1;
    assert_int_equal(take_steps(&first_is, &last_is), count);
    assert_int_equal(last_is, last);
}

static void warm_up(uint64_t communicator, unsigned buckets)
{
    int64_t first = -1, last = -1;
    train(communicator, WARM / buckets, buckets);
    assert_true(take_steps(&first, &last) > 0);
    assert_int_equal(last, WARM / buckets - 1);
}

static void test_a_step_is_a_repetition(void)
{
    begin(&every);
    warm_up(WORLD, 4);
    train(WORLD, 3, 4);
    expect_steps(3, WARM / 4 + 2);
}

static void test_small_ones_and_pairs_are_ignored(void)
{
    begin(&every);
    warm_up(WORLD, 4);
    for (unsigned i = 0; i < 100; i++) {
        reduce(WORLD, COLLECTIVE_STEPS_BYTES_MIN - 1);
        call_of(WORLD, "ncclSend", BUCKET);
        call_of(WORLD, "ncclGroupEnd", BUCKET);
        reduce(WORLD, BUCKET + i % 4);
    }
    expect_steps(25, WARM / 4 + 24);
}

/* Before NCCL 2.25, or if the payload is unknown. */
static void test_without_bytes_there_are_no_steps(void)
{
    struct range_attr attrs[NCCL_CALL_ATTRS_MAX];
    struct nccl_values values = {.present = 1u << NCCL_COMMUNICATOR};
    values.value[NCCL_COMMUNICATOR] = WORLD;
    begin(&every);
    for (unsigned i = 0; i < WARM; i++)
        (void)nccl_note_call("ncclAllReduce", 13, &values, attrs, NULL);
    expect_none();
}

static void test_an_interruption_is_no_step(void)
{
    struct step_boundary boundary;
    begin(&every);
    train(WORLD, (PERIOD_MAX + 2 * PERIOD_PROOF) / 4, 4);
    while (take(&boundary)) {
    }
    int64_t number = boundary.number;
    reduce(WORLD, BUCKET);
    train(WORLD, 10, 1);
    assert_true(take(&boundary));
    assert_int_equal(boundary.number, number + 1);
    assert_true(take(&boundary));
    assert_int_equal(boundary.kind, STEP_NONE);
    train(WORLD, 2, 4);
    assert_true(take(&boundary));
    assert_int_equal(boundary.kind, STEP_TRAIN);
    assert_int_equal(boundary.number, number + 2);
    expect_none();
}

static void test_another_source_takes_over(void)
{
    struct step_boundary boundary;
    begin(&every);
    warm_up(WORLD, 4);
    assert_true(nccl_follows_collectives());
    assert_true(steps_begin(5, STEP_TRAIN, STEP_BY_NVTX));
    assert_false(nccl_follows_collectives()); /* nothing is observed any more */
    assert_true(take(&boundary));
    train(WORLD, WARM, 4);
    expect_none();
}

static void test_another_source_was_first(void)
{
    struct step_boundary boundary;
    assert_true(steps_begin(5, STEP_TRAIN, STEP_BY_OPTIMIZER));
    begin(&every);
    assert_false(nccl_follows_collectives());
    assert_true(take(&boundary));
    train(WORLD, WARM, 4);
    expect_none();
}

/* A source that came at the same time as the observation began. */
static void test_observation_ends_with_the_first_refused_step(void)
{
    struct step_boundary boundary;
    begin(&every);
    nccl_collective_hook *hook = atomic_load(&nccl_on_collective);
    assert_true(steps_begin(5, STEP_TRAIN, STEP_BY_API));
    assert_true(take(&boundary));
    nccl_set_collective_hook(hook);
    train(WORLD, WARM, 4);
    expect_none();
    assert_false(nccl_follows_collectives());
}

/* A process that is no rank of a job; and none before capture starts. */
static void test_nothing_outside_a_job(void)
{
    static const struct step_rules alone = {.rank = -1, .world_size = -1};
    begin(&alone);
    assert_false(nccl_follows_collectives());
    train(WORLD, WARM, 4);
    expect_none();
}

/* All ranks count from the first collective, whenever their capture starts. */
static void test_collectives_before_capture_count(void)
{
    int64_t first = -1, last = -1;
    nccl_note_communicator(WORLD, 4, 1);
    collective_steps_observe();
    train(WORLD, WARM / 4, 4);
    expect_none();
    steps_start(&every, NULL);
    collective_steps_start(true);
    expect_none();
    train(WORLD, 3, 4);
    assert_int_equal(take_steps(&first, &last), 3);
    assert_int_equal(first, WARM / 4);
}

static void test_several_ranks_in_a_process_have_no_order(void)
{
    begin(&every);
    nccl_note_communicator(WORLD, 4, 2);
    train(WORLD, WARM, 4);
    expect_none();
}

/* Even if another one is known first. Its steps are numbered by its own collectives. */
static void test_the_largest_communicator_counts(void)
{
    struct step_boundary boundary;
    begin(&every);
    warm_up(HALF, 2);
    train(OTHER, WARM, 3); /* of unknown size */
    expect_none();
    train(WORLD, WARM / 4, 4);
    train(HALF, 10, 2);
    train(OTHER, 10, 3);
    train(WORLD, 1, 4);
    int64_t last = -1;
    while (take(&boundary)) {
        assert_int_equal(boundary.kind, STEP_TRAIN);
        last = boundary.number;
    }
    assert_int_equal(last, 1000 + WARM / 4); /* it started when steps were known */
}

/* Of the same size: the one with more collectives in a step. */
static void test_the_busiest_communicator_counts(void)
{
    begin(&every);
    nccl_note_communicator(OTHER, 4, 1);
    for (unsigned step = 0; step < WARM; step++) {
        train(WORLD, 1, 2);
        train(OTHER, 1, 3);
    }
    struct step_boundary boundary;
    while (take(&boundary)) {
    }
    for (unsigned step = 0; step < 5; step++) {
        train(WORLD, 1, 2);
        expect_none();
        train(OTHER, 1, 3);
        expect_steps(1, WARM + step);
    }
}

/* The end of its period is no end of a step. */
static void test_a_smaller_communicator_ends_no_step(void)
{
    struct step_boundary boundary;
    begin(&every);
    nccl_note_communicator(OTHER, 4, 1);
    for (unsigned step = 0; step < WARM; step++) {
        train(WORLD, 1, 2);
        train(OTHER, 1, 3);
    }
    while (take(&boundary)) {
    }
    train(WORLD, 1, 1);
    train(WORLD, 1, 1);
    expect_none();
    train(OTHER, 1, 1);
    assert_true(take(&boundary));
    train(OTHER, 1, 1);
    assert_true(take(&boundary));
    assert_int_equal(boundary.kind, STEP_NONE);
}

/* NCCL was initialized again. */
static void test_a_new_communicator_replaces_a_silent_one(void)
{
    struct step_boundary boundary = {0};
    begin(&every);
    warm_up(WORLD, 4);
    train(HALF, WARM, 4);
    expect_none();
    train(HALF, WARM, 4);
    while (take(&boundary)) {
        assert_int_equal(boundary.kind, STEP_TRAIN);
        assert_true(boundary.number > 1000 + WARM);
    }
    assert_int_equal(boundary.number, 1000 + 2 * WARM - 1);
    train(WORLD, 1, 4);
    expect_steps(1, WARM / 4); /* it goes on */
    train(HALF, 1, 4);
    expect_none();
}

/* Both are used from the beginning. The smaller one would be known first, because its steps are shorter. */
static void test_a_smaller_one_waits_for_a_larger_one(void)
{
    begin(&every);
    for (unsigned step = 0; step < WARM / 16; step++) {
        train(HALF, 16, 2);
        train(WORLD, 1, 4);
    }
    expect_none();
    for (unsigned step = 0; step < WARM / 4; step++) {
        train(HALF, 1, 2);
        train(WORLD, 1, 4);
    }
    int64_t first = -1, last = -1;
    assert_true(take_steps(&first, &last) > 0);
    assert_int_equal(last, WARM / 16 + WARM / 4 - 1);
}

/* It has collectives, and no steps. */
static void test_a_larger_one_without_steps(void)
{
    int64_t first = -1, last = -1;
    begin(&every);
    reduce(WORLD, BUCKET);
    train(HALF, WARM / 4, 4);
    expect_none();
    train(HALF, 1024, 4);
    assert_true(take_steps(&first, &last) > 0);
    assert_int_equal(last, WARM / 4 + 1023);
}

/* Capture starts at another time on each rank, and the numbers are the same. */
static void test_numbers_do_not_depend_on_the_start(void)
{
    struct step_boundary boundary;
    nccl_note_communicator(WORLD, 4, 1);
    nccl_note_communicator(HALF, 2, 1);
    collective_steps_observe();
    train(HALF, WARM, 4);
    train(WORLD, 1, 4); /* new after steps of the other one */
    steps_start(&every, NULL);
    collective_steps_start(true);
    train(WORLD, WARM, 4);
    assert_true(take(&boundary));
    assert_true(boundary.number >= 1000);
}

static void test_too_many_communicators(void)
{
    begin(&every);
    for (uint64_t i = 0; i < COLLECTIVE_STEPS_COMMUNICATORS; i++)
        reduce(1000 + i, BUCKET);
    train(WORLD, WARM, 4);
    expect_none();
    train(1000 + COLLECTIVE_STEPS_COMMUNICATORS - 1, WARM, 4);
    struct step_boundary boundary;
    assert_true(take(&boundary));
}

/* Steps that are not sampled put capture to sleep, and collectives go on counting. */
static void test_capture_sleeps_and_wakes_up(void)
{
    unsigned awake = 0;
    begin(&some);
    warm_up(WORLD, 4);
    atomic_store(&mode_now, MODE_ASLEEP);
    for (int64_t number = WARM / 4; number < WARM / 4 + 64; number++) {
        train(WORLD, 1, 4);
        expect_steps(1, number);
        assert_int_equal(active_contexts_count(), step_is_watched(&some, number, STEP_TRAIN));
        awake += active_contexts_count();
    }
    assert_int_equal(awake, 16); /* 1 step in 8, and the one before */
}

/* A collective at the same time as another one: the order is not that of other ranks. */
static void collide(void)
{
    reduce(WORLD, BUCKET);
    atomic_store(&active_contexts_is_asleep, false);
}

static void test_threads_at_once_have_no_order(void)
{
    struct step_boundary boundary;
    int64_t number = WARM / 4;
    begin(&some);
    warm_up(WORLD, 4);
    active_contexts_on_asleep = collide;
    for (; steps_are_held() || !step_is_watched(&some, number, STEP_TRAIN); number++)
        train(WORLD, 1, 4);
    expect_steps((unsigned)(number - WARM / 4), number - 1);
    atomic_store(&active_contexts_is_asleep, true);
    train(WORLD, 1, 4); /* collides where this step begins */
    assert_false(atomic_load(&active_contexts_is_asleep));
    boundary.kind = STEP_TRAIN;
    while (take(&boundary))
        ;
    assert_int_equal(boundary.kind, STEP_NONE); /* so that capture may sleep again */
    assert_false(steps_are_held());
    train(WORLD, WARM, 4);
    expect_none();
}

/* A backward pass on a thread of its own, as in PyTorch, while another thread uses another communicator. */
#define THREAD_STEPS 900
#define AHEAD        10 /* of each other, in steps */

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static unsigned turn, others_turn;

static void wait_for(bool (*may_go)(unsigned number), unsigned number)
{
    pthread_mutex_lock(&turn_lock);
    while (!may_go(number))
        pthread_cond_wait(&turned, &turn_lock);
    pthread_mutex_unlock(&turn_lock);
}

static void end_turn(unsigned *of)
{
    pthread_mutex_lock(&turn_lock);
    ++*of;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&turn_lock);
}

static bool is_turn(unsigned number)
{
    return turn == number && others_turn + AHEAD >= turn / 2;
}

static bool is_turn_of_others(unsigned number)
{
    return turn / 2 + AHEAD >= number;
}

static void *train_in_turns(void *which)
{
    for (unsigned step = 0; step < THREAD_STEPS; step++) {
        wait_for(is_turn, 2 * step + (which != NULL));
        reduce(WORLD, which ? BUCKET + 2 : BUCKET);
        reduce(WORLD, which ? BUCKET + 3 : BUCKET + 1);
        end_turn(&turn);
    }
    return NULL;
}

static void *train_others(void *unused)
{
    for (unsigned step = 0; step < THREAD_STEPS; step++) {
        wait_for(is_turn_of_others, step);
        train(HALF, 3, 2);
        end_turn(&others_turn);
    }
    return unused;
}

static void test_several_threads(void)
{
    pthread_t threads[3];
    begin(&every);
    warm_up(WORLD, 4);
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, train_in_turns, (void *)i), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, train_others, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    expect_steps(THREAD_STEPS, WARM / 4 + THREAD_STEPS - 1);
}

int main(void)
{
    struct CMUnitTest tests[] = {APART(test_a_step_is_a_repetition),
                                 APART(test_small_ones_and_pairs_are_ignored),
                                 APART(test_without_bytes_there_are_no_steps),
                                 APART(test_an_interruption_is_no_step),
                                 APART(test_another_source_takes_over),
                                 APART(test_another_source_was_first),
                                 APART(test_observation_ends_with_the_first_refused_step),
                                 APART(test_nothing_outside_a_job),
                                 APART(test_collectives_before_capture_count),
                                 APART(test_several_ranks_in_a_process_have_no_order),
                                 APART(test_the_largest_communicator_counts),
                                 APART(test_the_busiest_communicator_counts),
                                 APART(test_a_smaller_communicator_ends_no_step),
                                 APART(test_a_new_communicator_replaces_a_silent_one),
                                 APART(test_a_smaller_one_waits_for_a_larger_one),
                                 APART(test_a_larger_one_without_steps),
                                 APART(test_numbers_do_not_depend_on_the_start),
                                 APART(test_too_many_communicators),
                                 APART(test_capture_sleeps_and_wakes_up),
                                 APART(test_threads_at_once_have_no_order),
                                 APART(test_several_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
