#include "capture/cupti/cupti.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct cupti cupti;
static struct error err;
static char folder[] = "/tmp/cuspan-cupti-test-XXXXXX";

static int setup_all(void **state)
{
    char path[256];
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/cupti", folder);
    return mkdir(path, 0700);
}

static int teardown_all(void **state)
{
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/cupti", folder);
    return rmdir(path) | rmdir(folder);
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
    (void)state;
    assert_int_equal(cupti_load("/nowhere/libcupti.so.13", folder, &cupti, &err), STATUS_NOT_FOUND);
    expect_error("/nowhere/libcupti.so.13");
}

static void test_a_library_that_is_none(void **state)
{
    (void)state;
    assert_int_equal(cupti_load("libc.so.6", folder, &cupti, &err), STATUS_UNSUPPORTED);
    expect_error("libc.so.6 is not CUPTI");
    assert_int_equal(load("failing"), STATUS_UNAVAILABLE);
    expect_error("does not report its version");
}

static void test_too_old_a_library(void **state)
{
    (void)state;
    assert_int_equal(load("old"), STATUS_UNSUPPORTED);
    expect_error("older than CUDA 12.0");
    expect_error("distribution.cuspan.cupti.library");
}

static void test_a_library_that_lacks_functions(void **state)
{
    (void)state;
    assert_int_equal(load("bare"), STATUS_UNSUPPORTED);
    expect_error("lacks functions");
}

static void test_a_classic_library(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    ship("libcupti.so.13", "subscriber");
    ship("libcupti.so.12", "classic");
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_OK);
    assert_int_equal(cupti.version, 130500);
    unship("libcupti.so.13");
    unship("libcupti.so.12");
}

static void test_a_broken_one_does_not_hide_a_good_one(void **state)
{
    (void)state;
    ship("libcupti.so.13", "failing");
    ship("libcupti.so.12", "subscriber"); /* the version counts, not the name */
    assert_int_equal(cupti_load(NULL, folder, &cupti, &err), STATUS_OK);
    assert_int_equal(cupti.version, 130500);
    unship("libcupti.so.13");
    unship("libcupti.so.12");
}

static void test_names_of_versions(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_library),
        cmocka_unit_test(test_a_library_that_is_none),
        cmocka_unit_test(test_too_old_a_library),
        cmocka_unit_test(test_a_library_that_lacks_functions),
        cmocka_unit_test(test_a_classic_library),
        cmocka_unit_test(test_the_subscriber_api_by_version_and_calls),
        cmocka_unit_test(test_the_one_that_ships_with_cuspan),
        cmocka_unit_test(test_a_broken_one_does_not_hide_a_good_one),
        cmocka_unit_test(test_names_of_versions),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
