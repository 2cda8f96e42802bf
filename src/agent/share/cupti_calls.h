/* CUPTI functions that this library interposes: those listed in cupti_abi.h, and others that only other tools
 * call. */
#pragma once

#include "agent/abi/cupti_abi.h"

/* Further functions of tools, in CUPTI 12.0 and later unless noted. */
#define CUPTI_TOOL_CALLS(X)                                                                                  \
    X(cuptiActivityPushExternalCorrelationId, (uint32_t kind, uint64_t id))                                  \
    X(cuptiActivityPopExternalCorrelationId, (uint32_t kind, uint64_t * id))                                 \
    X(cuptiActivityEnableContext, (cuda_context_handle context, uint32_t kind))                              \
    X(cuptiActivityDisableContext, (cuda_context_handle context, uint32_t kind))                             \
    X(cuptiActivityFlush, (cuda_context_handle context, uint32_t stream, uint32_t flag))                     \
    X(cuptiActivityConfigureUnifiedMemoryCounter, (void *config, uint32_t count))                            \
    X(cuptiActivityEnableDriverApi, (uint32_t cbid, uint8_t enable))                                         \
    X(cuptiActivityEnableRuntimeApi, (uint32_t cbid, uint8_t enable))                                        \
    X(cuptiGetStreamId, (cuda_context_handle context, cuda_stream_handle stream, uint32_t * id))             \
    X(cuptiSupportedDomains, (size_t * count, uint32_t * *domains))                                          \
    X(cuptiGetLastError, (void))

/* Functions that set one attribute, (uint8_t enable): X(name, attribute of the subscriber API). Added one at
 * a time from 12.0 to 13.0. */
#define CUPTI_SWITCH_CALLS(X)                                                                                \
    X(cuptiActivityEnableAllocationSource, CUPTI_ATTR_ENABLE_ALLOCATION_SOURCE_TRACKING)                     \
    X(cuptiActivityEnableAllSyncRecords, CUPTI_ATTR_ENABLE_ALL_SYNC_RECORDS)                                 \
    X(cuptiActivityEnableCudaEventDeviceTimestamps, CUPTI_ATTR_ENABLE_CUDA_EVENT_DEVICE_TIMESTAMPS)          \
    X(cuptiActivityEnableDeviceGraph, CUPTI_ATTR_ENABLE_DEVICE_GRAPH_TRACE)                                  \
    X(cuptiActivityEnableHWTrace, CUPTI_ATTR_ENABLE_HES)

/* CUPTI 13.3 and later; otherwise NULL. */
#define CUPTI_TOOL_SUBSCRIBER_CALLS(X)                                                                       \
    X(cuptiActivityPushExternalCorrelationId_v2,                                                             \
      (cupti_subscriber_handle subscriber, uint32_t kind, uint64_t id))                                      \
    X(cuptiActivityPopExternalCorrelationId_v2,                                                              \
      (cupti_subscriber_handle subscriber, uint32_t kind, uint64_t * id))                                    \
    X(cuptiActivityEnableDriverApi_v2, (cupti_subscriber_handle subscriber, uint32_t cbid, uint8_t enable))  \
    X(cuptiActivityEnableRuntimeApi_v2, (cupti_subscriber_handle subscriber, uint32_t cbid, uint8_t enable))

#define CUPTI_CALL_TYPE(name, params) typedef uint32_t name##_fn params;
CUPTI_TOOL_CALLS(CUPTI_CALL_TYPE)
CUPTI_TOOL_SUBSCRIBER_CALLS(CUPTI_CALL_TYPE)
#undef CUPTI_CALL_TYPE
#define CUPTI_SWITCH_TYPE(name, attribute) typedef uint32_t name##_fn(uint8_t enable);
CUPTI_SWITCH_CALLS(CUPTI_SWITCH_TYPE)
#undef CUPTI_SWITCH_TYPE

/* The functions of a real CUPTI library; NULL if it lacks them. */
struct real_calls {
#define CUPTI_MEMBER(name, params) name##_fn *name;
    CUPTI_CLASSIC_CALLS(CUPTI_MEMBER)
    CUPTI_NAMED_SUBSCRIBER_CALLS(CUPTI_MEMBER)
    CUPTI_SUBSCRIBER_CALLS(CUPTI_MEMBER)
    CUPTI_TOOL_CALLS(CUPTI_MEMBER)
    CUPTI_SWITCH_CALLS(CUPTI_MEMBER)
    CUPTI_TOOL_SUBSCRIBER_CALLS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};
