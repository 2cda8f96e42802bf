/* NVML, the driver's management library: loaded on a thread of its own when metrics ask for the hardware, or
 * copies between GPUs for their links, since its beginning takes tens of ms and a question up to some ms, and
 * nobody may wait for either. */
#ifndef CUSPAN_CAPTURE_HARDWARE_NVML_H
#define CUSPAN_CAPTURE_HARDWARE_NVML_H

#include "base/status.h"
#include "model/metrics/hardware.h"
#include "model/links.h"

#include <stdbool.h>

/* Asks for these GPUs, by their UUIDs ("GPU-..."), at most HARDWARE_GPUS_MAX: the answer is there a little
 * later. Starts the thread. Without NVML, or without a right to it, there is never one, and one line says so.
 * Not in a forked child. One thread. */
void nvml_ask(const char (*ids)[HARDWARE_ID_BYTES], uint32_t count);
/* The latest answer; false: there is none yet. */
bool nvml_take(struct hardware *hardware);
/* Asks once for the address and the NVLinks of these GPUs, by their `id`; at most HARDWARE_GPUS_MAX. As
 * nvml_ask, and from the same thread. */
void nvml_ask_links(const struct device_links *devices, uint32_t count);
/* The answer, once: how many of `devices` (room for HARDWARE_GPUS_MAX) it has filled. 0: there is none yet.
 * Of a GPU that NVML doesn't know nothing but its `id` is said. */
uint32_t nvml_take_links(struct device_links *devices);
/* Ends the thread; one that is inside NVML is waited for 50 ms, and then left. */
void nvml_end(void);

#endif
