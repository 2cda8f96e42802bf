#include "analysis/code/source_lines.h"

#include "support/test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/source_lines_XXXXXX";
static char directory[64]; /* below the root; files beside it are forbidden */

static void write_file(const char *name, const char *text, size_t len)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
}

static void link_to(const char *name, const char *target)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
    char path[256], *long_line = malloc(1000);
    static const char text[] = "import torch\n\n  x = y  \r\n\tlast\0line";
    assert_non_null(mkdtemp(root));
    snprintf(directory, sizeof directory, "%s/src", root);
    assert_int_equal(mkdir(directory, 0700), 0);
    snprintf(path, sizeof path, "%s/package", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("secret.py", "secret\n", 7);
    write_file("src/train.py", text, sizeof text - 1);
    write_file("src/package/net.py", "net\n", 4);
    write_file("src/empty.py", "", 0);
    snprintf(path, sizeof path, "%s/2",
             directory); /* what follows the directory's name in that of another one */
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("src/2/train.py", "two\n", 4);
    memset(long_line, 'x', 1000);
    memcpy(long_line + SOURCE_LINE_BYTES_MAX - 1, "\xc3\xa9", 2);
    write_file("src/long.py", long_line, 1000);
    free(long_line);
    link_to("src/link.py", "train.py");
    link_to("src/out.py", "../secret.py");
    link_to("src/absolute.py", "/etc/passwd");
    link_to("src/up", "..");
    link_to("src/itself", ".");
    snprintf(path, sizeof path, "%s/fifo", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    return 0;
}

static struct source_lines *open_lines(const char *path)
{
    struct source_lines *lines = NULL;
    struct error err = {""};
    assert_int_equal(source_lines_open(path, &lines, &err), STATUS_OK);
    return lines;
}

static void test_lines(void **state)
{
    struct source_lines *lines = open_lines(directory);
    assert_string_equal(source_lines_find(lines, "train.py", 1), "import torch");
    assert_null(source_lines_find(lines, "train.py", 2));
    assert_string_equal(source_lines_find(lines, "train.py", 3), "x = y");
    assert_string_equal(source_lines_find(lines, "train.py", 4), "last?line");
    assert_null(source_lines_find(lines, "train.py", 5));
    assert_null(source_lines_find(lines, "train.py", 0));
    assert_null(source_lines_find(lines, "empty.py", 1));
    assert_null(source_lines_find(lines, "empty.py", 2));
    assert_null(source_lines_find(lines, "missing.py", 1));
    assert_string_equal(source_lines_find(lines, "./package//net.py", 1), "net");
    const char *longest = source_lines_find(lines, "long.py", 1);
    assert_int_equal(strlen(longest), SOURCE_LINE_BYTES_MAX - 1 + 3);
    assert_string_equal(longest + SOURCE_LINE_BYTES_MAX - 1, "...");
    source_lines_close(lines);
}

static void test_absolute_paths(void **state)
{
    char path[256], slash[128];
    snprintf(slash, sizeof slash, "%s//", directory);
    struct source_lines *lines = open_lines(slash);
    snprintf(path, sizeof path, "%s/train.py", directory);
    assert_string_equal(source_lines_find(lines, path, 1), "import torch");
    snprintf(path, sizeof path, "%s2/train.py", directory);
    assert_null(source_lines_find(lines, path, 1));
    snprintf(path, sizeof path, "%s/secret.py", root);
    assert_null(source_lines_find(lines, path, 1));
    source_lines_close(lines);
    /* Through a link to the directory, its own name counts as well as that of the link. */
    char link[128];
    snprintf(link, sizeof link, "%s/alias", root);
    assert_int_equal(symlink(directory, link), 0);
    lines = open_lines(link);
    snprintf(path, sizeof path, "%s/train.py", link);
    assert_string_equal(source_lines_find(lines, path, 1), "import torch");
    snprintf(path, sizeof path, "%s/train.py", directory);
    assert_string_equal(source_lines_find(lines, path, 1), "import torch");
    source_lines_close(lines);
    /* For a program below qemu-user, "/" is the root of another system. */
    int top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (faccessat(top, path + 1, R_OK, 0) == 0) {
        lines = open_lines("/");
        assert_non_null(source_lines_find(lines, path, 1));
        source_lines_close(lines);
    }
    close(top);
}

static void test_nothing_outside(void **state)
{
    static const char *const paths[] = {"../secret.py",
                                        "package/../../secret.py",
                                        "package/../train.py",
                                        "..",
                                        "up/secret.py",
                                        "link.py",
                                        "out.py",
                                        "absolute.py",
                                        "itself/train.py",
                                        "fifo",
                                        "package",
                                        ".",
                                        "",
                                        "/",
                                        "//etc/passwd",
                                        "/etc/passwd",
                                        "train.py/x"};
    struct source_lines *lines = open_lines(directory);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_null(source_lines_find(lines, paths[i], 1));
    char name[600], path[1024];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    assert_null(source_lines_find(lines, name, 1));
    snprintf(path, sizeof path, "%s/../secret.py", directory);
    assert_null(source_lines_find(lines, path, 1));
    source_lines_close(lines);
}

/* As torch 2.7 writes it. */
static const char generated[] =
    "def call(args):\n"
    "    with torch.cuda._DeviceGuard(0):\n"
    "        buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)\n"
    "        # Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]\n"
    "        extern_kernels.mm(arg0_1, arg1_1, out=buf0)\n"
    "        buf1 = buf0; del buf0  # reuse\n"
    "        # Topologically Sorted Source Nodes: [relu], Original ATen: [aten.relu]\n"
    "        stream0 = get_raw_stream(0)\n"
    "        triton_poi_fused_relu_0.run(buf1, 64, stream=stream0)\n"
    "        triton_poi_fused_1.run(buf1, 64, stream=stream0)\n";

static void test_inductor(void **state)
{
    char path[256];
    snprintf(path, sizeof path, "%s/torchinductor_me", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("src/torchinductor_me/ca.py", generated, sizeof generated - 1);
    write_file("src/ca.py", generated, sizeof generated - 1);
    struct source_lines *lines = open_lines(directory);
    const char *name = "torchinductor_me/ca.py";
    assert_string_equal(source_lines_find(lines, name, 5),
                        "# Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]");
    assert_string_equal(source_lines_find(lines, name, 9),
                        "# Topologically Sorted Source Nodes: [relu], Original ATen: [aten.relu]");
    /* The comment belongs to the launch before. */
    assert_string_equal(source_lines_find(lines, name, 10),
                        "triton_poi_fused_1.run(buf1, 64, stream=stream0)");
    assert_string_equal(source_lines_find(lines, name, 1), "def call(args):");
    assert_string_equal(source_lines_find(lines, name, 3),
                        "buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)");
    assert_string_equal(source_lines_find(lines, "ca.py", 9),
                        "triton_poi_fused_relu_0.run(buf1, 64, stream=stream0)");
    source_lines_close(lines);
}

/* As torch 2.9 writes it with INDUCTOR_PROVENANCE=1. */
static void test_comments(void **state)
{
    static const char text[] = "    # Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]\n"
                               "    # [Provenance debug handles] extern_kernels.mm:1\n"
                               "    extern_kernels.mm(arg0_1, arg1_1, out=buf0)\n"
                               "    # [Provenance debug handles] triton_poi_fused_relu_0:2\n"
                               "    stream0 = get_raw_stream(0)\n"
                               "    triton_poi_fused_relu_0.run(buf1, 64, stream=stream0)\n";
    static const char word[] = "[Provenance debug handles] ";
    char path[256];
    write_file("src/torchinductor_me/cb.py", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/torchinductor_me", directory);
    struct source_lines *lines = open_lines(path);
    /* A relative path may begin with the directory's own name. */
    const char *name = "torchinductor_me/cb.py";
    assert_string_equal(source_lines_text(lines, name), text);
    assert_string_equal(source_lines_text(lines, "cb.py"), text);
    assert_null(source_lines_text(lines, "torchinductor_me"));
    assert_null(source_lines_text(lines, "torchinductor_me/../cb.py"));
    assert_null(source_lines_text(lines, "torchinductor_me2/cb.py"));
    const char *found = source_lines_comment(lines, name, 3, word);
    assert_non_null(found);
    assert_memory_equal(found, "extern_kernels.mm:1\n", 20);
    found = source_lines_comment(lines, name, 6, word);
    assert_non_null(found);
    assert_memory_equal(found, "triton_poi_fused_relu_0:2\n", 26);
    assert_null(source_lines_comment(lines, name, 1, word));
    assert_null(source_lines_comment(lines, name, 7, word));
    assert_null(source_lines_comment(lines, "missing.py", 3, word));
    assert_string_equal(source_lines_find(lines, name, 3),
                        "# Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]");
    source_lines_close(lines);
}

static void test_too_large(void **state)
{
    char path[256];
    snprintf(path, sizeof path, "%s/large.py", directory);
    write_file("src/large.py", "x\n", 2);
    struct source_lines *lines = open_lines(directory);
    assert_non_null(source_lines_find(lines, "large.py", 1));
    assert_non_null(source_lines_find(lines, "train.py", 1)); /* the other file is forgotten */
    assert_int_equal(truncate(path, SOURCE_FILE_BYTES_MAX + 1), 0);
    assert_null(source_lines_find(lines, "large.py", 1));
    source_lines_close(lines);
    assert_int_equal(unlink(path), 0);
}

static void test_no_directory(void **state)
{
    struct source_lines *lines = NULL;
    struct error err = {""};
    char path[256];
    snprintf(path, sizeof path, "%s/train.py", directory);
    assert_int_equal(source_lines_open(path, &lines, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.text, "Not a directory"));
    assert_int_equal(source_lines_open("/no/such", &lines, &err), STATUS_NOT_FOUND);
    assert_null(lines);
    source_lines_close(NULL);
}

static const struct stat_column columns[] = {{"place", "code", STAT_TEXT}, {"source", "source", STAT_TEXT}};

static void test_fill(void **state)
{
    static const char *const places[] = {"train.py:3",           "(no Python)", "train.py:", "a:1:x",
                                         "train.py:99999999999", "train.py:-3", ":3",        "train.py"};
    struct stat_table table = stat_table_of("code", "Code", NULL, columns, 2);
    struct source_lines *lines = open_lines(directory);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        stat_table_add(&table)[0] = stat_text(places[i]);
    stat_table_add(&table); /* without a place */
    source_lines_fill(lines, &table);
    assert_string_equal(table.values[1].text, "x = y");
    for (size_t r = 1; r < table.row_count; r++)
        assert_true(table.values[r * 2 + 1].is_missing);
    struct stat_table other = stat_table_of("calls", "Calls", NULL, columns, 1);
    stat_table_add(&other)[0] = stat_text("train.py:3");
    source_lines_fill(lines, &other); /* it has no such column */
    stat_table_deinit(&table);
    stat_table_deinit(&other);
    source_lines_close(lines);
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_absolute_paths),
        cmocka_unit_test(test_nothing_outside), cmocka_unit_test(test_inductor),
        cmocka_unit_test(test_comments),        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_no_directory),    cmocka_unit_test(test_fill),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
