#include "agent/replay/play/replay_objects.h"

#include "agent/replay/state/replay_state.h"

#include <pthread.h>
#include <stdlib.h>

/* Streams and graphs created so far, the latest last because handles are reused. */
struct object {
    uint64_t handle;
    uint32_t context_id;
    uint32_t id;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;
static size_t object_count, object_capacity;

static void add_locked(const struct object *object)
{
    if (object_count == object_capacity) {
        size_t capacity = object_capacity ? 2 * object_capacity : 64;
        struct object *larger = realloc(objects, capacity * sizeof *larger);
        if (!larger)
            return;
        objects = larger;
        object_capacity = capacity;
    }
    objects[object_count++] = *object;
}

cuda_context_handle replay_objects_context(uint32_t context_id)
{
    if (context_id == 0)
        return NULL;
    const struct timeline_context *context = timeline_context_by_id(&replay.timeline, context_id);
    return (cuda_context_handle)(uintptr_t)(context ? context->handle : 0x100000ull + context_id);
}

void replay_objects_note(const struct resource_record *resource)
{
    switch (resource->head.cbid) {
    case CUPTI_RESOURCE_STREAM_CREATED:
    case CUPTI_RESOURCE_GRAPH_CREATED:
    case CUPTI_RESOURCE_GRAPH_CLONED:
    case CUPTI_RESOURCE_GRAPHEXEC_CREATED:
        pthread_mutex_lock(&lock);
        add_locked(&(struct object){resource->handle, resource->context_id, resource->id});
        pthread_mutex_unlock(&lock);
        break;
    default:
        break;
    }
}

static bool find(uint64_t handle, uint32_t context_id, uint32_t *id)
{
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = object_count; i > 0 && !is_found; i--) {
        const struct object *object = &objects[i - 1];
        is_found = object->handle == handle && (context_id == 0 || object->context_id == context_id);
        if (is_found)
            *id = object->id;
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

/* Without a context, the first one, as for the calling thread. */
static const struct timeline_context *context_of(cuda_context_handle context)
{
    if (!context)
        return replay.timeline.context_count > 0 ? replay.timeline.contexts : NULL;
    return timeline_context_by_handle(&replay.timeline, (uint64_t)(uintptr_t)context);
}

uint32_t replay_objects_context_id(cuda_context_handle context, uint32_t *id)
{
    const struct timeline_context *found = context ? context_of(context) : NULL;
    if (!id)
        return CUPTI_INVALID_PARAMETER;
    if (!found)
        return CUPTI_INVALID_CONTEXT;
    *id = found->id;
    return CUPTI_OK;
}

uint32_t replay_objects_device_id(cuda_context_handle context, uint32_t *id)
{
    const struct timeline_context *found = context_of(context);
    if (!id)
        return CUPTI_INVALID_PARAMETER;
    if (!found)
        return CUPTI_INVALID_DEVICE;
    *id = found->device_id;
    return CUPTI_OK;
}

uint32_t replay_objects_stream_id(cuda_context_handle context, cuda_stream_handle stream, uint32_t *id)
{
    const struct timeline_context *found = context_of(context);
    if (!id)
        return CUPTI_INVALID_PARAMETER;
    if ((uintptr_t)stream <= 2) { /* NULL, cudaStreamLegacy, cudaStreamPerThread */
        *id = found ? found->null_stream_id : 0;
        return found ? CUPTI_OK : CUPTI_INVALID_STREAM;
    }
    bool is_found = find((uint64_t)(uintptr_t)stream, context && found ? found->id : 0, id);
    return is_found ? CUPTI_OK : CUPTI_INVALID_STREAM;
}

uint32_t replay_objects_graph_id(const void *graph, uint64_t *id)
{
    uint32_t found;
    if (!id || !graph)
        return CUPTI_INVALID_PARAMETER;
    if (!find((uint64_t)(uintptr_t)graph, 0, &found))
        return CUPTI_INVALID_PARAMETER;
    *id = found;
    return CUPTI_OK;
}
