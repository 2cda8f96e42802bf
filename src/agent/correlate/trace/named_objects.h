/* Keeps the NVTX names of streams, CUDA contexts, devices, events and threads. A bounded table; an entry's
 * index never changes. */
#pragma once

#include "model/record.h"

#include <stdbool.h>

#define OBJECT_NAME_BYTES 64
#define OBJECTS_MAX       1023

#define OBJECT_BUCKETS 2048 /* more than OBJECTS_MAX, so a search ends */

/* All zero: empty. */
struct named_objects {
    bool has[NAMED_THREAD + 1]; /* an object of this kind has had a name; if not, a lookup is not needed */
    uint32_t count;             /* objects that have ever had a name */
    uint16_t buckets[OBJECT_BUCKETS]; /* index in entries; 0: free */
    struct {
        uint64_t handle;
        uint8_t kind;
        bool is_named;
        char text[OBJECT_NAME_BYTES]; /* kept after _forget(), for the span of the destroying call */
    } entries[OBJECTS_MAX + 1];
};

/* Names the object. Beyond OBJECTS_MAX objects, new ones get no name. */
void named_objects_name(struct named_objects *objects, enum named_object kind, uint64_t handle,
                        const char *name, uint32_t bytes);
/* Removes the name of a destroyed object, whose handle CUDA may reuse. The text stays valid until the entry
 * is named again. */
void named_objects_forget(struct named_objects *objects, enum named_object kind, uint64_t handle);

/* Returns the index of the object, from 1; 0: it has no name. */
uint32_t named_objects_find(const struct named_objects *objects, enum named_object kind, uint64_t handle);
/* Returns the name of the object with this index, NUL-terminated; NULL: index 0, or no name. */
const char *named_objects_text(const struct named_objects *objects, uint32_t index);
/* Returns the name of the object with this handle; NULL: no name. */
const char *named_objects_text_of(const struct named_objects *objects, enum named_object kind,
                                  uint64_t handle);
