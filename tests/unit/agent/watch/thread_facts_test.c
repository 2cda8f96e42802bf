/* The facts about threads: parsers with damaged text, and real threads. */
#include "agent/watch/stacks/thread_facts.h"

#include "support/test.h"
#include "support/under_qemu.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STAT_REST " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"

static void test_stat(void **state)
{
    struct thread_stack thread = {0};
    assert_true(thread_facts_parse_stat("12 (python3) S" STAT_REST, &thread));
    assert_string_equal(thread.name, "python3");
    assert_int_equal(thread.state, 'S');
    assert_int_equal(thread.start_ticks, 4711);
    assert_true(thread_facts_parse_stat("12 (a) b) (c) R" STAT_REST, &thread));
    assert_string_equal(thread.name, "a) b) (c");
    assert_int_equal(thread.state, 'R');
    assert_int_equal(thread.start_ticks, 4711);
    assert_true(thread_facts_parse_stat("12 (x\n\xff\x1b[y) D" STAT_REST, &thread));
    assert_string_equal(thread.name, "x ??[y");
    assert_true(thread_facts_parse_stat("12 () Z" STAT_REST, &thread));
    assert_string_equal(thread.name, "");
    assert_true(thread_facts_parse_stat("12 (longer than sixteen) S 1 2", &thread));
    assert_string_equal(thread.name, "longer than six");
    assert_int_equal(thread.start_ticks, 0);
}

static void test_wrong_stat(void **state)
{
    struct thread_stack thread = {0};
    assert_false(thread_facts_parse_stat("", &thread));
    assert_false(thread_facts_parse_stat("12", &thread));
    assert_false(thread_facts_parse_stat("12 (x", &thread));
    assert_false(thread_facts_parse_stat("12 (x)", &thread));
    assert_false(thread_facts_parse_stat(")(", &thread));
}

static void test_call(void **state)
{
    struct thread_stack thread = {0};
    thread_facts_parse_call("running\n", &thread);
    assert_int_equal(thread.call, STACK_CALL_RUNNING);
    assert_int_equal(thread.sp, 0);
    thread_facts_parse_call("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe00001000 0x7f0000001234\n", &thread);
    assert_int_equal(thread.call, 202);
    assert_int_equal(thread.sp, 0x7ffe00001000);
    assert_int_equal(thread.pc, 0x7f0000001234);
    thread_facts_parse_call("-1 0x7ffe00001000 0x7f0000001234\n", &thread);
    assert_int_equal(thread.call, STACK_CALL_NONE);
    assert_int_equal(thread.sp, 0x7ffe00001000);
    assert_int_equal(thread.pc, 0x7f0000001234);
    static const char *const wrong[] = {
        "", "\n", "x", "202", "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7", "-1", "-1 0x5", "202 0x1 0x2 x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        thread_facts_parse_call(wrong[i], &thread);
        assert_int_equal(thread.call, STACK_CALL_UNKNOWN);
        assert_int_equal(thread.sp, 0);
        assert_int_equal(thread.pc, 0);
    }
}

static sem_t go;
static _Atomic int32_t tid;

static void *sleeper(void *unused)
{
    pthread_setname_np(pthread_self(), "cuspan/sleeper");
    tid = (int32_t)syscall(SYS_gettid);
    sem_wait(&go);
    return NULL;
}

static pthread_t start(void)
{
    pthread_t thread;
    tid = 0;
    sem_init(&go, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, sleeper, NULL), 0);
    struct thread_stack facts = {.state = 0};
    for (int i = 0; i < 10000 && (tid == 0 || !thread_facts_read(tid, &facts) || facts.state != 'S'); i++)
        usleep(1000);
    assert_int_equal(facts.state, 'S');
    return thread;
}

static void test_threads(void **state)
{
    int32_t tids[64];
    pthread_t thread = start();
    int32_t its = tid;
    uint32_t count = thread_facts_list(tids, 64), seen = 0; /* a sanitizer may have a thread, too */
    for (uint32_t i = 0; i < count; i++) {
        assert_true(i == 0 || tids[i - 1] < tids[i]);
        seen += tids[i] == getpid() || tids[i] == its;
    }
    assert_int_equal(seen, 2);
    tids[1] = -5;
    assert_int_equal(thread_facts_list(tids, 1), count); /* only one fits */
    assert_int_equal(tids[1], -5);

    struct thread_stack facts;
    assert_true(thread_facts_read(its, &facts));
    assert_int_equal(facts.tid, its);
    assert_string_equal(facts.name, "cuspan/sleeper");
    assert_true(facts.is_ours);
    assert_true(is_emulated() || facts.call == SYS_futex);
    assert_int_not_equal(facts.sp, 0);
    assert_int_not_equal(facts.pc, 0);
    assert_int_not_equal(facts.start_ticks, 0);
    uint64_t used = thread_facts_cpu_ns(its);
    assert_int_not_equal(used, 0);
    assert_int_equal(thread_facts_cpu_ns(its), used); /* it sleeps */

    assert_true(thread_facts_read(getpid(), &facts));
    assert_int_equal(facts.state, 'R');
    assert_false(facts.is_ours);
    uint64_t before = thread_facts_cpu_ns(getpid());
    assert_true(thread_facts_cpu_ns(getpid()) > before); /* the calls themselves */

    sem_post(&go);
    pthread_join(thread, NULL);
    for (int i = 0; i < 10000 && thread_facts_cpu_ns(its); i++) /* the kernel may take longer */
        usleep(1000);
    assert_int_equal(thread_facts_cpu_ns(its), 0);
    assert_false(thread_facts_read(its, &facts));
    assert_false(thread_facts_read(-1, &facts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_wrong_stat),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
