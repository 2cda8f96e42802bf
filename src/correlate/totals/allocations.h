/* Memory that the program holds, by its calls that allocate and free: live and peak of each kind, on each
 * device. Arrays have no size that anyone tells, and are left out; so is what was allocated before the agent
 * was there, or asleep, or through calls that are not captured.
 *
 * A call names its context and not its device, which is learnt later: until then the context keeps its own.
 * The table is bounded; what finds no place in it is counted (allocations_untracked) and stays out. */
#ifndef CUSPAN_CORRELATE_ALLOCATIONS_H
#define CUSPAN_CORRELATE_ALLOCATIONS_H

#include "base/status.h"
#include "model/cuda/calls.h"
#include "model/metrics/live_stats.h"
#include "model/record.h"

#define ALLOCATIONS_MAX 6144 /* that are live at once */

struct allocations;

enum status allocations_create(struct allocations **allocations) MUST_CHECK;
void allocations_destroy(struct allocations *allocations);

/* A call of the groups ALLOC and FREE. */
void allocations_note(struct allocations *allocations, const struct call_info *info,
                      const struct call_record *call);
/* The context is of this device. */
void allocations_learn(struct allocations *allocations, uint32_t context_id, uint32_t device_id);
/* What was allocated in it is gone with it. */
void allocations_end_context(struct allocations *allocations, uint32_t context_id);

/* By kind, and all kinds together; zeros for a device that has none. Host memory is of no device. */
void allocations_of_device(const struct allocations *allocations, uint32_t device_id,
                           struct memory_use kinds[MEMORY_KINDS], struct memory_use *total);
struct memory_use allocations_pinned(const struct allocations *allocations);

#endif
