/* Tracks memory that the program has allocated: live and peak bytes, by kind and device. It is always
 * tracked, since these calls are rare and live memory cannot be learned later. Left out: arrays, whose size
 * is unknown; and allocations from before the agent, during sleep, or by calls that are not captured.
 *
 * A call names its CUDA context. The device is learned later; until then the numbers are kept by context. The
 * table is bounded. Allocations beyond it are counted (allocations_untracked) and left out.
 *
 * The first allocation of a program names no context, because cudaMalloc() creates it. */
#pragma once

#include "base/status.h"
#include "model/cuda/calls.h"
#include "model/metrics/live_stats.h"
#include "model/record.h"

#define ALLOCATIONS_MAX 6144 /* live at the same time */

struct allocations;

enum status allocations_create(struct allocations **allocations) MUST_CHECK;
void allocations_destroy(struct allocations *allocations);

/* Counts a call of the group ALLOC or FREE. Ignores others. */
void allocations_note(struct allocations *allocations, const struct call_info *info,
                      const struct call_record *call);
/* Notes the device to which the context belongs. */
void allocations_learn(struct allocations *allocations, uint32_t context_id, uint32_t device_id);
/* Forgets the memory of a context that is destroyed. */
void allocations_end_context(struct allocations *allocations, uint32_t context_id);

/* Returns the device's memory, not owned; zeros: none. allocations_pinned() returns that of the host, which
 * belongs to no device. */
const struct device_memory *allocations_of_device(const struct allocations *allocations, uint32_t device_id);
struct memory_use allocations_pinned(const struct allocations *allocations);
