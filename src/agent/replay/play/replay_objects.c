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
    uint64_t handle = context_id ? 0x100000ull + context_id : 0;
    for (size_t i = 0; i < replay.timeline.context_count && context_id; i++)
        if (replay.timeline.contexts[i].id == context_id)
            handle = replay.timeline.contexts[i].handle;
    return (cuda_context_handle)(uintptr_t)handle;
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
    for (size_t i = 0; i < replay.timeline.context_count; i++)
        if (!context || replay.timeline.contexts[i].handle == (uint64_t)(uintptr_t)context)
            return &replay.timeline.contexts[i];
    return NULL;
}

uint32_t replay_objects_context_id(cuda_context_handle context, uint32_t *id)
{
    const struct timeline_context *found = context ? context_of(context) : NULL;
    if (id && found)
        *id = found->id;
    return !id ? CUPTI_INVALID_PARAMETER : !found ? CUPTI_INVALID_CONTEXT : CUPTI_OK;
}

uint32_t replay_objects_device_id(cuda_context_handle context, uint32_t *id)
{
    const struct timeline_context *found = context_of(context);
    if (id && found)
        *id = found->device_id;
    return !id ? CUPTI_INVALID_PARAMETER : !found ? CUPTI_INVALID_DEVICE : CUPTI_OK;
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

uint32_t replay_objects_graph_id(const void *graph, uint32_t *id)
{
    return id && graph && find((uint64_t)(uintptr_t)graph, 0, id) ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}
