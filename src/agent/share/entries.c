/* CUPTI functions as other tools call them. Each call is forwarded unchanged, or as a call of the second
 * subscriber. */
#include "agent/share/share.h"

/* The subscriber API itself is not interposed, because its callers pass their own subscriber. */

#define REAL(name, ...) (share_real()->name ? share_real()->name(__VA_ARGS__) : (uint32_t)CUPTI_NOT_SUPPORTED)

/* `way` tells how the call is forwarded. The tool does not count as idle until the call returns. */
#define TOOL_CALL(how) enum share_way way __attribute__((cleanup(share_depart), unused)) = how()

/* Opens the second subscriber and keeps the lock until leave(). */
static uint32_t enter(void)
{
    share_lock();
    return share_open_locked();
}

static uint32_t leave(uint32_t result)
{
    share_unlock();
    return result;
}

/* Makes `call` with the second subscriber open. */
#define BESIDE(call)                                                                                         \
    do {                                                                                                     \
        uint32_t opened = enter();                                                                           \
        return leave(opened == CUPTI_OK ? (uint32_t)(call) : opened);                                        \
    } while (0)

/* Without the lock, with the second subscriber once it is open. */
#define UNLOCKED(name, ...)                                                                                  \
    (share_current_way() == SHARE_BESIDE && tool.real ? REAL(name##_v2, tool.real, __VA_ARGS__)              \
                                                      : REAL(name, __VA_ARGS__))

static cupti_subscriber_handle real_handle(cupti_subscriber_handle handle)
{
    return handle == TOOL_HANDLE ? tool.real : handle;
}

uint32_t cuptiSubscribe(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback, void *userdata)
{
    TOOL_CALL(share_arrive);
    if (way == SHARE_PASSES)
        return REAL(cuptiSubscribe, subscriber, callback, userdata);
    if (!subscriber)
        return CUPTI_INVALID_PARAMETER;
    (void)share_real(); /* libraries cannot be loaded with the lock held */
    share_lock();
    uint32_t result = share_subscribe_locked(callback, userdata);
    if (result == CUPTI_OK)
        *subscriber = TOOL_HANDLE;
    return leave(result);
}

/* A tool that allows other subscribers needs no help. */
uint32_t cuptiSubscribe_v2(cupti_subscriber_handle *subscriber, cupti_callback_fn *callback, void *userdata,
                           struct cupti_subscriber_params *params)
{
    bool allows_others =
        params && params->structSize > offsetof(struct cupti_subscriber_params, allowMultipleSubscribers) &&
        params->allowMultipleSubscribers;
    if (share_current_way() == SHARE_BESIDE && !allows_others)
        return cuptiSubscribe(subscriber, callback, userdata);
    TOOL_CALL(share_arrive);
    return REAL(cuptiSubscribe_v2, subscriber, callback, userdata, params);
}

uint32_t cuptiUnsubscribe(cupti_subscriber_handle subscriber)
{
    if (subscriber != TOOL_HANDLE)
        return REAL(cuptiUnsubscribe, subscriber);
    share_lock();
    return leave(share_unsubscribe_locked());
}

uint32_t cuptiEnableCallback(uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain,
                             uint32_t cbid)
{
    TOOL_CALL(share_arrive);
    if (subscriber != TOOL_HANDLE)
        return REAL(cuptiEnableCallback, enable, subscriber, domain, cbid);
    share_lock();
    share_note_callback_locked(enable, domain, cbid);
    return leave(REAL(cuptiEnableCallback, enable, tool.real, domain, cbid));
}

uint32_t cuptiEnableDomain(uint32_t enable, cupti_subscriber_handle subscriber, uint32_t domain)
{
    TOOL_CALL(share_arrive);
    if (subscriber != TOOL_HANDLE)
        return REAL(cuptiEnableDomain, enable, subscriber, domain);
    share_lock();
    share_note_callback_locked(enable, domain, 0);
    return leave(REAL(cuptiEnableDomain, enable, tool.real, domain));
}

uint32_t cuptiEnableAllDomains(uint32_t enable, cupti_subscriber_handle subscriber)
{
    TOOL_CALL(share_arrive);
    if (subscriber != TOOL_HANDLE)
        return REAL(cuptiEnableAllDomains, enable, subscriber);
    share_lock();
    for (uint32_t domain = 1; domain < CUPTI_DOMAIN_COUNT; domain++)
        share_note_callback_locked(enable, domain, 0);
    return leave(REAL(cuptiEnableAllDomains, enable, tool.real));
}

uint32_t cuptiGetCallbackState(uint32_t *enable, cupti_subscriber_handle subscriber, uint32_t domain,
                               uint32_t cbid)
{
    (void)share_current_way();
    return REAL(cuptiGetCallbackState, enable, real_handle(subscriber), domain, cbid);
}

uint32_t cuptiFinalize(void)
{
    TOOL_CALL(share_arrive); /* while the agent is subscribed, this would finalize the agent's CUPTI */
    if (way == SHARE_BESIDE)
        return share_finalize();
    share_forget_tool();
    return REAL(cuptiFinalize);
}

uint32_t cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete)
{
    TOOL_CALL(share_arrive);
    if (way != SHARE_BESIDE)
        return REAL(cuptiActivityRegisterCallbacks, request, complete);
    BESIDE(share_register_locked(request, complete));
}

/* A tool that comes again without a clock has CUPTI's. */
static uint32_t enable_locked(cuptiActivityEnable_v2_fn *enable, uint32_t kind)
{
    if (tool.is_clock_old)
        (void)share_set_clock_locked(NULL);
    return share_note_kind(share_switch_locked(enable, kind), kind, true);
}

uint32_t cuptiActivityEnable(uint32_t kind)
{
    TOOL_CALL(share_arrive);
    if (way != SHARE_BESIDE)
        return share_note_kind(REAL(cuptiActivityEnable, kind), kind, true);
    BESIDE(enable_locked(share_real()->cuptiActivityEnable_v2, kind));
}

uint32_t cuptiActivityEnableAndDump(uint32_t kind)
{
    TOOL_CALL(share_arrive);
    if (way != SHARE_BESIDE)
        return share_note_kind(REAL(cuptiActivityEnableAndDump, kind), kind, true);
    BESIDE(enable_locked(share_real()->cuptiActivityEnableAndDump_v2, kind));
}

uint32_t cuptiActivityDisable(uint32_t kind)
{
    TOOL_CALL(share_touch);
    if (way != SHARE_BESIDE)
        return share_note_kind(REAL(cuptiActivityDisable, kind), kind, false);
    BESIDE(share_note_kind(share_switch_locked(share_real()->cuptiActivityDisable_v2, kind), kind, false));
}

/* A subscriber enables a kind for all contexts or none. */
uint32_t cuptiActivityEnableContext(cuda_context_handle context, uint32_t kind)
{
    TOOL_CALL(share_arrive);
    if (way == SHARE_BESIDE)
        return cuptiActivityEnable(kind);
    return share_note_kind(REAL(cuptiActivityEnableContext, context, kind), kind, true);
}

uint32_t cuptiActivityDisableContext(cuda_context_handle context, uint32_t kind)
{
    TOOL_CALL(share_touch);
    if (way == SHARE_BESIDE)
        return cuptiActivityDisable(kind);
    return share_note_kind(REAL(cuptiActivityDisableContext, context, kind), kind, false);
}

/* Without the lock, because CUPTI calls the tool's functions and ours. */
uint32_t cuptiActivityFlushAll(uint32_t flag)
{
    TOOL_CALL(share_touch);
    return way == SHARE_BESIDE ? share_flush(flag) : REAL(cuptiActivityFlushAll, flag);
}

uint32_t cuptiActivityFlush(cuda_context_handle context, uint32_t stream, uint32_t flag)
{
    TOOL_CALL(share_touch);
    if (way == SHARE_BESIDE)
        return cuptiActivityFlushAll(flag);
    return REAL(cuptiActivityFlush, context, stream, flag);
}

uint32_t cuptiActivityFlushPeriod(uint32_t time_ms)
{
    TOOL_CALL(share_touch);
    if (time_ms)
        share_allow_partial();
    return REAL(cuptiActivityFlushPeriod, time_ms);
}

/* Without the lock: while reading buffers, the tool may hold a lock that its own functions take. */
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_activity **record)
{
    return UNLOCKED(cuptiActivityGetNextRecord, buffer, valid, record);
}

uint32_t cuptiActivityGetNumDroppedRecords(cuda_context_handle context, uint32_t stream, size_t *dropped)
{
    return UNLOCKED(cuptiActivityGetNumDroppedRecords, context, stream, dropped);
}

uint32_t cuptiActivitySetAttribute(uint32_t attr, size_t *size, void *value)
{
    TOOL_CALL(share_arrive);
    if (way != SHARE_BESIDE)
        return REAL(cuptiActivitySetAttribute, attr, size, value);
    if (attr == CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER) /* as share_open_locked() sets it; no tool can tell */
        return CUPTI_OK;
    BESIDE(share_real()->cuptiActivitySetAttribute_v2(tool.real, attr, size, value));
}

uint32_t cuptiActivityGetAttribute(uint32_t attr, size_t *size, void *value)
{
    if (share_current_way() != SHARE_BESIDE)
        return REAL(cuptiActivityGetAttribute, attr, size, value);
    BESIDE(share_real()->cuptiActivityGetAttribute_v2(tool.real, attr, size, value));
}

/* Attributes that the classic API sets with one function each. */
#define DEFINE_SWITCH(name, type, attribute)                                                                 \
    uint32_t name(type value)                                                                                \
    {                                                                                                        \
        size_t size = sizeof value;                                                                          \
        TOOL_CALL(share_arrive);                                                                             \
        if (way != SHARE_BESIDE)                                                                             \
            return REAL(name, value);                                                                        \
        BESIDE(share_real()->cuptiActivitySetAttribute_v2(tool.real, attribute, &size, &value));             \
    }
#define DEFINE_FLAG(name, attribute) DEFINE_SWITCH(name, uint8_t, attribute)
CUPTI_SWITCH_CALLS(DEFINE_FLAG)
DEFINE_FLAG(cuptiActivityEnableLatencyTimestamps, CUPTI_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS)
DEFINE_FLAG(cuptiActivityEnableLaunchAttributes, CUPTI_ATTR_ENABLE_KERNEL_LAUNCH_ATTRIBUTES)
DEFINE_SWITCH(cuptiSetThreadIdType, uint32_t, CUPTI_ATTR_THREAD_ID_TYPE)

#define DEFINE_CALL_SWITCH(name)                                                                             \
    uint32_t name(uint32_t cbid, uint8_t enable)                                                             \
    {                                                                                                        \
        TOOL_CALL(share_arrive);                                                                             \
        if (way != SHARE_BESIDE)                                                                             \
            return REAL(name, cbid, enable);                                                                 \
        BESIDE(REAL(name##_v2, tool.real, cbid, enable));                                                    \
    }
DEFINE_CALL_SWITCH(cuptiActivityEnableDriverApi)
DEFINE_CALL_SWITCH(cuptiActivityEnableRuntimeApi)

uint32_t cuptiActivityConfigureUnifiedMemoryCounter(void *config, uint32_t count)
{
    TOOL_CALL(share_arrive);
    return REAL(cuptiActivityConfigureUnifiedMemoryCounter, config, count);
}

/* Called for each of the tool's operations, so lock-free once the subscriber exists. */
uint32_t cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
    if (share_current_way() == SHARE_BESIDE && !tool.real)
        BESIDE(REAL(cuptiActivityPushExternalCorrelationId_v2, tool.real, kind, id));
    return UNLOCKED(cuptiActivityPushExternalCorrelationId, kind, id);
}

uint32_t cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *id)
{
    if (share_current_way() == SHARE_BESIDE && !tool.real)
        return CUPTI_QUEUE_EMPTY;
    return UNLOCKED(cuptiActivityPopExternalCorrelationId, kind, id);
}

uint32_t cuptiActivityRegisterTimestampCallback(cupti_timestamp_fn *callback)
{
    TOOL_CALL(share_arrive);
    if (way == SHARE_GIVES_WAY && callback)
        share_note_clock(callback);
    if (way != SHARE_BESIDE)
        return REAL(cuptiActivityRegisterTimestampCallback, callback);
    BESIDE(callback ? share_set_clock_locked(callback) : CUPTI_INVALID_PARAMETER);
}

uint32_t cuptiGetTimestamp(uint64_t *timestamp)
{
    return UNLOCKED(cuptiGetTimestamp, timestamp);
}

uint32_t cuptiGetThreadIdType(uint32_t *type)
{
    size_t size = sizeof *type;
    if (share_current_way() != SHARE_BESIDE)
        return REAL(cuptiGetThreadIdType, type);
    BESIDE(share_real()->cuptiActivityGetAttribute_v2(tool.real, CUPTI_ATTR_THREAD_ID_TYPE, &size, type));
}

/* Queries go to the library that numbers the contexts and streams. */

#define QUESTION(name, params, arguments)                                                                    \
    uint32_t name params                                                                                     \
    {                                                                                                        \
        (void)share_current_way();                                                                           \
        return share_real()->name ? share_real()->name arguments : (uint32_t)CUPTI_NOT_SUPPORTED;            \
    }

QUESTION(cuptiGetVersion, (uint32_t * version), (version))
QUESTION(cuptiGetResultString, (uint32_t result, const char **text), (result, text))
QUESTION(cuptiGetCallbackName, (uint32_t domain, uint32_t cbid, const char **name), (domain, cbid, name))
QUESTION(cuptiGetContextId, (cuda_context_handle context, uint32_t *id), (context, id))
QUESTION(cuptiGetDeviceId, (cuda_context_handle context, uint32_t *id), (context, id))
QUESTION(cuptiGetStreamId, (cuda_context_handle context, cuda_stream_handle stream, uint32_t *id),
         (context, stream, id))
QUESTION(cuptiGetStreamIdEx,
         (cuda_context_handle context, cuda_stream_handle stream, uint8_t per_thread, uint32_t *id),
         (context, stream, per_thread, id))
QUESTION(cuptiGetGraphId, (void *graph, uint32_t *id), (graph, id))
QUESTION(cuptiGetGraphExecId, (void *exec, uint32_t *id), (exec, id))
QUESTION(cuptiGetGraphNodeId, (void *node, uint64_t *id), (node, id))
QUESTION(cuptiSupportedDomains, (size_t * count, uint32_t **domains), (count, domains))
QUESTION(cuptiGetLastError, (void), ())
