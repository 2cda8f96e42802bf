#include "agent/watch/children.h"

#include "base/clock.h"
#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct children children;

static int clean(void **state)
{
    memset(&children, 0, sizeof children);
    return 0;
}

static pid_t start(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "loader");
        _exit(write(ready[1], "", 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static const struct child *of(pid_t pid)
{
    for (uint32_t i = 0; i < children.count; i++)
        if (children.list[i].pid == pid)
            return &children.list[i];
    return NULL;
}

static void test_a_child_that_ends(void **state)
{
    siginfo_t ended;
    pid_t first = start(), second = start();
    children_look(&children, 5);
    assert_int_equal(children.count, 2);
    assert_string_equal(of(first)->name, "loader");
    assert_true(of(first)->state == 'S' || of(first)->state == 'R'); /* on its way to pause() */
    kill(first, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)first, &ended, WEXITED | WNOWAIT), 0);
    children_look(&children, 6);
    children_describe(&children);
    assert_int_equal(of(first)->state, 'Z');
    assert_int_equal(of(first)->ended_ns, 0);
    waitpid(first, NULL, 0);
    children_look(&children, 7);
    children_look(&children, 8);
    children_describe(&children);
    assert_int_equal(of(first)->ended_ns, 7);
    assert_string_equal(of(first)->name, "loader");
    assert_int_equal(of(second)->ended_ns, 0);
    kill(second, SIGKILL);
    waitpid(second, NULL, 0);
}

static void test_the_latest_that_have_ended_are_kept(void **state)
{
    for (uint32_t i = 0; i < CHILDREN_MAX; i++)
        children.list[i] = (struct child){.pid = 1 << 22 | (int32_t)i, .ended_ns = 100 - i % 7};
    children.count = CHILDREN_MAX;
    pid_t pid = start();
    children_look(&children, 200);
    assert_int_equal(children.count, CHILDREN_MAX);
    assert_non_null(of(pid));
    assert_null(of(1 << 22 | 6)); /* the first that ended earliest */
    for (uint32_t i = 0; i < CHILDREN_MAX; i++)
        if (children.list[i].pid != pid)
            children.list[i].ended_ns = 0;
    pid_t other = start();
    children_look(&children, 201); /* those of before are gone, but there was no place when it was found */
    assert_null(of(other));
    children_look(&children, 202);
    assert_non_null(of(other));
    kill(pid, SIGKILL);
    kill(other, SIGKILL);
    waitpid(pid, NULL, 0);
    waitpid(other, NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_a_child_that_ends),
                                       TEST(test_the_latest_that_have_ended_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
