#include "callbacks.h"

#include "model/calls.h"

#include "faults.h"
#include "objects.h"
#include "params.h"
#include "records.h"
#include "state.h"
#include "watch.h"

#include <stdio.h>
#include <string.h>

#define CBIDS_MAX 2048

struct cupti_subscriber {
    _Atomic(cupti_callback_fn *) callback;
    void *userdata;
    char name[CUPTI_OLD_SUBSCRIBER_NAME_BYTES];
    _Atomic bool enabled[CUPTI_DOMAIN_COUNT][CBIDS_MAX];
};

static struct cupti_subscriber the_subscriber;

const char *callbacks_holder(void)
{
    return fault(FAULT_SUBSCRIBE) ? "CUPTI for some-profiler" : the_subscriber.name;
}

uint32_t callbacks_subscribe(cupti_callback_fn *callback, void *userdata, const char *name,
                             cupti_subscriber_handle *subscriber)
{
    if (!subscriber)
        return CUPTI_INVALID_PARAMETER;
    if (atomic_load(&the_subscriber.callback) || fault(FAULT_SUBSCRIBE))
        return CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    for (uint32_t domain = 0; domain < CUPTI_DOMAIN_COUNT; domain++)
        for (uint32_t cbid = 0; cbid < CBIDS_MAX; cbid++) /* a player may be at it */
            atomic_store_explicit(&the_subscriber.enabled[domain][cbid], false, memory_order_relaxed);
    snprintf(the_subscriber.name, sizeof the_subscriber.name, "CUPTI for %s", name ? name : "");
    the_subscriber.userdata = userdata;
    atomic_store(&the_subscriber.callback, callback);
    *subscriber = &the_subscriber;
    return CUPTI_OK;
}

bool callbacks_is_subscriber(cupti_subscriber_handle subscriber)
{
    return subscriber == &the_subscriber && atomic_load(&the_subscriber.callback);
}

uint32_t callbacks_unsubscribe(cupti_subscriber_handle subscriber)
{
    if (!callbacks_is_subscriber(subscriber))
        return CUPTI_INVALID_PARAMETER;
    atomic_store(&the_subscriber.callback, NULL);
    the_subscriber.name[0] = '\0';
    return CUPTI_OK;
}

uint32_t callbacks_enable(uint32_t domain, uint32_t cbid, bool enable)
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
    atomic_store(&the_subscriber.enabled[domain][cbid], enable);
    return CUPTI_OK;
}

uint32_t callbacks_enable_domain(uint32_t domain, bool enable)
{
    if (domain == 0 || domain >= CUPTI_DOMAIN_COUNT)
        return CUPTI_INVALID_PARAMETER;
    for (uint32_t cbid = 1; cbid < CBIDS_MAX; cbid++)
        atomic_store(&the_subscriber.enabled[domain][cbid], enable);
    return CUPTI_OK;
}

bool callbacks_is_enabled(uint32_t domain, uint32_t cbid)
{
    return domain < CUPTI_DOMAIN_COUNT && cbid < CBIDS_MAX &&
           atomic_load_explicit(&the_subscriber.enabled[domain][cbid], memory_order_relaxed);
}

static bool deliver(uint32_t domain, uint32_t cbid, const void *data, const char *what)
{
    cupti_callback_fn *callback = atomic_load(&the_subscriber.callback);
    if (!callback || !callbacks_is_enabled(domain, cbid) || atomic_load(&replay.is_finished))
        return false;
    watch_begin(what);
    callback(the_subscriber.userdata, domain, cbid, data);
    watch_end();
    return true;
}

bool callbacks_call(const struct item *item, uint64_t *data)
{
    const struct call_record *call = item->call;
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    bool is_exit = item->type == ITEM_EXIT;
    if (!is_exit && call->correlation_id)
        records_note_launch(call->correlation_id);
    if (!callbacks_is_enabled(call->head.domain, call->head.cbid))
        return false;
    struct params params;
    int32_t result = call->result;
    params_build(&params, call, is_exit);
    struct cupti_callback_data callback_data = {
        .callbackSite = is_exit ? CUPTI_SITE_EXIT : CUPTI_SITE_ENTER,
        .functionName = info ? call_name(info) : "unknown",
        .functionParams = params.bytes,
        .functionReturnValue = is_exit ? &result : NULL,
        .symbolName = item->symbol,
        .context = objects_context(call->context_id),
        .contextUid = call->context_id,
        .correlationData = data,
        .correlationId = replay_correlation(call->correlation_id),
    };
    return deliver(call->head.domain, call->head.cbid, &callback_data, callback_data.functionName);
}

/* The agent notes the context itself where the context is what the event is about. */
static cuda_context_handle resource_context(const struct resource_record *resource)
{
    bool is_about_it = resource->head.cbid == CUPTI_RESOURCE_CONTEXT_CREATED ||
                       resource->head.cbid == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING ||
                       resource->head.cbid == CUPTI_RESOURCE_MODULE_LOADED;
    if (resource->context_id == 0 && is_about_it)
        return (cuda_context_handle)(uintptr_t)resource->handle;
    return objects_context(resource->context_id);
}

/* --- graphs: a record stands for a run of nodes, and here each gets its callback again. A node's handle is
 * its ID, as cuptiGetGraphNodeId has it. --- */

#define NODES_MAX 1000000 /* of one record: more are no graph's */

static uint32_t nodes_of(const struct resource_record *resource)
{
    return resource->nodes < NODES_MAX ? resource->nodes : NODES_MAX;
}

static __thread uint32_t cloned_nodes; /* since the thread's last executable graph */

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
    for (uint32_t i = 0; i < nodes_of(resource); i++)
        is_delivered |= deliver_node(resource->head.cbid, data, resource->handle + i,
                                     is_clone ? resource->original + i : 0);
    return is_delivered;
}

/* Without nodes in the recording: as many clones as it counts, of which no more is known. */
static bool deliver_exec(const struct resource_record *resource, struct cupti_resource_data data)
{
    struct cupti_graph_data graph = {.graphExec = (void *)(uintptr_t)resource->handle};
    while (cloned_nodes < nodes_of(resource))
        deliver_node(CUPTI_RESOURCE_GRAPHNODE_CLONED, data, 0, 0);
    cloned_nodes = 0;
    data.resourceDescriptor = &graph;
    return deliver(CUPTI_DOMAIN_RESOURCE, resource->head.cbid, &data, "an executable graph");
}

bool callbacks_resource(const struct resource_record *resource)
{
    struct cupti_module_data module = {.moduleId = resource->id, .cubinSize = resource->bytes};
    struct cupti_graph_data graph = {.graph = (void *)(uintptr_t)resource->handle,
                                     .graphExec = (void *)(uintptr_t)resource->handle};
    struct cupti_resource_data data = {.context = resource_context(resource)};
    objects_note(resource);
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

bool callbacks_fatal(void)
{
    struct cupti_state_data data = {.result = CUPTI_UNKNOWN, .message = "as CUSPAN_REPLAY_FAIL asks"};
    bool is_delivered = deliver(CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR, &data, "a fatal error");
    atomic_store(&replay.is_finished, true);
    return is_delivered;
}
