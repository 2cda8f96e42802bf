/* CUPTI's binary interface for hardware counters, 12.6 and later: the Range Profiler and PM sampling, which
 * count on the GPU, and the Profiler Host, which lists a chip's metrics and evaluates counts. As in
 * cupti_abi.h, structs have CUPTI's member names and order. Each struct starts with its size, by which CUPTI
 * recognizes the caller's version. CUPTI does not always keep to that size: that of 13.5 clears the last
 * member of profiler_host_initialize, which 13.2 added, in any caller's struct. So each struct ends with room
 * for members of later versions, which is zero and not part of its size.
 * tests/integration/project/cupti_abi_check.c checks this file against the real headers. */
#pragma once

#include "agent/abi/cupti_abi.h"

#include <stddef.h>
#include <stdint.h>

#define PROFILER_LATER 4 /* pointers */

/* The size stored in a struct. */
#define PROFILER_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

enum profiler_type { PROFILER_RANGES = 0, PROFILER_SAMPLES = 1 };
enum profiler_api { PROFILER_API_RANGES = 0, PROFILER_API_SAMPLES = 3 };
enum profiler_support {
    PROFILER_SUPPORT_UNKNOWN = 0,
    PROFILER_UNSUPPORTED = 1,
    PROFILER_DISABLED = 2,
    PROFILER_SUPPORTED = 3,
    PROFILER_LIMITED = 4
};
enum profiler_range { PROFILER_AUTO_RANGE = 1, PROFILER_USER_RANGE = 2 };
enum profiler_replay { PROFILER_KERNEL_REPLAY = 2, PROFILER_USER_REPLAY = 3 };
enum profiler_metric_type {
    PROFILER_COUNTER = 0,
    PROFILER_RATIO = 1,
    PROFILER_THROUGHPUT = 2,
    PROFILER_METRIC_TYPES
};

typedef struct profiler_host_object *profiler_host_handle;
typedef struct profiler_range_object *profiler_range_handle;

struct profiler_initialize { /* cuptiProfilerInitialize, cuptiProfilerDeInitialize */
    size_t structSize;
    void *pPriv;
    void *later[PROFILER_LATER];
};

struct profiler_device_supported {
    size_t structSize;
    void *pPriv;
    int cuDevice;
    uint32_t isSupported; /* enum profiler_support, as all after it */
    uint32_t architecture;
    uint32_t sli;
    uint32_t vGpu;
    uint32_t confidentialCompute;
    uint32_t cmp;
    uint32_t wsl;
    uint32_t api; /* enum profiler_api */
    void *later[PROFILER_LATER];
};

struct profiler_chip_name {
    size_t structSize;
    void *pPriv;
    size_t deviceIndex;
    const char *pChipName;
    void *later[PROFILER_LATER];
};

struct profiler_availability {
    size_t structSize;
    void *pPriv;
    cuda_context_handle ctx;
    size_t counterAvailabilityImageSize;
    uint8_t *pCounterAvailabilityImage;
    uint8_t bAllowDeviceLevelCounters; /* 13.1 and later; the size must include it */
    void *later[PROFILER_LATER];
};

struct profiler_host_initialize {
    size_t structSize;
    void *pPriv;
    uint32_t profilerType; /* enum profiler_type */
    const char *pChipName;
    const uint8_t *pCounterAvailabilityImage;
    profiler_host_handle pHostObject;
    const char *pSinglePassMetricSetName; /* 13.2 and later */
    void *later[PROFILER_LATER];
};

struct profiler_host_deinitialize {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    void *later[PROFILER_LATER];
};

struct profiler_base_metrics {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    uint32_t metricType; /* enum profiler_metric_type */
    const char **ppMetricNames;
    size_t numMetrics;
    void *later[PROFILER_LATER];
};

struct profiler_sub_metrics {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    uint32_t metricType;
    const char *pMetricName;
    size_t numOfSubmetrics;
    const char **ppSubMetrics;
    void *later[PROFILER_LATER];
};

struct profiler_metric_properties {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    const char *pMetricName;
    const char *pDescription;
    const char *pHwUnit;
    const char *pDimUnit;
    uint32_t metricType;
    void *later[PROFILER_LATER];
};

struct profiler_add_metrics {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    const char **ppMetricNames;
    size_t numMetrics;
    void *later[PROFILER_LATER];
};

struct profiler_config_size {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    size_t configImageSize;
    void *later[PROFILER_LATER];
};

struct profiler_config_image {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    size_t configImageSize;
    uint8_t *pConfigImage;
    void *later[PROFILER_LATER];
};

struct profiler_passes {
    size_t structSize;
    void *pPriv;
    size_t configImageSize;
    uint8_t *pConfigImage;
    size_t numOfPasses;
    void *later[PROFILER_LATER];
};

struct profiler_evaluate {
    size_t structSize;
    void *pPriv;
    profiler_host_handle pHostObject;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    size_t rangeIndex;
    const char **ppMetricNames;
    size_t numMetrics;
    double *pMetricValues;
    void *later[PROFILER_LATER];
};

struct profiler_enable {
    size_t structSize;
    void *pPriv;
    cuda_context_handle ctx;
    profiler_range_handle pRangeProfilerObject;
    void *later[PROFILER_LATER];
};

struct profiler_object { /* cuptiRangeProfilerDisable, Start, PopRange */
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    void *later[PROFILER_LATER];
};

struct profiler_stop {
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    size_t passIndex;
    size_t targetNestingLevel;
    uint8_t isAllPassSubmitted;
    void *later[PROFILER_LATER];
};

struct profiler_set_config {
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    size_t configSize;
    const uint8_t *pConfig;
    size_t counterDataImageSize;
    uint8_t *pCounterDataImage;
    uint32_t range;      /* enum profiler_range */
    uint32_t replayMode; /* enum profiler_replay */
    size_t maxRangesPerPass;
    uint16_t numNestingLevels;
    uint16_t minNestingLevel;
    size_t passIndex;
    uint16_t targetNestingLevel;
    void *later[PROFILER_LATER];
};

struct profiler_push_range {
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    const char *pRangeName;
    void *later[PROFILER_LATER];
};

struct profiler_decode {
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    size_t numOfRangeDropped;
    void *later[PROFILER_LATER];
};

struct profiler_data_size {
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    const char **pMetricNames;
    size_t numMetrics;
    size_t maxNumOfRanges;
    uint32_t maxNumRangeTreeNodes;
    size_t counterDataSize;
    void *later[PROFILER_LATER];
};

struct profiler_data_initialize {
    size_t structSize;
    void *pPriv;
    profiler_range_handle pRangeProfilerObject;
    size_t counterDataSize;
    uint8_t *pCounterData;
    void *later[PROFILER_LATER];
};

struct profiler_data_info {
    size_t structSize;
    void *pPriv;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    size_t numTotalRanges;
    void *later[PROFILER_LATER];
};

/* PM sampling: periodic counts of a whole GPU. */

typedef struct pm_sampling_object *pm_sampling_handle;

enum pm_sampling_trigger { PM_SAMPLING_CYCLES = 0, PM_SAMPLING_TIME = 1 };
enum pm_sampling_decode_end { PM_SAMPLING_DATA_FULL = 1, PM_SAMPLING_END_OF_RECORDS = 2 };

struct pm_sampling_set_config {
    size_t structSize;
    void *pPriv;
    pm_sampling_handle pPmSamplingObject;
    size_t configSize;
    const uint8_t *pConfig;
    size_t hardwareBufferSize;
    uint64_t samplingInterval; /* clock cycles or ns */
    uint32_t triggerMode;      /* enum pm_sampling_trigger */
    void *later[PROFILER_LATER];
};

struct pm_sampling_enable {
    size_t structSize;
    void *pPriv;
    size_t deviceIndex;
    pm_sampling_handle pPmSamplingObject;
    void *later[PROFILER_LATER];
};

struct pm_sampling_call { /* cuptiPmSamplingDisable, Start, Stop */
    size_t structSize;
    void *pPriv;
    pm_sampling_handle pPmSamplingObject;
    void *later[PROFILER_LATER];
};

struct pm_sampling_decode {
    size_t structSize;
    void *pPriv;
    pm_sampling_handle pPmSamplingObject;
    uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    uint32_t decodeStopReason; /* enum pm_sampling_decode_end */
    uint8_t overflow;
    void *later[PROFILER_LATER];
};

struct pm_sampling_availability {
    size_t structSize;
    void *pPriv;
    size_t deviceIndex;
    size_t counterAvailabilityImageSize;
    uint8_t *pCounterAvailabilityImage;
    void *later[PROFILER_LATER];
};

struct pm_sampling_data_size {
    size_t structSize;
    void *pPriv;
    pm_sampling_handle pPmSamplingObject;
    const char **pMetricNames;
    size_t numMetrics;
    uint32_t maxSamples;
    size_t counterDataSize;
    void *later[PROFILER_LATER];
};

struct pm_sampling_data_initialize {
    size_t structSize;
    void *pPriv;
    pm_sampling_handle pPmSamplingObject;
    size_t counterDataSize;
    uint8_t *pCounterData;
    void *later[PROFILER_LATER];
};

struct pm_sampling_data_info {
    size_t structSize;
    void *pPriv;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    size_t numTotalSamples;
    size_t numPopulatedSamples;
    size_t numCompletedSamples;
    void *later[PROFILER_LATER];
};

struct pm_sampling_sample_info {
    size_t structSize;
    void *pPriv;
    pm_sampling_handle pPmSamplingObject;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    size_t sampleIndex;
    uint64_t startTimestamp; /* ns, by the GPU's clock */
    uint64_t endTimestamp;
    void *later[PROFILER_LATER];
};

/* Same form as PROFILER_CALLS. */
#define PM_SAMPLING_CALLS(X)                                                                                 \
    X(cuptiPmSamplingGetCounterAvailability, pm_sampling_availability, pCounterAvailabilityImage)            \
    X(cuptiPmSamplingEnable, pm_sampling_enable, pPmSamplingObject)                                          \
    X(cuptiPmSamplingDisable, pm_sampling_call, pPmSamplingObject)                                           \
    X(cuptiPmSamplingSetConfig, pm_sampling_set_config, triggerMode)                                         \
    X(cuptiPmSamplingStart, pm_sampling_call, pPmSamplingObject)                                             \
    X(cuptiPmSamplingStop, pm_sampling_call, pPmSamplingObject)                                              \
    X(cuptiPmSamplingDecodeData, pm_sampling_decode, overflow)                                               \
    X(cuptiPmSamplingGetCounterDataSize, pm_sampling_data_size, counterDataSize)                             \
    X(cuptiPmSamplingCounterDataImageInitialize, pm_sampling_data_initialize, pCounterData)                  \
    X(cuptiPmSamplingGetCounterDataInfo, pm_sampling_data_info, numCompletedSamples)                         \
    X(cuptiPmSamplingCounterDataGetSampleInfo, pm_sampling_sample_info, endTimestamp)

/* X(name, parameter struct, last member of it); each function returns an enum cupti_result. */
#define PROFILER_CALLS(X)                                                                                    \
    X(cuptiProfilerInitialize, profiler_initialize, pPriv)                                                   \
    X(cuptiProfilerDeviceSupported, profiler_device_supported, api)                                          \
    X(cuptiDeviceGetChipName, profiler_chip_name, pChipName)                                                 \
    X(cuptiProfilerGetCounterAvailability, profiler_availability, pCounterAvailabilityImage)                 \
    X(cuptiProfilerHostInitialize, profiler_host_initialize, pHostObject)                                    \
    X(cuptiProfilerHostDeinitialize, profiler_host_deinitialize, pHostObject)                                \
    X(cuptiProfilerHostGetBaseMetrics, profiler_base_metrics, numMetrics)                                    \
    X(cuptiProfilerHostGetSubMetrics, profiler_sub_metrics, ppSubMetrics)                                    \
    X(cuptiProfilerHostGetMetricProperties, profiler_metric_properties, metricType)                          \
    X(cuptiProfilerHostConfigAddMetrics, profiler_add_metrics, numMetrics)                                   \
    X(cuptiProfilerHostGetConfigImageSize, profiler_config_size, configImageSize)                            \
    X(cuptiProfilerHostGetConfigImage, profiler_config_image, pConfigImage)                                  \
    X(cuptiProfilerHostGetNumOfPasses, profiler_passes, numOfPasses)                                         \
    X(cuptiProfilerHostEvaluateToGpuValues, profiler_evaluate, pMetricValues)                                \
    X(cuptiRangeProfilerEnable, profiler_enable, pRangeProfilerObject)                                       \
    X(cuptiRangeProfilerDisable, profiler_object, pRangeProfilerObject)                                      \
    X(cuptiRangeProfilerStart, profiler_object, pRangeProfilerObject)                                        \
    X(cuptiRangeProfilerStop, profiler_stop, isAllPassSubmitted)                                             \
    X(cuptiRangeProfilerSetConfig, profiler_set_config, targetNestingLevel)                                  \
    X(cuptiRangeProfilerPushRange, profiler_push_range, pRangeName)                                          \
    X(cuptiRangeProfilerPopRange, profiler_object, pRangeProfilerObject)                                     \
    X(cuptiRangeProfilerDecodeData, profiler_decode, numOfRangeDropped)                                      \
    X(cuptiRangeProfilerGetCounterDataSize, profiler_data_size, counterDataSize)                             \
    X(cuptiRangeProfilerCounterDataImageInitialize, profiler_data_initialize, pCounterData)                  \
    X(cuptiRangeProfilerGetCounterDataInfo, profiler_data_info, numTotalRanges)

#define PROFILER_CALL_TYPE(name, params, last) typedef uint32_t name##_fn(struct params *);
PROFILER_CALLS(PROFILER_CALL_TYPE)
PM_SAMPLING_CALLS(PROFILER_CALL_TYPE)
#undef PROFILER_CALL_TYPE

/* Driver functions, from the driver that the program has loaded, or from the replay library. */
#define PROFILER_DRIVER_CALLS(X)                                                                             \
    X(cuStreamIsCapturing, (cuda_stream_handle stream, uint32_t * status)) /* 0: not capturing */            \
    X(cuStreamQuery, (cuda_stream_handle stream))                          /* 600: not ready */              \
    X(cuCtxSynchronize, (void))                                                                              \
    X(cuCtxGetCurrent, (cuda_context_handle * context))                                                      \
    X(cuCtxPushCurrent_v2, (cuda_context_handle context))                                                    \
    X(cuCtxPopCurrent_v2, (cuda_context_handle * context))

#define CUDA_OK                0
#define CUDA_NOT_READY         600
#define CUDA_STREAM_PER_THREAD 2u

#define PROFILER_DRIVER_CALL_TYPE(name, params) typedef int name##_fn params;
PROFILER_DRIVER_CALLS(PROFILER_DRIVER_CALL_TYPE)
#undef PROFILER_DRIVER_CALL_TYPE
