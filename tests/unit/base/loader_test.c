#include "base/process/loader.h"

#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_inside, may_leave;
static atomic_int visited;

static int wait_inside(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)info, (void)size;
    int64_t pauses = (int64_t)(intptr_t)context;
    atomic_store(&is_inside, true);
    for (int64_t i = 0; i < pauses && !atomic_load(&may_leave); i++)
        nanosleep(&pause, NULL);
    atomic_store(&is_inside, false);
    return 1;
}

static int count(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
    atomic_fetch_add(&visited, 1);
    return 0;
}

static void *visit_slowly(void *milliseconds)
{
    (void)loader_visit(wait_inside, milliseconds);
    return NULL;
}

/* ThreadSanitizer would miss the parent's threads. */
static void leave(int status)
{
    syscall(SYS_exit_group, status);
}

/* A process that waits for the loader's lock would be ended by the alarm. */
static void in_child(void)
{
    alarm(300);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    atomic_store(&visited, 0);
    bool is_visited = loader_visit(count, NULL);
    leave(library && is_visited && atomic_load(&visited) > 1 ? 0 : 1);
}

static void expect_child(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_visit(void **state)
{
    atomic_store(&visited, 0);
    assert_true(loader_visit(count, NULL));
    assert_true(atomic_load(&visited) > 1);
}

/* The fork waits until the visit is over, longer than for the lock, so the child has no lock that nobody
 * releases. */
static void test_a_fork_during_a_visit(void **state)
{
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        atomic_store(&may_leave, false);
        assert_int_equal(pthread_create(&thread, NULL, visit_slowly, (void *)(intptr_t)100), 0);
        while (!atomic_load(&is_inside)) {
        }
        pid_t child = fork();
        if (child == 0)
            in_child();
        expect_child(child);
        pthread_join(thread, NULL);
    }
}

/* No longer than the limit. */
static void test_a_fork_during_an_endless_visit(void **state)
{
    pthread_t thread;
    atomic_store(&may_leave, false);
    assert_int_equal(pthread_create(&thread, NULL, visit_slowly, (void *)(intptr_t)10000), 0);
    while (!atomic_load(&is_inside)) {
    }
    pid_t child = fork();
    if (child == 0)
        leave(0);
    assert_true(atomic_load(&is_inside));
    atomic_store(&may_leave, true);
    expect_child(child);
    pthread_join(thread, NULL);
    assert_true(loader_visit(count, NULL)); /* this process visits again */
}

static atomic_bool is_over;

static void *visit_always(void *unused)
{
    while (!atomic_load(&is_over))
        (void)loader_visit(count, NULL);
    return NULL;
}

static void test_forks_and_visits(void **state)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, visit_always, NULL), 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0)
            in_child();
        expect_child(child);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_visit),
        cmocka_unit_test(test_a_fork_during_a_visit),
        cmocka_unit_test(test_a_fork_during_an_endless_visit),
        cmocka_unit_test(test_forks_and_visits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
