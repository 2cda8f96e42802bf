/* A CUPTI for tests of how one is found. It does nothing. FAKE_VERSION: the result of cuptiGetVersion; 0: it
 * fails. FAKE_CALLS: 0 none, 1 the classic ones, 2 all, 3 like NVIDIA's 13.2: it crashes without a driver. */
#include "agent/abi/cupti_abi.h"

#define EXPORTED __attribute__((visibility("default")))
#define FAKE_CALL(name, params)                                                                              \
    EXPORTED name##_fn name;                                                                                 \
    uint32_t name params                                                                                     \
    {                                                                                                        \
        return CUPTI_OK;                                                                                     \
    }

#if FAKE_CALLS < 3
EXPORTED const char cuspan_cupti_stand_in = 1;
#endif

EXPORTED cupti_callback_fn
    *_Atomic fake_callback; /* the subscriber, for a host that makes the callbacks itself */
EXPORTED cuptiSubscribe_fn cuptiSubscribe;
uint32_t cuptiSubscribe(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback, void *userdata)
{
    fake_callback = callback;
    *subscriber = (cupti_subscriber_handle)(uintptr_t)&fake_callback;
    return CUPTI_OK;
}

/* For a host that makes buffers of records itself, each record `fake_record_bytes` long. */
EXPORTED cupti_request_fn *_Atomic fake_request;
EXPORTED cupti_complete_fn *_Atomic fake_complete;
EXPORTED size_t fake_record_bytes;
EXPORTED cuptiActivityRegisterCallbacks_fn cuptiActivityRegisterCallbacks;
uint32_t cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete)
{
    fake_request = request;
    fake_complete = complete;
    return CUPTI_OK;
}

EXPORTED cuptiActivityGetNextRecord_fn cuptiActivityGetNextRecord;
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + fake_record_bytes : buffer;
    if (!fake_record_bytes || next + fake_record_bytes > buffer + valid)
        return CUPTI_MAX_LIMIT_REACHED;
    *record = (struct cupti_activity *)(void *)next;
    return CUPTI_OK;
}

/* A node's handle is its ID. */
EXPORTED cuptiGetGraphNodeId_fn cuptiGetGraphNodeId;
uint32_t cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node;
    return CUPTI_OK;
}

#define cuptiGetGraphNodeId    cuptiGetGraphNodeId_unused
#define cuptiGetGraphNodeId_fn cuptiGetGraphNodeId_unused_fn
typedef uint32_t cuptiGetGraphNodeId_unused_fn(void *node, uint64_t *id);
#define cuptiActivityRegisterCallbacks    cuptiActivityRegisterCallbacks_unused
#define cuptiActivityRegisterCallbacks_fn cuptiActivityRegisterCallbacks_unused_fn
typedef uint32_t cuptiActivityRegisterCallbacks_unused_fn(cupti_request_fn *request,
                                                          cupti_complete_fn *complete);
#define cuptiActivityGetNextRecord    cuptiActivityGetNextRecord_unused
#define cuptiActivityGetNextRecord_fn cuptiActivityGetNextRecord_unused_fn
typedef uint32_t cuptiActivityGetNextRecord_unused_fn(uint8_t *buffer, size_t valid,
                                                      struct cupti_activity **record);
#define cuptiSubscribe    cuptiSubscribe_unused
#define cuptiSubscribe_fn cuptiSubscribe_unused_fn
typedef uint32_t cuptiSubscribe_unused_fn(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback,
                                          void *userdata);
#define cuptiGetVersion    cuptiGetVersion_unused
#define cuptiGetVersion_fn cuptiGetVersion_unused_fn
typedef uint32_t cuptiGetVersion_unused_fn(uint32_t *version);
#if FAKE_CALLS >= 1
CUPTI_CLASSIC_CALLS(FAKE_CALL)
#endif
#if FAKE_CALLS >= 2
CUPTI_NAMED_SUBSCRIBER_CALLS(FAKE_CALL)
CUPTI_SUBSCRIBER_CALLS(FAKE_CALL)
#endif
#undef cuptiGetGraphNodeId
#undef cuptiGetGraphNodeId_fn
#undef cuptiActivityRegisterCallbacks
#undef cuptiActivityRegisterCallbacks_fn
#undef cuptiActivityGetNextRecord
#undef cuptiActivityGetNextRecord_fn
#undef cuptiSubscribe
#undef cuptiSubscribe_fn
#undef cuptiGetVersion
#undef cuptiGetVersion_fn

EXPORTED cuptiGetVersion_fn cuptiGetVersion;
uint32_t cuptiGetVersion(uint32_t *version)
{
#if FAKE_CALLS == 3
    __builtin_trap();
#endif
    *version = FAKE_VERSION;
    return FAKE_VERSION ? CUPTI_OK : CUPTI_UNKNOWN;
}
