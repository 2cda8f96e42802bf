/* NVTX names of streams, contexts, devices, events and threads. A bounded table; an entry's index never
 * changes. */
#ifndef CUSPAN_CORRELATE_TRACE_NAMED_OBJECTS_H
#define CUSPAN_CORRELATE_TRACE_NAMED_OBJECTS_H

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

#define OBJECT_NAME_BYTES 64
#define OBJECTS_MAX       1023

struct named_objects;

enum status named_objects_create(struct named_objects **objects) MUST_CHECK;
void named_objects_destroy(struct named_objects *objects);

/* Names the object. Beyond OBJECTS_MAX objects, new ones get no name. */
void named_objects_name(struct named_objects *objects, enum named_object kind, uint64_t handle,
                        const char *name, uint32_t bytes);
/* The object was destroyed; its handle may be reused. The text stays valid until the entry is named again. */
void named_objects_forget(struct named_objects *objects, enum named_object kind, uint64_t handle);

/* Whether any object has ever had a name. */
bool named_objects_has_any(const struct named_objects *objects);
/* Whether any of this kind has: otherwise a lookup is not needed. */
bool named_objects_has(const struct named_objects *objects, enum named_object kind);
/* Returns the index, from 1; 0: no name. */
uint32_t named_objects_find(const struct named_objects *objects, enum named_object kind, uint64_t handle);
/* NUL-terminated. Index 0: NULL. */
const char *named_objects_text(const struct named_objects *objects, uint32_t index);

#endif
