#include "base/log/log.h"

#include "base/limits.h"
#include "base/log/standard_fd.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define LAST "cuspan: no more lines will be written by this process\n"

static void test_levels_and_prefixes(void **state)
{
    stderr_begin();
    log_set_level(LOG_WARN);
    log_error("e %d", 1);
    log_warn("w");
    log_info("not shown");
    log_debug("not shown");
    log_set_level(LOG_DEBUG);
    log_info("i");
    log_debug("d");
    log_set_level(LOG_ERROR);
    log_warn("not shown");
    assert_true(log_enabled(LOG_ERROR));
    assert_false(log_enabled(LOG_WARN));
    char *text = stderr_end();
    assert_string_equal(text, "cuspan: e 1\ncuspan: warning: w\ncuspan: i\ncuspan: debug: d\n");
    free(text);
}

static void lose(int number)
{
    log_once(log_warn, "lost %d", number);
}

static void test_a_statement_logs_once(void **state)
{
    stderr_begin();
    log_set_level(LOG_WARN);
    for (int i = 1; i <= 3; i++)
        lose(i);
    log_once(log_warn, "another statement");
    char *text = stderr_end();
    assert_string_equal(text, "cuspan: warning: lost 1\ncuspan: warning: another statement\n");
    free(text);
}

static void test_errno_stays(void **state)
{
    int closed = dup(STDERR_FILENO);
    close(STDERR_FILENO); /* the write fails with EBADF */
    errno = ENOENT;
    log_error("to nobody");
    int after = errno;
    dup2(closed, STDERR_FILENO);
    close(closed);
    assert_int_equal(after, ENOENT);
}

static int old_stderr;

static void stderr_becomes(int fd)
{
    old_stderr = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    standard_fd_remember();
}

static void stderr_comes_back(void)
{
    dup2(old_stderr, STDERR_FILENO);
    close(old_stderr);
    standard_fd_remember();
}

/* A daemon replaces its standard error, and what replaces it is not ours. */
static void test_nothing_is_written_into_a_file_of_the_host(void **state)
{
    char path[] = "/tmp/log-test-XXXXXX", text[16];
    int file = mkstemp(path);
    assert_true(file > 2);
    log_set_level(LOG_WARN);
    old_stderr = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    log_error("into a data file");
    dup2(old_stderr, STDERR_FILENO);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    /* It was started with this file, which another process writes to elsewhere. */
    assert_int_equal(write(file, "page", 4), 4);
    lseek(file, 0, SEEK_SET);
    stderr_becomes(file);
    log_error("over the page");
    stderr_comes_back();
    assert_int_equal(pread(file, text, sizeof text, 0), 4);
    close(file);
    unlink(path);
}

/* Writing to a pipe whose reader has gone would raise a signal that ends the process. */
static void test_nobody_dies_of_a_broken_pipe(void **state)
{
    int ends[2];
    sigset_t pending;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    log_set_level(LOG_WARN);
    stderr_becomes(ends[1]);
    log_error("to nobody");
    stderr_comes_back();
    close(ends[1]);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));
}

/* Writing to a full pipe that nobody reads would block forever. */
static void test_nobody_waits_for_a_full_pipe(void **state)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1) {
    }
    fcntl(ends[1], F_SETFL, 0);
    log_set_level(LOG_WARN);
    stderr_becomes(ends[1]);
    alarm(300);
    log_error("a line that has no room");
    alarm(0);
    stderr_comes_back();
    assert_int_equal(read(ends[0], &byte, 1), 1); /* the former content is unchanged */
    assert_int_equal(byte, 'x');
    close(ends[0]);
    close(ends[1]);
}

static void test_a_long_line_is_cut_and_still_a_line(void **state)
{
    char long_text[2 * LOG_LINE_BYTES_MAX];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    stderr_begin();
    log_error("%s", long_text);
    log_error("next");
    char *text = stderr_end();
    char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_in_range(end - text, LOG_LINE_BYTES_MAX - 8, LOG_LINE_BYTES_MAX - 1);
    assert_string_equal(end, "\ncuspan: next\n");
    free(text);
}

/* Must be last: it exhausts the process's limit of lines. */
static void test_a_host_s_log_is_not_filled(void **state)
{
    stderr_begin();
    log_set_level(LOG_WARN);
    for (int i = 0; i < 2 * LOG_LINES_MAX; i++)
        log_error("again");
    char *text = stderr_end();
    assert_int_equal(times_in(text, LAST), 1);
    assert_in_range(times_in(text, "cuspan: again\n"), 1, LOG_LINES_MAX);
    assert_string_equal(text + strlen(text) - strlen(LAST), LAST);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_and_prefixes),
        cmocka_unit_test(test_a_statement_logs_once),
        cmocka_unit_test(test_errno_stays),
        cmocka_unit_test(test_nothing_is_written_into_a_file_of_the_host),
        cmocka_unit_test(test_nobody_dies_of_a_broken_pipe),
        cmocka_unit_test(test_nobody_waits_for_a_full_pipe),
        cmocka_unit_test(test_a_long_line_is_cut_and_still_a_line),
        cmocka_unit_test(test_a_host_s_log_is_not_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
