/* The links of a GPU to the host and to other GPUs, whose peak bandwidth copies are compared with. Agent and
 * capture detect them, a recording stores them as a line of text, and they are exported as attributes of the
 * device. Nothing is guessed: what is not reported is unknown. */
#pragma once

#include "base/status.h"
#include "model/metrics/hardware.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKS_NVLINKS_MAX   36 /* of one GPU; Hopper and Blackwell have 18 */
#define LINKS_ADDRESS_BYTES 20 /* "0000:1b:00.0" */
#define LINKS_TEXT_BYTES    1024
#define LINKS_END_SWITCH    "switch"

struct device_links {
    char id[HARDWARE_ID_BYTES];        /* cuda.device.uuid: "GPU-..." */
    char address[LINKS_ADDRESS_BYTES]; /* PCI address as in sysfs; "": unknown */
    uint32_t pcie_generation;          /* that both ends support; 0: unknown */
    uint32_t pcie_width;               /* lanes that both ends support; 0: unknown */
    bool has_nvlinks;                  /* the following fields are known */
    uint32_t nvlink_version;           /* NVML's number; 0: unknown, or no active link */
    uint32_t nvlink_count;             /* active links */
    uint64_t nvlink_bytes_per_s;       /* of one link in one direction, from NVML; 0: unknown */
    char nvlink_ends[LINKS_NVLINKS_MAX]
                    [LINKS_ADDRESS_BYTES]; /* LINKS_END_SWITCH, a PCI address; "": unknown */
};

/* The bandwidth of a PCIe link in one direction: lanes × transfers/s × the efficiency of its encoding / 8.
 * The encoding is 8b/10b for generations 1 and 2, 128b/130b for 3 to 5, and 242 of 256 bytes of a FLIT for 6
 * and 7. Packet headers are not deducted, so no copy reaches it. 0: unknown. */
uint64_t links_pcie_bytes_per_s(uint32_t generation, uint32_t width);

/* The PCIe generation of a rate in GT/s ("16.0 GT/s PCIe" in sysfs); 0: unknown. */
uint32_t links_pcie_generation(const char *speed);

/* Converts NVML's PCI address ("00000000:1B:00.0") to that of sysfs: lower case, with a domain of four digits
 * if they suffice. "" if `text` is not an address. */
void links_address(const char *text, char address[LINKS_ADDRESS_BYTES]);

/* Formats and parses one line. INVALID: not such a line; unknown keys are ignored. */
void links_to_text(const struct device_links *links, char text[LINKS_TEXT_BYTES]);
enum status links_from_text(const char *text, struct device_links *links) MUST_CHECK;

/* Adds the known fields to the device's resource, as cuda.device.pci.address, cuda.device.pcie.* and
 * cuda.device.nvlink.*. */
enum status links_describe(const struct device_links *links, struct resource *resource) MUST_CHECK;
