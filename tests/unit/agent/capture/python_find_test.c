/* Finds a Python that is loaded late, and refuses versions and layouts that it does not know. */
#include "agent/capture/stacks/python_find.h"

#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    void *library;
    uint64_t *runtime, *code, *frame, *string, *bytes;
    char *version;
} fake;

static void load(const char *path)
{
    fake.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fake.library);
    fake.runtime = dlsym(fake.library, "_PyRuntime");
    fake.code = dlsym(fake.library, "PyCode_Type");
    fake.frame = dlsym(fake.library, "PyFrame_Type");
    fake.string = dlsym(fake.library, "PyUnicode_Type");
    fake.bytes = dlsym(fake.library, "PyBytes_Type");
    fake.version = dlsym(fake.library, "fake_python_version");
}

/* Makes the library one of this version, as the layout says. */
static const struct python_layout *pose(unsigned minor, bool is_free_threaded, const char *rest)
{
    const struct python_layout *layout = python_layout_find(minor, is_free_threaded);
    assert_non_null(layout);
    snprintf(fake.version, 64, "3.%u.%s (main, Jan  1 2026)", minor, rest);
    memset(fake.runtime, 0, 256 * sizeof *fake.runtime);
    if (minor >= 13) {
        memcpy(fake.runtime, "xdebugpy", 8);
        fake.runtime[1] = 0x030000f0u | minor << 16;
        fake.runtime[2] = is_free_threaded;
    }
    for (int field = 0; field < PYTHON_FIELDS; field++)
        if (layout->debug_word[field])
            fake.runtime[layout->debug_word[field]] = layout->at[field];
    size_t size = layout->at[PYTHON_TYPE_SIZE] / 8;
    fake.code[size] = layout->at[PYTHON_CODE_OBJECT_SIZE];
    fake.frame[size] = layout->at[PYTHON_FRAME_OBJECT_SIZE];
    fake.string[size] = layout->at[PYTHON_STRING_OBJECT_SIZE];
    return layout;
}

static void expect_found(const struct python_layout *layout)
{
    struct python python = {.loads = 0};
    struct error err = {.text = ""};
    assert_int_equal(python_find(&python, &err), STATUS_OK);
    assert_string_equal(err.text, "");
    assert_ptr_equal(python.layout, layout);
    assert_int_equal(python.runtime, (uintptr_t)fake.runtime);
    assert_int_equal(python.code_type, (uintptr_t)fake.code);
    assert_int_equal(python.string_type, (uintptr_t)fake.string);
    assert_int_equal(python.bytes_type, (uintptr_t)fake.bytes);
    assert_ptr_equal(python.thread_state(), fake.runtime);
    assert_int_equal(python.is_finalizing(), layout->minor < 13 ? 12 : 13);
    assert_int_equal(python.has_one_interpreter, layout->minor < 13);
    assert_int_equal(python.has_positions, !layout->is_free_threaded);
}

static void expect_refused(const char *text)
{
    struct python python = {.loads = 0};
    struct error err = {.text = ""};
    assert_int_equal(python_find(&python, &err), STATUS_UNSUPPORTED);
    assert_string_equal(err.text, text);
    assert_null(python.layout);
}

/* First, while no Python is loaded. */
static void test_late(void **state)
{
    struct python python = {.loads = 0};
    struct error err;
    assert_int_equal(python_find(&python, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.text, "no Python is loaded");
    assert_int_equal(python_find(&python, NULL), STATUS_NOT_FOUND);
    load(FAKE_PYTHON);
    const struct python_layout *layout = pose(12, false, "1");
    assert_int_equal(python_find(&python, &err), STATUS_OK);
    assert_ptr_equal(python.layout, layout);
    /* It stays loaded. */
    assert_int_equal(dlclose(fake.library), 0);
    assert_ptr_equal(python.thread_state(), fake.runtime);
    fake.library = dlopen(FAKE_PYTHON, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(fake.library);
}

static void test_versions(void **state)
{
    for (unsigned minor = PYTHON_OLDEST_MINOR; minor <= PYTHON_NEWEST_MINOR; minor++)
        for (int free_threaded = 0; free_threaded <= (minor >= 13); free_threaded++) {
            expect_found(pose(minor, free_threaded, "0rc2"));
            expect_found(pose(minor, free_threaded, "17+"));
        }
}

static void test_unknown_versions(void **state)
{
    static const char *const versions[] = {"3.8.20", "3.16.0", "3.15.0b4", "3.14.0a7+", "3.105.1"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char text[200];
        snprintf(fake.version, 64, "%s (main, Jan  1 2026)", versions[i]);
        snprintf(text, sizeof text,
                 "Python stacks are unavailable with Python %s; supported are the releases of 3.9 to 3.15",
                 versions[i]);
        expect_refused(text);
    }
    static const char *const nonsense[] = {"2.7.18 (", "", "3.12.12345678901234567890123456789 ("};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        snprintf(fake.version, 64, "%s", nonsense[i]);
        expect_refused("Python stacks are unavailable: no version of CPython 3");
    }
}

static void test_debug_offsets(void **state)
{
    for (unsigned minor = 13; minor <= PYTHON_NEWEST_MINOR; minor++) {
        char text[200];
        const struct python_layout *layout = pose(minor, false, "1");
        int known = 0;
        for (int field = 0; field < PYTHON_FRAME_FIELDS; field++)
            if (layout->debug_word[field]) {
                fake.runtime[layout->debug_word[field]] += 8;
                snprintf(
                    text, sizeof text,
                    "Python stacks are unavailable with this Python 3.%u.1: its debug offsets differ from "
                    "the released ones",
                    minor);
                expect_refused(text);
                fake.runtime[layout->debug_word[field]] -= 8;
                known++;
            }
        assert_int_equal(known, 21);
        fake.runtime[1] -= 1 << 16;
        snprintf(text, sizeof text,
                 "Python stacks are unavailable with this Python 3.%u.1: its debug offsets are of another "
                 "version",
                 minor);
        expect_refused(text);
        fake.runtime[0] = 0;
        snprintf(text, sizeof text,
                 "Python stacks are unavailable with this Python 3.%u.1: _PyRuntime has no debug offsets",
                 minor);
        expect_refused(text);
    }
}

static void test_sizes(void **state)
{
    uint64_t *const types[] = {fake.code, fake.frame, fake.string};
    for (size_t i = 0; i < 3; i++) {
        const struct python_layout *layout = pose(11, false, "7");
        expect_found(layout);
        types[i][layout->at[PYTHON_TYPE_SIZE] / 8]--;
        expect_refused(
            "Python stacks are unavailable with this Python 3.11.7: its objects have other sizes than "
            "the released ones");
    }
}

static struct python in_fork;
static enum status status_in_fork;

static void find_in_fork(void)
{
    struct error err;
    status_in_fork = python_find(&in_fork, &err);
}

/* The loader's lock must be free while a thread forks. */
static void test_another_thread_forks(void **state)
{
    struct error err;
    const struct python_layout *layout = pose(12, false, "1");
    in_fork = (struct python){.loads = 0};
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_true(child > 0 && waitpid(child, NULL, 0) == child);
    assert_int_equal(status_in_fork, STATUS_NOT_FOUND);
    assert_int_equal(python_find(&in_fork, &err), STATUS_OK); /* it looks again */
    assert_ptr_equal(in_fork.layout, layout);
}

/* The last, because both libraries stay loaded; this one is in a process of its own. */
static void test_missing_functions(void **state)
{
    load(FAKE_PYTHON_BARE_FILE);
    pose(13, false, "0");
    expect_refused(
        "Python stacks are unavailable with this Python 3.13.0: it lacks a function that cuspan needs");
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_atfork(find_in_fork, NULL, NULL); /* runs after the handlers that are registered later */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),          cmocka_unit_test(test_another_thread_forks),
        cmocka_unit_test(test_versions),      cmocka_unit_test(test_unknown_versions),
        cmocka_unit_test(test_debug_offsets), cmocka_unit_test(test_sizes),
    };
    const struct CMUnitTest bare[] = {cmocka_unit_test(test_missing_functions)};
    return argc > 1 ? cmocka_run_group_tests(bare, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
