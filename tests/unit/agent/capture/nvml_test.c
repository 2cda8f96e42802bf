/* Tests the NVML queries against a fake library with NVML's name. */
#include "agent/capture/hardware/nvml.h"

#include "support/test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    setenv("FAKE_NVML_LINKS", "", 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    assert_true(links[0].has_nvlinks);
    assert_int_equal(links[0].nvlink_count, 0);
    assert_int_equal(links[0].nvlink_bytes_per_s, 0);
}

static void test_a_driver_that_has_no_such_questions(void **state)
{
    setenv("FAKE_NVML_LINKS", "broken", 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    assert_false(links[0].has_nvlinks);
}

static void test_both_questions_are_answered(void **state)
{
    static struct hardware hardware;
    static const char ids[1][HARDWARE_ID_BYTES] = {"GPU-1"};
    setenv("FAKE_NVML_LINKS", "switch", 1);
    nvml_ask(ids, 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    for (int i = 0; i < 1000 && !nvml_take(&hardware); i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    assert_int_equal(hardware.count, 1);
    assert_true(hardware.gpus[0].values[HARDWARE_TEMPERATURE] == 55);
    assert_int_equal(links[0].nvlink_count, 1);
}

/* Asks once the thread has no older question left, whose answer could mix two states of the stand-in. */
static const struct gpu_hardware *hardware_of(const char *status, enum hardware_field wanted)
{
    static struct hardware hardware;
    static const char ids[1][HARDWARE_ID_BYTES] = {"GPU-1"};
    setenv("FAKE_NVML_STATUS", status, 1);
    assert_int_equal(ask("GPU-1", ""), 1); /* on the same thread, and answered after earlier questions */
    nvml_ask(ids, 1);
    assert_int_equal(ask("GPU-1", ""), 1);
    assert_true(nvml_take(&hardware));
    assert_int_equal(hardware.count, 1);
    assert_true(hardware.gpus[0].values[wanted] == 1);
    return &hardware.gpus[0];
}

static void test_status(void **state)
{
    static const struct {
        const char *status;
        enum hardware_field wanted;
    } cases[] = {{"pending", HARDWARE_DEGRADED}, {"well", HARDWARE_OK},     {"hot", HARDWARE_DEGRADED},
                 {"limited", HARDWARE_OK},       {"worn", HARDWARE_FAILED}, {"old-slow", HARDWARE_DEGRADED},
                 {"broken", HARDWARE_FAILED},    {"well", HARDWARE_OK},     {"lost", HARDWARE_FAILED},
                 {"well", HARDWARE_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gpu_hardware *gpu = hardware_of(cases[i].status, cases[i].wanted);
        for (enum hardware_field field = HARDWARE_OK; field <= HARDWARE_FAILED; field++)
            assert_true(gpu->values[field] == (field == cases[i].wanted));
    }
}

static void test_sensors_and_errors(void **state)
{
    const struct gpu_hardware *gpu = hardware_of("well", HARDWARE_OK);
    assert_string_equal(gpu->name, "Stand-in GPU");
    assert_string_equal(gpu->serial, "1653724000314");
    assert_int_equal(gpu->present, (1u << HARDWARE_FIELDS) - 1);
    assert_true(gpu->values[HARDWARE_MEMORY_TEMPERATURE] == 61);
    assert_true(gpu->values[HARDWARE_ECC_CORRECTED] == 12);
    assert_true(gpu->values[HARDWARE_ECC_UNCORRECTED] == 1);
    assert_true(gpu->values[HARDWARE_PCIE_REPLAYS] == 3);
    setenv("FAKE_NVML_PLAIN", "1", 1);
    gpu = hardware_of("old-slow", HARDWARE_DEGRADED);
    assert_int_equal(gpu->present & (1u << HARDWARE_MEMORY_TEMPERATURE | 1u << HARDWARE_ECC_CORRECTED |
                                     1u << HARDWARE_ECC_UNCORRECTED),
                     0);
    assert_string_equal(gpu->serial, "");
    unsetenv("FAKE_NVML_PLAIN");
}

static void test_errors_that_the_driver_reports(void **state)
{
    static struct hardware hardware;
    const struct gpu_hardware *gpu = hardware_of("hot", HARDWARE_DEGRADED);
    assert_true(gpu->values[HARDWARE_XIDS] == 0);
    assert_int_equal(gpu->last_xid, 0);
    assert_int_equal(gpu->slowdowns, HARDWARE_SLOW_HW_THERMAL);
    setenv("FAKE_NVML_XIDS", "31 79", 1);
    nvml_ask_again();
    assert_int_equal(ask("GPU-1", ""), 1); /* answered after it */
    assert_true(nvml_take(&hardware));
    assert_true(hardware.gpus[0].values[HARDWARE_XIDS] == 2);
    assert_int_equal(hardware.gpus[0].last_xid, 79);
    gpu = hardware_of("lost", HARDWARE_FAILED); /* the errors of a GPU that is gone are kept */
    assert_true(gpu->values[HARDWARE_XIDS] == 2);
    assert_int_equal(gpu->last_xid, 79);
}

static int end(void **state)
{
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
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_sensors_and_errors),
        cmocka_unit_test(test_errors_that_the_driver_reports),
    };
    if (!dlopen(FAKE_NVML, RTLD_NOW)) /* dlopen() finds the name in the process from now on */
        return 1;
    return cmocka_run_group_tests(tests, NULL, end);
}
