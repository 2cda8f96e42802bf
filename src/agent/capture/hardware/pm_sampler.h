/* Samples one GPU's hardware counters with CUPTI's PM sampling: device-wide values, over all processes, in
 * intervals of equal length (approximately, where the chip counts cycles). The GPU writes samples to its own
 * buffer without blocking anyone. They are read from there a few times per second.
 *
 * Not thread-safe; needs no context. Call profiler_host_load() first. */
#pragma once

#include "agent/capture/hardware/profiler_host.h"

/* Read before this many samples accumulate, because CUPTI loses their times when its image is full. */
#define PM_SAMPLES_AT_ONCE 128

struct pm_sampler;

struct pm_sample {
    /* Unix time by the GPU's clock. `start_ns` 0: the first sample, whose length is unknown. Both 0: the time
     * was lost. */
    uint64_t start_ns, end_ns;
    const double *values; /* in the order of the metrics; NaN: no value */
};
typedef void pm_sampler_see_fn(void *context, const struct pm_sample *sample);

/* Starts sampling the device with this process-local number, in steps of together 0.6 to 0.8 s (H100).
 * `is_cancelled` is called before each step; true ends the opening with END, without an error text.
 * UNSUPPORTED: this CUPTI cannot. INVALID: the chip lacks a metric, or the metrics need more than the one
 * pass of a sample. UNAVAILABLE: not available now. NO_MEMORY. */
enum status pm_sampler_open(uint32_t device, const struct pattern_list *metrics, uint64_t interval_ns,
                            bool (*is_cancelled)(void), struct pm_sampler **sampler,
                            struct error *err) MUST_CHECK;

/* Visits the samples since the last read, in order. FULL: the GPU's buffer overflowed and CUPTI returns
 * nothing more; close and reopen. */
enum status pm_sampler_read(struct pm_sampler *sampler, pm_sampler_see_fn *see, void *seer,
                            struct error *err) MUST_CHECK;

/* Ends sampling and frees the sampler. Unread samples are lost. NULL is allowed. */
void pm_sampler_close(struct pm_sampler *sampler);
