/* Replays recorded hardware counters: a launch that was counted has its recorded values, others have no
 * finite ones. Values of ranges are recorded only in attributes, so here each range counts 1 of each metric.
 * The chip has the recorded metrics. */
#include "agent/abi/profiler_abi.h"

#include "model/gpu_counter_names.h"

#include "base/clock.h"
#include "agent/replay/counters/replay_counting.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/state/replay_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT_CALL(name, params, last) REPLAY_EXPORT name##_fn name;
PROFILER_CALLS(EXPORT_CALL)
#define EXPORT_DRIVER_CALL(name, params) REPLAY_EXPORT name##_fn name;
PROFILER_DRIVER_CALLS(EXPORT_DRIVER_CALL)

/* Defines a function that only sets what it is asked for. */
#define ANSWER(name, type, set)                                                                              \
    uint32_t name(struct type *params)                                                                       \
    {                                                                                                        \
        RETURN_IF_BAD(params);                                                                               \
        set;                                                                                                 \
        return CUPTI_OK;                                                                                     \
    }

#define IMAGE_BYTES    64
#define METRICS_A_PASS 8
#define RANGE_TIME     "gpu__time_duration.sum" /* duration of the range; every chip has it */
#define SPOILT_NS      (20 * NS_PER_MS)

struct profiler_host_object {
    uint32_t type;
    size_t metric_count;
};

#define RANGES_MAX 512

struct profiler_range_object {
    const struct gpu_counters_record *counts[RANGES_MAX]; /* NULL: not recorded */
    bool are_whole[RANGES_MAX];                           /* ranges of the program itself */
    size_t count, pass, passes;
    bool is_started, is_pushed, are_users;
};

static _Atomic uint64_t counted; /* launches counted, for faults that hit the nth */
static _Atomic uint64_t busy_until_ns;

/* Index of a metric among the recorded values; counter_count: none. */
static size_t index_of(const char *metric)
{
    const struct timeline *timeline = &replay.timeline;
    size_t i = 0;
    for (; i < timeline->counter_count; i++) {
        const char *name = gpu_counter_metric(timeline->counters[i]);
        const struct gpu_counter_name *plain = gpu_counter_find(name);
        if (strcmp(plain ? plain->metrics[0] : name, metric) == 0)
            break;
    }
    return i;
}

ANSWER(cuptiProfilerInitialize, profiler_initialize, (void)params)
ANSWER(cuptiProfilerDeviceSupported, profiler_device_supported,
       params->isSupported = params->architecture = params->sli = params->vGpu = params->confidentialCompute =
           params->cmp = params->wsl = PROFILER_SUPPORTED)
ANSWER(cuptiDeviceGetChipName, profiler_chip_name, params->pChipName = "the recorded chip")
ANSWER(cuptiProfilerGetCounterAvailability, profiler_availability,
       params->counterAvailabilityImageSize = IMAGE_BYTES)

uint32_t cuptiProfilerHostInitialize(struct profiler_host_initialize *params)
{
    RETURN_IF_BAD(params);
    params->pHostObject = calloc(1, sizeof *params->pHostObject);
    if (!params->pHostObject)
        return CUPTI_OUT_OF_MEMORY;
    params->pHostObject->type = params->profilerType;
    params->pSinglePassMetricSetName = NULL; /* whatever the struct's size, like CUPTI 13.5 */
    return CUPTI_OK;
}

ANSWER(cuptiProfilerHostDeinitialize, profiler_host_deinitialize, free(params->pHostObject))

uint32_t cuptiProfilerHostGetBaseMetrics(struct profiler_base_metrics *params)
{
    static const char *names[GPU_COUNTERS_MAX];
    const struct timeline *timeline = &replay.timeline;
    RETURN_IF_BAD(params);
    params->numMetrics = 0;
    params->ppMetricNames = names;
    if (params->pHostObject->type == PROFILER_SAMPLES) {
        params->numMetrics = params->metricType == PROFILER_COUNTER ? replay_samples_list(names) : 0;
        return CUPTI_OK;
    }
    for (size_t i = 0; params->metricType == PROFILER_COUNTER && i < timeline->counter_count; i++) {
        const char *name = gpu_counter_metric(timeline->counters[i]);
        const struct gpu_counter_name *plain = gpu_counter_find(name);
        names[params->numMetrics++] = plain ? plain->metrics[0] : name;
    }
    return CUPTI_OK;
}

ANSWER(cuptiProfilerHostGetSubMetrics, profiler_sub_metrics, params->numOfSubmetrics = 0)

uint32_t cuptiProfilerHostGetMetricProperties(struct profiler_metric_properties *params)
{
    RETURN_IF_BAD(params);
    params->pDescription = "as it was recorded";
    params->pHwUnit = params->pDimUnit = "";
    return CUPTI_OK;
}

uint32_t cuptiProfilerHostConfigAddMetrics(struct profiler_add_metrics *params)
{
    RETURN_IF_BAD(params);
    for (size_t i = 0; i < params->numMetrics && params->pHostObject->type == PROFILER_SAMPLES; i++)
        if (!replay_samples_have(params->ppMetricNames[i]))
            return CUPTI_INVALID_METRIC_NAME;
    for (size_t i = 0; i < params->numMetrics && params->pHostObject->type == PROFILER_RANGES; i++)
        if (index_of(params->ppMetricNames[i]) == replay.timeline.counter_count &&
            strcmp(params->ppMetricNames[i], RANGE_TIME) != 0)
            return CUPTI_INVALID_METRIC_NAME;
    params->pHostObject->metric_count += params->numMetrics;
    return CUPTI_OK;
}

ANSWER(cuptiProfilerHostGetConfigImageSize, profiler_config_size, params->configImageSize = IMAGE_BYTES)
ANSWER(cuptiProfilerHostGetConfigImage, profiler_config_image,
       params->pConfigImage[0] = (uint8_t)params->pHostObject->metric_count)

static size_t passes_of(const uint8_t *config)
{
    return (config[0] + METRICS_A_PASS - 1u) / METRICS_A_PASS;
}

ANSWER(cuptiProfilerHostGetNumOfPasses, profiler_passes,
       params->numOfPasses = passes_of(params->pConfigImage))

uint32_t cuptiRangeProfilerEnable(struct profiler_enable *params)
{
    RETURN_IF_BAD(params);
    if (fault(FAULT_COUNTERS))
        return (uint32_t)fault(FAULT_COUNTERS);
    params->pRangeProfilerObject = calloc(1, sizeof *params->pRangeProfilerObject);
    return params->pRangeProfilerObject ? CUPTI_OK : CUPTI_OUT_OF_MEMORY;
}

ANSWER(cuptiRangeProfilerDisable, profiler_object, free(params->pRangeProfilerObject))
ANSWER(cuptiRangeProfilerGetCounterDataSize, profiler_data_size, params->counterDataSize = IMAGE_BYTES)

/* This library's image is the object that owns the counts. */
ANSWER(cuptiRangeProfilerCounterDataImageInitialize, profiler_data_initialize,
       memcpy(params->pCounterData, &params->pRangeProfilerObject, sizeof(void *)))

uint32_t cuptiRangeProfilerSetConfig(struct profiler_set_config *params)
{
    RETURN_IF_BAD(params);
    if (params->pRangeProfilerObject->is_started)
        return CUPTI_INVALID_OPERATION;
    params->pRangeProfilerObject->are_users = params->range == PROFILER_USER_RANGE;
    params->pRangeProfilerObject->pass = 0;
    params->pRangeProfilerObject->passes = passes_of(params->pConfig);
    return CUPTI_OK;
}

static void begin_range(struct profiler_range_object *object)
{
    uint64_t number = atomic_fetch_add(&counted, 1) + 1;
    uint64_t every = fault(FAULT_COUNTED_SPOILT);
    if (every && number % every == 0)
        atomic_store(&busy_until_ns, clock_monotonic_ns() + SPOILT_NS);
    if (object->pass > 0 || object->count == RANGES_MAX)
        return; /* replay of the same kernel */
    object->counts[object->count] = timeline_of_call(&replay.timeline.counts, replay_call);
    object->are_whole[object->count++] = replay_call == 0;
}

uint32_t cuptiRangeProfilerStart(struct profiler_object *params)
{
    RETURN_IF_BAD(params);
    struct profiler_range_object *object = params->pRangeProfilerObject;
    if (object->is_started)
        return CUPTI_INVALID_OPERATION;
    object->is_started = true;
    object->count = object->pass > 0 ? object->count : 0;
    if (!object->are_users)
        begin_range(object);
    return CUPTI_OK;
}

uint32_t cuptiRangeProfilerPushRange(struct profiler_push_range *params)
{
    RETURN_IF_BAD(params);
    struct profiler_range_object *object = params->pRangeProfilerObject;
    if (!object->is_started || !object->are_users || object->is_pushed || !params->pRangeName)
        return CUPTI_INVALID_OPERATION;
    object->is_pushed = true;
    begin_range(object);
    return CUPTI_OK;
}

uint32_t cuptiRangeProfilerPopRange(struct profiler_object *params)
{
    RETURN_IF_BAD(params);
    bool was_pushed = params->pRangeProfilerObject->is_pushed;
    params->pRangeProfilerObject->is_pushed = false;
    return was_pushed ? CUPTI_OK : CUPTI_INVALID_OPERATION;
}

uint32_t cuptiRangeProfilerStop(struct profiler_stop *params)
{
    RETURN_IF_BAD(params);
    if (!params->pRangeProfilerObject->is_started || params->pRangeProfilerObject->is_pushed)
        return CUPTI_INVALID_OPERATION;
    params->pRangeProfilerObject->is_started = false;
    bool has_all = ++params->pRangeProfilerObject->pass >= params->pRangeProfilerObject->passes;
    params->pRangeProfilerObject->pass = has_all ? 0 : params->pRangeProfilerObject->pass;
    params->isAllPassSubmitted = has_all;
    return CUPTI_OK;
}

uint32_t cuptiRangeProfilerDecodeData(struct profiler_decode *params)
{
    RETURN_IF_BAD(params);
    params->numOfRangeDropped = 0;
    return params->pRangeProfilerObject->is_started ? CUPTI_INVALID_OPERATION : CUPTI_OK;
}

uint32_t cuptiRangeProfilerGetCounterDataInfo(struct profiler_data_info *params)
{
    const struct profiler_range_object *object;
    RETURN_IF_BAD(params);
    memcpy(&object, params->pCounterDataImage, sizeof object);
    params->numTotalRanges = object->count;
    return CUPTI_OK;
}

uint32_t cuptiProfilerHostEvaluateToGpuValues(struct profiler_evaluate *params)
{
    const struct profiler_range_object *object;
    RETURN_IF_BAD(params);
    if (params->pHostObject->type == PROFILER_SAMPLES)
        return replay_samples_evaluate(params);
    memcpy(&object, params->pCounterDataImage, sizeof object);
    if (params->rangeIndex >= object->count)
        return CUPTI_INVALID_PARAMETER;
    const struct gpu_counters_record *counts = object->counts[params->rangeIndex];
    for (size_t i = 0; i < params->numMetrics; i++) {
        size_t index = index_of(params->ppMetricNames[i]);
        bool is_there = counts && index < counts->count;
        bool is_time = strcmp(params->ppMetricNames[i], RANGE_TIME) == 0;
        params->pMetricValues[i] = object->are_whole[params->rangeIndex] ? 1
                                   : is_time                             ? (counts ? counts->range_ns : 0)
                                   : is_there                            ? counts->values[index]
                                                                         : NAN;
    }
    return CUPTI_OK;
}

int cuStreamIsCapturing(cuda_stream_handle stream, uint32_t *status)
{
    *status = 0;
    return CUDA_OK;
}

int cuStreamQuery(cuda_stream_handle stream)
{
    uint64_t nth = fault(FAULT_COUNTED_HANGS);
    bool is_busy =
        (nth && atomic_load(&counted) == nth) || clock_monotonic_ns() < atomic_load(&busy_until_ns);
    return is_busy ? CUDA_NOT_READY : CUDA_OK;
}

int cuCtxPushCurrent_v2(cuda_context_handle context)
{
    return context ? CUDA_OK : 1;
}

int cuCtxPopCurrent_v2(cuda_context_handle *context)
{
    *context = NULL;
    return CUDA_OK;
}

int cuCtxSynchronize(void)
{
    return CUDA_OK;
}

int cuCtxGetCurrent(cuda_context_handle *context)
{
    *context = replay.timeline.context_count
                   ? (cuda_context_handle)(uintptr_t)replay.timeline.contexts[0].handle
                   : NULL;
    return CUDA_OK;
}
