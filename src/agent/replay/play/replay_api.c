/* CUPTI functions of every version, and those of the subscriber API. */
#include "agent/abi/cupti_abi.h"

#include "model/cuda/calls.h"

#include "agent/replay/play/replay_callbacks.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/play/replay_objects.h"
#include "agent/replay/play/replay_records.h"
#include "agent/replay/state/replay_state.h"
#include "agent/replay/state/host_watch.h"

#include <stdio.h>

#define EXPORT_CALL(name, params) REPLAY_EXPORT name##_fn name;
CUPTI_CLASSIC_CALLS(EXPORT_CALL)
#ifndef REPLAY_CLASSIC
CUPTI_NAMED_SUBSCRIBER_CALLS(EXPORT_CALL)
CUPTI_SUBSCRIBER_CALLS(EXPORT_CALL)
#endif

#define RETURN_IF_NOT_INITIALIZED()                                                                          \
    host_watch_cupti(__func__);                                                                              \
    if (fault(FAULT_NOT_INITIALIZED) || !replay.is_loaded || atomic_load(&replay.is_gone))                   \
        return CUPTI_NOT_INITIALIZED;                                                                        \
    if (fault_call(__func__))                                                                                \
    return CUPTI_UNKNOWN

#define RETURN_IF_NOT_SUBSCRIBED()                                                                           \
    RETURN_IF_NOT_INITIALIZED();                                                                             \
    if (!replay_callbacks_is_subscriber(subscriber))                                                         \
    return CUPTI_INVALID_PARAMETER

/* Where subscribers allow others, each call must name its subscriber. */
#define RETURN_IF_NOT_CLASSIC()                                                                              \
    RETURN_IF_NOT_INITIALIZED();                                                                             \
    if (replay_callbacks_allow_several())                                                                    \
    return CUPTI_NOT_COMPATIBLE

/* Defines a function that returns `answer` where the condition holds. */
#define ANSWER(condition, name, params, answer)                                                              \
    uint32_t name params                                                                                     \
    {                                                                                                        \
        RETURN_IF_NOT_##condition();                                                                         \
        return answer;                                                                                       \
    }

static uint32_t thread_id_type;

uint32_t cuptiGetVersion(uint32_t *version)
{
    if (!version || fault(FAULT_VERSION))
        return CUPTI_INVALID_PARAMETER;
    *version = replay.version;
    return CUPTI_OK;
}

uint32_t cuptiGetResultString(uint32_t result, const char **text)
{
    static const struct {
        uint32_t result;
        const char *text;
    } texts[] = {
        {CUPTI_OK, "CUPTI_SUCCESS"},
        {CUPTI_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
        {CUPTI_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
        {CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
        {CUPTI_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
        {CUPTI_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
        {CUPTI_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
        {CUPTI_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
        {CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
        {CUPTI_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
    };
    for (size_t i = 0; text && i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].result == result) {
            *text = texts[i].text;
            return CUPTI_OK;
        }
    }
    return CUPTI_INVALID_PARAMETER;
}

uint32_t cuptiSubscribe(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback, void *userdata)
{
    RETURN_IF_NOT_INITIALIZED();
    return replay_callbacks_subscribe(callback, userdata, NULL, false, subscriber);
}

uint32_t cuptiUnsubscribe(cupti_subscriber_handle subscriber)
{
    RETURN_IF_NOT_INITIALIZED();
    uint32_t result = replay_callbacks_unsubscribe(subscriber);
    if (result == CUPTI_OK)
        replay_records_after_shutdown();
    return result;
}

ANSWER(SUBSCRIBED, cuptiEnableCallback,
       (uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid),
       replay_callbacks_enable(subscriber, domain, cbid, enable != 0))
ANSWER(SUBSCRIBED, cuptiEnableDomain, (uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain),
       replay_callbacks_enable_domain(subscriber, domain, enable != 0))

uint32_t cuptiEnableAllDomains(uint32_t enable, cupti_subscriber_handle subscriber)
{
    RETURN_IF_NOT_SUBSCRIBED();
    for (uint32_t domain = 1; domain < CUPTI_DOMAIN_COUNT; domain++)
        replay_callbacks_enable_domain(subscriber, domain, enable != 0);
    return CUPTI_OK;
}

uint32_t cuptiGetCallbackState(uint32_t *enable, cupti_subscriber_handle subscriber, uint32_t domain,
                               uint32_t cbid)
{
    RETURN_IF_NOT_INITIALIZED();
    if (!enable || !replay_callbacks_is_subscriber(subscriber))
        return CUPTI_INVALID_PARAMETER;
    *enable = replay_callbacks_is_enabled(subscriber, domain, cbid);
    return CUPTI_OK;
}

uint32_t cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
    const struct call_info *info = call_info((enum call_domain)domain, cbid);
    if (!name || !info)
        return CUPTI_INVALID_PARAMETER;
    *name = call_name(info);
    return CUPTI_OK;
}

/* After someone has recorded with the classic API, subscribers get no more records (seen with 13.5). */
static atomic_bool has_recorded_classic;

ANSWER(CLASSIC, cuptiActivityRegisterCallbacks, (cupti_request_fn * request, cupti_complete_fn *complete),
       replay_records_register(request, complete))

uint32_t cuptiActivityEnable(uint32_t kind)
{
    RETURN_IF_NOT_CLASSIC();
    atomic_store(&has_recorded_classic, true);
    return replay_records_enable(0, kind, NULL);
}

ANSWER(CLASSIC, cuptiActivityEnableAndDump, (uint32_t kind), replay_records_enable(0, kind, NULL))
ANSWER(CLASSIC, cuptiActivityDisable, (uint32_t kind), replay_records_disable(0, kind))
ANSWER(INITIALIZED, cuptiActivityFlushAll, (uint32_t flag), replay_records_flush(flag))
ANSWER(INITIALIZED, cuptiActivityFlushPeriod, (uint32_t time_ms), CUPTI_OK)
ANSWER(CLASSIC, cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, struct cupti_activity **record),
       replay_records_next(0, buffer, valid, record))
ANSWER(CLASSIC, cuptiActivityGetNumDroppedRecords,
       (cuda_context_handle context, uint32_t stream, size_t *dropped), replay_records_dropped(0, dropped))

uint32_t cuptiActivitySetAttribute(uint32_t attr, size_t *size, void *value)
{
    RETURN_IF_NOT_CLASSIC();
    /* Attributes from USER_DEFINED_RECORDS on belong to a subscriber. */
    return attr >= CUPTI_ATTR_USER_DEFINED_RECORDS ? CUPTI_INVALID_PARAMETER
                                                   : replay_records_set_attribute(0, attr, size, value);
}

ANSWER(CLASSIC, cuptiActivityGetAttribute, (uint32_t attr, size_t *size, void *value),
       replay_records_get_attribute(0, attr, size, value))

uint32_t cuptiActivityRegisterTimestampCallback(cupti_timestamp_fn *callback)
{
    RETURN_IF_NOT_CLASSIC();
    size_t size = sizeof callback;
    return callback ? replay_records_set_attribute(0, CUPTI_ATTR_TIMESTAMP_CALLBACK, &size, &callback)
                    : (uint32_t)CUPTI_INVALID_PARAMETER;
}

ANSWER(CLASSIC, cuptiActivityEnableLatencyTimestamps, (uint8_t enable), CUPTI_OK)
ANSWER(CLASSIC, cuptiActivityEnableLaunchAttributes, (uint8_t enable), CUPTI_OK)

uint32_t cuptiSetThreadIdType(uint32_t type)
{
    RETURN_IF_NOT_INITIALIZED();
    if (type > CUPTI_THREAD_ID_SYSTEM)
        return CUPTI_NOT_SUPPORTED;
    thread_id_type = type;
    return CUPTI_OK;
}

uint32_t cuptiGetThreadIdType(uint32_t *type)
{
    RETURN_IF_NOT_INITIALIZED();
    if (!type)
        return CUPTI_INVALID_PARAMETER;
    *type = thread_id_type;
    return CUPTI_OK;
}

uint32_t cuptiGetTimestamp(uint64_t *timestamp)
{
    extern cuspan_replay_clock_fn cuspan_replay_clock;
    RETURN_IF_NOT_INITIALIZED();
    if (!timestamp)
        return CUPTI_INVALID_PARAMETER;
    *timestamp = cuspan_replay_clock();
    return CUPTI_OK;
}

ANSWER(INITIALIZED, cuptiGetContextId, (cuda_context_handle context, uint32_t *id),
       replay_objects_context_id(context, id))
ANSWER(INITIALIZED, cuptiGetDeviceId, (cuda_context_handle context, uint32_t *id),
       replay_objects_device_id(context, id))
ANSWER(INITIALIZED, cuptiGetStreamIdEx,
       (cuda_context_handle context, cuda_stream_handle stream, uint8_t per_thread, uint32_t *id),
       replay_objects_stream_id(context, stream, id))
ANSWER(INITIALIZED, cuptiGetGraphId, (void *graph, uint32_t *id), replay_objects_graph_id(graph, id))
ANSWER(INITIALIZED, cuptiGetGraphExecId, (void *exec, uint32_t *id), replay_objects_graph_id(exec, id))

uint32_t cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    RETURN_IF_NOT_INITIALIZED();
    if (!node || !id)
        return CUPTI_INVALID_PARAMETER;
    *id = (uint64_t)(uintptr_t)node;
    return CUPTI_OK;
}

uint32_t cuptiFinalize(void)
{
    RETURN_IF_NOT_INITIALIZED();
    replay_finish();
    return CUPTI_OK;
}

#ifndef REPLAY_CLASSIC

uint32_t cuptiSubscribe_v2(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback, void *userdata,
                           struct cupti_subscriber_params *params)
{
    RETURN_IF_NOT_INITIALIZED();
    if (params && params->structSize == 0)
        return CUPTI_INVALID_PARAMETER;
    if (params && params->oldSubscriberName && params->oldSubscriberSize > 0)
        replay_callbacks_holder(params->oldSubscriberName, params->oldSubscriberSize);
    bool allows_others =
        params && params->structSize > offsetof(struct cupti_subscriber_params, allowMultipleSubscribers) &&
        params->allowMultipleSubscribers;
    return replay_callbacks_subscribe(callback, userdata, params ? params->subscriberName : NULL,
                                      allows_others, subscriber);
}

ANSWER(SUBSCRIBED, cuptiActivityRegisterCallbacks_v2,
       (cupti_subscriber_handle subscriber, cupti_request_v2_fn *request, cupti_complete_v2_fn *complete),
       replay_records_register_v2(replay_callbacks_place(subscriber), request, complete))

uint32_t cuptiActivityEnable_v2(cupti_subscriber_handle subscriber, uint32_t kind,
                                struct cupti_activity_config *config)
{
    RETURN_IF_NOT_SUBSCRIBED();
    if (atomic_load(&has_recorded_classic))
        return CUPTI_NOT_COMPATIBLE;
    return replay_records_enable(replay_callbacks_place(subscriber), kind, config);
}

ANSWER(SUBSCRIBED, cuptiActivityEnableAndDump_v2,
       (cupti_subscriber_handle subscriber, uint32_t kind, struct cupti_activity_config *config),
       replay_records_enable(replay_callbacks_place(subscriber), kind, config))
ANSWER(SUBSCRIBED, cuptiActivityDisable_v2,
       (cupti_subscriber_handle subscriber, uint32_t kind, struct cupti_activity_config *config),
       replay_records_disable(replay_callbacks_place(subscriber), kind))
ANSWER(SUBSCRIBED, cuptiActivitySetAttribute_v2,
       (cupti_subscriber_handle subscriber, uint32_t attr, size_t *size, void *value),
       replay_records_set_attribute(replay_callbacks_place(subscriber), attr, size, value))
ANSWER(SUBSCRIBED, cuptiActivityGetAttribute_v2,
       (cupti_subscriber_handle subscriber, uint32_t attr, size_t *size, void *value),
       replay_records_get_attribute(replay_callbacks_place(subscriber), attr, size, value))

uint32_t cuptiActivityGetNextRecord_v2(cupti_subscriber_handle subscriber, uint8_t *buffer, size_t valid,
                                       struct cupti_activity **record)
{
    RETURN_IF_NOT_INITIALIZED();
    if (replay_callbacks_place(subscriber) >= SUBSCRIBERS_MAX) /* buffers outlive a subscription */
        return CUPTI_INVALID_PARAMETER;
    return replay_records_next(replay_callbacks_place(subscriber), buffer, valid, record);
}

ANSWER(SUBSCRIBED, cuptiActivityGetNumDroppedRecords_v2,
       (cupti_subscriber_handle subscriber, cuda_context_handle context, uint32_t stream, size_t *dropped),
       replay_records_dropped(replay_callbacks_place(subscriber), dropped))

uint32_t cuptiGetTimestamp_v2(cupti_subscriber_handle subscriber, uint64_t *timestamp)
{
    return cuptiGetTimestamp(timestamp);
}

#endif
