/* Compares src/agent/abi/profiler_abi.h with NVIDIA's own headers, of 12.6 and later; it is compiled, never
 * run, like cupti_abi_check.c, but as C++, which those headers were up to 13.1. */
#include "agent/abi/profiler_abi.h"

#include "abi_same.h"

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

SAME_NUMBER(CUPTI_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME)
SAME_NUMBER(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY)
SAME_NUMBER(CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
            CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
#if CUPTI_API_VERSION >= 28
SAME_NUMBER(CUPTI_MIG_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED)
#endif
SAME_NUMBER(PROFILER_RANGES, CUPTI_PROFILER_TYPE_RANGE_PROFILER)
SAME_NUMBER(PROFILER_SAMPLES, CUPTI_PROFILER_TYPE_PM_SAMPLING)
SAME_NUMBER(PROFILER_API_RANGES, CUPTI_PROFILER_RANGE_PROFILING)
SAME_NUMBER(PROFILER_API_SAMPLES, CUPTI_PROFILER_PM_SAMPLING)
SAME_NUMBER(PM_SAMPLING_CYCLES, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
SAME_NUMBER(PM_SAMPLING_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
SAME_NUMBER(PM_SAMPLING_DATA_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL)
SAME_NUMBER(PM_SAMPLING_END_OF_RECORDS, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS)
SAME_NUMBER(PROFILER_UNSUPPORTED, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED)
SAME_NUMBER(PROFILER_DISABLED, CUPTI_PROFILER_CONFIGURATION_DISABLED)
SAME_NUMBER(PROFILER_SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
SAME_NUMBER(PROFILER_AUTO_RANGE, CUPTI_AutoRange)
SAME_NUMBER(PROFILER_USER_RANGE, CUPTI_UserRange)
SAME_NUMBER(PROFILER_KERNEL_REPLAY, CUPTI_KernelReplay)
SAME_NUMBER(PROFILER_USER_REPLAY, CUPTI_UserReplay)
SAME_NUMBER(PROFILER_COUNTER, CUPTI_METRIC_TYPE_COUNTER)
SAME_NUMBER(PROFILER_RATIO, CUPTI_METRIC_TYPE_RATIO)
SAME_NUMBER(PROFILER_THROUGHPUT, CUPTI_METRIC_TYPE_THROUGHPUT)

HAS_ROOM(struct profiler_initialize, CUpti_Profiler_Initialize_Params)
SAME_MEMBERS(struct profiler_initialize, CUpti_Profiler_Initialize_Params, structSize, pPriv)

HAS_ROOM(struct profiler_device_supported, CUpti_Profiler_DeviceSupported_Params)
SAME_MEMBERS(struct profiler_device_supported, CUpti_Profiler_DeviceSupported_Params, structSize, pPriv,
             cuDevice, isSupported, architecture, sli, vGpu, confidentialCompute, cmp, wsl, api)

HAS_ROOM(struct profiler_chip_name, CUpti_Device_GetChipName_Params)
SAME_MEMBERS(struct profiler_chip_name, CUpti_Device_GetChipName_Params, structSize, pPriv, deviceIndex,
             pChipName)

HAS_ROOM(struct profiler_availability, CUpti_Profiler_GetCounterAvailability_Params)
SAME_MEMBERS(struct profiler_availability, CUpti_Profiler_GetCounterAvailability_Params, structSize, pPriv,
             ctx, counterAvailabilityImageSize, pCounterAvailabilityImage)
#if CUPTI_API_VERSION >= 130100
SAME_MEMBERS(struct profiler_availability, CUpti_Profiler_GetCounterAvailability_Params,
             bAllowDeviceLevelCounters)
#endif

HAS_ROOM(struct profiler_host_initialize, CUpti_Profiler_Host_Initialize_Params)
SAME_MEMBERS(struct profiler_host_initialize, CUpti_Profiler_Host_Initialize_Params, structSize, pPriv,
             profilerType, pChipName, pCounterAvailabilityImage, pHostObject)
#if CUPTI_API_VERSION >= 130200
SAME_MEMBERS(struct profiler_host_initialize, CUpti_Profiler_Host_Initialize_Params, pSinglePassMetricSetName)
#endif

HAS_ROOM(struct profiler_host_deinitialize, CUpti_Profiler_Host_Deinitialize_Params)
SAME_MEMBERS(struct profiler_host_deinitialize, CUpti_Profiler_Host_Deinitialize_Params, structSize, pPriv,
             pHostObject)

HAS_ROOM(struct profiler_base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params)
SAME_MEMBERS(struct profiler_base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params, structSize, pPriv,
             pHostObject, metricType, ppMetricNames, numMetrics)

HAS_ROOM(struct profiler_sub_metrics, CUpti_Profiler_Host_GetSubMetrics_Params)
SAME_MEMBERS(struct profiler_sub_metrics, CUpti_Profiler_Host_GetSubMetrics_Params, structSize, pPriv,
             pHostObject, metricType, pMetricName, numOfSubmetrics, ppSubMetrics)

HAS_ROOM(struct profiler_metric_properties, CUpti_Profiler_Host_GetMetricProperties_Params)
SAME_MEMBERS(struct profiler_metric_properties, CUpti_Profiler_Host_GetMetricProperties_Params, structSize,
             pPriv, pHostObject, pMetricName, pDescription, pHwUnit, pDimUnit, metricType)

HAS_ROOM(struct profiler_add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params)
SAME_MEMBERS(struct profiler_add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, structSize, pPriv,
             pHostObject, ppMetricNames, numMetrics)

HAS_ROOM(struct profiler_config_size, CUpti_Profiler_Host_GetConfigImageSize_Params)
SAME_MEMBERS(struct profiler_config_size, CUpti_Profiler_Host_GetConfigImageSize_Params, structSize, pPriv,
             pHostObject, configImageSize)

HAS_ROOM(struct profiler_config_image, CUpti_Profiler_Host_GetConfigImage_Params)
SAME_MEMBERS(struct profiler_config_image, CUpti_Profiler_Host_GetConfigImage_Params, structSize, pPriv,
             pHostObject, configImageSize, pConfigImage)

HAS_ROOM(struct profiler_passes, CUpti_Profiler_Host_GetNumOfPasses_Params)
SAME_MEMBERS(struct profiler_passes, CUpti_Profiler_Host_GetNumOfPasses_Params, structSize, pPriv,
             configImageSize, pConfigImage, numOfPasses)

HAS_ROOM(struct profiler_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
SAME_MEMBERS(struct profiler_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, structSize, pPriv,
             pHostObject, pCounterDataImage, counterDataImageSize, rangeIndex, ppMetricNames, numMetrics,
             pMetricValues)

HAS_ROOM(struct profiler_enable, CUpti_RangeProfiler_Enable_Params)
SAME_MEMBERS(struct profiler_enable, CUpti_RangeProfiler_Enable_Params, structSize, pPriv, ctx,
             pRangeProfilerObject)

HAS_ROOM(struct profiler_object, CUpti_RangeProfiler_Start_Params)
SAME_MEMBERS(struct profiler_object, CUpti_RangeProfiler_Start_Params, structSize, pPriv,
             pRangeProfilerObject)

HAS_ROOM(struct profiler_stop, CUpti_RangeProfiler_Stop_Params)
SAME_MEMBERS(struct profiler_stop, CUpti_RangeProfiler_Stop_Params, structSize, pPriv, pRangeProfilerObject,
             passIndex, targetNestingLevel, isAllPassSubmitted)

HAS_ROOM(struct profiler_set_config, CUpti_RangeProfiler_SetConfig_Params)
SAME_MEMBERS(struct profiler_set_config, CUpti_RangeProfiler_SetConfig_Params, structSize, pPriv,
             pRangeProfilerObject, configSize, pConfig, counterDataImageSize, pCounterDataImage, range,
             replayMode, maxRangesPerPass, numNestingLevels, minNestingLevel, passIndex, targetNestingLevel)

HAS_ROOM(struct profiler_push_range, CUpti_RangeProfiler_PushRange_Params)
SAME_MEMBERS(struct profiler_push_range, CUpti_RangeProfiler_PushRange_Params, structSize, pPriv,
             pRangeProfilerObject, pRangeName)

HAS_ROOM(struct profiler_decode, CUpti_RangeProfiler_DecodeData_Params)
SAME_MEMBERS(struct profiler_decode, CUpti_RangeProfiler_DecodeData_Params, structSize, pPriv,
             pRangeProfilerObject, numOfRangeDropped)

HAS_ROOM(struct profiler_data_size, CUpti_RangeProfiler_GetCounterDataSize_Params)
SAME_MEMBERS(struct profiler_data_size, CUpti_RangeProfiler_GetCounterDataSize_Params, structSize, pPriv,
             pRangeProfilerObject, pMetricNames, numMetrics, maxNumOfRanges, maxNumRangeTreeNodes,
             counterDataSize)

HAS_ROOM(struct profiler_data_initialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params)
SAME_MEMBERS(struct profiler_data_initialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
             structSize, pPriv, pRangeProfilerObject, counterDataSize, pCounterData)

HAS_ROOM(struct profiler_data_info, CUpti_RangeProfiler_GetCounterDataInfo_Params)
SAME_MEMBERS(struct profiler_data_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, structSize, pPriv,
             pCounterDataImage, counterDataImageSize, numTotalRanges)

HAS_ROOM(struct pm_sampling_set_config, CUpti_PmSampling_SetConfig_Params)
SAME_MEMBERS(struct pm_sampling_set_config, CUpti_PmSampling_SetConfig_Params, structSize, pPriv,
             pPmSamplingObject, configSize, pConfig, hardwareBufferSize, samplingInterval, triggerMode)

HAS_ROOM(struct pm_sampling_enable, CUpti_PmSampling_Enable_Params)
SAME_MEMBERS(struct pm_sampling_enable, CUpti_PmSampling_Enable_Params, structSize, pPriv, deviceIndex,
             pPmSamplingObject)

HAS_ROOM(struct pm_sampling_call, CUpti_PmSampling_Start_Params)
SAME_MEMBERS(struct pm_sampling_call, CUpti_PmSampling_Start_Params, structSize, pPriv, pPmSamplingObject)

HAS_ROOM(struct pm_sampling_decode, CUpti_PmSampling_DecodeData_Params)
SAME_MEMBERS(struct pm_sampling_decode, CUpti_PmSampling_DecodeData_Params, structSize, pPriv,
             pPmSamplingObject, pCounterDataImage, counterDataImageSize, decodeStopReason, overflow)

HAS_ROOM(struct pm_sampling_availability, CUpti_PmSampling_GetCounterAvailability_Params)
SAME_MEMBERS(struct pm_sampling_availability, CUpti_PmSampling_GetCounterAvailability_Params, structSize,
             pPriv, deviceIndex, counterAvailabilityImageSize, pCounterAvailabilityImage)

HAS_ROOM(struct pm_sampling_data_size, CUpti_PmSampling_GetCounterDataSize_Params)
SAME_MEMBERS(struct pm_sampling_data_size, CUpti_PmSampling_GetCounterDataSize_Params, structSize, pPriv,
             pPmSamplingObject, pMetricNames, numMetrics, maxSamples, counterDataSize)

HAS_ROOM(struct pm_sampling_data_initialize, CUpti_PmSampling_CounterDataImage_Initialize_Params)
SAME_MEMBERS(struct pm_sampling_data_initialize, CUpti_PmSampling_CounterDataImage_Initialize_Params,
             structSize, pPriv, pPmSamplingObject, counterDataSize, pCounterData)

HAS_ROOM(struct pm_sampling_data_info, CUpti_PmSampling_GetCounterDataInfo_Params)
SAME_MEMBERS(struct pm_sampling_data_info, CUpti_PmSampling_GetCounterDataInfo_Params, structSize, pPriv,
             pCounterDataImage, counterDataImageSize, numTotalSamples, numPopulatedSamples,
             numCompletedSamples)

HAS_ROOM(struct pm_sampling_sample_info, CUpti_PmSampling_CounterData_GetSampleInfo_Params)
SAME_MEMBERS(struct pm_sampling_sample_info, CUpti_PmSampling_CounterData_GetSampleInfo_Params, structSize,
             pPriv, pPmSamplingObject, pCounterDataImage, counterDataImageSize, sampleIndex, startTimestamp,
             endTimestamp)
