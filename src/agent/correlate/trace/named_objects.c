#include "agent/correlate/trace/named_objects.h"

#include "base/hash.h"

#include <stdio.h>

/* Returns the object's bucket, or the free one where it belongs. */
static uint32_t bucket_of(const struct named_objects *objects, enum named_object kind, uint64_t handle)
{
    uint32_t at = (uint32_t)((handle + kind) * HASH_SPREAD >> 40) % OBJECT_BUCKETS;
    for (; objects->buckets[at]; at = (at + 1) % OBJECT_BUCKETS) {
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

uint32_t named_objects_find(const struct named_objects *objects, enum named_object kind, uint64_t handle)
{
    uint32_t index = objects->buckets[bucket_of(objects, kind, handle)];
    return objects->entries[index].is_named ? index : 0;
}

const char *named_objects_text(const struct named_objects *objects, uint32_t index)
{
    return index && objects->entries[index].is_named ? objects->entries[index].text : NULL;
}

const char *named_objects_text_of(const struct named_objects *objects, enum named_object kind,
                                  uint64_t handle)
{
    return objects->has[kind] ? named_objects_text(objects, named_objects_find(objects, kind, handle)) : NULL;
}
