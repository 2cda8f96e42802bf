/* Queries NVML, the driver's management library, on a thread of its own, because NVML's initialization takes
 * tens of milliseconds and a query up to a few. NVML is loaded when metrics need hardware figures or
 * device-to-device copies need link data, or the hang watch GPUs. Errors that the driver reports (XID) count
 * from the first request of a GPU on. */
#pragma once

#include "base/status.h"
#include "model/metrics/hardware.h"
#include "model/metrics/links.h"

#include <stdbool.h>

/* Requests data of these GPUs by UUID ("GPU-..."), at most HARDWARE_GPUS_MAX, for a later nvml_take(). Starts
 * the thread. Without NVML, or without permission, there is never a result, and one line is logged. Not in a
 * forked child. Not thread-safe. */
void nvml_ask(const char (*ids)[HARDWARE_ID_BYTES], uint32_t count);
/* Requests the same GPUs again. Nothing happens before the first nvml_ask(). Any thread. */
void nvml_ask_again(void);
/* Copies the latest result to `hardware`. False: there is none yet. */
bool nvml_take(struct hardware *hardware);
/* Requests the PCI address and NVLinks of these GPUs once, by `id`; at most HARDWARE_GPUS_MAX. Otherwise as
 * nvml_ask(), and on the same thread. */
void nvml_ask_links(const struct device_links *devices, uint32_t count);
/* Takes the result once: fills `devices`, which has room for HARDWARE_GPUS_MAX, and returns the number of
 * GPUs; 0: no result yet. A GPU unknown to NVML has only its `id` set. */
uint32_t nvml_take_links(struct device_links *devices);
/* Ends the thread. If it is inside NVML for more than 50 ms, it is left running. */
void nvml_end(void);
