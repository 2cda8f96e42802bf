#include "model/settings/settings.h"

#include "support/test.h"

#include <stdio.h>

#define LIST(...)                                                                                            \
    {                                                                                                        \
        sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), (char *[])                                         \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

static void test_an_empty_filter_passes_all(void **state)
{
    struct filter filter = {0};
    assert_true(filter_passes(&filter, "anything", NULL));
    assert_true(filter_passes(&filter, "", ""));
}

static void test_allow(void **state)
{
    struct filter filter = {.allow = LIST("cudaMalloc*", "launch", "cu?xit")};
    assert_true(filter_passes(&filter, "cudaMalloc", NULL));
    assert_true(filter_passes(&filter, "cudaMallocAsync", "alloc"));
    assert_true(filter_passes(&filter, "cudaLaunchKernel", "launch")); /* by its group */
    assert_false(filter_passes(&filter, "cu__xit", NULL));
    assert_true(filter_passes(&filter, "cuexit", NULL));
    assert_false(filter_passes(&filter, "cudaFree", "free"));
    assert_false(filter_passes(&filter, "xcudaMalloc", NULL)); /* patterns match the whole name */
    assert_false(filter_passes(&filter, "relaunch", NULL));
}

static void test_deny_goes_before_allow(void **state)
{
    struct filter filter = {.allow = LIST("cuda*"), .deny = LIST("cudaMalloc", "copy")};
    assert_true(filter_passes(&filter, "cudaMallocAsync", "alloc"));
    assert_false(filter_passes(&filter, "cudaMalloc", "alloc"));
    assert_false(filter_passes(&filter, "cudaMemcpy", "copy"));
    assert_false(filter_passes(&filter, "cuInit", NULL));
    filter.allow.count = 0;
    assert_true(filter_passes(&filter, "cuInit", NULL));
    assert_false(filter_passes(&filter, "cudaMemcpy", "copy"));
}

static void test_names_of_cpp(void **state)
{
    struct filter filter = {.allow = LIST("at::native::*", "*<float>*")};
    assert_true(filter_passes(&filter, "at::native::fill", NULL));
    assert_true(filter_passes(&filter, "axpy", "void axpy<float>(int)"));
    assert_false(filter_passes(&filter, "axpy", "void axpy<double>(int)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_filter_passes_all),
        cmocka_unit_test(test_allow),
        cmocka_unit_test(test_deny_goes_before_allow),
        cmocka_unit_test(test_names_of_cpp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
