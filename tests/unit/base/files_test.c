#include "base/files.h"

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER_USER 12345

static char folder[] = "/tmp/files-test-XXXXXX";
static char path[128], target[128];

static int begin(void **state)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    return 0;
}

static int end(void **state)
{
    unlink(path);
    unlink(target);
    return rmdir(folder);
}

static void write_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void assert_holds(const char *name, const char *text)
{
    char found[64] = "";
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    close(fd);
    assert_string_equal(found, text);
}

static unsigned mode_of(const char *name)
{
    struct stat info;
    assert_int_equal(lstat(name, &info), 0);
    return info.st_mode & 07777;
}

/* Appends "more". NULL: done; "": the kernel refused. */
static const char *append(void)
{
    const char *problem = "not set";
    int fd = files_open_append(path, &problem);
    if (fd < 0)
        return problem ? problem : "";
    assert_null(problem);
    assert_int_equal(write(fd, "more", 4), 4);
    close(fd);
    return NULL;
}

static void test_a_new_file_is_ours_alone(void **state)
{
    umask(0);
    assert_null(append());
    assert_int_equal(mode_of(path), 0600);
    assert_holds(path, "more");
    assert_null(append());
    assert_holds(path, "moremore");
}

static void test_a_link_of_ones_own_is_followed(void **state)
{
    write_file(target, "some");
    assert_int_equal(symlink(target, path), 0);
    assert_null(append());
    assert_holds(target, "somemore");
}

static void test_what_the_kernel_refuses_it_says(void **state)
{
    assert_int_equal(symlink(path, path), 0);
    assert_string_equal(append(), "");
    assert_int_equal(errno, ELOOP);
    unlink(path);
    snprintf(path, sizeof path, "%s/nowhere/file", folder);
    assert_string_equal(append(), "");
    assert_int_equal(errno, ENOENT);
}

static void test_another_users_link_is_not_followed(void **state)
{
    if (geteuid() != 0)
        skip();
    write_file(target, "some");
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(lchown(path, OTHER_USER, OTHER_USER), 0);
    assert_string_equal(append(), "it is a link that belongs to another user");
    assert_holds(target, "some");
    unlink(target);
    assert_string_equal(append(), "it is a link that belongs to another user");
    assert_int_equal(access(target, F_OK), -1);
    /* The owner of a folder may put links there. */
    assert_int_equal(chown(folder, OTHER_USER, OTHER_USER), 0);
    assert_null(append());
    assert_holds(target, "more");
}

static void test_another_users_file_is_not_filled(void **state)
{
    if (geteuid() != 0)
        skip();
    write_file(path, "some");
    assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
    assert_string_equal(append(), "it belongs to another user");
    unlink(path);
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_string_equal(append(), "it belongs to another user");
    close(reader);
}

static void test_a_second_name_in_a_folder_of_all_is_refused(void **state)
{
    write_file(target, "some");
    assert_int_equal(link(target, path), 0);
    assert_null(append());
    assert_int_equal(chmod(folder, 01777), 0);
    assert_string_equal(append(), "it has other names, and others may write to its folder");
    assert_holds(target, "somemore");
}

static void test_a_created_file_takes_the_place_of_what_was_there(void **state)
{
    write_file(target, "some");
    for (int is_link = 0; is_link < 2; is_link++) {
        unlink(path);
        if (is_link)
            assert_int_equal(symlink(target, path), 0);
        else
            assert_int_equal(link(target, path), 0);
        int fd = files_create(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "new", 3), 3);
        close(fd);
        assert_holds(path, "new");
        assert_holds(target, "some");
        assert_int_equal(mode_of(path), 0600);
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(files_create(path), -1);
    rmdir(path);
}

static void test_a_small_file_is_read_and_ended(void **state)
{
    char text[8] = "before";
    assert_int_equal(prctl(PR_SET_NAME, "files_test"), 0); /* valgrind changes it */
    assert_int_equal(files_read_small("/proc/self/comm", text, sizeof text), 7);
    assert_string_equal(text, "files_t");
    assert_int_equal(files_read_small("/nowhere", text, sizeof text), -1);
    assert_string_equal(text, "");
}

/* Several containers that share a folder may have the same process IDs. */
static void test_names_with_process_ids(void **state)
{
    char name[128], first[160], second[160], third[160], temporary[160], expected[160];
    char own[] = "/tmp/files-test-XXXXXX";
    assert_non_null(mkdtemp(own));
    snprintf(name, sizeof name, "%s/report", own);
    int one = files_create_numbered(name, first, sizeof first);
    int two = files_create_numbered(name, second, sizeof second);
    snprintf(expected, sizeof expected, "%s.%d", name, (int)getpid());
    assert_string_equal(first, expected);
    snprintf(expected, sizeof expected, "%s.%d-2", name, (int)getpid());
    assert_string_equal(second, expected);
    assert_true(one >= 0 && two >= 0);
    snprintf(temporary, sizeof temporary, "%s.next", name);
    close(files_create(temporary));
    assert_true(files_name_numbered(temporary, name, third, sizeof third));
    snprintf(expected, sizeof expected, "%s.%d-3", name, (int)getpid());
    assert_string_equal(third, expected);
    assert_int_equal(access(temporary, F_OK), -1);
    assert_false(files_name_numbered(temporary, name, expected, sizeof expected)); /* it does not exist */
    assert_int_equal(files_create_numbered("/nowhere/at/all", expected, sizeof expected), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(files_create_numbered(name, expected, 8), -1);
    assert_int_not_equal(files_random(), files_random());
    close(one);
    close(two);
    unlink(first);
    unlink(second);
    unlink(third);
    assert_int_equal(rmdir(own), 0);
}

static void test_everything_is_written(void **state)
{
    static char sent[1 << 20], got[sizeof sent];
    int ends[2];
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)(i * 7);
    assert_int_equal(pipe(ends), 0);
    pid_t reader = fork();
    if (reader == 0) {
        size_t bytes = 0;
        close(ends[1]);
        for (ssize_t n = 1; n > 0; bytes += (size_t)n)
            n = read(ends[0], got + bytes, sizeof got - bytes);
        _exit(bytes == sizeof got && memcmp(got, sent, bytes) == 0 ? 0 : 1);
    }
    close(ends[0]);
    assert_true(files_write(ends[1], sent, sizeof sent)); /* more than a pipe holds */
    close(ends[1]);
    int status = -1;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    assert_true(files_write(-1, sent, 0));
    assert_false(files_write(-1, sent, 1));
    assert_int_equal(errno, EBADF);
    int full = open("/dev/full", O_WRONLY);
    assert_false(files_write(full, sent, 1));
    assert_int_equal(errno, ENOSPC);
    close(full);
}

static void test_shared_memory_is_a_folder_and_no_device(void **state)
{
    char shared[64];
    struct stat facts;
    snprintf(shared, sizeof shared, "/dev/shm/cuspan-files-test.%d", (int)getpid());
    int fd = files_create(shared);
    if (fd < 0 && (errno == EACCES || errno == EROFS || access("/dev/shm", W_OK) != 0))
        skip(); /* nobody may write there */
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &facts), 0);
    assert_true(S_ISREG(facts.st_mode));
    close(fd);
    unlink(shared);
    assert_int_equal(files_create("/dev/cuspan-no-such-device"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_file_is_read_and_ended),
        cmocka_unit_test(test_shared_memory_is_a_folder_and_no_device),
        cmocka_unit_test_setup_teardown(test_a_new_file_is_ours_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_a_link_of_ones_own_is_followed, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_kernel_refuses_it_says, begin, end),
        cmocka_unit_test_setup_teardown(test_another_users_link_is_not_followed, begin, end),
        cmocka_unit_test_setup_teardown(test_another_users_file_is_not_filled, begin, end),
        cmocka_unit_test_setup_teardown(test_a_second_name_in_a_folder_of_all_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_a_created_file_takes_the_place_of_what_was_there, begin, end),
        cmocka_unit_test(test_names_with_process_ids),
        cmocka_unit_test(test_everything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
