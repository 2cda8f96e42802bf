#include "agent/replay/play/replay_callbacks.h"

#include "model/cuda/calls.h"

#include "agent/replay/state/faults.h"
#include "agent/replay/play/replay_modules.h"
#include "agent/replay/play/replay_objects.h"
#include "agent/replay/play/replay_params.h"
#include "agent/replay/play/replay_records.h"
#include "agent/replay/state/replay_state.h"
#include "agent/replay/state/host_watch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ASSERT_RESULT 710 /* cudaErrorAssert, CUDA_ERROR_ASSERT */
#define CBIDS_MAX     2048

struct cupti_subscriber {
    _Atomic(cupti_callback_fn *) callback;
    void *_Atomic userdata;
    char name[CUPTI_OLD_SUBSCRIBER_NAME_BYTES];
    _Atomic bool enabled[CUPTI_DOMAIN_COUNT][CBIDS_MAX];
};

/* Several, if each allows others, as in 13.2 and later. The first one decides. */
static struct cupti_subscriber subscribers[SUBSCRIBERS_MAX];
static _Atomic bool allows_several; /* of the current subscribers */

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

void replay_callbacks_holder(char *to, size_t size)
{
    const char *name = "";
    pthread_mutex_lock(&names_lock);
    for (unsigned i = SUBSCRIBERS_MAX; i-- > 0;)
        if (atomic_load(&subscribers[i].callback))
            name = subscribers[i].name;
    snprintf(to, size, "%s", fault(FAULT_SUBSCRIBE) ? "CUPTI for some-profiler" : name);
    pthread_mutex_unlock(&names_lock);
}

static unsigned count_subscribers(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++)
        count += atomic_load(&subscribers[i].callback) != NULL;
    return count;
}

bool replay_callbacks_allow_several(void)
{
    return allows_several && count_subscribers() > 0;
}

uint32_t replay_callbacks_subscribe(cupti_callback_fn *callback, void *userdata, const char *name,
                                    bool allows_others, cupti_subscriber_handle *subscriber)
{
    unsigned count = count_subscribers(), place = 0;
    if (!subscriber)
        return CUPTI_INVALID_PARAMETER;
    bool is_refused = count > 0 && !(allows_several && allows_others);
    if (is_refused || count == SUBSCRIBERS_MAX || fault(FAULT_SUBSCRIBE))
        return CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    allows_several = allows_others;
    while (atomic_load(&subscribers[place].callback))
        place++;
    struct cupti_subscriber *made = &subscribers[place];
    for (uint32_t domain = 0; domain < CUPTI_DOMAIN_COUNT; domain++)
        for (uint32_t cbid = 0; cbid < CBIDS_MAX; cbid++)
            atomic_store_explicit(&made->enabled[domain][cbid], false, memory_order_relaxed);
    pthread_mutex_lock(&names_lock);
    snprintf(made->name, sizeof made->name, "CUPTI for %s", name ? name : "");
    pthread_mutex_unlock(&names_lock);
    atomic_store(&made->userdata, userdata);
    replay_records_begin(place);
    atomic_store(&made->callback, callback);
    *subscriber = made;
    return CUPTI_OK;
}

bool replay_callbacks_is_subscriber(cupti_subscriber_handle subscriber)
{
    return subscriber >= subscribers && subscriber < subscribers + SUBSCRIBERS_MAX &&
           atomic_load(&subscriber->callback);
}

unsigned replay_callbacks_place(cupti_subscriber_handle subscriber)
{
    return (unsigned)(subscriber - subscribers);
}

uint32_t replay_callbacks_unsubscribe(cupti_subscriber_handle subscriber)
{
    if (!replay_callbacks_is_subscriber(subscriber))
        return CUPTI_INVALID_PARAMETER;
    atomic_store(&subscriber->callback, NULL);
    replay_records_end(replay_callbacks_place(subscriber));
    return CUPTI_OK;
}

uint32_t replay_callbacks_enable(cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid,
                                 bool enable)
{
    static _Atomic uint64_t count;
    if (domain == 0 || domain >= CUPTI_DOMAIN_COUNT || cbid == 0 || cbid >= CBIDS_MAX)
        return CUPTI_INVALID_PARAMETER;
    bool is_call = domain == CUPTI_DOMAIN_DRIVER || domain == CUPTI_DOMAIN_RUNTIME;
    if (is_call && cbid >= (domain == CUPTI_DOMAIN_RUNTIME ? call_count_runtime : call_count_driver))
        return CUPTI_INVALID_PARAMETER;
    if (fault(FAULT_ENABLE_CALLBACK) && enable &&
        atomic_fetch_add(&count, 1) + 1 >= fault(FAULT_ENABLE_CALLBACK))
        return CUPTI_INVALID_PARAMETER;
    atomic_store(&subscriber->enabled[domain][cbid], enable);
    return CUPTI_OK;
}

uint32_t replay_callbacks_enable_domain(cupti_subscriber_handle subscriber, uint32_t domain, bool enable)
{
    if (domain == 0 || domain >= CUPTI_DOMAIN_COUNT)
        return CUPTI_INVALID_PARAMETER;
    for (uint32_t cbid = 1; cbid < CBIDS_MAX; cbid++)
        atomic_store(&subscriber->enabled[domain][cbid], enable);
    return CUPTI_OK;
}

bool replay_callbacks_is_enabled(const struct cupti_subscriber *subscriber, uint32_t domain, uint32_t cbid)
{
    return domain < CUPTI_DOMAIN_COUNT && cbid < CBIDS_MAX &&
           atomic_load_explicit(&subscriber->enabled[domain][cbid], memory_order_acquire);
}

static bool deliver_to(struct cupti_subscriber *subscriber, uint32_t domain, uint32_t cbid, const void *data,
                       const char *what)
{
    cupti_callback_fn *callback = atomic_load(&subscriber->callback);
    if (!callback || !replay_callbacks_is_enabled(subscriber, domain, cbid) ||
        atomic_load(&replay.is_finished))
        return false;
    host_watch_begin(what);
    callback(atomic_load(&subscriber->userdata), domain, cbid, data);
    host_watch_end();
    return true;
}

static bool deliver(uint32_t domain, uint32_t cbid, const void *data, const char *what)
{
    bool is_delivered = false;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++)
        is_delivered |= deliver_to(&subscribers[i], domain, cbid, data, what);
    return is_delivered;
}

static bool is_enabled_by_any(uint32_t domain, uint32_t cbid)
{
    bool is_enabled = false;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++)
        is_enabled |= replay_callbacks_is_enabled(&subscribers[i], domain, cbid);
    return is_enabled;
}

static void unload_module(uint32_t module_id)
{
    struct cupti_module_data module = {.moduleId = module_id};
    struct cupti_resource_data data = {.resourceDescriptor = &module};
    deliver(CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_MODULE_UNLOAD_STARTING, &data, "the end of a module");
}

bool replay_callbacks_call(const struct item *item, uint64_t *data)
{
    const struct call_record *call = item->call;
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    bool is_exit = item->type == ITEM_EXIT;
    if (!is_exit && call->correlation_id)
        replay_records_note_launch(call);
    if (!is_enabled_by_any(call->head.domain, call->head.cbid))
        return false;
    struct params params;
    bool is_failed =
        is_exit && replay_call_fails(call->correlation_id, info && info->group == CALL_GROUP_SYNC);
    int32_t result = is_failed ? ASSERT_RESULT : call->result;
    replay_params_build(&params, call, is_exit);
    struct cupti_callback_data callback_data = {
        .callbackSite = is_exit ? CUPTI_SITE_EXIT : CUPTI_SITE_ENTER,
        .functionName = info ? call_name(info) : "unknown",
        .functionParams = params.bytes,
        .functionReturnValue = is_exit ? &result : NULL,
        .symbolName = replay_modules_symbol(item, unload_module),
        .context = replay_objects_context(call->context_id),
        .contextUid = call->context_id,
        .correlationId = replay_correlation(call->correlation_id),
    };
    bool is_delivered = false;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
        callback_data.correlationData = &data[i];
        is_delivered |= deliver_to(&subscribers[i], call->head.domain, call->head.cbid, &callback_data,
                                   callback_data.functionName);
    }
    replay_modules_end(item);
    if (is_failed)
        replay_note_failure();
    return is_delivered;
}

/* CUPTI passes no context where the event is about the context itself. */
static cuda_context_handle resource_context(const struct resource_record *resource)
{
    bool is_about_it = resource->head.cbid == CUPTI_RESOURCE_CONTEXT_CREATED ||
                       resource->head.cbid == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING ||
                       resource->head.cbid == CUPTI_RESOURCE_MODULE_LOADED;
    if (resource->context_id == 0 && is_about_it)
        return (cuda_context_handle)(uintptr_t)resource->handle;
    return replay_objects_context(resource->context_id);
}

/* A graph record stands for a run of nodes; each node gets its callback. A node's handle is its ID, which
 * cuptiGetGraphNodeId returns. */

#define NODES_MAX 1000000 /* per record; a larger number is invalid */

static uint32_t nodes_of(const struct resource_record *resource)
{
    return resource->nodes < NODES_MAX ? resource->nodes : NODES_MAX;
}

static __thread uint32_t cloned_nodes; /* since this thread's last executable graph */

static bool deliver_node(uint32_t cbid, struct cupti_resource_data data, uint64_t id, uint64_t original)
{
    struct cupti_graph_data graph = {.node = (void *)(uintptr_t)id,
                                     .originalNode = (void *)(uintptr_t)original};
    data.resourceDescriptor = &graph;
    cloned_nodes += cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED;
    return deliver(CUPTI_DOMAIN_RESOURCE, cbid, &data, "a node of a graph");
}

static bool deliver_nodes(const struct resource_record *resource, struct cupti_resource_data data)
{
    bool is_clone = resource->head.cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED, is_delivered = false;
    replay_nodes = is_clone ? NULL : resource;
    for (uint32_t i = 0; i < nodes_of(resource); i++)
        is_delivered |= deliver_node(resource->head.cbid, data, resource->handle + i,
                                     is_clone ? resource->original + i : 0);
    replay_nodes = NULL;
    return is_delivered;
}

/* Without recorded nodes: the recorded number of anonymous clones. */
static bool deliver_exec(const struct resource_record *resource, struct cupti_resource_data data)
{
    struct cupti_graph_data graph = {.graphExec = (void *)(uintptr_t)resource->handle};
    while (cloned_nodes < nodes_of(resource))
        deliver_node(CUPTI_RESOURCE_GRAPHNODE_CLONED, data, 0, 0);
    cloned_nodes = 0;
    replay_records_note_exec(resource->handle);
    data.resourceDescriptor = &graph;
    return deliver(CUPTI_DOMAIN_RESOURCE, resource->head.cbid, &data, "an executable graph");
}

bool replay_callbacks_resource(const struct resource_record *resource)
{
    struct cupti_module_data module = {.moduleId = resource->id, .cubinSize = resource->bytes};
    struct cupti_graph_data graph = {.graph = (void *)(uintptr_t)resource->handle,
                                     .graphExec = (void *)(uintptr_t)resource->handle};
    struct cupti_resource_data data = {.context = resource_context(resource)};
    replay_objects_note(resource);
    switch (resource->head.cbid) {
    case CUPTI_RESOURCE_STREAM_CREATED:
    case CUPTI_RESOURCE_STREAM_DESTROY_STARTING:
        data.resourceHandle.stream = (cuda_stream_handle)(uintptr_t)resource->handle;
        break;
    case CUPTI_RESOURCE_MODULE_LOADED:
    case CUPTI_RESOURCE_MODULE_UNLOAD_STARTING:
    case CUPTI_RESOURCE_MODULE_PROFILED:
        data.resourceDescriptor = &module;
        break;
    case CUPTI_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_RESOURCE_GRAPHNODE_CLONED:
        return deliver_nodes(resource, data);
    case CUPTI_RESOURCE_GRAPHEXEC_CREATED:
        return deliver_exec(resource, data);
    default:
        if (resource->head.cbid >= CUPTI_RESOURCE_GRAPH_CREATED)
            data.resourceDescriptor = &graph;
    }
    return deliver(CUPTI_DOMAIN_RESOURCE, resource->head.cbid, &data, "a resource");
}

bool replay_callbacks_fatal(void)
{
    struct cupti_state_data data = {.result = CUPTI_UNKNOWN, .message = "as CUSPAN_REPLAY_FAIL asks"};
    bool is_delivered = deliver(CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR, &data, "a fatal error");
    replay_finish();
    return is_delivered;
}
