#include "agent/operate/attach/sleepers.h"

#include "support/test.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A library's variables that are zero at the start have no name. */
static const char maps_text[] =
    "7f0000000000-7f0000010000 r-xp 00000000 08:01 1 /usr/lib/libc.so.6\n"
    "7f0000010000-7f0000011000 rw-p 00010000 08:01 1 /usr/lib/libc.so.6\n"
    "7f0000011000-7f0000012000 rw-p 00000000 00:00 0 \n"
    "7f0000020000-7f0000030000 r-xp 00000000 08:01 2 /usr/lib/ld-linux-x86-64.so.2\n"
    "7f0000040000-7f0000050000 r-xp 00000000 08:01 3 /opt/libjemalloc.so.2\n"
    "7f0000050000-7f0000051000 rw-p 00010000 08:01 3 /opt/libjemalloc.so.2\n"
    "7f0000060000-7f0000070000 r-xp 00000000 08:01 4 /opt/libuser.so\n"
    "7f0000080000-7f0000090000 rw-p 00000000 00:00 0 \n";
#define IN_LIBC      0x7f0000010100
#define BEHIND_LIBC  0x7f0000011100
#define LOADER       0x7f0000020100
#define ALLOCATOR    0x7f0000040100
#define IN_ALLOCATOR 0x7f0000050100
#define USER         0x7f0000060100
#define ANONYMOUS    0x7f0000080100
#define RETURN       0x7f0000000100

static struct remote_maps maps;

static int set_up(void **state)
{
    FILE *file = fmemopen((void *)(uintptr_t)maps_text, strlen(maps_text), "r");
    assert_true(remote_maps_read(&maps, file));
    fclose(file);
    return 0;
}

static int tear_down(void **state)
{
    remote_maps_deinit(&maps);
    return 0;
}

static void test_lines(void **state)
{
    struct sleep sleep;
    assert_false(sleepers_parse("running\n", &sleep));
    assert_false(sleepers_parse("-1 0x7ffd0000 0x7f0000001000\n", &sleep));
    assert_false(sleepers_parse("", &sleep));
    assert_true(sleepers_parse("7 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd1230 0x7f0000001000\n", &sleep));
    assert_int_equal(sleep.number, 7);
    assert_int_equal(sleep.arguments[0], 1);
    assert_int_equal(sleep.arguments[5], 6);
    assert_int_equal(sleep.stack, 0x7ffd1230);
    assert_int_equal(sleep.code, 0x7f0000001000);
}

static bool is_safe(long number, uint64_t first, uint64_t second)
{
    const struct sleep sleep = {.number = number, .arguments = {first, second}};
    return sleepers_is_safe_call(&sleep, &maps);
}

static void test_calls(void **state)
{
    assert_true(is_safe(SYS_ppoll, 0, 0));
    assert_true(is_safe(SYS_epoll_pwait, 3, 0));
    assert_true(is_safe(SYS_clock_nanosleep, 0, 0));
    assert_false(is_safe(SYS_mmap, 0, 0));
    assert_false(is_safe(SYS_munmap, 0, 0));
    assert_false(is_safe(SYS_openat, 0, 0));
    assert_false(is_safe(SYS_write, 1, 0));
    assert_false(is_safe(-1, 0, 0));
}

static void test_locks(void **state)
{
    const uint64_t heap = 0x7f1000000000; /* of malloc, for a thread */
    assert_true(is_safe(SYS_futex, ANONYMOUS, FUTEX_WAIT | FUTEX_PRIVATE_FLAG));
    assert_true(is_safe(SYS_futex, ANONYMOUS, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME));
    assert_false(is_safe(SYS_futex, ANONYMOUS, FUTEX_LOCK_PI));
    assert_false(is_safe(SYS_futex, IN_LIBC, FUTEX_WAIT));
    assert_false(is_safe(SYS_futex, BEHIND_LIBC, FUTEX_WAIT));
    assert_false(is_safe(SYS_futex, IN_ALLOCATOR, FUTEX_WAIT));
    assert_false(is_safe(SYS_futex, heap + 0x30, FUTEX_WAIT));
    assert_true(is_safe(SYS_futex, heap + 0x2000, FUTEX_WAIT));
}

#define WORDS 1024

static bool is_clear(size_t at, uint64_t word)
{
    uint64_t words[WORDS] = {0};
    words[0] = USER;
    words[at] = word;
    return sleepers_is_clear_stack(words, WORDS, &maps, RETURN);
}

static void test_stacks(void **state)
{
    assert_true(is_clear(1, USER));
    assert_true(is_clear(1, IN_LIBC));
    assert_false(is_clear(1, LOADER));
    assert_false(is_clear(255, LOADER));
    assert_true(is_clear(600, LOADER)); /* what the thread started in */
    assert_false(is_clear(1, ALLOCATOR));
    assert_true(is_clear(1, IN_ALLOCATOR)); /* data */
    assert_false(is_clear(1, RETURN));
    assert_false(is_clear(1000, RETURN));
    assert_false(sleepers_is_clear_stack(NULL, 0, &maps, RETURN));
}

/* Not in this process's own thread, which runs. */
static void test_a_thread_that_runs(void **state)
{
    struct target target;
    struct error err;
    struct sleep sleep;
    assert_int_equal(target_open(&target, getpid(), &err), STATUS_OK);
    assert_false(sleepers_is_safe(&target, &maps, getpid(), RETURN, &sleep));
    assert_false(sleepers_is_safe(&target, &maps, 1 << 30, RETURN, &sleep));
    assert_false(sleepers_has_clear_stack(&target, &maps, 0x1001, RETURN)); /* not aligned */
    assert_false(sleepers_has_clear_stack(&target, &maps, 0x1000, RETURN)); /* not mapped */
    target_close(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_a_thread_that_runs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
