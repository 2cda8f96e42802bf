/* Synthetic samples of hardware counters, since recordings have none. CUSPAN_REPLAY_SAMPLES names the metrics
 * ("dram__bytes_read.sum,..."). By the real clock, sample n (from 0) of metric i (from 1) counts 1000 * i *
 * (1 + n % 3).
 *
 * As on an H200, the first sample has no start time, samples that did not fit into an image have lost their
 * time when they arrive in the next one, and after an overflow nothing arrives until sampling is
 * restarted. */
#include "agent/replay/counters/replay_counting.h"

#include "base/clock.h"

#include "model/gpu_counter_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT_CALL(name, params, last) REPLAY_EXPORT name##_fn name;
PM_SAMPLING_CALLS(EXPORT_CALL)

#define IMAGE_BYTES 64
#define DEVICES     64

struct pm_sampling_object {
    size_t device;
    uint64_t interval_ns, begun_ns; /* begun_ns: Unix time; 0: not started */
    uint64_t taken;                 /* decoded samples */
    uint32_t room;                  /* of the image, in samples */
    uint64_t first, count;          /* the samples in the image */
    uint64_t timeless;              /* number of upcoming samples that have lost their time */
    uint64_t late_ns;               /* this object's clock is ahead of the real one */
    bool is_full;
};

static struct pm_sampling_object *of_devices[DEVICES];

/* With the fault samples-open, objects of the library are destroyed at exit: nobody may use them then. */
static _Atomic bool is_enabling, is_destroyed;

static void destroy(void)
{
    if (is_enabling)
        abort();
    is_destroyed = true;
}

/* The metric's position in the list, from 1; 0: not in the list. */
static size_t place_of(const char *metric)
{
    const char *list = getenv("CUSPAN_REPLAY_SAMPLES");
    size_t place = 0, length;
    for (; list && *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        place++;
        if (strlen(metric) == length && strncmp(metric, list, length) == 0)
            return place;
    }
    return 0;
}

bool replay_samples_have(const char *metric)
{
    return place_of(metric) > 0;
}

size_t replay_samples_list(const char **metrics)
{
    static char copy[2048];
    char *rest = NULL;
    size_t count = 0;
    const char *list = getenv("CUSPAN_REPLAY_SAMPLES");
    snprintf(copy, sizeof copy, "%s", list ? list : "");
    for (char *name = strtok_r(copy, ",", &rest); name && count < GPU_COUNTERS_MAX;
         name = strtok_r(NULL, ",", &rest))
        metrics[count++] = name;
    return count;
}

static struct pm_sampling_object *object_of(const uint8_t *image)
{
    struct pm_sampling_object *object;
    memcpy(&object, image, sizeof object);
    return object;
}

uint32_t cuptiPmSamplingGetCounterAvailability(struct pm_sampling_availability *params)
{
    RETURN_IF_BAD(params);
    if (fault(FAULT_COUNTERS))
        return (uint32_t)fault(FAULT_COUNTERS);
    if (!getenv("CUSPAN_REPLAY_SAMPLES"))
        return CUPTI_NOT_SUPPORTED;
    if (fault(FAULT_SAMPLES_OPEN) && !params->pCounterAvailabilityImage)
        atexit(destroy);
    params->counterAvailabilityImageSize = IMAGE_BYTES;
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingEnable(struct pm_sampling_enable *params)
{
    RETURN_IF_BAD(params);
    if (params->deviceIndex >= DEVICES)
        return CUPTI_INVALID_PARAMETER;
    if (of_devices[params->deviceIndex])
        return CUPTI_INVALID_OPERATION;
    struct pm_sampling_object *object = calloc(1, sizeof *object);
    if (!object)
        return CUPTI_OUT_OF_MEMORY;
    object->device = params->deviceIndex;
    params->pPmSamplingObject = of_devices[object->device] = object;
    is_enabling = true;
    replay_sleep_ns(fault(FAULT_SAMPLES_OPEN) * NS_PER_MS);
    is_enabling = false;
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingDisable(struct pm_sampling_call *params)
{
    RETURN_IF_BAD(params);
    of_devices[params->pPmSamplingObject->device] = NULL;
    free(params->pPmSamplingObject);
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingSetConfig(struct pm_sampling_set_config *params)
{
    RETURN_IF_BAD(params);
    if (params->triggerMode != PM_SAMPLING_TIME || params->samplingInterval == 0 ||
        params->hardwareBufferSize == 0)
        return CUPTI_INVALID_PARAMETER;
    params->pPmSamplingObject->interval_ns = params->samplingInterval;
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingStart(struct pm_sampling_call *params)
{
    RETURN_IF_BAD(params);
    if (params->pPmSamplingObject->begun_ns || params->pPmSamplingObject->interval_ns == 0)
        return CUPTI_INVALID_OPERATION;
    params->pPmSamplingObject->begun_ns = clock_read_ns(CLOCK_REALTIME);
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingStop(struct pm_sampling_call *params)
{
    RETURN_IF_BAD(params);
    if (params->pPmSamplingObject->begun_ns == 0)
        return CUPTI_INVALID_OPERATION;
    params->pPmSamplingObject->begun_ns = 0;
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingGetCounterDataSize(struct pm_sampling_data_size *params)
{
    RETURN_IF_BAD(params);
    params->pPmSamplingObject->room = params->maxSamples;
    params->counterDataSize = IMAGE_BYTES;
    return CUPTI_OK;
}

/* This library's image is the object that owns the samples. */
uint32_t cuptiPmSamplingCounterDataImageInitialize(struct pm_sampling_data_initialize *params)
{
    RETURN_IF_BAD(params);
    memcpy(params->pCounterData, &params->pPmSamplingObject, sizeof(void *));
    params->pPmSamplingObject->count = 0;
    return CUPTI_OK;
}

static bool is_now_full(struct pm_sampling_object *object)
{
    static _Atomic uint64_t readings;
    uint64_t nth = fault(FAULT_SAMPLES_FULL);
    object->is_full = object->is_full || (nth && atomic_fetch_add(&readings, 1) + 1 == nth);
    return object->is_full;
}

uint32_t cuptiPmSamplingDecodeData(struct pm_sampling_decode *params)
{
    RETURN_IF_BAD(params);
    struct pm_sampling_object *object = params->pPmSamplingObject;
    if (is_destroyed)
        abort();
    replay_sleep_ns(fault(FAULT_SAMPLES_HANG) * NS_PER_MS);
    if (object->begun_ns == 0)
        return CUPTI_INVALID_OPERATION;
    params->overflow = is_now_full(object);
    if (params->overflow)
        return CUPTI_OUT_OF_MEMORY;
    object->late_ns += fault(FAULT_SAMPLES_LATE) * NS_PER_MS;
    uint64_t now_ns = clock_read_ns(CLOCK_REALTIME) + object->late_ns;
    uint64_t all = (now_ns - object->begun_ns) / object->interval_ns;
    object->first = object->taken;
    object->count = all - object->taken;
    bool fits = object->count <= object->room;
    object->count = fits ? object->count : object->room;
    object->taken += object->count;
    params->decodeStopReason = fits ? PM_SAMPLING_END_OF_RECORDS : PM_SAMPLING_DATA_FULL;
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingGetCounterDataInfo(struct pm_sampling_data_info *params)
{
    RETURN_IF_BAD(params);
    struct pm_sampling_object *object = object_of(params->pCounterDataImage);
    params->numTotalSamples = object->room;
    params->numPopulatedSamples = params->numCompletedSamples = object->count;
    return CUPTI_OK;
}

uint32_t cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sampling_sample_info *params)
{
    RETURN_IF_BAD(params);
    struct pm_sampling_object *object = params->pPmSamplingObject;
    uint64_t sample = object->first + params->sampleIndex;
    bool is_timeless = object->timeless > 0;
    if (params->sampleIndex >= object->count)
        return CUPTI_INVALID_PARAMETER;
    if (object->count == object->room && params->sampleIndex + 1 == object->count)
        object->timeless = 4; /* of the next samples */
    else if (is_timeless)
        object->timeless--;
    uint64_t start_ns = object->begun_ns + sample * object->interval_ns;
    params->startTimestamp = is_timeless || sample == 0 ? 0 : start_ns;
    params->endTimestamp = is_timeless ? 0 : start_ns + object->interval_ns;
    return CUPTI_OK;
}

uint32_t replay_samples_evaluate(struct profiler_evaluate *params)
{
    const struct pm_sampling_object *object = object_of(params->pCounterDataImage);
    if (params->rangeIndex >= object->count)
        return CUPTI_INVALID_PARAMETER;
    uint64_t sample = object->first + params->rangeIndex;
    for (size_t i = 0; i < params->numMetrics; i++)
        params->pMetricValues[i] =
            1000.0 * (double)place_of(params->ppMetricNames[i]) * (double)(1 + sample % 3);
    return CUPTI_OK;
}
