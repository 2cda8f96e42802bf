/* Tests the NVML queries against a fake library with NVML's name. */
#include "agent/capture/hardware/nvml.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct device_links links[HARDWARE_GPUS_MAX];

static uint32_t ask(const char *first, const char *second)
{
    struct device_links asked[2] = {{.pcie_width = 0}};
    uint32_t count = 0;
    strcpy(asked[0].id, first);
    strcpy(asked[1].id, second);
    assert_int_equal(nvml_take_links(links), 0);
    nvml_ask_links(asked, *second ? 2 : 1);
    for (int i = 0; i < 1000 && !count; i++) {
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        count = nvml_take_links(links);
    }
    assert_int_equal(nvml_take_links(links), 0); /* only once */
    return count;
}

static void test_links_to_a_switch_and_to_a_gpu(void **state)
{
    (void)state;
    setenv("FAKE_NVML_UUID", "GPU-1", 1);
    setenv("FAKE_NVML_LINKS", "switch -- GPU switch", 1);
    assert_int_equal(ask("GPU-1", "GPU-other"), 2);
    assert_string_equal(links[0].address, "0000:1b:00.0");
    assert_true(links[0].has_nvlinks);
    assert_int_equal(links[0].nvlink_count, 3); /* one is down */
    assert_int_equal(links[0].nvlink_version, 4);
    assert_int_equal(links[0].nvlink_bytes_per_s, 26562000000);
    assert_string_equal(links[0].nvlink_ends[0], "switch");
    assert_string_equal(links[0].nvlink_ends[1], "0000:43:00.0");
    assert_string_equal(links[0].nvlink_ends[2], "switch");
    assert_string_equal(links[1].id, "GPU-other"); /* unknown to NVML */
    assert_false(links[1].has_nvlinks);
}

static void test_a_gpu_without_nvlink(void **state)
{
    (void)state;
    setenv("FAKE_NVML_LINKS", "", 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    assert_true(links[0].has_nvlinks);
    assert_int_equal(links[0].nvlink_count, 0);
    assert_int_equal(links[0].nvlink_bytes_per_s, 0);
}

static void test_a_driver_that_has_no_such_questions(void **state)
{
    (void)state;
    setenv("FAKE_NVML_LINKS", "broken", 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    assert_false(links[0].has_nvlinks);
}

static void test_both_questions_are_answered(void **state)
{
    (void)state;
    static struct hardware hardware;
    static const char ids[1][HARDWARE_ID_BYTES] = {"GPU-1"};
    setenv("FAKE_NVML_LINKS", "switch", 1);
    nvml_ask(ids, 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    for (int i = 0; i < 1000 && !nvml_take(&hardware); i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    assert_int_equal(hardware.count, 1);
    assert_int_equal(hardware.gpus[0].temperature_celsius, 55);
    assert_int_equal(links[0].nvlink_count, 1);
}

static int end(void **state)
{
    (void)state;
    nvml_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_to_a_switch_and_to_a_gpu),
        cmocka_unit_test(test_a_gpu_without_nvlink),
        cmocka_unit_test(test_a_driver_that_has_no_such_questions),
        cmocka_unit_test(test_both_questions_are_answered),
    };
    if (!dlopen(FAKE_NVML, RTLD_NOW)) /* dlopen() finds the name in the process from now on */
        return 1;
    return cmocka_run_group_tests(tests, NULL, end);
}
