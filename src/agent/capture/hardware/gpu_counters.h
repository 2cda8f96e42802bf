/* Hardware counters of the host's kernels: decides which launches and ranges are counted, and when.
 *
 * One thing is counted at a time. A launch is counted on the host thread from its entry to its exit, which
 * waits for the kernel. This costs the duration of the launch and the kernel plus 0.1 to 1 ms, so only one in
 * counters.period is counted. Kernels that may wait for others, such as NCCL's, are never counted because
 * that could deadlock. If a kernel exceeds counters.wait_ms, counting stops permanently.
 *
 * Counts are read later, for many launches at once: by the launch that fills the profiler's buffer, by the
 * pipeline thread after a second, and before a CUDA context or capture ends. A record without values
 * therefore precedes the launch's call in the ring and announces the values; the kernel's span waits for
 * them.
 *
 * With counters on, a launch that is not counted costs an addition and three moves. With counters off, none
 * of these functions is called. A launch that is due but must not be counted passes its turn to the next one.
 *
 * The counts reach the pipeline on a list of their own, not through the rings, and may arrive before the
 * record that announces them. Launches are numbered, and each thread publishes the number of its current one:
 * so a launch of another thread during a count is detected, and makes the count invalid. */
#pragma once

#include "agent/capture/cupti/cupti.h"
#include "agent/capture/threads/threads.h"
#include "model/cuda/calls.h"
#include "model/gpu_counter_names.h"
#include "model/settings/settings.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Enables counting if the settings name metrics. Call it when CUPTI is loaded. */
void gpu_counters_start(const struct settings *settings, const struct cupti *cupti);

/* Whether this call launches kernels that may be counted. */
bool gpu_counters_concern(enum call_domain domain, uint32_t cbid);

/* Start and end counting if the launch is due. Called around the launch, on its thread. */
void gpu_counters_enter(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                        const struct cupti_callback_data *data);
void gpu_counters_exit(struct host_thread *thread, const struct cupti_callback_data *data);

/* Reads counts that are due. Pipeline thread, periodically. */
void gpu_counters_service(uint64_t now_monotonic_ns);

/* Delivers (`see` NULL: drops) and forgets the values read so far. Pipeline thread. */
typedef void gpu_counters_see_fn(void *context, const struct thread_info *thread,
                                 const struct gpu_counters_record *counters);
void gpu_counters_take(gpu_counters_see_fn *see, void *context);

/* Whether ranges with certain names are counted as a whole, which synchronizes the CUDA context at both ends.
 */
extern _Atomic bool gpu_counters_have_ranges;
void gpu_counters_enter_range(uint64_t id, const char *name, uint32_t name_bytes, bool is_loop);
/* Whether to run a loop range again. Call it after each iteration. */
bool gpu_counters_again(uint64_t id);
/* Writes the range's values to `attrs`, which has room for GPU_COUNTERS_MAX, and returns their number; 0: the
 * range was not counted. */
uint32_t gpu_counters_exit_range(uint64_t id, struct range_attr *attrs);

/* Reads and closes the counters of a CUDA context that is about to be destroyed. Call it on the destroying
 * thread. */
void gpu_counters_end_context(cuda_context_handle context);

/* Stops counting and reads pending counts if the driver still exists. Releases CUPTI's objects unless
 * `is_exit`. */
void gpu_counters_stop(bool is_exit);
