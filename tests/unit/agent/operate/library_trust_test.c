#include "agent/operate/attach/library_trust.h"

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static int root;
static struct error err;

static void make(const char *name, mode_t mode)
{
    int file = openat(root, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(fchmod(file, mode), 0);
    close(file);
}

static int set_up(void **state)
{
    strcpy(folder, "/tmp/trust-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    chmod(folder, 0755);
    root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(root, "a", 0755), 0);
    assert_int_equal(mkdirat(root, "a/b", 0755), 0);
    make("a/b/lib.so", 0644);
    return 0;
}

static int tear_down(void **state)
{
    char command[96];
    close(root);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static enum status check(const char *path)
{
    err.text[0] = 0;
    return library_trust_check_below(root, path, geteuid(), 0, &err);
}

static void test_modes(void **state)
{
    assert_int_equal(check("/a/b/lib.so"), STATUS_OK);
    for (int bit = 0; bit < 2; bit++) {
        fchmodat(root, "a/b/lib.so", bit ? 0646 : 0664, 0);
        assert_int_equal(check("/a/b/lib.so"), STATUS_UNAVAILABLE);
        assert_non_null(strstr(err.text, "chmod go-w /a/b/lib.so"));
        fchmodat(root, "a/b/lib.so", 0644, 0);
        fchmodat(root, "a", bit ? 0757 : 0775, 0);
        assert_int_equal(check("/a/b/lib.so"), STATUS_UNAVAILABLE);
        assert_non_null(strstr(err.text, "chmod go-w /a"));
        fchmodat(root, "a", 0755, 0);
    }
    fchmodat(root, "a", 01777, 0); /* as /tmp: what is not theirs stays */
    assert_int_equal(check("/a/b/lib.so"), STATUS_OK);
    fchmod(open(folder, O_RDONLY | O_CLOEXEC), 0777);
    assert_int_equal(check("/a/b/lib.so"), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.text, "chmod go-w /"));
}

/* A sticky bit of a file means nothing. */
static void test_a_sticky_file(void **state)
{
    fchmodat(root, "a/b/lib.so", 01666, 0);
    assert_int_equal(check("/a/b/lib.so"), STATUS_UNAVAILABLE);
}

static void test_owners(void **state)
{
    if (geteuid() != 0) {
        assert_int_equal(library_trust_check_below(root, "/a/b/lib.so", geteuid() + 1, 0, &err),
                         STATUS_UNAVAILABLE);
        return;
    }
    assert_int_equal(fchownat(root, "a/b", 7, 7, 0), 0);
    assert_int_equal(library_trust_check_below(root, "/a/b/lib.so", 7, 0, &err), STATUS_OK);
    assert_int_equal(library_trust_check_below(root, "/a/b/lib.so", 8, 0, &err), STATUS_UNAVAILABLE);
    assert_int_equal(library_trust_check_below(root, "/a/b/lib.so", 0, 0, &err), STATUS_UNAVAILABLE);
    assert_int_equal(library_trust_check_below(root, "/a/b/lib.so", 8, 7, &err), STATUS_OK);
}

static void test_links(void **state)
{
    assert_int_equal(symlinkat("b", root, "a/link"), 0);
    assert_int_equal(symlinkat("lib.so", root, "a/b/link.so"), 0);
    assert_int_equal(symlinkat("/etc", root, "etc"), 0);
    assert_int_equal(check("/a/link/lib.so"), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.text, "through a link (/a/link)"));
    assert_int_equal(check("/a/b/link.so"), STATUS_UNAVAILABLE);
    assert_int_equal(check("/etc/passwd"), STATUS_UNAVAILABLE);
}

static void test_paths(void **state)
{
    char longest[2048] = "/";
    memset(longest + 1, 'x', 1500);
    assert_int_equal(check("/a/b/none.so"), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.text, "does not see /a/b/none.so (No such file or directory)"));
    assert_int_equal(check("/a/b/lib.so/more"), STATUS_NOT_FOUND);
    assert_int_equal(check("a/b/lib.so"), STATUS_INVALID);
    assert_int_equal(check("/a/../a/b/lib.so"), STATUS_INVALID);
    assert_int_equal(check(longest), STATUS_INVALID);
    assert_int_equal(check(""), STATUS_INVALID);
}

/* A process that has ended shows no files. */
static void test_no_process(void **state)
{
    const struct target target = {.folder = root, .program = "x", .pid = 7};
    assert_int_equal(library_trust_check(&target, "/a/b/lib.so", &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.text, "cannot be seen"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_modes), TEST(test_a_sticky_file), TEST(test_owners),
                                       TEST(test_links), TEST(test_paths),         TEST(test_no_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
