/* With a synthetic sysfs and a fake NVML. */
#include "agent/core/resource/device_links.h"

#include "agent/capture/hardware/nvml.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU    "0000:1b:00.0"
#define BRIDGE "0000:1a:01.0"

static char root[] = "/tmp/cuspan-links-test-XXXXXX";
static char gpus[64], pci[64];
static struct resource device;

static struct {
    unsigned asked, ended;
    uint32_t count;
    struct device_links links[HARDWARE_GPUS_MAX];
    bool is_ready;
} nvml;

void nvml_ask_links(const struct device_links *devices, uint32_t count)
{
    nvml.asked++;
    nvml.count = count;
    for (uint32_t i = 0; i < count; i++)
        memcpy(nvml.links[i].id, devices[i].id, sizeof devices[i].id);
}

uint32_t nvml_take_links(struct device_links *devices)
{
    if (!nvml.is_ready)
        return 0;
    memcpy(devices, nvml.links, nvml.count * sizeof *devices);
    nvml.is_ready = false;
    return nvml.count;
}

void nvml_end(void)
{
    nvml.ended++;
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_end(const char *folder, const char *speed, const char *width, const char *vendor)
{
    put(folder, "max_link_speed", speed);
    put(folder, "max_link_width", width);
    put(folder, "vendor", vendor);
}

static const char *place(const char *under)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", root, under);
    return path;
}

/* Like the kernel: devices below their bridges, and a folder of links to all of them. */
static int setup_all(void **state)
{
    if (!mkdtemp(root))
        return 1;
    snprintf(gpus, sizeof gpus, "%s/gpus", root);
    snprintf(pci, sizeof pci, "%s/pci", root);
    static const char *const folders[] = {"gpus", "gpus/" GPU,    "pci",
                                          "tree", "tree/" BRIDGE, "tree/" BRIDGE "/" GPU};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mkdir(place(folders[i]), 0700) != 0)
            return 1;
    put(place("gpus/" GPU), "information", "GPU UUID: \t GPU-1\n");
    return symlink("../tree/" BRIDGE "/" GPU, place("pci/" GPU));
}

static int teardown_all(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void begin(bool asks_nvml)
{
    device_links_begin(
        &(struct device_links_options){.gpus_folder = gpus, .pci_folder = pci, .asks_nvml = asks_nvml});
}

static int setup(void **state)
{
    memset(&nvml, 0, sizeof nvml);
    put_end(place("tree/" BRIDGE "/" GPU), "32.0 GT/s PCIe\n", "16\n", "0x10de\n");
    put_end(place("tree/" BRIDGE), "32.0 GT/s PCIe\n", "16\n", "0x1000\n");
    begin(true);
    /* Not a Grace Hopper, whose copies to the host on arm64 may not use PCIe. */
    return resource_set_string(&device, "cuda.device.uuid", "GPU-1") == STATUS_OK &&
                   resource_set_int(&device, "cuda.device.compute_capability.major", 8) == STATUS_OK
               ? 0
               : 1;
}

static int teardown(void **state)
{
    resource_deinit(&device);
    return 0;
}

static int64_t number_of(const char *key)
{
    const struct resource_attr *found = resource_find(&device, key);
    return found ? found->items->integer : -1;
}

static void expect_pcie(int64_t generation, int64_t width)
{
    assert_int_equal(device_links_add(&device), STATUS_OK);
    assert_int_equal(number_of("cuda.device.pcie.generation"), generation);
    assert_int_equal(number_of("cuda.device.pcie.width"), width);
}

static void test_a_link_is_as_good_as_its_worse_end(void **state)
{
    put_end(place("tree/" BRIDGE), "16.0 GT/s PCIe\n", "8\n", "0x8086\n");
    expect_pcie(4, 8);
    assert_int_equal(number_of("cuda.device.pcie.bandwidth"), 15753846153);
    assert_string_equal(resource_find(&device, "cuda.device.pci.address")->items->string, GPU);
}

static void test_the_speed_of_an_idle_link_is_no_peak(void **state)
{
    put(place("tree/" BRIDGE "/" GPU), "current_link_speed", "2.5 GT/s PCIe\n");
    put(place("tree/" BRIDGE "/" GPU), "current_link_width", "1\n");
    expect_pcie(5, 16);
}

static void test_what_an_emulated_bridge_says_is_not_believed(void **state)
{
    put_end(place("tree/" BRIDGE), "16.0 GT/s PCIe\n", "32\n", "0x1b36\n");
    expect_pcie(-1, -1);
}

static void test_an_end_that_does_not_tell(void **state)
{
    put_end(place("tree/" BRIDGE), "Unknown\n", "16\n", "0x1000\n");
    expect_pcie(-1, -1);
    begin(true);
    unlink(place("tree/" BRIDGE "/max_link_speed")); /* a root complex, or no sysfs at all */
    expect_pcie(-1, -1);
}

static void test_a_device_of_another_machine(void **state)
{
    assert_int_equal(resource_set_string(&device, "cuda.device.uuid", "GPU-2"), STATUS_OK);
    expect_pcie(-1, -1);
    assert_null(resource_find(&device, "cuda.device.pci.address"));
    resource_deinit(&device);
    expect_pcie(-1, -1); /* without a UUID */
    assert_non_null(device_links_known(0));
    assert_null(device_links_known(1));
}

static void answer(const char *id, uint32_t count)
{
    struct device_links *links = &nvml.links[0];
    snprintf(links->id, sizeof links->id, "%s", id);
    snprintf(links->address, sizeof links->address, "0000:ff:00.0");
    links->has_nvlinks = true;
    links->nvlink_count = count;
    links->nvlink_bytes_per_s = 25000000000;
    for (uint32_t i = 0; i < count; i++)
        strcpy(links->nvlink_ends[i], LINKS_END_SWITCH);
    nvml.is_ready = true;
}

static void test_nvml_is_asked_once_at_the_first_copy_between_gpus(void **state)
{
    expect_pcie(5, 16);
    assert_false(device_links_look());
    assert_int_equal(nvml.asked, 0);
    device_links_peer_copy();
    device_links_peer_copy();
    assert_int_equal(nvml.asked, 1);
    assert_false(device_links_look());
    answer("GPU-1", 18);
    assert_true(device_links_look());
    assert_false(device_links_look());
    expect_pcie(5, 16);
    assert_int_equal(number_of("cuda.device.nvlink.bandwidth"), 450000000000);
    assert_string_equal(resource_find(&device, "cuda.device.pci.address")->items->string, GPU);
    device_links_end();
    assert_int_equal(nvml.ended, 1);
}

static void test_an_answer_of_another_device_or_none(void **state)
{
    expect_pcie(5, 16);
    device_links_peer_copy();
    answer("GPU-7", 18);
    (void)device_links_look();
    expect_pcie(5, 16);
    assert_int_equal(number_of("cuda.device.nvlink.links"), -1);
}

static void test_a_setting_keeps_nvml_away(void **state)
{
    begin(false);
    expect_pcie(5, 16);
    device_links_peer_copy();
    device_links_end();
    assert_int_equal(nvml.asked + nvml.ended, 0);
}

static const char *recorded(const char *uuid)
{
    return strcmp(uuid, "GPU-1") == 0
               ? "GPU-1 pcie=3x4 nvlink=2 version=3 rate=25000000000 ends=switch,switch"
               : "GPU-1 pcie=3x4";
}

static void test_a_replay_has_what_was_recorded(void **state)
{
    device_links_begin(&(struct device_links_options){
        .gpus_folder = gpus, .pci_folder = pci, .asks_nvml = true, .is_replay = true, .recorded = recorded});
    expect_pcie(3, 4);
    assert_int_equal(number_of("cuda.device.nvlink.bandwidth"), 50000000000);
    device_links_peer_copy();
    assert_int_equal(nvml.asked, 0);
    resource_deinit(&device);
    assert_int_equal(resource_set_string(&device, "cuda.device.uuid", "GPU-2"), STATUS_OK);
    expect_pcie(-1, -1); /* the line belongs to another device */
}

static void test_more_gpus_than_it_keeps(void **state)
{
    char uuid[16];
    for (unsigned i = 0; i < HARDWARE_GPUS_MAX + 3; i++) {
        snprintf(uuid, sizeof uuid, "GPU-%u", 100 + i);
        assert_int_equal(resource_set_string(&device, "cuda.device.uuid", uuid), STATUS_OK);
        assert_int_equal(device_links_add(&device), STATUS_OK);
    }
    assert_non_null(device_links_known(HARDWARE_GPUS_MAX - 1));
    assert_null(device_links_known(HARDWARE_GPUS_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_link_is_as_good_as_its_worse_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_speed_of_an_idle_link_is_no_peak, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_an_emulated_bridge_says_is_not_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_end_that_does_not_tell, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_device_of_another_machine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nvml_is_asked_once_at_the_first_copy_between_gpus, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_an_answer_of_another_device_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_setting_keeps_nvml_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_replay_has_what_was_recorded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_gpus_than_it_keeps, setup, teardown),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
