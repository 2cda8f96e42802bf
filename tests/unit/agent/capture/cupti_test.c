#include "agent/capture/cupti/cupti.h"
#include "model/cuda/cupti_search.h"
#include "support/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cupti cupti;
static struct error err;
static char folder[] = "/tmp/cuspan-cupti-test-XXXXXX";

static int setup_all(void **state)
{
    char path[256];
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/cupti", folder);
    return mkdir(path, 0700);
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about, (void)type, (void)where;
    return remove(path);
}

static int teardown_all(void **state)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Loads the fake library of this name, built by capture_tests.cmake. */
static enum status load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/libfake_cupti_%s.so", FAKE_CUPTI_FOLDER, name);
    memset(&err, 0, sizeof err);
    return cupti_load(path, folder, &cupti, &err);
}

static void expect_error(const char *part)
{
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_null(strchr(err.text, '\n'));
}

static void test_a_missing_library(void **state)
{
    assert_int_equal(cupti_load("/nowhere/libcupti.so.13", folder, &cupti, &err), STATUS_NOT_FOUND);
    expect_error("/nowhere/libcupti.so.13");
}

static void test_a_library_that_is_none(void **state)
{
    assert_int_equal(cupti_load("libc.so.6", folder, &cupti, &err), STATUS_UNSUPPORTED);
    expect_error("libc.so.6 is not CUPTI");
    assert_int_equal(load("failing"), STATUS_UNAVAILABLE);
    expect_error("does not report its version");
}

/* CUPTI 13.2.86 crashes in cuptiGetVersion() without a driver. */
static void test_cupti_is_not_called_without_a_driver(void **state)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver) {
        dlclose(driver);
        print_message("skipped: this machine has a driver\n");
        skip();
    }
    assert_int_equal(load("nvidia"), STATUS_UNAVAILABLE);
    expect_error("without NVIDIA's driver");
}

static void test_too_old_a_library(void **state)
{
    assert_int_equal(load("old"), STATUS_UNSUPPORTED);
    expect_error("older than CUDA 12.0");
    expect_error("distribution.cuspan.cupti.library");
}

static void test_a_library_that_lacks_functions(void **state)
{
    assert_int_equal(load("bare"), STATUS_UNSUPPORTED);
    expect_error("lacks functions");
}

static void test_a_classic_library(void **state)
{
    assert_int_equal(load("classic"), STATUS_OK);
    assert_int_equal(cupti.version, CUPTI_VERSION_12_9);
    assert_false(cupti.has_subscriber_api);
    assert_non_null(cupti.cuptiSubscribe);
    assert_null(cupti.cuptiSubscribe_v2);
    assert_null(cupti.replay_clock);
    assert_true(strstr(cupti.path, "classic") != NULL);
    assert_string_equal(cupti_result_text(&cupti, 1),
                        "unknown error"); /* cuptiGetResultString does not set the text */
}

static void test_the_subscriber_api_by_version_and_calls(void **state)
{
    assert_int_equal(load("subscriber"), STATUS_OK);
    assert_true(cupti.has_subscriber_api);
    assert_int_equal(load("early"),
                     STATUS_OK); /* 13.2 has such functions, but not yet user-defined records */
    assert_false(cupti.has_subscriber_api);
}

static void ship(const char *name, const char *fake)
{
    char target[512], path[512];
    snprintf(target, sizeof target, "%s/libfake_cupti_%s.so", FAKE_CUPTI_FOLDER, fake);
    snprintf(path, sizeof path, "%s/cupti/%s", folder, name);
    unlink(path);
    if (fake)
        assert_int_equal(symlink(target, path), 0);
}

static void unship(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/cupti/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

static void test_the_one_that_ships_with_cuspan(void **state)
{
    ship("libcupti.so.13", "subscriber");
    ship("libcupti.so.12", "classic");
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_OK);
    assert_int_equal(cupti.version, 130500);
    assert_string_equal(cupti.origin, "beside libcuspan.so");
    unship("libcupti.so.13");
    unship("libcupti.so.12");
}

static void test_a_broken_one_does_not_hide_a_good_one(void **state)
{
    ship("libcupti.so.13", "failing");
    ship("libcupti.so.12", "subscriber"); /* the version counts, not the name */
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_OK);
    assert_int_equal(cupti.version, 130500);
    unship("libcupti.so.13");
    unship("libcupti.so.12");
}

/* --- the search --- */

static char invocation_name[256];

/* Nothing of this machine's leads to a CUPTI. */
static int forget_environment(void **state)
{
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    setenv("PATH", "/nowhere", 1);
    program_invocation_name = invocation_name;
    *invocation_name = '\0';
    return 0;
}

/* The path below the test's folder; its folders are created. */
static const char *below(const char *path)
{
    static char paths[4][512];
    static unsigned next;
    char *made = paths[next++ % 4];
    snprintf(made, sizeof paths[0], "%s/%s", folder, path);
    for (char *slash = made + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(made, 0700) != 0)
            assert_int_equal(errno, EEXIST);
    }
    return made;
}

static void copy_fake(const char *fake, const char *path)
{
    char command[1200];
    snprintf(command, sizeof command, "/bin/cp '%s/libfake_cupti_%s.so' '%s'", FAKE_CUPTI_FOLDER, fake,
             below(path));
    assert_int_equal(system(command), 0);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(below(path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void expect_found(const char *self, const char *path, const char *origin)
{
    char self_folder[512];
    snprintf(self_folder, sizeof self_folder, "%s", below(self));
    assert_int_equal(cupti_load(NULL, self_folder, &cupti, &err), STATUS_OK);
    assert_string_equal(cupti.path, below(path));
    assert_string_equal(cupti.origin, origin);
    dlclose(cupti.handle); /* a loaded CUPTI is a candidate of the next search */
}

static void test_packages_beside_cuspans(void **state)
{
    copy_fake("early", "a/nvidia/cu13/lib/libcupti.so.13");
    copy_fake("classic", "a/nvidia/cuda_cupti/lib/libcupti.so.12");
    expect_found("a/cuspan/native/lib/cuspan", "a/nvidia/cu13/lib/libcupti.so.13",
                 "a Python package beside cuspan");
    assert_int_equal(cupti_load(NULL, below("a/other/native/lib/cuspan"), &cupti, &err), STATUS_NOT_FOUND);
    expect_error("pip install nvidia-cuda-cupti,");
    /* A newer one of the toolkit or the program is still preferred. */
    copy_fake("subscriber", "env/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
    setenv("VIRTUAL_ENV", below("env"), 1);
    expect_found("a/cuspan/native/lib/cuspan",
                 "env/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13",
                 "a Python package of the program");
}

static void test_the_programs_python_environment(void **state)
{
    copy_fake("classic", "venv/lib/python3.9/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12");
    write_file("venv/bin/python", "", 0);
    assert_int_equal(chmod(below("venv/bin/python"), 0700), 0);
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_NOT_FOUND);

    snprintf(invocation_name, sizeof invocation_name, "%s", below("venv/bin/python"));
    const char *path = "venv/lib/python3.9/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12";
    expect_found("x", path, "a Python package of the program");

    snprintf(invocation_name, sizeof invocation_name, "python");
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_NOT_FOUND);
    char folders[600];
    snprintf(folders, sizeof folders, "/nowhere::%s", below("venv/bin"));
    setenv("PATH", folders, 1);
    expect_found("x", path, "a Python package of the program");
}

static void test_a_conda_environment(void **state)
{
    copy_fake("subscriber", "conda/lib/libcupti.so.13");
    setenv("CONDA_PREFIX", below("conda"), 1);
    expect_found("x", "conda/lib/libcupti.so.13", "a Python package of the program");
}

static void *load_library(const char *path)
{
    copy_fake("bare", path);
    void *handle = dlopen(below(path), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    return handle;
}

/* CuPy and JAX: no CUDA library is loaded yet, but an extension module is. */
static void test_an_extension_module_of_the_program(void **state)
{
    const char *path = "lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13";
    copy_fake("subscriber", path);
    void *module = load_library("lib/python3.12/site-packages/cupy/_core/core.so");
    expect_found("x", path, "a Python package of the program");
    dlclose(module);
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_NOT_FOUND);
}

/* pip install --target: no folder is called site-packages. */
static void test_a_loaded_library_of_nvidias_packages(void **state)
{
    copy_fake("classic", "target/nvidia/cuda_cupti/lib/libcupti.so.12");
    void *library = load_library("target/nvidia/cublas/lib/libcublas.so.12");
    expect_found("x", "target/nvidia/cuda_cupti/lib/libcupti.so.12", "a Python package of the program");
    dlclose(library);
    library = load_library("target/torch/lib/libtorch_cuda.so");
    expect_found("x", "target/nvidia/cuda_cupti/lib/libcupti.so.12", "a Python package of the program");
    dlclose(library);
}

static void test_the_interpreters_own_modules(void **state)
{
    const char *path = "base/lib/python3/dist-packages/nvidia/cu13/lib/libcupti.so.13";
    copy_fake("subscriber", path);
    void *module = load_library("base/lib/python3.12/lib-dynload/_ctypes.so");
    expect_found("x", path, "a Python package of the program");
    dlclose(module);
}

static void test_many_candidates(void **state)
{
    struct cupti_search *search = malloc(sizeof *search);
    assert_non_null(search);
    for (int i = 0; i < CUPTI_CANDIDATES_MAX + 8; i++) {
        char path[128];
        snprintf(path, sizeof path, "many/lib/python3.%d/site-packages/nvidia/cu13/lib/libcupti.so.13", i);
        write_file(path, "", 0);
    }
    setenv("VIRTUAL_ENV", below("many"), 1);
    ship("libcupti.so.13", "subscriber");
    cupti_search(folder, NULL, search);
    assert_int_equal(search->count, CUPTI_CANDIDATES_MAX);
    assert_true(search->left_out >= 9);
    assert_string_equal(search->found[0].origin, "beside libcuspan.so");
    unship("libcupti.so.13");
    free(search);
}

static void test_one_file_with_two_paths(void **state)
{
    struct cupti_search *search = malloc(sizeof *search);
    assert_non_null(search);
    copy_fake("classic", "two/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
    assert_int_equal(symlink("lib", below("two/lib64")), 0);
    setenv("VIRTUAL_ENV", below("two"), 1);
    cupti_search(folder, NULL, search);
    size_t count = 0;
    for (size_t i = 0; i < search->count; i++)
        count += strstr(search->found[i].path, "/two/") != NULL;
    assert_int_equal(count, 1);
    free(search);
}

struct seen {
    size_t count;
    char refused[8][512];
};

static void see(void *context, const struct cupti_sight *sight)
{
    struct seen *seen = context;
    if (strncmp(sight->path, folder, strlen(folder)) == 0 && seen->count < 8)
        snprintf(seen->refused[seen->count++], sizeof seen->refused[0], "%s",
                 sight->status == STATUS_OK ? "" : sight->error);
}

static void test_libraries_that_cannot_be_loaded(void **state)
{
    Elf64_Ehdr header = {.e_ident = ELFMAG, .e_machine = EM_MIPS};
    header.e_ident[EI_CLASS] = ELFCLASS64;
    write_file("b/nvidia/cu13/lib/libcupti.so.13", &header, sizeof header);
    write_file("b/nvidia/cuda_cupti/lib/libcupti.so.12", "no library", 10);
    char self[512];
    snprintf(self, sizeof self, "%s", below("b/cuspan/native/lib/cuspan"));
    struct seen seen = {0};
    cupti_survey(NULL, self, see, &seen);
    assert_int_equal(seen.count, 2);
    assert_non_null(strstr(seen.refused[0], "libcupti.so.13 is for another architecture"));
    assert_non_null(strstr(seen.refused[1], "libcupti.so.12: "));
    /* The error is about the best place. */
    assert_int_equal(cupti_load(NULL, self, &cupti, &err), STATUS_UNSUPPORTED);
    expect_error("is for another architecture");
    if (geteuid() == 0)
        return; /* root may read it */
    assert_int_equal(chmod(below("b/nvidia/cu13/lib/libcupti.so.13"), 0), 0);
    cupti_survey(NULL, self, see, &seen);
    assert_non_null(strstr(seen.refused[2], "Permission denied"));
}

static void test_names_of_versions(void **state)
{
    static const struct {
        uint32_t version;
        const char *text;
    } versions[] = {{CUPTI_VERSION_12_0, "12.0"},
                    {26, "12.8"},
                    {CUPTI_VERSION_12_9, "12.9"},
                    {28, "12.9"},
                    {130000, "13.0"},
                    {130500, "13.5"},
                    {141200, "14.12"},
                    {17, "below 12"}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char text[16];
        cupti_version_text(versions[i].version, text);
        assert_string_equal(text, versions[i].text);
    }
}

static void test_late_starts(void **state)
{
    static const uint32_t without[] = {CUPTI_VERSION_12_0, CUPTI_VERSION_12_9, CUPTI_VERSION_13_0, 130400};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        assert_int_equal(cupti_late_start(cupti_late_starts, without[i]), LATE_WITHOUT_GRAPH_RECORDS);
    assert_int_equal(cupti_late_start(cupti_late_starts, CUPTI_VERSION_13_5), LATE_WHOLE);
    assert_int_equal(cupti_late_start(cupti_late_starts, 140000), LATE_WHOLE);
    static const struct late_start_rule rules[] = {{CUPTI_VERSION_13_1, LATE_WHOLE, NULL},
                                                   {CUPTI_VERSION_13_0, LATE_REFUSED, "ends it"},
                                                   {0, LATE_WHOLE, NULL}};
    struct cupti chosen = {.path = "/a/libcupti.so.13"};
    for (uint32_t i = 0; i < 3; i++) {
        chosen.version = (const uint32_t[]){CUPTI_VERSION_12_9, CUPTI_VERSION_13_0, CUPTI_VERSION_13_1}[i];
        assert_int_equal(cupti_check_late_start(rules, &chosen, &err),
                         i == 1 ? STATUS_UNSUPPORTED : STATUS_OK);
    }
    expect_error("CUPTI 13.0 (/a/libcupti.so.13) ends it if it starts in a running program");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_library),
        cmocka_unit_test(test_a_library_that_is_none),
        cmocka_unit_test(test_cupti_is_not_called_without_a_driver),
        cmocka_unit_test(test_too_old_a_library),
        cmocka_unit_test(test_a_library_that_lacks_functions),
        cmocka_unit_test(test_a_classic_library),
        cmocka_unit_test(test_the_subscriber_api_by_version_and_calls),
        cmocka_unit_test(test_the_one_that_ships_with_cuspan),
        cmocka_unit_test(test_a_broken_one_does_not_hide_a_good_one),
        cmocka_unit_test_setup(test_packages_beside_cuspans, forget_environment),
        cmocka_unit_test_setup(test_the_programs_python_environment, forget_environment),
        cmocka_unit_test_setup(test_a_conda_environment, forget_environment),
        cmocka_unit_test_setup(test_an_extension_module_of_the_program, forget_environment),
        cmocka_unit_test_setup(test_a_loaded_library_of_nvidias_packages, forget_environment),
        cmocka_unit_test_setup(test_the_interpreters_own_modules, forget_environment),
        cmocka_unit_test_setup(test_many_candidates, forget_environment),
        cmocka_unit_test_setup(test_one_file_with_two_paths, forget_environment),
        cmocka_unit_test_setup(test_libraries_that_cannot_be_loaded, forget_environment),
        cmocka_unit_test(test_names_of_versions),
        cmocka_unit_test(test_late_starts),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
