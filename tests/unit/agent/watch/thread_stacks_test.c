/* Looks at threads of this process, which has no Python, and compares looks.
 * tests/integration/agent/thread_stacks_test.py has Pythons. */
#include "agent/watch/stacks/thread_stacks.h"

#include "support/test.h"
#include "support/under_qemu.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct thread_stacks first, second;

static const struct thread_stack *find(const struct thread_stacks *stacks, int32_t tid)
{
    for (uint32_t i = 0; i < stacks->count; i++)
        if (stacks->threads[i].tid == tid)
            return &stacks->threads[i];
    return NULL;
}

/* ---- Real threads
 * ------------------------------------------------------------------------------------------ */

struct worker {
    pthread_t thread;
    _Atomic int32_t tid;
    sem_t go;
    _Atomic bool ends;
};

static void *sleeps(void *context)
{
    struct worker *worker = context;
    worker->tid = (int32_t)syscall(SYS_gettid);
    while (!worker->ends)
        sem_wait(&worker->go);
    return NULL;
}

static void *spins(void *context)
{
    struct worker *worker = context;
    worker->tid = (int32_t)syscall(SYS_gettid);
    while (!worker->ends)
        continue;
    return NULL;
}

static void start(struct worker *worker, void *(*run)(void *), const pthread_attr_t *attributes)
{
    memset(worker, 0, sizeof *worker);
    sem_init(&worker->go, 0, 0);
    assert_int_equal(pthread_create(&worker->thread, attributes, run, worker), 0);
    while (!worker->tid)
        usleep(100);
}

static void stop(struct worker *worker)
{
    worker->ends = true;
    sem_post(&worker->go);
    pthread_join(worker->thread, NULL);
}

/* Looks until the thread sleeps. */
static void look_when_asleep(int32_t tid)
{
    for (int i = 0; i < 10000; i++) {
        thread_stacks_look(&first, STACK_DETAIL_FULL);
        const struct thread_stack *thread = find(&first, tid);
        if (thread && thread->state == 'S' && !thread->is_torn)
            return;
        usleep(1000);
    }
    fail();
}

static void test_still_and_moving(void **state)
{
    struct worker sleeper, spinner, other;
    start(&sleeper, sleeps, NULL);
    start(&other, sleeps, NULL);
    start(&spinner, spins, NULL);
    memset(&first, 0xa5, sizeof first);
    memset(&second, 0xa5, sizeof second);
    look_when_asleep(other.tid);
    look_when_asleep(sleeper.tid);
    assert_false(find(&first, sleeper.tid)->is_still);
    sem_post(&other.go); /* it sleeps in the same place again */
    uint64_t used = find(&first, spinner.tid)->cpu_ns;
    do {
        thread_stacks_look(&second, STACK_DETAIL_FULL);
    } while (find(&second, spinner.tid)->cpu_ns == used || find(&second, other.tid)->state != 'S' ||
             find(&second, other.tid)->cpu_ns == find(&first, other.tid)->cpu_ns ||
             find(&second, other.tid)->is_torn);
    thread_stacks_compare(&second, &first);
    const struct thread_stack *thread = find(&second, sleeper.tid);
    assert_true((thread->is_same && thread->is_still) || is_emulated());
    if (!is_emulated()) {
        assert_int_equal(thread->call, SYS_futex);
        assert_true(thread->native_count > 1);
        assert_int_equal(thread->native, STACK_NATIVE_COMPLETE);
    }
    assert_int_equal(thread->python, STACK_PYTHON_NONE);
    thread = find(&second, other.tid);
    assert_true(thread->is_same || is_emulated());
    assert_false(thread->is_still);
    thread = find(&second, spinner.tid);
    assert_false(thread->is_same);
    assert_false(thread->is_still);
    assert_int_equal(second.python_minor, 0);
    assert_false(second.is_incomplete);
    assert_true(second.taken_ns > first.taken_ns && second.look_ns > 0);

    int32_t ended = other.tid;
    stop(&other);
    do
        thread_stacks_look(&second, STACK_DETAIL_NONE);
    while (find(&second, ended));
    thread_stacks_compare(&second, &first);
    assert_int_equal(second.native_total, 0);
    assert_int_equal(second.code_count, 0);
    /* Without frames, registers are compared. */
    thread_stacks_look(&first, STACK_DETAIL_NONE);
    thread_stacks_compare(&first, &second);
    assert_true(find(&first, sleeper.tid)->is_still || is_emulated());
    stop(&sleeper);
    stop(&spinner);
}

#define MANY (STACK_THREADS_MAX + 20)

static void test_more_threads_than_fit(void **state)
{
    if (is_emulated()) /* valgrind permits 500 threads */
        skip();
    static struct worker workers[MANY];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (int i = 0; i < MANY; i++)
        start(&workers[i], sleeps, &small);
    thread_stacks_look(&first, STACK_DETAIL_FULL);
    assert_int_equal(first.count, STACK_THREADS_MAX);
    assert_true(first.left_out >= 21);
    assert_true(first.native_total <= STACK_FRAMES_TOTAL);
    assert_true(is_emulated() || first.native_total > STACK_THREADS_MAX);
    for (uint32_t i = 1; i < first.count; i++)
        assert_true(first.threads[i - 1].tid < first.threads[i].tid);
    for (int i = 0; i < MANY; i++)
        stop(&workers[i]);
}

/* Threads start and end during the looks. */
static _Atomic bool is_over;

static void *starts(void *unused)
{
    while (!is_over) {
        struct worker workers[4];
        for (int i = 0; i < 4; i++)
            start(&workers[i], sleeps, NULL);
        for (int i = 0; i < 4; i++)
            stop(&workers[i]);
    }
    return NULL;
}

static void test_threads_that_end(void **state)
{
    pthread_t starter;
    is_over = false;
    assert_int_equal(pthread_create(&starter, NULL, starts, NULL), 0);
    for (int i = 0; i < 300; i++) {
        struct thread_stacks *now = i % 2 ? &first : &second;
        thread_stacks_look(now, STACK_DETAIL_FULL);
        assert_true(now->count >= 1 && now->count < 64);
        for (uint32_t k = 0; k < now->count; k++) /* those that have ended meanwhile are left out */
            assert_true(now->threads[k].state != 0 && now->threads[k].start_ticks != 0);
        thread_stacks_compare(now, i % 2 ? &second : &first);
    }
    is_over = true;
    pthread_join(starter, NULL);
}

/* ---- Comparison
 * --------------------------------------------------------------------------------------------- */

/* A look at one thread that sleeps in Python. */
static void fill(struct thread_stacks *stacks)
{
    memset(stacks, 0, sizeof *stacks);
    stacks->count = 1;
    stacks->python_total = stacks->native_total = 2;
    stacks->threads[0] = (struct thread_stack){.tid = 7,
                                               .start_ticks = 100,
                                               .call = 202,
                                               .sp = 0x7000,
                                               .pc = 0x8000,
                                               .cpu_ns = 5000,
                                               .python = STACK_PYTHON_COMPLETE,
                                               .python_count = 2,
                                               .native_count = 2};
    for (uint32_t i = 0; i < 2; i++) {
        stacks->python_frames[i] =
            (struct stack_python_frame){.code = 0x1000 + i, .position = 10 + i, .line = i};
        stacks->native_frames[i] = (struct stack_native_frame){.address = 0x8000 + i};
    }
}

static void expect(bool is_same, bool is_still)
{
    thread_stacks_compare(&second, &first);
    assert_int_equal(second.threads[0].is_same, is_same);
    assert_int_equal(second.threads[0].is_still, is_still);
}

static void test_comparison(void **state)
{
#define CHANGED(statement, same, still)                                                                      \
    do {                                                                                                     \
        fill(&first);                                                                                        \
        fill(&second);                                                                                       \
        second.threads[0].is_same = second.threads[0].is_still = true;                                       \
        struct thread_stack *thread = &second.threads[0];                                                    \
        statement;                                                                                           \
        (void)thread;                                                                                        \
        expect(same, still);                                                                                 \
    } while (0)
    CHANGED((void)0, true, true);
    CHANGED(thread->cpu_ns++, true, false);
    CHANGED(thread->tid++, false, false);
    CHANGED(thread->start_ticks++, false, false); /* another thread with this ID */
    CHANGED(thread->is_torn = true, false, false);
    CHANGED(first.threads[0].is_torn = true, false, false);
    CHANGED(thread->python = STACK_PYTHON_CUT, false, false);
    CHANGED(thread->python_count--, false, false);
    CHANGED(second.python_frames[1].code++, false, false);
    CHANGED(second.python_frames[1].position++, false, false);
    /* Python's frames are the same, but the thread has run, and sleeps elsewhere. */
    CHANGED(thread->call++, true, false);
    CHANGED(thread->sp++, true, false);
    CHANGED(thread->pc++, true, false);
    CHANGED(thread->native_count--, true, false);
    CHANGED(second.native_frames[1].address++, true, false);
    CHANGED(first.count = 0, false, false);
    /* Without Python. */
#define NATIVE(statement) first.threads[0].python_count = thread->python_count = 0, (void)(statement)
    CHANGED(NATIVE(0), true, true);
    CHANGED(NATIVE(thread->pc++), false, false);
    CHANGED(NATIVE(thread->sp = first.threads[0].sp = 0), false, false);
    CHANGED(NATIVE(thread->cpu_ns++), true, false);
    assert_string_equal(thread_stacks_text(&first, STACK_TEXT_BYTES), "");
    assert_string_equal(thread_stacks_text(&first, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_still_and_moving),
        cmocka_unit_test(test_more_threads_than_fit),
        cmocka_unit_test(test_threads_that_end),
        cmocka_unit_test(test_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
