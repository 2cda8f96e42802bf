#include "base/process/guarded_fd.h"

#include "base/files.h"
#include "base/log/write_signals.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/guarded-fd-test-XXXXXX";

static int begin(void **state)
{
    return mkdtemp(folder) ? 0 : 1;
}

static int end(void **state)
{
    return rmdir(folder);
}

/* A file that is no longer in the folder. */
static int temporary_file(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/XXXXXX", folder);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static void test_it_is_ours_until_closed(void **state)
{
    struct guarded_fd fd = guarded_fd_of(temporary_file());
    int number = fd.number;
    assert_true(guarded_fd_is_ours(&fd));
    guarded_fd_close(&fd);
    assert_int_equal(fd.number, -1);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    assert_false(guarded_fd_is_ours(&fd));
}

static void test_no_file(void **state)
{
    struct guarded_fd fd = guarded_fd_of(-1);
    assert_int_equal(fd.number, -1);
    assert_false(guarded_fd_is_ours(&fd));
    guarded_fd_close(&fd);
}

/* The host closes the number, and opens `other` under it. */
static void expect_that_it_stays_open(struct guarded_fd fd, int other)
{
    int number = fd.number;
    assert_int_equal(dup2(other, number), number);
    assert_false(guarded_fd_is_ours(&fd));
    guarded_fd_close(&fd);
    assert_int_not_equal(fcntl(number, F_GETFD), -1);
    close(number);
    close(other);
}

static void test_a_file_of_the_host_stays_open(void **state)
{
    expect_that_it_stays_open(guarded_fd_of(temporary_file()), temporary_file());
}

/* File systems use the inode of a deleted file again. */
static struct guarded_fd with_the_inode_of(int other)
{
    struct stat facts;
    struct guarded_fd fd = guarded_fd_of(temporary_file());
    assert_int_equal(fstat(other, &facts), 0);
    fd.device = facts.st_dev;
    fd.inode = facts.st_ino;
    return fd;
}

static void test_a_folder_with_the_inode_of_ours_stays_open(void **state)
{
    int other = open(folder, O_RDONLY | O_DIRECTORY);
    struct guarded_fd fd = with_the_inode_of(other);
    fd.birth_ns = 0; /* as on a file system that does not know it */
    expect_that_it_stays_open(fd, other);
}

static void test_a_later_file_with_the_inode_of_ours_stays_open(void **state)
{
    int other = temporary_file();
    struct guarded_fd fd = with_the_inode_of(other);
    if (guarded_fd_of(other).birth_ns == 0) {
        print_message("skipped: the file system of /tmp does not know when a file was created\n");
        close(other);
        guarded_fd_close(&fd);
        skip();
    }
    fd.birth_ns--; /* two files may be created in the same tick of the clock */
    expect_that_it_stays_open(fd, other);
}

/* A sandbox that the host enters later refuses the question. */
static void test_an_unknown_birth_is_not_compared(void **state)
{
    struct guarded_fd fd = guarded_fd_of(temporary_file());
    fd.birth_ns = 0;
    assert_true(guarded_fd_is_ours(&fd));
    guarded_fd_close(&fd);
}

static void test_new_descriptors_are_high(void **state)
{
    int saved[3], ends[2];
    struct rlimit limit, three, hundred;
    for (int i = 0; i < 3; i++)
        saved[i] = fcntl(i, F_DUPFD, 10);
    close(0);
    close(2);
    int file = high_fd(open("/dev/null", O_RDONLY));
    int paired = high_fd_pair(pipe2(ends, O_CLOEXEC), ends);
    getrlimit(RLIMIT_NOFILE, &limit);
    hundred = (struct rlimit){100, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &hundred);
    int limited = high_fd(open("/dev/null", O_RDONLY)), same = high_fd(limited);
    three = (struct rlimit){3, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &three);
    int none = high_fd(open("/dev/null", O_RDONLY)), saved_errno = errno;
    setrlimit(RLIMIT_NOFILE, &limit);
    bool is_free = fcntl(0, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
    for (int i = 0; i < 3; i++) {
        dup2(saved[i], i);
        close(saved[i]);
    }
    assert_true(file > 255 && paired == 0 && ends[0] > 255 && ends[1] > 255);
    assert_true(limited > 2 && limited < 100 && same == limited);
    assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(none, -1);
    assert_true(saved_errno == EINVAL || saved_errno == EMFILE);
    assert_true(is_free);
    assert_int_equal(high_fd(-1), -1);
    assert_int_equal(high_fd_pair(-1, ends), -1);
    close(file);
    close(limited);
    close(ends[0]);
    close(ends[1]);
}

static volatile sig_atomic_t raised;

static void count(int number)
{
    raised += number == SIGXFSZ || number == SIGPIPE;
}

static void test_signals_of_our_writes_do_not_reach_the_host(void **state)
{
    struct rlimit limit, none;
    struct write_signals signals;
    int ends[2], file = temporary_file();
    signal(SIGXFSZ, count);
    signal(SIGPIPE, count);
    getrlimit(RLIMIT_FSIZE, &limit);
    none = (struct rlimit){0, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    write_signals_hold(&signals);
    assert_int_equal(write(file, "x", 1), -1);
    assert_int_equal(write(ends[1], "x", 1), -1);
    write_signals_release(&signals);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(raised, 0);
    raise(SIGXFSZ);
    assert_int_equal(raised, 1);
    close(file);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_ours_until_closed),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_a_file_of_the_host_stays_open),
        cmocka_unit_test(test_a_folder_with_the_inode_of_ours_stays_open),
        cmocka_unit_test(test_a_later_file_with_the_inode_of_ours_stays_open),
        cmocka_unit_test(test_an_unknown_birth_is_not_compared),
        cmocka_unit_test(test_new_descriptors_are_high),
        cmocka_unit_test(test_signals_of_our_writes_do_not_reach_the_host),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
