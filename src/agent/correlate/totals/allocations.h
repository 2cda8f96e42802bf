/* Memory that the program has allocated: live and peak, by kind and device. It is always tracked, since these
 * calls are rare and live memory cannot be learned later. Left out: arrays, whose size
 * is unknown; and allocations from before the agent, during sleep, or by calls that are not captured.
 *
 * A call names its context. The device is learned later; until then the context holds the numbers. The
 * table is bounded. Allocations beyond it are counted (allocations_untracked) and left out.
 *
 * The first call of a program names neither, because cudaMalloc() creates the context. */
#ifndef CUSPAN_AGENT_CORRELATE_TOTALS_ALLOCATIONS_H
#define CUSPAN_AGENT_CORRELATE_TOTALS_ALLOCATIONS_H

#include "base/status.h"
#include "model/cuda/calls.h"
#include "model/metrics/live_stats.h"
#include "model/record.h"

#define ALLOCATIONS_MAX 6144 /* live at the same time */

struct allocations;

enum status allocations_create(struct allocations **allocations) MUST_CHECK;
void allocations_destroy(struct allocations *allocations);

/* Counts a call of the groups ALLOC and FREE. */
void allocations_note(struct allocations *allocations, const struct call_info *info,
                      const struct call_record *call);
/* The context belongs to this device. */
void allocations_learn(struct allocations *allocations, uint32_t context_id, uint32_t device_id);
/* The context is destroyed, and its memory with it. */
void allocations_end_context(struct allocations *allocations, uint32_t context_id);

/* By kind, and in all; zeros if the device has none. Host memory belongs to no device. */
void allocations_of_device(const struct allocations *allocations, uint32_t device_id,
                           struct memory_use kinds[MEMORY_KINDS], struct memory_use *total);
struct memory_use allocations_pinned(const struct allocations *allocations);

#endif
