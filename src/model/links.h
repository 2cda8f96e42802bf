/* What joins a GPU to the host and to other GPUs: what its links can do, for the peak that a copy's rate is
 * compared with. Agent and capture find it out, a recording carries it as a line of text, and it leaves as
 * attributes of the device. What isn't told stays unknown: nothing here is guessed. */
#ifndef CUSPAN_MODEL_LINKS_H
#define CUSPAN_MODEL_LINKS_H

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
    char address[LINKS_ADDRESS_BYTES]; /* on the PCI bus, as sysfs has it; "": unknown */
    uint32_t pcie_generation;          /* that both ends can do; 0: unknown */
    uint32_t pcie_width;               /* lanes that both ends can do; 0: unknown */
    bool has_nvlinks;                  /* the following is known */
    uint32_t nvlink_version;           /* NVML's number; 0: unknown, or no link is up */
    uint32_t nvlink_count;             /* that are up */
    uint64_t nvlink_bytes_per_s;       /* of one link in one direction, as NVML has it; 0: unknown */
    char nvlink_ends[LINKS_NVLINKS_MAX]
                    [LINKS_ADDRESS_BYTES]; /* LINKS_END_SWITCH, a PCI address; "": unknown */
};

/* What a PCIe link can move in one direction: lanes × transfers/s × the share that its encoding leaves / 8.
 * 8b/10b for generations 1 and 2, 128b/130b for 3 to 5, 242 of 256 bytes of a FLIT for 6 and 7; headers of
 * packets come off that, so no copy reaches it. 0 for what is unknown. */
uint64_t links_pcie_bytes_per_s(uint32_t generation, uint32_t width);

/* The generation whose transfers so many GT/s are ("16.0 GT/s PCIe", as sysfs writes it); 0: none. */
uint32_t links_pcie_generation(const char *speed);

/* The PCI address as sysfs writes it, from NVML's way ("00000000:1B:00.0"): lower case, four digits of the
 * domain where they suffice. "" where `text` is no address. */
void links_address(const char *text, char address[LINKS_ADDRESS_BYTES]);

/* As one line, and back. INVALID: the text is none of them; what it says beyond is left. */
void links_to_text(const struct device_links *links, char text[LINKS_TEXT_BYTES]);
enum status links_from_text(const char *text, struct device_links *links) MUST_CHECK;

/* Adds what is known to the device's resource, as cuda.device.pci.address, cuda.device.pcie.* and
 * cuda.device.nvlink.*. */
enum status links_describe(const struct device_links *links, struct resource *resource) MUST_CHECK;

#endif
