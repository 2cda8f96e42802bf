/* The part of CUPTI's binary interface that we use, so that the build needs no NVIDIA headers: constants, and
 * structs with CUPTI's member names and order. Functions are found by dlsym(). CUPTI_*_CALLS list them for
 * capture, which loads them, and for the replay library, which defines them.
 * tests/integration/project/cupti_abi_check.c checks this file against the headers of 12.0 to 13.5.
 *
 * Handles are opaque pointers; enums have 32 bits, as in CUPTI. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_INVALID_DEVICE = 2,
    CUPTI_INVALID_CONTEXT = 3,
    CUPTI_INVALID_OPERATION = 7,
    CUPTI_OUT_OF_MEMORY = 8,
    CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
    CUPTI_NOT_IMPLEMENTED = 11,
    CUPTI_MAX_LIMIT_REACHED = 12,
    CUPTI_NOT_COMPATIBLE = 14,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_INVALID_METRIC_NAME = 17,
    CUPTI_QUEUE_EMPTY = 18,
    CUPTI_INVALID_STREAM = 20,
    CUPTI_INVALID_KIND = 21,
    CUPTI_HARDWARE_BUSY = 26,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
    CUPTI_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED = 41,
    CUPTI_MIG_DEVICE_NOT_SUPPORTED = 43,
    CUPTI_UNKNOWN = 999
};

enum cupti_domain {
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RUNTIME = 2,
    CUPTI_DOMAIN_RESOURCE = 3,
    CUPTI_DOMAIN_STATE = 6,
    CUPTI_DOMAIN_COUNT
};

enum cupti_site { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };

enum cupti_resource_cbid {
    CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
    CUPTI_RESOURCE_STREAM_CREATED = 3,
    CUPTI_RESOURCE_STREAM_DESTROY_STARTING = 4,
    CUPTI_RESOURCE_MODULE_LOADED = 6,
    CUPTI_RESOURCE_MODULE_UNLOAD_STARTING = 7,
    CUPTI_RESOURCE_MODULE_PROFILED = 8,
    CUPTI_RESOURCE_GRAPH_CREATED = 9,
    CUPTI_RESOURCE_GRAPH_CLONED = 11,
    CUPTI_RESOURCE_GRAPHNODE_CREATED = 13,
    CUPTI_RESOURCE_GRAPHEXEC_CREATED = 18,
    CUPTI_RESOURCE_GRAPHNODE_CLONED = 20
};

enum cupti_state_cbid { CUPTI_STATE_FATAL_ERROR = 1, CUPTI_STATE_ERROR = 2 };

/* With the type of each value. */
enum cupti_attr {
    CUPTI_ATTR_DEVICE_BUFFER_SIZE = 0,               /* size_t, bytes */
    CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,         /* size_t, buffers of a context */
    CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,       /* uint8_t */
    CUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6, /* size_t, buffers of a context */
    CUPTI_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED = 8,  /* uint8_t */
    CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9,       /* uint8_t */
    /* 13.3 and later, with cuptiActivitySetAttribute_v2. */
    CUPTI_ATTR_USER_DEFINED_RECORDS = 11,                /* uint8_t */
    CUPTI_ATTR_MULTIPLE_SUBSCRIBER_STATE = 12,           /* uint8_t, read only */
    CUPTI_ATTR_ENABLE_HES = 13,                          /* uint8_t */
    CUPTI_ATTR_ENABLE_ALLOCATION_SOURCE_TRACKING = 14,   /* uint8_t */
    CUPTI_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS = 15,    /* uint8_t */
    CUPTI_ATTR_ENABLE_ALL_SYNC_RECORDS = 16,             /* uint8_t */
    CUPTI_ATTR_ENABLE_CUDA_EVENT_DEVICE_TIMESTAMPS = 17, /* uint8_t */
    CUPTI_ATTR_ENABLE_KERNEL_LAUNCH_ATTRIBUTES = 18,     /* uint8_t */
    CUPTI_ATTR_ENABLE_DEVICE_GRAPH_TRACE = 19,           /* uint8_t */
    CUPTI_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE = 20, /* uint8_t */
    CUPTI_ATTR_THREAD_ID_TYPE = 21,                      /* uint32_t */
    CUPTI_ATTR_TIMESTAMP_CALLBACK = 22                   /* cupti_timestamp_fn * */
};

#define CUPTI_THREAD_ID_SYSTEM 1u

#define CUPTI_FLUSH_DEFAULT 0u
#define CUPTI_FLUSH_FORCED  1u

/* Results of cuptiGetVersion: 18 in 12.0, 28 in 12.9, 130000 in 13.0 and so on. */
#define CUPTI_VERSION_12_0           18u
#define CUPTI_VERSION_12_9           28u /* first version that accepts a NULL buffer */
#define CUPTI_VERSION_13_0           130000u
#define CUPTI_VERSION_13_1           130100u
#define CUPTI_VERSION_13_2           130200u
#define CUPTI_VERSION_13_5           130500u
#define CUPTI_VERSION_KEEPS_NAMES    130500u /* the names that kernel records point to outlive their modules */
#define CUPTI_VERSION_SUBSCRIBER_API 130300u /* user-defined records and all *_v2 functions below */

#define CUPTI_OLD_SUBSCRIBER_NAME_BYTES 64
#define CUPTI_RECORD_ALIGNMENT          8

typedef struct cupti_subscriber *cupti_subscriber_handle;
typedef struct cuda_context *cuda_context_handle;
typedef struct cuda_stream *cuda_stream_handle;

/* Domains DRIVER and RUNTIME. */
struct cupti_callback_data {
    uint32_t callbackSite; /* enum cupti_site */
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue; /* at exit: cudaError_t * or CUresult * */
    const char *symbolName;    /* launches */
    cuda_context_handle context;
    uint32_t contextUid;
    uint64_t *correlationData; /* 64 bits for the subscriber, from entry to exit */
    uint32_t correlationId;
};

/* Domain RESOURCE. `resourceDescriptor` is a cupti_module_data for MODULE_* and a cupti_graph_data for
 * GRAPH*. */
struct cupti_resource_data {
    cuda_context_handle context;
    union {
        cuda_stream_handle stream;
    } resourceHandle;
    void *resourceDescriptor;
};

struct cupti_module_data {
    uint32_t moduleId;
    size_t cubinSize;
    const char *pCubin;
};

struct cupti_graph_data {
    void *graph;
    void *originalGraph;
    void *node;
    void *originalNode;
    uint32_t nodeType;
    void *dependency;
    void *graphExec;
};

struct cupti_state_data {
    uint32_t result; /* enum cupti_result */
    const char *message;
};

/* Common start of all activity records. */
struct cupti_activity {
    uint32_t kind;
} __attribute__((packed, aligned(CUPTI_RECORD_ALIGNMENT)));

struct cupti_subscriber_params { /* 13.0 */
    size_t structSize;
    const char *subscriberName;
    char *oldSubscriberName;
    size_t oldSubscriberSize;
    uint8_t allowMultipleSubscribers; /* 13.2 */
    uint8_t padding[7];
};

struct cupti_field_layout {
    size_t structSize;
    int fieldId;
    size_t offset;
    size_t size;
    size_t alignment;
};

/* Layout of one kind's user-defined records; its first entry is the field KIND. */
struct cupti_record_layout {
    size_t structSize;
    struct cupti_field_layout *pEntries;
    size_t numFields;
    size_t recordSize;
};

struct cupti_field_selection {
    size_t structSize;
    size_t numFields;
    int *pFieldIds; /* the first must be the field KIND, 0 */
};

struct cupti_activity_config {
    size_t structSize;
    struct cupti_field_selection fieldSelection;
    void *pKindOptions; /* 13.4; not in 13.3, so set structSize by the loaded version */
};

struct cupti_buffer_request_info {
    size_t structSize;
};

struct cupti_buffer_complete_info {
    size_t structSize;
    uint64_t threadId;
    struct cupti_record_layout *
        *ppRecordLayouts;    /* indexed by kind, NULL: none; valid only in the callback */
    size_t numRecordLayouts; /* highest kind + 1 */
};

typedef void cupti_callback_fn(void *userdata, uint32_t domain, uint32_t cbid, const void *cbdata);
typedef void cupti_request_fn(uint8_t **buffer, size_t *size, size_t *maxNumRecords);
typedef void cupti_complete_fn(cuda_context_handle context, uint32_t streamId, uint8_t *buffer, size_t size,
                               size_t validSize);
typedef void cupti_request_v2_fn(uint8_t **buffer, size_t *size, size_t *maxNumRecords,
                                 struct cupti_buffer_request_info *info);
typedef void cupti_complete_v2_fn(uint8_t *buffer, size_t size, size_t validSize,
                                  struct cupti_buffer_complete_info *info);
typedef uint64_t cupti_timestamp_fn(void);

/* X(name, (parameters)); each function returns an enum cupti_result. */
#define CUPTI_CLASSIC_CALLS(X)                                                                               \
    X(cuptiGetVersion, (uint32_t * version))                                                                 \
    X(cuptiGetResultString, (uint32_t result, const char **text))                                            \
    X(cuptiSubscribe, (cupti_subscriber_handle * subscriber, cupti_callback_fn * callback, void *userdata))  \
    X(cuptiUnsubscribe, (cupti_subscriber_handle subscriber))                                                \
    X(cuptiEnableCallback,                                                                                   \
      (uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid))                 \
    X(cuptiEnableDomain, (uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain))             \
    X(cuptiEnableAllDomains, (uint32_t enable, cupti_subscriber_handle subscriber))                          \
    X(cuptiGetCallbackState,                                                                                 \
      (uint32_t * enable, cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid))               \
    X(cuptiGetCallbackName, (uint32_t domain, uint32_t cbid, const char **name))                             \
    X(cuptiActivityRegisterCallbacks, (cupti_request_fn * request, cupti_complete_fn * complete))            \
    X(cuptiActivityEnable, (uint32_t kind))                                                                  \
    X(cuptiActivityEnableAndDump, (uint32_t kind))                                                           \
    X(cuptiActivityDisable, (uint32_t kind))                                                                 \
    X(cuptiActivityFlushAll, (uint32_t flag))                                                                \
    X(cuptiActivityFlushPeriod, (uint32_t time_ms))                                                          \
    X(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, struct cupti_activity * *record))         \
    X(cuptiActivityGetNumDroppedRecords, (cuda_context_handle context, uint32_t stream, size_t * dropped))   \
    X(cuptiActivitySetAttribute, (uint32_t attr, size_t * size, void *value))                                \
    X(cuptiActivityGetAttribute, (uint32_t attr, size_t * size, void *value))                                \
    X(cuptiActivityRegisterTimestampCallback, (cupti_timestamp_fn * callback))                               \
    X(cuptiActivityEnableLatencyTimestamps, (uint8_t enable))                                                \
    X(cuptiActivityEnableLaunchAttributes, (uint8_t enable))                                                 \
    X(cuptiSetThreadIdType, (uint32_t type))                                                                 \
    X(cuptiGetThreadIdType, (uint32_t * type))                                                               \
    X(cuptiGetTimestamp, (uint64_t * timestamp))                                                             \
    X(cuptiGetContextId, (cuda_context_handle context, uint32_t * id))                                       \
    X(cuptiGetDeviceId, (cuda_context_handle context, uint32_t * id))                                        \
    X(cuptiGetStreamIdEx,                                                                                    \
      (cuda_context_handle context, cuda_stream_handle stream, uint8_t per_thread, uint32_t * id))           \
    X(cuptiGetGraphId, (void *graph, uint32_t *id))                                                          \
    X(cuptiGetGraphExecId, (void *exec, uint32_t *id))                                                       \
    X(cuptiGetGraphNodeId, (void *node, uint64_t *id))                                                       \
    X(cuptiFinalize, (void))

/* 13.0 and later. */
#define CUPTI_NAMED_SUBSCRIBER_CALLS(X)                                                                      \
    X(cuptiSubscribe_v2, (cupti_subscriber_handle * subscriber, cupti_callback_fn * callback,                \
                          void *userdata, struct cupti_subscriber_params *params))

/* The subscriber API, complete in CUPTI_VERSION_SUBSCRIBER_API and later. */
#define CUPTI_SUBSCRIBER_CALLS(X)                                                                            \
    X(cuptiActivityRegisterCallbacks_v2,                                                                     \
      (cupti_subscriber_handle subscriber, cupti_request_v2_fn * request, cupti_complete_v2_fn * complete))  \
    X(cuptiActivityEnable_v2,                                                                                \
      (cupti_subscriber_handle subscriber, uint32_t kind, struct cupti_activity_config * config))            \
    X(cuptiActivityEnableAndDump_v2,                                                                         \
      (cupti_subscriber_handle subscriber, uint32_t kind, struct cupti_activity_config * config))            \
    X(cuptiActivityDisable_v2,                                                                               \
      (cupti_subscriber_handle subscriber, uint32_t kind, struct cupti_activity_config * config))            \
    X(cuptiActivitySetAttribute_v2,                                                                          \
      (cupti_subscriber_handle subscriber, uint32_t attr, size_t * size, void *value))                       \
    X(cuptiActivityGetAttribute_v2,                                                                          \
      (cupti_subscriber_handle subscriber, uint32_t attr, size_t * size, void *value))                       \
    X(cuptiActivityGetNextRecord_v2,                                                                         \
      (cupti_subscriber_handle subscriber, uint8_t * buffer, size_t valid, struct cupti_activity * *record)) \
    X(cuptiActivityGetNumDroppedRecords_v2,                                                                  \
      (cupti_subscriber_handle subscriber, cuda_context_handle context, uint32_t stream, size_t * dropped))  \
    X(cuptiGetTimestamp_v2, (cupti_subscriber_handle subscriber, uint64_t * timestamp))

/* Function types: cuptiGetVersion_fn and so on. */
#define CUPTI_CALL_TYPE(name, params) typedef uint32_t name##_fn params;
CUPTI_CLASSIC_CALLS(CUPTI_CALL_TYPE)
CUPTI_NAMED_SUBSCRIBER_CALLS(CUPTI_CALL_TYPE)
CUPTI_SUBSCRIBER_CALLS(CUPTI_CALL_TYPE)
#undef CUPTI_CALL_TYPE

/* Libraries that stand in for CUPTI (the replay's, and those of tests) export a variable of this name, and
 * need no driver. */
#define CUPTI_STAND_IN_SYMBOL "cuspan_cupti_stand_in"

/* Additional exports of the replay library, named like these types without _fn. Capture looks them up by
 * dlsym() in the loaded CUPTI and uses those it finds. */

/* Recorded time of the event that the calling thread plays; on other threads the latest recorded time
 * reached. */
typedef uint64_t cuspan_replay_clock_fn(void);
/* Identity of the recorded thread that the caller plays: returns 1 with its ID and name; 0: not a player. */
typedef int cuspan_replay_thread_fn(uint64_t *tid, char name[16]);
/* cuspan_replay_room is a variable. If set, a player calls it before each event and waits while it returns 0,
 * so that a fast replay loses nothing. */
typedef int cuspan_replay_room_fn(void);
/* 1: the replay waits for the agent, so the agent may wait for its outputs instead of dropping spans. 0:
 * paced, or an overload test. */
typedef int cuspan_replay_waits_fn(void);
/* 1: graph records come as from a GPU (the fault late-graphs), so the agent enables them as on one. 0: enable
 * them from the start, because a recording may lack the calls that create graphs. */
typedef int cuspan_replay_late_graphs_fn(void);
/* The nonce (model/step.h) that the recorded process knew at this time of the replay's clock; 0: none. */
typedef uint64_t cuspan_replay_nonce_fn(uint64_t time_ns);
/* The recorded links of the device with this UUID (model/metrics/links.h); NULL: none. */
typedef const char *cuspan_replay_links_fn(const char *uuid);
/* cuspan_replay_nccl is a variable, too. A replay plays NCCL's ranges by cuspan.h, with the attributes that
 * they had, so it tells capture separately that the calling thread enters a call of NCCL; NULL: it returns.
 */
struct range_attr;
typedef void cuspan_replay_nccl_fn(const char *name, const struct range_attr *attrs, uint32_t count);
/* The recorded code of the call in progress on this thread, with its frames; NULL: none. */
struct code_record;
typedef const struct code_record *cuspan_replay_code_fn(void);
