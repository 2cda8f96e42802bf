/* Hardware counters of the host's kernels: which launches and ranges are counted, and when.
 *
 * One thing is counted at a time. A launch is counted on the host's own thread, from its enter to its exit,
 * which waits for the kernel: it costs what the launch and the kernel take, and 0.1 to 1 ms. So only one in
 * so many is (counters.period), and none of kernels that may wait for others, which would never end: those of
 * NCCL and its like. Where a kernel doesn't end in time (counters.wait_ms), nothing is counted from then on.
 *
 * What was counted is read later, of many launches at once: by the launch that fills the profiler's room, by
 * the pipeline's thread after a second, and before a context, or capture, ends. So a record without values
 * goes into the ring before the launch's call, and says that they will come; the kernel's span waits for
 * them.
 *
 * A launch whose turn it isn't costs an addition and three moves, where counters are on; where they are off
 * nothing of this is called. One whose turn it is and that may not be counted passes it on. */
#ifndef CUSPAN_CAPTURE_HARDWARE_GPU_COUNTERS_H
#define CUSPAN_CAPTURE_HARDWARE_GPU_COUNTERS_H

#include "capture/cupti/cupti.h"
#include "capture/callbacks/threads.h"
#include "model/cuda/calls.h"
#include "model/gpu_counter_names.h"
#include "model/settings.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Settings name metrics and a CUPTI is there. */
void gpu_counters_start(const struct settings *settings, const struct cupti *cupti);

/* Whether this call launches kernels that may be counted. */
bool gpu_counters_concern(enum call_domain domain, uint32_t cbid);

/* Around the launch, on its thread. */
void gpu_counters_enter(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                        const struct cupti_callback_data *data);
void gpu_counters_exit(struct host_thread *thread, const struct cupti_callback_data *data);

/* Reads what was counted long enough ago. Pipeline thread, once in a while. */
void gpu_counters_service(uint64_t now_monotonic_ns);

/* Hands over what was read, and forgets it. Pipeline thread. */
typedef void gpu_counters_see_fn(void *context, const struct thread_info *thread,
                                 const struct gpu_counters_record *counters);
void gpu_counters_take(gpu_counters_see_fn *see, void *context);

/* Ranges of these names are counted as wholes: the context is waited for at both ends. */
extern _Atomic bool gpu_counters_have_ranges;
void gpu_counters_enter_range(uint64_t id, const char *name, uint32_t name_bytes, bool is_loop);
/* Of a loop, after each time: whether it is to run once more. */
bool gpu_counters_again(uint64_t id);
/* `attrs` (GPU_COUNTERS_MAX) gets the values; returns how many. 0: this range is not counted. */
uint32_t gpu_counters_exit_range(uint64_t id, struct range_attr *attrs);

/* A context is about to go: on the thread that ends it. */
void gpu_counters_end_context(cuda_context_handle context);

/* Nothing is counted from here on. What was counted is read, as far as the driver is still there, and unless
 * the process exits CUPTI's part of it is taken down. */
void gpu_counters_stop(bool is_exit);

#endif
