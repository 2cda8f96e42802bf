#include "model/metrics/links.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static void test_what_pcie_can_do(void **state)
{
    /* One direction of x16, from the specifications of the generations. */
    assert_int_equal(links_pcie_bytes_per_s(1, 16), 4000000000);
    assert_int_equal(links_pcie_bytes_per_s(2, 16), 8000000000);
    assert_int_equal(links_pcie_bytes_per_s(3, 16), 15753846153);
    assert_int_equal(links_pcie_bytes_per_s(4, 16), 31507692307);
    assert_int_equal(links_pcie_bytes_per_s(5, 16), 63015384615);
    assert_int_equal(links_pcie_bytes_per_s(6, 16), 121000000000);
    assert_int_equal(links_pcie_bytes_per_s(4, 8), 15753846153);
    assert_int_equal(links_pcie_bytes_per_s(0, 16), 0);
    assert_int_equal(links_pcie_bytes_per_s(8, 16), 0); /* unknown to this version */
    assert_int_equal(links_pcie_bytes_per_s(5, 0), 0);
    assert_int_equal(links_pcie_bytes_per_s(5, 63), 0);
}

static void test_what_sysfs_writes(void **state)
{
    static const char *const speeds[] = {"2.5 GT/s PCIe\n",  "5.0 GT/s PCIe\n",  "8.0 GT/s PCIe\n",
                                         "16.0 GT/s PCIe\n", "32.0 GT/s PCIe\n", "64.0 GT/s PCIe\n"};
    for (uint32_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        assert_int_equal(links_pcie_generation(speeds[i]), i + 1);
    assert_int_equal(links_pcie_generation("8 GT/s"), 3); /* older kernels */
    assert_int_equal(links_pcie_generation("Unknown"), 0);
    assert_int_equal(links_pcie_generation("16.0 MT/s"), 0);
    assert_int_equal(links_pcie_generation("7.0 GT/s"), 0);
    assert_int_equal(links_pcie_generation(""), 0);
}

static void expect_address(const char *text, const char *wanted)
{
    char address[LINKS_ADDRESS_BYTES] = "before";
    links_address(text, address);
    assert_string_equal(address, wanted);
}

static void test_addresses(void **state)
{
    expect_address("00000000:1B:00.0", "0000:1b:00.0");
    expect_address("0000:1b:00.0", "0000:1b:00.0");
    expect_address("00010000:43:1F.7", "10000:43:1f.7");
    expect_address("", "");
    expect_address("GPU-1", "");
    expect_address("0000:1b:00.0/../..", "");
}

static const struct device_links whole = {.id = "GPU-1",
                                          .address = "0000:1b:00.0",
                                          .pcie_generation = 5,
                                          .pcie_width = 16,
                                          .has_nvlinks = true,
                                          .nvlink_version = 4,
                                          .nvlink_count = 3,
                                          .nvlink_bytes_per_s = 26562000000,
                                          .nvlink_ends = {"switch", "", "0000:43:00.0"}};

static void expect_same(const struct device_links *links)
{
    char text[LINKS_TEXT_BYTES];
    struct device_links got;
    memset(&got, 0xff, sizeof got);
    links_to_text(links, text);
    assert_int_equal(links_from_text(text, &got), STATUS_OK);
    assert_memory_equal(&got, links, sizeof got);
}

static void test_as_text_and_back(void **state)
{
    struct device_links many = whole, empty = {.id = "GPU-2"}, none = {.id = "GPU-3", .has_nvlinks = true};
    many.nvlink_count = LINKS_NVLINKS_MAX;
    many.nvlink_bytes_per_s = UINT64_C(999999999999999999);
    for (uint32_t i = 0; i < LINKS_NVLINKS_MAX; i++)
        strcpy(many.nvlink_ends[i], "00ffff00:43:00.0" + 2);
    expect_same(&whole);
    expect_same(&many);
    expect_same(&empty);
    expect_same(&none);
}

static void test_text_of_others(void **state)
{
    struct device_links got;
    assert_int_equal(links_from_text("GPU-1 pcie=4x8 light=7", &got), STATUS_OK); /* from a later version */
    assert_int_equal(got.pcie_generation, 4);
    assert_int_equal(got.pcie_width, 8);
    assert_false(got.has_nvlinks);
    assert_int_equal(links_from_text("", &got), STATUS_INVALID);
    assert_int_equal(links_from_text("GPU-1 pcie", &got), STATUS_INVALID);
    assert_int_equal(links_from_text("GPU-1 pcie=x", &got), STATUS_INVALID);
    assert_int_equal(links_from_text("GPU-1 nvlink=37", &got), STATUS_INVALID);
    assert_int_equal(links_from_text("GPU-1 nvlink=2 version=4 rate=y", &got), STATUS_INVALID);
    assert_int_equal(
        links_from_text("GPU-00000000-0000-0000-0000-000000000000-00000000-0000-0000-0000-0000000", &got),
        STATUS_INVALID);
}

static int64_t number_of(const struct resource *resource, const char *key)
{
    const struct resource_attr *found = resource_find(resource, key);
    return found ? found->items->integer : -1;
}

static void test_as_attributes(void **state)
{
    struct resource resource = {0};
    assert_int_equal(links_describe(&whole, &resource), STATUS_OK);
    assert_string_equal(resource_find(&resource, "cuda.device.pci.address")->items->string, "0000:1b:00.0");
    assert_int_equal(number_of(&resource, "cuda.device.pcie.generation"), 5);
    assert_int_equal(number_of(&resource, "cuda.device.pcie.width"), 16);
    assert_int_equal(number_of(&resource, "cuda.device.pcie.bandwidth"), 63015384615);
    assert_int_equal(number_of(&resource, "cuda.device.nvlink.links"), 3);
    assert_int_equal(number_of(&resource, "cuda.device.nvlink.version"), 4);
    assert_int_equal(number_of(&resource, "cuda.device.nvlink.bandwidth"), 3 * 26562000000);
    const struct resource_attr *ends = resource_find(&resource, "cuda.device.nvlink.ends");
    assert_true(ends->is_array);
    assert_int_equal(ends->item_count, 3);
    assert_string_equal(ends->items[0].string, "switch");
    assert_string_equal(ends->items[1].string, "unknown");
    assert_string_equal(ends->items[2].string, "0000:43:00.0");
    resource_deinit(&resource);
}

static void test_what_is_not_known_is_left_out(void **state)
{
    struct resource resource = {0};
    struct device_links none = {.id = "GPU-3", .has_nvlinks = true}, half = {.id = "GPU-4", .pcie_width = 16};
    assert_int_equal(links_describe(&half, &resource), STATUS_OK);
    assert_int_equal(resource.attr_count, 0);
    assert_int_equal(links_describe(&none, &resource), STATUS_OK); /* it is known that there is none */
    assert_int_equal(resource.attr_count, 1);
    assert_int_equal(number_of(&resource, "cuda.device.nvlink.links"), 0);
    resource_deinit(&resource);
}

static void test_no_room(void **state)
{
    struct resource resource = {0};
    char key[16];
    for (int i = 0; i < RESOURCE_ATTRS_MAX; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(resource_set_int(&resource, key, i), STATUS_OK);
    }
    assert_int_equal(links_describe(&whole, &resource), STATUS_FULL);
    resource_deinit(&resource);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_pcie_can_do),
        cmocka_unit_test(test_what_sysfs_writes),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_as_text_and_back),
        cmocka_unit_test(test_text_of_others),
        cmocka_unit_test(test_as_attributes),
        cmocka_unit_test(test_what_is_not_known_is_left_out),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
