/* The links of each GPU, detected once per device. PCIe is read in sysfs when CUPTI reports the device.
 * NVLink comes from NVML at the first copy between GPUs, because NVML is another library in the process and
 * takes tens of ms on a thread of ours. A replay uses the links in its recording. Only for the pipeline
 * thread.
 *
 * Spans that left before NVML's answer have a resource without NVLinks; readers take the more complete one
 * of a device. */
#pragma once

#include "base/status.h"
#include "model/metrics/links.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_LINKS_PCI_FOLDER "/sys/bus/pci/devices"

struct device_links_options {
    const char *gpus_folder;                   /* DETECT_GPUS_FOLDER */
    const char *pci_folder;                    /* DEVICE_LINKS_PCI_FOLDER */
    bool asks_nvml;                            /* capture.nvlink */
    bool is_replay;                            /* do not ask this machine */
    const char *(*recorded)(const char *uuid); /* in a replay: a line of links_to_text(), or NULL */
};

/* The folder names must stay valid. */
void device_links_begin(const struct device_links_options *options);

/* Adds the known links of the device with this resource's UUID. */
enum status device_links_add(struct resource *device) MUST_CHECK;

/* Called at a copy between GPUs. Asks NVML once per process for all known devices. */
void device_links_peer_copy(void);

/* True once after more is known, so that device_links_add() has more to add. Costs nothing while no question
 * is open. */
bool device_links_look(void);

/* The links of device `index`, from 0; NULL after the last. */
const struct device_links *device_links_known(uint32_t number);

/* Waits for NVML as nvml_end() does. */
void device_links_end(void);
