/* Samples hardware counters of the GPUs as time series. A cuspan thread reads the samples a few times per
 * second (pm_sampler.h) and aggregates them per device and metric between two metric exports. It runs if
 * metrics are exported and counters.sampling.metrics is not empty, from a GPU's first work on. The program's
 * threads are not involved.
 *
 * A device that cannot be sampled is logged once and not retried. Not thread-safe; called by the thread that
 * owns capture. */
#pragma once

#include "base/limits.h"
#include "agent/capture/cupti/cupti.h"
#include "model/gpu_counter_names.h"
#include "model/settings/settings.h"

#include <stdbool.h>

/* Called by the sampling thread to register the agent's exit handler once more; NULL: none. Set it before
 * capture starts. */
extern void (*pm_sampling_follow_exit)(void);

/* Enables sampling if the settings ask for it. Call it when CUPTI is loaded. Devices seen before are sampled
 * again. */
void pm_sampling_start(const struct settings *settings, const struct cupti *cupti);

/* Samples this device (process-local number), which the process uses. Idempotent. */
void pm_sampling_use(uint32_t device);

/* Starts or stops sampling with the program's tracing: GPUs are sampled only while it is traced. */
void pm_sampling_follow(bool is_traced);

/* Aggregate of one metric on one device since the last take; `metric` indexes the settings' list. */
struct pm_sampled {
    uint32_t device, metric;
    uint64_t samples;
    double mean, min, max; /* as for gpu_counter_level(); the mean is weighted by time */
};
#define PM_SAMPLED_MAX (DEVICES_MAX * GPU_COUNTERS_MAX)

/* Fills `sampled`, which has room for PM_SAMPLED_MAX, with the series that have samples, and resets them.
 * Returns their number. Also allowed after pm_sampling_stop(). */
size_t pm_sampling_take(struct pm_sampled *sampled);

/* Stops the sampling thread, which finishes its call of CUPTI and reads the remaining samples. If it is
 * blocked in CUPTI for two seconds, it is left running and sampling stays off. With `is_exit`, CUPTI's
 * objects are left to the process exit, which ends CUPTI's libraries: a thread that still used them would
 * crash. */
void pm_sampling_stop(bool is_exit);
