#include "agent/core/resource/device_links.h"

#include "agent/core/resource/detect.h"
#include "base/files.h"
#include "agent/capture/hardware/nvml.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_CAPABILITY 9 /* a GPU since Hopper may be connected to an Arm processor by NVLink-C2C */

/* QEMU's bridges report their configuration, not the real link. */
#define EMULATED_VENDOR "0x1b36"

static struct {
    struct device_links_options options;
    bool is_asked, waits;
    uint32_t count;
    struct device_links known[HARDWARE_GPUS_MAX];
} state;

void device_links_begin(const struct device_links_options *options)
{
    state.options = *options;
    state.is_asked = state.waits = false;
    state.count = 0;
}

static bool read_fact(const char *address, const char *end, const char *name, char text[64])
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s%s", state.options.pci_folder, address, end, name);
    return files_read_small(path, text, 64) > 0;
}

static bool read_end(const char *address, const char *end, uint32_t *generation, uint32_t *width)
{
    char text[64];
    if (!read_fact(address, end, "max_link_speed", text))
        return false;
    *generation = links_pcie_generation(text);
    if (!read_fact(address, end, "max_link_width", text))
        return false;
    *width = (uint32_t)strtoul(text, NULL, 10);
    return *generation && *width;
}

/* The link speed is what both ends support, because the current speed is low while the GPU is idle. "..":
 * entries in sysfs are links into the bus tree, and the parent is the other end. */
static void read_pcie(struct device_links *links)
{
    uint32_t generation, width, other_generation, other_width;
    char vendor[64];
    if (!read_end(links->address, "", &generation, &width) ||
        !read_end(links->address, "../", &other_generation, &other_width) ||
        !read_fact(links->address, "../", "vendor", vendor) ||
        strncmp(vendor, EMULATED_VENDOR, strlen(EMULATED_VENDOR)) == 0)
        return;
    links->pcie_generation = generation < other_generation ? generation : other_generation;
    links->pcie_width = width < other_width ? width : other_width;
}

/* Copies to the host may not use PCIe. */
static bool may_have_c2c(const struct resource *device)
{
#ifdef __aarch64__
    const struct resource_attr *major = resource_find(device, SEMCONV_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR);
    return !major || major->items->integer >= GRACE_CAPABILITY;
#else
    return false;
#endif
}

static struct device_links *find(const char *uuid)
{
    for (uint32_t i = 0; i < state.count; i++)
        if (strcmp(state.known[i].id, uuid) == 0)
            return &state.known[i];
    return NULL;
}

static struct device_links *learn(const struct resource *device, const char *uuid)
{
    if (state.count == HARDWARE_GPUS_MAX)
        return NULL;
    struct device_links *links = &state.known[state.count++];
    const char *recorded =
        state.options.is_replay && state.options.recorded ? state.options.recorded(uuid) : NULL;
    if (recorded && links_from_text(recorded, links) == STATUS_OK && strcmp(links->id, uuid) == 0)
        return links;
    *links = (struct device_links){.pcie_width = 0};
    snprintf(links->id, sizeof links->id, "%s", uuid);
    const char *address =
        state.options.is_replay ? NULL : resource_text(device, SEMCONV_CUDA_DEVICE_PCI_ADDRESS);
    if (address)
        links_address(address, links->address);
    if (*links->address && !may_have_c2c(device))
        read_pcie(links);
    return links;
}

enum status device_links_add(struct resource *device)
{
    const char *uuid = resource_text(device, SEMCONV_CUDA_DEVICE_UUID);
    if (!uuid || strlen(uuid) >= HARDWARE_ID_BYTES)
        return STATUS_OK;
    enum status status = detect_device(device, state.options.gpus_folder);
    if (status != STATUS_OK)
        return status;
    struct device_links *links = find(uuid);
    if (!links)
        links = learn(device, uuid);
    return links ? links_describe(links, device) : STATUS_OK;
}

const struct device_links *device_links_known(uint32_t number)
{
    return number < state.count ? &state.known[number] : NULL;
}

void device_links_peer_copy(void)
{
    if (state.is_asked || !state.options.asks_nvml || state.options.is_replay || !state.count)
        return;
    state.is_asked = state.waits = true;
    nvml_ask_links(state.known, state.count);
}

static void take_answer(const struct device_links *answer)
{
    struct device_links *links = find(answer->id);
    if (!links || !answer->has_nvlinks)
        return;
    uint32_t generation = links->pcie_generation, width = links->pcie_width;
    char address[LINKS_ADDRESS_BYTES];
    memcpy(address, links->address, sizeof address);
    *links = *answer;
    links->pcie_generation = generation;
    links->pcie_width = width;
    if (*address)
        memcpy(links->address, address, sizeof address);
}

bool device_links_look(void)
{
    static struct device_links answers[HARDWARE_GPUS_MAX]; /* 13 KiB */
    uint32_t count = state.waits ? nvml_take_links(answers) : 0;
    for (uint32_t i = 0; i < count; i++)
        take_answer(&answers[i]);
    state.waits = state.waits && !count;
    return count > 0;
}

void device_links_end(void)
{
    if (state.is_asked)
        nvml_end();
}
