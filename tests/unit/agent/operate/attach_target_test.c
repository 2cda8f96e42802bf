#include "agent/operate/attach/target.h"

#include "agent/operate/attach/borrowed_thread.h"
#include "agent/operate/attach/candidates.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

static pid_t child_that(void (*runs)(void))
{
    pid_t child = fork();
    if (child == 0) {
        runs();
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static void sleep_long(void)
{
    sleep(1000);
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_identity(void **state)
{
    struct target target;
    if (is_under_qemu()) /* which is the program that is seen */
        skip();
    pid_t child = child_that(sleep_long);
    assert_int_equal(target_open(&target, child, &err), STATUS_OK);
    assert_int_equal(target.user, geteuid());
    assert_true(target.started && target.stack_start && target.mount_namespace && target.user_namespace);
    assert_true(target_is_same(&target));
    uint64_t *const fields[] = {&target.started, &target.stack_start, &target.mount_namespace,
                                &target.user_namespace};
    for (size_t i = 0; i < 4; i++) { /* as of another process */
        ++*fields[i];
        assert_false(target_is_same(&target));
        --*fields[i];
    }
    target.user++;
    assert_false(target_is_same(&target));
    target.user--;
    assert_true(target_is_same(&target));
    assert_int_equal(target_check(&target, &err), STATUS_OK);
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    assert_false(target_is_same(&target));
    assert_int_equal(target_check(&target, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.text, "zombie"));
    waitpid(child, NULL, 0);
    assert_int_equal(target_check(&target, &err), STATUS_NOT_FOUND);
    target_close(&target);
}

/* The kernel gives the number of a process to a later one. */
static void test_a_reused_number(void **state)
{
    struct target target;
    char text[64];
    pid_t child = child_that(sleep_long), next = 0;
    assert_int_equal(target_open(&target, child, &err), STATUS_OK);
    end(child);
    for (int i = 0; i < 20 && next != child; i++) {
        int file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
        int length = snprintf(text, sizeof text, "%d", (int)child - 1);
        bool is_set = file >= 0 && write(file, text, (size_t)length) == length;
        close(file);
        if (!is_set)
            break;
        next = child_that(sleep_long);
        if (next != child)
            end(next);
    }
    if (next != child)
        print_message("only root can choose the number of a process: tried with an ended process only\n");
    assert_false(target_is_same(&target));
    assert_true(target_read(&target, "stat", text, sizeof text) < 0);
    assert_null(target_stream(&target, "maps"));
    assert_int_equal(target_check(&target, &err), STATUS_NOT_FOUND);
    if (next == child)
        end(next);
    target_close(&target);
}

static int go[2];

static void become_another_program(void)
{
    char byte;
    if (read(go[0], &byte, 1) == 1)
        execlp("sleep", "sleep", "1000", NULL);
}

static void test_another_program(void **state)
{
    struct target target;
    char name[64] = "";
    if (is_under_qemu()) /* it executes no other program */
        skip();
    assert_int_equal(pipe(go), 0);
    pid_t child = child_that(become_another_program);
    assert_int_equal(target_open(&target, child, &err), STATUS_OK);
    assert_int_equal(write(go[1], "x", 1), 1);
    while (strcmp(name, "sleep\n") != 0)
        assert_true(target_read(&target, "comm", name, sizeof name) > 0);
    assert_false(target_is_same(&target));
    end(child);
    target_close(&target);
}

static void *run_thread(void *number)
{
    __atomic_store_n((pid_t *)number, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    pause();
    return NULL;
}

static void test_no_process(void **state)
{
    struct target target;
    pthread_t thread;
    static pid_t number;
    assert_int_equal(target_open(&target, 1 << 30, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.text, "there is no process 1073741824"));
    pthread_create(&thread, NULL, run_thread, &number);
    while (!__atomic_load_n(&number, __ATOMIC_ACQUIRE))
        usleep(1000);
    assert_int_equal(target_open(&target, number, &err), STATUS_NOT_FOUND);
}

static void test_numbers(void **state)
{
    const char *status = "Name:\tx\nSigPnd:\t0000000000000200\nSeccomp:\t2\nSeccomp_filters:\t3\n";
    assert_int_equal(target_status_number(status, "Seccomp", 10, 9), 2);
    assert_int_equal(target_status_number(status, "Seccomp_filters", 10, 9), 3);
    assert_int_equal(target_status_number(status, "SigPnd", 16, 9), 0x200);
    assert_int_equal(target_status_number(status, "Sig", 16, 9), 9);
    assert_int_equal(target_status_number("", "Sig", 16, 9), 9);
}

/* A thread that is in another call than it was said to be goes on. */
static void test_a_thread_that_moved(void **state)
{
    static struct borrowed_thread borrowed;
    struct target target;
    struct sleep sleep = {.number = SYS_read};
    if (is_under_qemu()) /* it has no ptrace() */
        skip();
    pid_t child = child_that(sleep_long);
    assert_int_equal(target_open(&target, child, &err), STATUS_OK);
    assert_false(borrowed_stop(&borrowed, &target, child, &sleep));
    assert_false(borrowed_stop(&borrowed, &target, 1 << 30, &sleep));
    char status[TARGET_STATUS_BYTES];
    assert_true(target_read(&target, "status", status, sizeof status) > 0);
    assert_int_equal(target_status_number(status, "TracerPid", 10, 9), 0);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    end(child);
    target_close(&target);
}

static void assert_name(const char *arguments, size_t length, const char *name)
{
    char found[16];
    candidates_name(arguments, length, found, sizeof found);
    assert_string_equal(found, name);
}

static void test_names(void **state)
{
#define NAME(arguments, name) assert_name(arguments, sizeof arguments, name)
    NAME("/usr/bin/server\0--port\0"
         "80",
         "server");
    NAME("python3\0-u\0/home/x/train.py\0--lr", "train.py");
    NAME("/usr/bin/python3.11\0-X\0dev\0-W\0error\0a.py", "a.py");
    NAME("python3\0-m\0vllm", "vllm");
    NAME("python3\0-c\0import a", "python3");
    NAME("python3", "python3");
    NAME("python3\0-m", "python3");
    NAME("python3\0-X", "python3");
    NAME("/a/name_that_is_too_long", "name_that_is_to");
}

static void test_candidates(void **state)
{
    struct candidates candidates;
    pid_t child = child_that(sleep_long);
    bool has_child = false, has_self = false;
    candidates_find(&candidates, geteuid());
    for (size_t i = 0; i < candidates.count; i++) {
        has_child |= candidates.items[i].pid == child && candidates.items[i].is_readable &&
                     !candidates.items[i].has_agent;
        has_self |= candidates.items[i].pid == getpid();
        assert_int_equal(candidates.items[i].user, geteuid());
    }
    assert_true(has_child && !has_self);
    candidates_deinit(&candidates);
    candidates_find(&candidates, 54321);
    assert_int_equal(candidates.count, 0);
    candidates_deinit(&candidates);
    end(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),        cmocka_unit_test(test_a_reused_number),
        cmocka_unit_test(test_another_program), cmocka_unit_test(test_no_process),
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_a_thread_that_moved),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
