/* Tests the list of steps' boundaries and the wake-up for sampled ones. Each test is a process of its own,
 * because the list is global. */
#include "agent/capture/context/steps.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/capture/context/context.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/active_contexts.h"
#include "agent/capture/sleep/mode.h"
#include "support/apart.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS    4
#define PER_THREAD 20000

/* Of each 8 steps, number 7 is sampled. */
static const struct step_rules rules = {
    .threshold = (1ull << 56) - (1ull << 53), .is_limited = true, .job = 0};
static int64_t sampled_number;

static void find_sampled(void)
{
    sampled_number = 100;
    while (!step_is_sampled(&rules, sampled_number, STEP_TRAIN))
        sampled_number++;
}

static struct step_boundary take(void)
{
    struct step_boundary boundary;
    uint64_t missed;
    assert_true(steps_take(&boundary, &missed));
    assert_int_equal(missed, 0);
    return boundary;
}

static void expect_none(void)
{
    struct step_boundary boundary;
    uint64_t missed;
    assert_false(steps_take(&boundary, &missed));
}

static void test_boundaries_arrive_in_order(void)
{
    atomic_store(&mode_now, MODE_ON);
    expect_none();
    uint64_t before = clock_ticks();
    assert_true(steps_begin(7, STEP_TRAIN, STEP_BY_OPTIMIZER));
    assert_true(steps_begin(-1, STEP_CHECKPOINT, STEP_BY_OPTIMIZER));
    struct step_boundary first = take(), second = take();
    expect_none();
    assert_int_equal(first.number, 7);
    assert_int_equal(first.kind, STEP_TRAIN);
    assert_int_equal(first.source, STEP_BY_OPTIMIZER);
    assert_int_equal(second.number, -1);
    assert_int_equal(second.kind, STEP_CHECKPOINT);
    assert_true(first.time >= before && second.time >= first.time);
}

static void test_boundaries_know_what_was_lost_before(void)
{
    steps_begin(1, STEP_TRAIN, STEP_BY_API);
    counter_add(COUNTER_lost_ring_full, 2);
    steps_begin(2, STEP_TRAIN, STEP_BY_API);
    counter_add(COUNTER_lost_cupti_dropped, 1);
    assert_int_equal(take().lost, 0);
    assert_int_equal(take().lost, 2);
}

static void test_before_capture_there_is_no_time(void)
{
    atomic_store(&mode_now, MODE_OFF);
    steps_begin(1, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(take().time, 0);
}

static bool was_woken_before_return, was_published_first;

static void on_asleep(void)
{
    struct step_boundary boundary;
    uint64_t missed;
    was_woken_before_return = true;
    was_published_first = steps_take(&boundary, &missed);
    atomic_store(&active_contexts_is_asleep, false);
}

static void test_capture_is_on_before_a_sampled_step_and_the_one_before(void)
{
    find_sampled();
    active_contexts_on_asleep = on_asleep;
    steps_start(&rules, NULL);
    steps_begin(sampled_number - 2, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 0);
    assert_true(active_contexts_has_unsampled()); /* capture may sleep */
    take();
    atomic_store(&active_contexts_is_asleep, true);
    steps_begin(sampled_number - 1, STEP_TRAIN, STEP_BY_API);
    assert_true(was_woken_before_return);
    assert_false(was_published_first); /* the step's first call finds capture on */
    assert_int_equal(active_contexts_count(), 1);
    steps_begin(sampled_number, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 1);
    assert_true(steps_are_held());
    steps_begin(sampled_number, STEP_TRAIN, STEP_BY_API); /* once more: still one */
    assert_int_equal(active_contexts_count(), 1);
    steps_begin(sampled_number + 1, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 0);
    assert_false(steps_are_held());
}

/* Between two steps, and in an evaluation, the next number is still that of the next step. */
static void test_capture_is_on_between_a_step_and_a_sampled_one(void)
{
    find_sampled();
    steps_start(&rules, NULL);
    steps_begin(0, STEP_NONE, STEP_BY_API);
    steps_begin(sampled_number - 1, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 1);
    steps_begin(sampled_number - 1, STEP_EVALUATION, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 1);
    steps_begin(0, STEP_NONE, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 1);
    steps_begin(sampled_number, STEP_TRAIN, STEP_BY_API);
    steps_begin(0, STEP_NONE, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 0);
}

static void test_a_step_that_began_before_capture(void)
{
    find_sampled();
    steps_begin(sampled_number, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 0);
    steps_start(&rules, NULL);
    assert_int_equal(active_contexts_count(), 1);
}

/* Without a ratio, every step is sampled, and capture never sleeps because of steps. */
static void test_without_a_ratio_nothing_sleeps(void)
{
    static const struct step_rules all = {.rank = -1};
    steps_start(&all, NULL);
    steps_begin(1, STEP_TRAIN, STEP_BY_API);
    steps_begin(2, STEP_TRAIN, STEP_BY_API);
    assert_false(active_contexts_has_unsampled());
    assert_int_equal(active_contexts_count(), 1);
}

static void test_a_better_source_wins(void)
{
    assert_true(steps_begin(1, STEP_TRAIN, STEP_BY_COLLECTIVES));
    assert_true(steps_begin(2, STEP_TRAIN, STEP_BY_OPTIMIZER));
    assert_false(steps_begin(3, STEP_TRAIN, STEP_BY_NVTX));
    assert_true(steps_begin(4, STEP_TRAIN, STEP_BY_API));
    assert_false(steps_begin(5, STEP_TRAIN, STEP_BY_OPTIMIZER));
    int64_t numbers[] = {take().number, take().number, take().number};
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 2);
    assert_int_equal(numbers[2], 4);
    expect_none();
}

static void test_nvtx_names(void)
{
    static const struct step_rules all = {.rank = -1};
    steps_begin_from_nvtx("ProfilerStep#1", sizeof "ProfilerStep#1" - 1); /* no pattern so far */
    steps_start(&all, "ProfilerStep*");
    steps_begin_from_nvtx("ProfilerStep#12", sizeof "ProfilerStep#12" - 1);
    steps_begin_from_nvtx("aten::mm", sizeof "aten::mm" - 1);
    steps_begin_from_nvtx("ProfilerStep", sizeof "ProfilerStep" - 1);
    assert_int_equal(take().number, 12);
    struct step_boundary next = take();
    assert_int_equal(next.number, 13); /* without a number: the next one */
    assert_int_equal(next.source, STEP_BY_NVTX);
    expect_none();
}

static void test_the_first_nonce_stays(void)
{
    steps_begin(1, STEP_TRAIN, STEP_BY_API);
    steps_set_nonce(0);
    steps_set_nonce(41);
    steps_set_nonce(42);
    steps_begin(2, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(take().nonce, 0);
    assert_int_equal(take().nonce, 41);
}

/* The first communicator of all ranks tells this start of the job, from the next step on. */
static void test_the_communicator_of_all_ranks_is_the_nonce(void)
{
    static const struct step_rules job = {.rank = 1, .world_size = 4};
    steps_start(&job, NULL);
    nccl_note_communicator(76, 2, 1);
    steps_begin(1, STEP_TRAIN, STEP_BY_API);
    nccl_note_communicator(77, 4, 1);
    steps_begin(2, STEP_TRAIN, STEP_BY_API);
    nccl_note_communicator(78, 4, 1);
    steps_begin(3, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(take().nonce, 0);
    assert_int_equal(take().nonce, 77);
    assert_int_equal(take().nonce, 77);
}

static void test_missed_boundaries_are_counted(void)
{
    struct step_boundary boundary;
    uint64_t missed;
    for (int64_t number = 1; number <= 1500; number++)
        steps_begin(number, STEP_TRAIN, STEP_BY_API);
    assert_true(steps_take(&boundary, &missed));
    assert_int_equal(missed, 476);
    assert_int_equal(boundary.number, 477);
}

static void *report(void *thread)
{
    for (int64_t i = 1; i <= PER_THREAD; i++)
        steps_begin((int64_t)(intptr_t)thread * PER_THREAD + i, STEP_TRAIN, STEP_BY_API);
    return NULL;
}

/* Nothing is torn, each thread's boundaries keep their order, and each one is taken or counted as missed. */
static void test_several_threads(void)
{
    pthread_t threads[THREADS];
    int64_t last[THREADS] = {0};
    uint64_t taken = 0, missed_all = 0, last_time = 0;
    atomic_store(&mode_now, MODE_ON);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, report, (void *)i), 0);
    while (taken + missed_all < THREADS * PER_THREAD) {
        struct step_boundary boundary;
        uint64_t missed;
        bool found = steps_take(&boundary, &missed);
        missed_all += missed;
        if (!found)
            continue;
        int64_t thread = (boundary.number - 1) / PER_THREAD, at = (boundary.number - 1) % PER_THREAD + 1;
        assert_in_range(thread, 0, THREADS - 1);
        assert_true(at > last[thread]);
        assert_true(boundary.time >= last_time);
        assert_int_equal(boundary.source, STEP_BY_API);
        last[thread] = at;
        last_time = boundary.time;
        taken++;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_none();
    assert_true(taken > 0);
}

/* However the threads' changes interleave, the count ends as that of the last step. */
static void *toggle(void *unused)
{
    (void)unused;
    for (int i = 0; i < PER_THREAD; i++)
        steps_begin(sampled_number - i % 4, STEP_TRAIN, STEP_BY_API);
    return NULL;
}

static void test_the_count_survives_races(void)
{
    pthread_t threads[THREADS];
    find_sampled();
    steps_start(&rules, NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, toggle, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    steps_begin(sampled_number + 1, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 0);
    steps_begin(sampled_number, STEP_TRAIN, STEP_BY_API);
    assert_int_equal(active_contexts_count(), 1);
}

static struct engine_event *iteration(int64_t number, uint32_t parts)
{
    size_t bytes = sizeof(struct engine_event) + parts * sizeof(struct iteration_part);
    struct engine_event *event = calloc(1, bytes);
    event->type = ENGINE_ITERATION;
    event->bytes = bytes;
    event->iteration = (struct iteration){.seed = 5, .number = number, .part_count = parts};
    return event;
}

/* Of each 8 iterations, one is sampled. */
static const struct step_rules of_engine = {.iteration_threshold = (1ull << 56) - (1ull << 53)};

static void test_an_iteration_divides_a_step(void)
{
    steps_begin(7, STEP_TRAIN, STEP_BY_OPTIMIZER);
    steps_begin_iteration(iteration(3, 2));
    steps_end_iteration();
    take();
    struct step_boundary inner = take(), after = take();
    assert_int_equal(inner.kind, STEP_NONE);
    assert_int_equal(inner.event->iteration.number, 3);
    assert_int_equal(inner.event->iteration.part_count, 2);
    free(inner.event);
    assert_null(after.event);
    assert_int_equal(after.number, 7);
    assert_int_equal(after.kind, STEP_TRAIN);
    assert_int_equal(after.source, STEP_BY_OPTIMIZER);
}

static void test_after_an_iteration_without_a_step_there_is_none(void)
{
    steps_begin_iteration(iteration(3, 0));
    steps_end_iteration();
    free(take().event);
    struct step_boundary after = take();
    assert_int_equal(after.kind, STEP_NONE);
    assert_true(after.source < STEP_BY_NONE);                     /* recordings have it */
    assert_true(steps_begin(1, STEP_TRAIN, STEP_BY_COLLECTIVES)); /* iterations are no source of steps */
}

static int64_t sampled_iteration(void)
{
    struct iteration at = {.seed = 5, .number = 100};
    while (!iteration_is_sampled(&of_engine, &at))
        at.number++;
    return at.number;
}

static void test_capture_is_on_before_a_sampled_iteration(void)
{
    int64_t number = sampled_iteration();
    steps_start(&of_engine, NULL);
    steps_begin_iteration(iteration(number - 3, 0));
    steps_end_iteration();
    assert_int_equal(active_contexts_count(), 0);
    assert_true(active_contexts_has_unsampled());
    steps_begin_iteration(iteration(number - 1, 0));
    assert_int_equal(active_contexts_count(), 1);
    steps_end_iteration();
    assert_int_equal(active_contexts_count(), 1); /* the next one needs it */
    steps_begin_iteration(iteration(number, 0));
    assert_int_equal(active_contexts_count(), 1);
    steps_end_iteration();
    assert_int_equal(active_contexts_count(), 0);
    struct engine_event *wanted = iteration(number + 2, 0);
    wanted->iteration.is_recorded = true;
    steps_begin_iteration(wanted);
    assert_int_equal(active_contexts_count(), 1);
    struct step_boundary boundary;
    for (uint64_t missed; steps_take(&boundary, &missed);)
        free(boundary.event);
}

static void request(uint64_t number, enum engine_event_type type)
{
    struct engine_event *event = calloc(1, sizeof *event);
    *event = (struct engine_event){.type = type, .bytes = sizeof *event};
    if (type == ENGINE_REQUEST)
        event->request.number = number;
    else
        event->end.number = number;
    steps_note_request(event);
    free(take().event);
}

static void test_capture_is_on_while_a_sampled_request_is_in_progress(void)
{
    request(2, ENGINE_REQUEST);
    assert_int_equal(active_contexts_count(), 0);
    assert_true(active_contexts_has_unsampled());
    request(5, ENGINE_REQUEST);
    request(7, ENGINE_REQUEST);
    request(9, ENGINE_SUMMARY); /* of what was already captured */
    assert_int_equal(active_contexts_count(), 2);
    request(5, ENGINE_REQUEST_END);
    request(2, ENGINE_REQUEST_END);
    assert_int_equal(active_contexts_count(), 1);
    request(7, ENGINE_REQUEST_END);
    request(7, ENGINE_REQUEST_END); /* once more */
    assert_int_equal(active_contexts_count(), 0);
    request(9, ENGINE_REQUEST);
    steps_release_request();
    assert_int_equal(active_contexts_count(), 0);
}

/* If it ends its parent's request, too, that does not count. */
static void test_a_forked_child_has_none_of_its_parents_requests(void)
{
    const struct trace_context context = {.trace_id = {1}, .span_id = {2}};
    (void)context_attach(&context, false); /* follows forks */
    request(5, ENGINE_REQUEST);
    pid_t child = fork();
    if (child == 0) {
        uint32_t before = active_contexts_count();
        request(5, ENGINE_REQUEST_END);
        _exit(before || active_contexts_count());
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(active_contexts_count(), 1);
}

/* The memory of events that wait is bounded. */
static void test_too_many_parts_are_lost_and_counted(void)
{
    struct step_boundary boundary;
    uint64_t missed, kept = 0, taken = 0;
    for (int64_t i = 0; i < 20; i++)
        steps_begin_iteration(iteration(i, ITERATION_PARTS_MAX));
    for (; steps_take(&boundary, &missed); taken++) {
        kept += boundary.event != NULL;
        free(boundary.event);
    }
    assert_int_equal(taken, 20); /* those without an event begin nothing */
    assert_in_range(kept, 1, 5);
    assert_int_equal(counter_get(COUNTER_engine_events_lost), 20 - kept);
    steps_begin_iteration(iteration(20, ITERATION_PARTS_MAX));
    boundary = take();
    assert_non_null(boundary.event); /* there is room again */
    free(boundary.event);
}

/* Events of slots that were overwritten are freed, and their room is there again. */
static void test_missed_events_are_freed(void)
{
    struct step_boundary boundary;
    uint64_t missed, all_missed = 0, taken = 0;
    for (int64_t i = 0; i < 5000; i++)
        steps_begin_iteration(iteration(i, 0));
    for (; steps_take(&boundary, &missed); taken++) {
        all_missed += missed;
        free(boundary.event);
    }
    assert_int_equal(taken + all_missed, 5000);
    steps_begin_iteration(iteration(5000, ITERATION_PARTS_MAX));
    boundary = take();
    assert_non_null(boundary.event);
    free(boundary.event);
}

int main(void)
{
    struct CMUnitTest tests[] = {APART(test_boundaries_arrive_in_order),
                                 APART(test_boundaries_know_what_was_lost_before),
                                 APART(test_before_capture_there_is_no_time),
                                 APART(test_capture_is_on_before_a_sampled_step_and_the_one_before),
                                 APART(test_capture_is_on_between_a_step_and_a_sampled_one),
                                 APART(test_a_step_that_began_before_capture),
                                 APART(test_without_a_ratio_nothing_sleeps),
                                 APART(test_a_better_source_wins),
                                 APART(test_nvtx_names),
                                 APART(test_the_first_nonce_stays),
                                 APART(test_the_communicator_of_all_ranks_is_the_nonce),
                                 APART(test_missed_boundaries_are_counted),
                                 APART(test_several_threads),
                                 APART(test_the_count_survives_races),
                                 APART(test_an_iteration_divides_a_step),
                                 APART(test_after_an_iteration_without_a_step_there_is_none),
                                 APART(test_capture_is_on_before_a_sampled_iteration),
                                 APART(test_capture_is_on_while_a_sampled_request_is_in_progress),
                                 APART(test_a_forked_child_has_none_of_its_parents_requests),
                                 APART(test_too_many_parts_are_lost_and_counted),
                                 APART(test_missed_events_are_freed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
