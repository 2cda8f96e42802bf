/* Samples of one GPU's hardware counters, by CUPTI's PM sampling: what the whole GPU counts, of all
 * processes, in stretches of one length (nearly, where the chip goes by cycles). The GPU takes them by
 * itself, into a buffer of its own, and nobody waits for it; they are read from there some times a second.
 *
 * One thread at a time, which needs no context. profiler_host_load() comes first. */
#ifndef CUSPAN_CAPTURE_HARDWARE_PM_SAMPLER_H
#define CUSPAN_CAPTURE_HARDWARE_PM_SAMPLER_H

#include "capture/hardware/profiler_host.h"

/* Read them before so many have come: CUPTI says no more of a sample's time where its image was full. */
#define PM_SAMPLES_AT_ONCE 128

struct pm_sampler;

struct pm_sample {
    /* Since 1970, by the GPU's clock. `start_ns` 0: it is the first one, of which CUPTI doesn't know how long
     * it was; both 0: one whose time is lost. */
    uint64_t start_ns, end_ns;
    const double *values; /* of the metrics, in their order; NaN: none */
};
typedef void pm_sampler_see_fn(void *context, const struct pm_sample *sample);

/* Begins to take samples of the device with this number in the process. UNSUPPORTED: this CUPTI can't;
 * INVALID: the chip has no such metric, or they take more than one pass, and samples have one; UNAVAILABLE:
 * they can't be had here and now. NO_MEMORY. */
enum status pm_sampler_open(uint32_t device, const struct pattern_list *metrics, uint64_t interval_ns,
                            struct pm_sampler **sampler, struct error *err) MUST_CHECK;

/* Those taken since the last time, in their order. FULL: the GPU's buffer had no room for them, and CUPTI
 * gives none of it any more; close it, and open another. */
enum status pm_sampler_read(struct pm_sampler *sampler, pm_sampler_see_fn *see, void *seer,
                            struct error *err) MUST_CHECK;

/* Ends it; what was not read is gone. NULL is fine. */
void pm_sampler_close(struct pm_sampler *sampler);

#endif
