/* Samples of the GPUs' hardware counters as a time series: a thread of ours reads them some times a second
 * (pm_sampler.h) and keeps, of each device and metric, what an export of metrics says of the time since the
 * last one. It is there where metrics are sent and counters.sampling.metrics names some, from the first work
 * of a GPU on; nothing of it is on the program's threads.
 *
 * A device that can't be sampled is said once, and is not tried again. One thread at a time, the one that has
 * capture. */
#ifndef CUSPAN_CAPTURE_HARDWARE_PM_SAMPLING_H
#define CUSPAN_CAPTURE_HARDWARE_PM_SAMPLING_H

#include "base/limits.h"
#include "capture/cupti/cupti.h"
#include "model/gpu_counter_names.h"
#include "model/settings.h"

#include <stdbool.h>

/* A CUPTI is there. Devices that are known already are sampled again. */
void pm_sampling_start(const struct settings *settings, const struct cupti *cupti);

/* The process works on this device, by its number in the process; as often as one likes. */
void pm_sampling_use(uint32_t device);

/* Whether the program is traced: while it isn't, the GPUs take no samples. */
void pm_sampling_follow(bool is_traced);

/* What was sampled of one metric on one device since the last time; `metric` counts those of the settings. */
struct pm_sampled {
    uint32_t device, metric;
    uint64_t samples;
    double mean, min, max; /* gpu_counter_level()'s; the mean is by time */
};
#define PM_SAMPLED_MAX (DEVICES_MAX * GPU_COUNTERS_MAX)

/* Fills `sampled` (PM_SAMPLED_MAX) with all that has any samples, and begins anew. Returns how many. After
 * the end, too. */
size_t pm_sampling_take(struct pm_sampled *sampled);

/* The thread reads what there is, and ends, within the second; one that is inside CUPTI for longer (100 ms
 * where the process exits) is left there, and nothing is sampled any more. `is_exit`: CUPTI's part goes with
 * the process. */
void pm_sampling_stop(bool is_exit);

#endif
