#include "correlate/trace/named_objects.h"

#include <stdio.h>
#include <stdlib.h>

#define BUCKETS 2048 /* more than OBJECTS_MAX, so a search ends */

struct named_objects {
    bool has[NAMED_THREAD + 1];
    uint32_t count;
    uint16_t buckets[BUCKETS]; /* index; 0: free */
    struct {
        uint64_t handle;
        uint8_t kind;
        bool is_named;
        char text[OBJECT_NAME_BYTES]; /* kept after _forget(), for the span of the destroying call */
    } entries[OBJECTS_MAX + 1];
};

enum status named_objects_create(struct named_objects **objects)
{
    *objects = calloc(1, sizeof **objects);
    return *objects ? STATUS_OK : STATUS_NO_MEMORY;
}

void named_objects_destroy(struct named_objects *objects)
{
    free(objects);
}

/* The object's bucket, or the free one where it belongs. */
static uint32_t bucket_of(const struct named_objects *objects, enum named_object kind, uint64_t handle)
{
    uint32_t at = (uint32_t)((handle + kind) * 0x9e3779b97f4a7c15ull >> 40) % BUCKETS;
    for (; objects->buckets[at]; at = (at + 1) % BUCKETS) {
        uint32_t index = objects->buckets[at];
        if (objects->entries[index].handle == handle && objects->entries[index].kind == kind)
            break;
    }
    return at;
}

void named_objects_name(struct named_objects *objects, enum named_object kind, uint64_t handle,
                        const char *name, uint32_t bytes)
{
    uint32_t at = bucket_of(objects, kind, handle);
    if (!objects->buckets[at]) {
        if (objects->count == OBJECTS_MAX)
            return;
        objects->buckets[at] = (uint16_t)++objects->count;
        objects->entries[objects->count].handle = handle;
        objects->entries[objects->count].kind = (uint8_t)kind;
    }
    snprintf(objects->entries[objects->buckets[at]].text, OBJECT_NAME_BYTES, "%.*s", (int)bytes, name);
    objects->entries[objects->buckets[at]].is_named = bytes > 0;
    objects->has[kind] = true;
}

void named_objects_forget(struct named_objects *objects, enum named_object kind, uint64_t handle)
{
    uint32_t index = named_objects_find(objects, kind, handle);
    objects->entries[index].is_named = false;
}

bool named_objects_has_any(const struct named_objects *objects)
{
    return objects->count > 0;
}

bool named_objects_has(const struct named_objects *objects, enum named_object kind)
{
    return objects->has[kind];
}

uint32_t named_objects_find(const struct named_objects *objects, enum named_object kind, uint64_t handle)
{
    uint32_t index = objects->buckets[bucket_of(objects, kind, handle)];
    return objects->entries[index].is_named ? index : 0;
}

const char *named_objects_text(const struct named_objects *objects, uint32_t index)
{
    return index && objects->entries[index].is_named ? objects->entries[index].text : NULL;
}
