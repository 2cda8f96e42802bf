/* What each GPU's links can do, found out once a device: its PCIe link in sysfs when CUPTI tells of the
 * device, its NVLinks from NVML when the first copy between GPUs comes, since that means a library more in
 * the process and tens of ms on a thread of our own. A replay takes what the recording has, and asks nobody.
 * All of it is for the pipeline's thread. */
#ifndef CUSPAN_AGENT_DEVICE_LINKS_H
#define CUSPAN_AGENT_DEVICE_LINKS_H

#include "base/status.h"
#include "model/links.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_LINKS_PCI_FOLDER "/sys/bus/pci/devices"

struct device_links_options {
    const char *gpus_folder;                   /* DETECT_GPUS_FOLDER */
    const char *pci_folder;                    /* DEVICE_LINKS_PCI_FOLDER */
    bool asks_nvml;                            /* capture.nvlink */
    bool is_replay;                            /* nothing of this machine */
    const char *(*recorded)(const char *uuid); /* of a replay: links_to_text()'s line, or NULL: none */
};

/* Both folders' names must stay. */
void device_links_begin(const struct device_links_options *options);

/* Adds what is known of the links of the device with this resource's UUID. */
enum status device_links_add(struct resource *device) MUST_CHECK;

/* A copy between GPUs has come: asks NVML, once a process, for all devices that were told. */
void device_links_peer_copy(void);

/* Whether more has become known, so that it is worth to add again; true once. Costs nothing while nothing is
 * asked for. */
bool device_links_look(void);

/* What is known of each device that was told, from 0; NULL behind the last one. */
const struct device_links *device_links_known(uint32_t number);

/* Waits for NVML as nvml_end() does. */
void device_links_end(void);

#endif
