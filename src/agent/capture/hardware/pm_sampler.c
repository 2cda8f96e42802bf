#include "agent/capture/hardware/pm_sampler.h"

#include <stdbool.h>
#include <stdlib.h>

#define ROUNDS_MAX 64 /* bounds one read, however fast samples arrive */
/* A sample takes 1.5 KB with memory counters, and more with counters of all SMs (H200). */
#define HARDWARE_BUFFER_BYTES (16 * 1024 * 1024)
#define CYCLES_A_US           1410 /* cycles per us of GA100, at its highest clock */

struct pm_sampler {
    uint32_t device;
    const struct pattern_list *metrics; /* borrowed while the sampler opens */
    uint64_t interval_ns;
    pm_sampling_handle handle;
    bool is_started;
    struct profiler_host host;
    struct profiler_image data;
};

static enum status open_host(struct pm_sampler *sampler, struct error *err)
{
    return profiler_host_open(&sampler->host, PROFILER_SAMPLES, NULL, sampler->device, err);
}

static enum status choose_metrics(struct pm_sampler *sampler, struct error *err)
{
    size_t passes = 0;
    enum status status = profiler_host_plan_samples(&sampler->host, sampler->metrics, &passes, err);
    if (status == STATUS_OK && passes > 1)
        return error_set(err, STATUS_INVALID,
                         "%s can sample these %zu metrics only in %zu passes, but a sample has one; name "
                         "fewer in distribution.cuspan.counters.sampling.metrics",
                         sampler->host.chip, sampler->metrics->count, passes);
    return status;
}

static enum status enable(struct pm_sampler *sampler, struct error *err)
{
    PROFILER_PARAMS(params, pm_sampling_enable, pPmSamplingObject, .deviceIndex = sampler->device);
    enum status status = PROFILER_CALL(cuptiPmSamplingEnable, params, "enable sampling", err);
    if (status == STATUS_OK)
        sampler->handle = params.pPmSamplingObject;
    return status;
}

static uint32_t configure(struct pm_sampler *sampler, enum pm_sampling_trigger trigger, uint64_t interval)
{
    PROFILER_PARAMS(params, pm_sampling_set_config, triggerMode, .pPmSamplingObject = sampler->handle,
                    .configSize = sampler->host.config.size, .pConfig = sampler->host.config.bytes,
                    .hardwareBufferSize = HARDWARE_BUFFER_BYTES, .samplingInterval = interval,
                    .triggerMode = trigger);
    return profiler_calls.cuptiPmSamplingSetConfig(&params);
}

/* Sets the interval: by time, or on Turing and GA100, which cannot do that, by a clock of variable frequency.
 */
static enum status set_config(struct pm_sampler *sampler, struct error *err)
{
    uint64_t interval_ns = sampler->interval_ns;
    uint32_t result = configure(sampler, PM_SAMPLING_TIME, interval_ns);
    bool is_set = result == CUPTI_OK ||
                  configure(sampler, PM_SAMPLING_CYCLES, interval_ns * CYCLES_A_US / 1000) == CUPTI_OK;
    return is_set ? STATUS_OK : profiler_host_explain(result, "configure sampling", err);
}

static enum status clear_data(struct pm_sampler *sampler, struct error *err)
{
    PROFILER_PARAMS(params, pm_sampling_data_initialize, pCounterData, .pPmSamplingObject = sampler->handle,
                    .counterDataSize = sampler->data.size, .pCounterData = sampler->data.bytes);
    return PROFILER_CALL(cuptiPmSamplingCounterDataImageInitialize, params, "clear the samples", err);
}

static enum status make_data(struct pm_sampler *sampler, struct error *err)
{
    PROFILER_PARAMS(params, pm_sampling_data_size, counterDataSize, .pPmSamplingObject = sampler->handle,
                    .pMetricNames = sampler->host.names, .numMetrics = sampler->host.name_count,
                    .maxSamples = PM_SAMPLES_AT_ONCE);
    enum status status =
        PROFILER_CALL(cuptiPmSamplingGetCounterDataSize, params, "allocate the sample buffer", err);
    if (status == STATUS_OK)
        status = profiler_host_make_image(&sampler->data, params.counterDataSize, "the samples", err);
    return status == STATUS_OK ? clear_data(sampler, err) : status;
}

static enum status start(struct pm_sampler *sampler, struct error *err)
{
    PROFILER_PARAMS(params, pm_sampling_call, pPmSamplingObject, .pPmSamplingObject = sampler->handle);
    enum status status = PROFILER_CALL(cuptiPmSamplingStart, params, "start sampling", err);
    sampler->is_started = status == STATUS_OK;
    return status;
}

enum status pm_sampler_open(uint32_t device, const struct pattern_list *metrics, uint64_t interval_ns,
                            bool (*is_cancelled)(void), struct pm_sampler **opened, struct error *err)
{
    static enum status (*const steps[])(struct pm_sampler *, struct error *) = {
        open_host, choose_metrics, enable, set_config, make_data, start};
    struct pm_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return error_set(err, STATUS_NO_MEMORY, "cannot allocate memory to sample hardware counters");
    *sampler = (struct pm_sampler){.device = device, .metrics = metrics, .interval_ns = interval_ns};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == STATUS_OK; i++)
        status = is_cancelled() ? STATUS_END : steps[i](sampler, err);
    if (status == STATUS_OK)
        *opened = sampler;
    else
        pm_sampler_close(sampler);
    return status;
}

void pm_sampler_close(struct pm_sampler *sampler)
{
    if (!sampler)
        return;
    PROFILER_PARAMS(params, pm_sampling_call, pPmSamplingObject, .pPmSamplingObject = sampler->handle);
    if (sampler->is_started)
        profiler_calls.cuptiPmSamplingStop(&params);
    if (sampler->handle)
        profiler_calls.cuptiPmSamplingDisable(&params);
    profiler_host_close(&sampler->host);
    free(sampler->data.bytes);
    free(sampler);
}

static enum status see_sample(struct pm_sampler *sampler, size_t index, pm_sampler_see_fn *see, void *seer,
                              struct error *err)
{
    double values[PROFILER_NAMES_MAX];
    PROFILER_PARAMS(params, pm_sampling_sample_info, endTimestamp, .pPmSamplingObject = sampler->handle,
                    .pCounterDataImage = sampler->data.bytes, .counterDataImageSize = sampler->data.size,
                    .sampleIndex = index);
    enum status status = profiler_host_explain(
        profiler_calls.cuptiPmSamplingCounterDataGetSampleInfo(&params), "read the samples", err);
    if (status == STATUS_OK)
        status = profiler_host_evaluate(&sampler->host, &sampler->data, index, values, err);
    if (status == STATUS_OK)
        see(seer, &(struct pm_sample){params.startTimestamp, params.endTimestamp, values});
    return status;
}

/* Reads as many samples as fit into the image. `*goes_on` becomes true if more are left. */
static enum status read_some(struct pm_sampler *sampler, pm_sampler_see_fn *see, void *seer, bool *goes_on,
                             struct error *err)
{
    static const char doing[] = "read the samples";
    PROFILER_PARAMS(decode, pm_sampling_decode, overflow, .pPmSamplingObject = sampler->handle,
                    .pCounterDataImage = sampler->data.bytes, .counterDataImageSize = sampler->data.size);
    PROFILER_PARAMS(info, pm_sampling_data_info, numCompletedSamples,
                    .pCounterDataImage = sampler->data.bytes, .counterDataImageSize = sampler->data.size);
    uint32_t result = profiler_calls.cuptiPmSamplingDecodeData(&decode);
    *goes_on = decode.decodeStopReason == PM_SAMPLING_DATA_FULL;
    if (decode.overflow)
        return error_set(err, STATUS_FULL, "the GPU's sample buffer overflowed");
    enum status status = profiler_host_explain(result, doing, err);
    if (status == STATUS_OK)
        status = PROFILER_CALL(cuptiPmSamplingGetCounterDataInfo, info, doing, err);
    for (size_t i = 0; i < info.numCompletedSamples && status == STATUS_OK; i++)
        status = see_sample(sampler, i, see, seer, err);
    return status == STATUS_OK ? clear_data(sampler, err) : status;
}

enum status pm_sampler_read(struct pm_sampler *sampler, pm_sampler_see_fn *see, void *seer, struct error *err)
{
    enum status status = STATUS_OK;
    bool goes_on = true;
    for (int i = 0; i < ROUNDS_MAX && goes_on && status == STATUS_OK; i++)
        status = read_some(sampler, see, seer, &goes_on, err);
    return status;
}
