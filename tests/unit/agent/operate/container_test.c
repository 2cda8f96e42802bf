#include "agent/operate/attach/container.h"

#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static char folder[32];
static int root, from; /* a container's, and that of the agent's files */
static struct error err;

static void make(int where, const char *name, const char *text)
{
    int file = openat(where, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static int open_in(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int set_up(void **state)
{
    strcpy(folder, "/tmp/container-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    root = open_in("root");
    from = open_in("from");
    make(from, "libcuspan.so", "agent");
    make(from, "python.zip", "python");
    make(from, "another", "not of the agent");
    mkdirat(from, "cupti", 0700);
    make(from, "cupti/libcupti.so.13", "cupti");
    return 0;
}

static int tear_down(void **state)
{
    char command[128];
    close(root);
    close(from);
    snprintf(command, sizeof command, "chmod -R u+w '%s'; rm -rf '%s'", folder, folder);
    return system(command);
}

static void assert_id(const char *cgroup, const char *id)
{
    char found[CONTAINER_ID_BYTES];
    container_find_id(cgroup, found);
    assert_string_equal(found, id);
}

static void test_ids(void **state)
{
    assert_id("0::/system.slice/docker-" ID ".scope\n", ID);
    assert_id("12:memory:/docker/" ID "\n11:cpu:/docker/" ID "\n", ID);
    assert_id("0::/kubepods.slice/kubepods-pod0a1b2c3d_0a1b.slice/cri-containerd-" ID ".scope", ID);
    assert_id("0::/machine.slice/libpod-" ID, ID);
    assert_id("0::/docker/" ID "/docker/" OTHER, ID); /* which may be planted */
    assert_id("0::/user.slice/user-1000.slice", "");
    assert_id("0::/docker/0123456789abcdef", "");
    assert_id("", "");
}

static bool is_named(const char *name)
{
    return container_is_named(folder, ID, name);
}

static void test_names(void **state)
{
    char command[1024];
    assert_true(is_named("0123") && is_named(ID));
    assert_false(is_named("012") || is_named("1234") || is_named("") || is_named(ID "0") ||
                 is_named("train"));
    assert_false(container_is_named(folder, "", ""));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p var/lib/docker/containers/" ID " var/log/containers && "
             "echo '{\"ID\":\"x\",\"Name\":\"/train\"}' >var/lib/docker/containers/" ID "/config.v2.json && "
             "touch var/log/containers/pod-1_spaces_worker-" ID
             ".log var/log/containers/pod-2_spaces_other-" OTHER
             ".log var/log/containers/short.log var/log/containers/nothing-" ID ".log",
             folder);
    assert_int_equal(system(command), 0);
    assert_true(is_named("train") && is_named("pod-1") && is_named("worker") && is_named("pod-1/worker"));
    assert_false(is_named("/train") || is_named("trai") || is_named("pod-2") || is_named("other") ||
                 is_named("spaces") || is_named("pod-1/other") || is_named("pod-1/") || is_named("nothing"));
    assert_true(container_is_named(folder, OTHER, "pod-2/other"));
    snprintf(command, sizeof command, "cd %s/var/lib/docker/containers/" ID " && echo '{' >config.v2.json",
             folder);
    assert_int_equal(system(command), 0);
    assert_false(is_named("train"));
}

static enum status copy(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/from", folder);
    err.text[0] = 0;
    return container_copy(root, path, &err);
}

static void assert_file(const char *name, const char *text)
{
    char path[128], found[64] = "";
    struct stat facts;
    snprintf(path, sizeof path, CONTAINER_FOLDER "/%s", name);
    int file = openat(root, path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && read(file, found, sizeof found - 1) >= 0 && fstat(file, &facts) == 0);
    assert_string_equal(found, text);
    assert_int_equal(facts.st_mode & 0777, 0644);
    close(file);
}

/* Whether the container's root has this many entries. */
static void assert_entries(int expected)
{
    int count = -2; /* . and .. */
    DIR *entries = fdopendir(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (readdir(entries))
        count++;
    closedir(entries);
    assert_int_equal(count, expected);
}

static void test_copy(void **state)
{
    struct stat facts;
    mode_t before = umask(077);
    assert_int_equal(copy(), STATUS_OK);
    umask(before);
    assert_file("libcuspan.so", "agent");
    assert_file("python.zip", "python");
    assert_file("cupti/libcupti.so.13", "cupti");
    assert_int_equal(fstatat(root, CONTAINER_FOLDER, &facts, 0), 0);
    assert_int_equal(facts.st_mode & 0777, 0755);
    assert_int_equal(fstatat(root, CONTAINER_FOLDER "/cupti", &facts, 0), 0);
    assert_int_equal(facts.st_mode & 0777, 0755);
    assert_int_not_equal(fstatat(root, CONTAINER_FOLDER "/another", &facts, 0), 0);
    assert_entries(1);
    make(from, "libcuspan-export.so", "newer"); /* what is there may be loaded */
    assert_int_equal(copy(), STATUS_OK);
    assert_int_not_equal(fstatat(root, CONTAINER_FOLDER "/libcuspan-export.so", &facts, 0), 0);
}

static void test_without_cupti(void **state)
{
    unlinkat(from, "cupti/libcupti.so.13", 0);
    unlinkat(from, "cupti", AT_REMOVEDIR);
    assert_int_equal(copy(), STATUS_OK);
    assert_file("libcuspan.so", "agent");
}

/* Nothing is written through a link, wherever it leads. */
static void test_planted_links(void **state)
{
    struct stat facts;
    assert_int_equal(symlinkat("../from", root, CONTAINER_FOLDER), 0);
    assert_int_equal(copy(), STATUS_OK); /* library_trust_check() refuses it */
    assert_entries(1);
    assert_int_equal(fstatat(root, CONTAINER_FOLDER, &facts, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(facts.st_mode));
}

static void test_what_cannot_be_copied(void **state)
{
    unlinkat(from, "libcuspan.so", 0);
    assert_int_equal(copy(), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.text, "cannot be copied to /.cuspan-"));
    assert_non_null(strstr(err.text, strerror(ENOENT)));
    assert_entries(0);
    make(from, "libcuspan.so", "agent");
    mkdirat(from, "cupti/folder", 0700); /* no file */
    assert_int_equal(copy(), STATUS_UNAVAILABLE);
    assert_entries(0);
    close(root);
    root = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* as a file system that is read-only */
    assert_int_equal(copy(), STATUS_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_cupti, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_planted_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_copied, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
