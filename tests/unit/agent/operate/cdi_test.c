#include "agent/operate/cdi/cdi_describe.h"

#include "agent/operate/doctor/agent_library.h"
#include "agent/operate/cdi/cdi_file.h"
#include "agent/operate/cdi/cdi_scan.h"
#include "cli/util/xalloc.h"
#include "support/test.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/cdi-test-XXXXXX", path[64];
static struct error err;

static void put(const char *name, const char *text, size_t len)
{
    char *file = xasprintf("%s/%s", folder, name);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    fclose(out);
    free(file);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static int set_up(void **state)
{
    strcpy(strstr(folder, "test-") + 5, "XXXXXX");
    snprintf(path, sizeof path, "%s/" CDI_FILE_NAME, mkdtemp(folder) ? folder : "");
    return 0;
}

static int tear_down(void **state)
{
    char *command = xasprintf("rm -rf '%s'", folder);
    int status = system(command);
    free(command);
    return status;
}

static const struct cdi_file simple = {.folder = "/usr/lib/cuspan"};
static const struct cdi_file hostile = {.folder = "/a \"b\"/\\ \n\t",
                                        .program = "/bin/c\x01spän",
                                        .config = "/etc/${HOME}/ü.yaml",
                                        .set = "service_name=\"},{\"hooks\":[]\\;endpoint=http://h:1"};

static void assert_same(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static const cJSON *edits_of(const cJSON *root, int device)
{
    return cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "devices"), device),
                               "containerEdits");
}

static const char *host_path(const cJSON *edits, int mount)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(edits, "mounts"), mount), "hostPath"));
}

static void test_every_string_survives_the_file(void **state)
{
    char *json;
    assert_int_equal(cdi_file_format(&hostile, &json, &err), STATUS_OK);
    assert_int_equal(cdi_file_check(json, &err), STATUS_OK);
    cJSON *root = cJSON_Parse(json);
    for (int device = 0; device < 2; device++) {
        const cJSON *edits = edits_of(root, device);
        assert_same(host_path(edits, 0), hostile.folder);
        assert_same(host_path(edits, 1), hostile.program);
        assert_same(host_path(edits, 2), hostile.config);
    }
    char *set = xasprintf("CUSPAN_SET=%s", hostile.set);
    const cJSON *env = cJSON_GetObjectItem(edits_of(root, 0), "env");
    assert_same(cJSON_GetStringValue(cJSON_GetArrayItem(env, 4)), set);
    free(set);
    cJSON_Delete(root);
    free(json);
}

/* As a container runtime reads it. */
static void test_the_devices_and_their_edits(void **state)
{
    char *json;
    assert_int_equal(cdi_file_format(&hostile, &json, &err), STATUS_OK);
    cJSON *root = cJSON_Parse(json);
    assert_string_equal(cJSON_GetObjectItem(root, "cdiVersion")->valuestring, "0.3.0");
    assert_string_equal(cJSON_GetObjectItem(root, "kind")->valuestring, "cuspan.io/agent");
    const cJSON *on = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "devices"), 0);
    const cJSON *files = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "devices"), 1);
    assert_string_equal(cJSON_GetObjectItem(on, "name")->valuestring, "on");
    assert_string_equal(cJSON_GetObjectItem(files, "name")->valuestring, "files");
    on = edits_of(root, 0), files = edits_of(root, 1);
    const cJSON *env = cJSON_GetObjectItem(on, "env");
    assert_int_equal(cJSON_GetArraySize(env), 5);
    assert_string_equal(cJSON_GetArrayItem(env, 0)->valuestring,
                        "CUDA_INJECTION64_PATH=/opt/cuspan/lib/cuspan/libcuspan.so");
    assert_string_equal(cJSON_GetArrayItem(env, 1)->valuestring,
                        "NVTX_INJECTION64_PATH=/opt/cuspan/lib/cuspan/libcuspan.so");
    assert_string_equal(cJSON_GetArrayItem(env, 2)->valuestring,
                        "NCCL_PROFILER_PLUGIN=/opt/cuspan/lib/cuspan/libcuspan.so");
    assert_string_equal(cJSON_GetArrayItem(env, 3)->valuestring,
                        "CUSPAN_CONFIG_FILE=/opt/cuspan/config.yaml");
    assert_null(cJSON_GetObjectItem(files, "env"));
    assert_true(cJSON_Compare(cJSON_GetObjectItem(on, "mounts"), cJSON_GetObjectItem(files, "mounts"), true));
    const cJSON *mount;
    cJSON_ArrayForEach(mount, cJSON_GetObjectItem(on, "mounts"))
    {
        char *options = cJSON_PrintUnformatted(cJSON_GetObjectItem(mount, "options"));
        assert_string_equal(options, "[\"ro\",\"nosuid\",\"nodev\",\"rbind\"]");
        free(options);
    }
    cJSON_Delete(root);
    free(json);
}

static void test_strings_that_json_cannot_contain(void **state)
{
    char *json;
    const struct cdi_file file = {.folder = "/usr/lib/cuspan", .set = "service_name=\xff\x1b[31m"};
    assert_int_equal(cdi_file_format(&file, &json, &err), STATUS_INVALID);
    assert_null(json);
    assert_non_null(strstr(err.text, "service_name="));
    assert_null(strchr(err.text, '\x1b'));
}

/* A file with something that cuspan does not write belongs to another tool, or to a user. */
static void assert_foreign(const char *find, const char *replacement, const char *reason)
{
    char *json, *at;
    assert_int_equal(cdi_file_format(&simple, &json, &err), STATUS_OK);
    at = strstr(json, find);
    assert_non_null(at);
    char *changed = xasprintf("%.*s%s%s", (int)(at - json), json, replacement, at + strlen(find));
    assert_int_equal(cdi_file_check(changed, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, reason));
    free(changed);
    free(json);
}

static void test_changed_files_are_foreign(void **state)
{
    assert_foreign("cuspan.io/agent", "acme.example/agent", "kind is \"acme.example/agent\"");
    assert_foreign("\"env\":", "\"hooks\":", "\"hooks\"");
    assert_foreign("\"name\":", "\"annotations\":{},\"name\":", "\"annotations\"");
    assert_foreign("\"kind\":", "\"containerEdits\":{},\"kind\":", "\"containerEdits\"");
    assert_foreign("\"on\"", "\"off\"", "\"off\"");
    assert_foreign("[\"CUDA", "[\"LD_PRELOAD=/x.so\", \"CUDA", "LD_PRELOAD=/x.so");
    assert_foreign("CUDA_INJECTION64_PATH=/opt/cuspan/lib/cuspan/libcuspan.so",
                   "CUDA_INJECTION64_PATH=/opt/nsight.so", "/opt/nsight.so");
    assert_foreign("\"CUDA_INJECTION64_PATH=", "1,\"CUDA_INJECTION64_PATH=", "env");
    assert_foreign("\"/opt/cuspan/lib/cuspan\"", "\"/usr/lib\"", "mounts nothing");
    assert_foreign("\"hostPath\":", "\"type\":\"bind\",\"hostPath\":", "mounts");
    assert_foreign("\"/usr/lib/cuspan\"", "\"lib\"", "mounts");
    assert_foreign("{", "", "not a JSON object");
    assert_foreign("{", "[1] {", "not a JSON object");
}

static void test_texts_that_are_no_cdi_file(void **state)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{\"kind\":7}",
        "{\"kind\":\"cuspan.io/agent\"}",
        "{\"kind\":\"cuspan.io/agent\",\"devices\":[]}",
        "{\"kind\":\"cuspan.io/agent\",\"devices\":[7,null]}",
        "{\"kind\":\"cuspan.io/agent\",\"devices\":[{\"containerEdits\":{\"mounts\":[1]}}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(cdi_file_check(texts[i], &err), STATUS_INVALID);
}

static void assert_load(enum status expected, const char *reason)
{
    assert_int_equal(cdi_file_check_at(path, &err), expected);
    assert_non_null(strstr(err.text, reason));
    unlink(path);
}

static void test_load_refuses_what_is_no_file_of_ours(void **state)
{
    assert_load(STATUS_NOT_FOUND, "No such file");
    put_text("real.json", "{}");
    assert_int_equal(symlink("real.json", path), 0);
    assert_load(STATUS_INVALID, "symbolic link");
    assert_int_equal(mkfifo(path, 0600), 0); /* must not block */
    assert_load(STATUS_INVALID, "not a regular file");
    put("cuspan.json", "{}\0", 3);
    assert_load(STATUS_INVALID, "not a JSON object");
    char *large = xcalloc(1, 70000);
    put(CDI_FILE_NAME, memset(large, ' ', 70000), 70000);
    free(large);
    assert_load(STATUS_INVALID, "70000 bytes");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_load(STATUS_INVALID, "not a regular file");
}

static mode_t mode_of(const char *file)
{
    struct stat about;
    return stat(file, &about) == 0 ? about.st_mode & 07777 : 0;
}

static void test_save_replaces_the_file_whatever_the_umask(void **state)
{
    char *inner = xasprintf("%s/cdi", folder), *file = cdi_file_path(inner);
    struct stat before, after;
    mode_t mask = umask(0077);
    assert_int_equal(cdi_file_save(file, &simple, &err), STATUS_OK);
    assert_int_equal(stat(file, &before), 0);
    assert_int_equal(chmod(file, 0600), 0);
    int reader = open(file, O_RDONLY); /* keeps the inode, so that a new file has another one */
    assert_int_equal(cdi_file_save(file, &hostile, &err), STATUS_OK);
    umask(mask);
    assert_int_equal(mode_of(inner), 0755);
    assert_int_equal(mode_of(file), 0644);
    assert_int_equal(stat(file, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_int_equal(cdi_file_check_at(file, &err), STATUS_OK);
    assert_true(after.st_size > before.st_size); /* with the settings of `hostile` */
    close(reader);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(inner), 0); /* no temporary file remains */
    free(file);
    free(inner);
}

static void test_save_that_fails_leaves_nothing(void **state)
{
    char *missing = xasprintf("%s/a/b/" CDI_FILE_NAME, folder), *target = xasprintf("%s/target", path);
    assert_int_equal(cdi_file_save(missing, &simple, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "create the folder above it first"));
    assert_int_equal(mkdir(path, 0755), 0);
    put_text(CDI_FILE_NAME "/target", "");
    assert_int_equal(cdi_file_save(path, &simple, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "cannot write"));
    assert_int_equal(unlink(target), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(missing);
    free(target);
}

static void test_advice(void **state)
{
    assert_string_equal(cdi_file_advice(EACCES), "run it as root, or use --directory");
    assert_non_null(strstr(cdi_file_advice(ENOSPC), "space"));
    assert_non_null(strstr(cdi_file_advice(EROFS), "another folder"));
}

static void assert_unreadable(const char *expected)
{
    char *found = library_unreadable(path);
    assert_same(found, expected);
    free(found);
}

static void test_who_can_read(void **state)
{
    assert_int_equal(chmod(folder, 0755), 0);
    assert_unreadable(NULL); /* it does not exist */
    put_text(CDI_FILE_NAME, "");
    assert_int_equal(chmod(path, 0644), 0);
    assert_unreadable(NULL);
    assert_int_equal(chmod(path, 0640), 0);
    assert_unreadable(path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(folder, 0711), 0);
    assert_unreadable(NULL);
    assert_int_equal(chmod(folder, 0750), 0);
    assert_unreadable(folder);
    assert_int_equal(chmod(folder, 0711), 0);
    char *found = library_unreadable(folder); /* a folder to mount must be listed, too */
    assert_same(found, folder);
    free(found);
}

static void test_labels_of_selinux(void **state)
{
    assert_true(cdi_label_is_allowed("system_u:object_r:usr_t:s0"));
    assert_true(cdi_label_is_allowed("system_u:object_r:container_ro_file_t"));
    assert_false(cdi_label_is_allowed("unconfined_u:object_r:user_home_t:s0"));
    assert_false(cdi_label_is_allowed("system_u:object_r:my_usr_t:s0"));
    assert_false(cdi_label_is_allowed("system_u:object_r:usr_tmp_t:s0"));
    assert_false(cdi_label_is_allowed(""));
}

struct found {
    char text[1024];
};

static void note(void *context, const struct cdi_other *other)
{
    struct found *found = context;
    size_t len = strlen(found->text);
    if (strncmp(other->path, folder, strlen(folder)) != 0)
        return; /* of this machine */
    snprintf(found->text + len, sizeof found->text - len, "%s%s%s%s %s\n", strrchr(other->path, '/') + 1,
             other->is_ours ? " ours" : "", other->is_of_our_kind ? " kind" : "",
             other->is_unreadable ? " unreadable" : "", other->variable ? other->variable : "-");
}

static void test_other_files(void **state)
{
    struct found found = {""};
    char *json;
    assert_int_equal(cdi_file_format(&simple, &json, &err), STATUS_OK);
    put_text(CDI_FILE_NAME, json); /* the file itself is left out */
    put_text("a.json", json);
    put_text("b.yaml", "kind: \"cuspan.io/agent\"\n");
    put_text("c.yaml", "env:\n  - NVTX_INJECTION64_PATH=/x.so\n  - CUDA_INJECTION64_PATH=/x.so\n");
    put_text("d.json", "{\"env\":[\"LD_PRELOAD=/x.so\"]}");
    put_text("e.yaml", "# CUDA_INJECTION64_PATH is not set here\nkind: nvidia.com/gpu\n");
    put_text("e2.yaml", "env: [NCCL_PROFILER_PLUGIN=inspector]\n");
    put_text("f.json.rpmsave", "CUDA_INJECTION64_PATH=");
    put_text("g", "CUDA_INJECTION64_PATH=");
    char *fifo = xasprintf("%s/h.json", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    free(fifo);
    cdi_scan(path, note, &found);
    assert_string_equal(found.text, "a.json ours kind CUDA_INJECTION64_PATH\n"
                                    "b.yaml kind -\n"
                                    "c.yaml CUDA_INJECTION64_PATH\n"
                                    "d.json LD_PRELOAD\n"
                                    "e2.yaml NCCL_PROFILER_PLUGIN\n"
                                    "h.json unreadable -\n");
    free(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_string_survives_the_file),
        TEST(test_the_devices_and_their_edits),
        TEST(test_strings_that_json_cannot_contain),
        TEST(test_changed_files_are_foreign),
        TEST(test_texts_that_are_no_cdi_file),
        TEST(test_load_refuses_what_is_no_file_of_ours),
        TEST(test_save_replaces_the_file_whatever_the_umask),
        TEST(test_save_that_fails_leaves_nothing),
        TEST(test_advice),
        TEST(test_who_can_read),
        TEST(test_labels_of_selinux),
        TEST(test_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
