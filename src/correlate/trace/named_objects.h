/* The names that a program gives to its streams, contexts, devices, events and threads (NVTX), for
 * attributes. A bounded table; the index of an entry stays its own for the life of the process. */
#ifndef CUSPAN_CORRELATE_OBJECTS_H
#define CUSPAN_CORRELATE_OBJECTS_H

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

#define OBJECT_NAME_BYTES 64
#define OBJECTS_MAX       1023

struct named_objects;

enum status named_objects_create(struct named_objects **objects) MUST_CHECK;
void named_objects_destroy(struct named_objects *objects);

/* The object bears this name from now on; beyond OBJECTS_MAX objects no further one is named. */
void named_objects_name(struct named_objects *objects, enum named_object kind, uint64_t handle,
                        const char *name, uint32_t bytes);
/* The object is gone; its handle may be used again. A text that was had before stays until the object has
 * another name. */
void named_objects_forget(struct named_objects *objects, enum named_object kind, uint64_t handle);

/* Whether any object was ever named. */
bool named_objects_has_any(const struct named_objects *objects);
/* Whether any of this kind was ever named: else nobody needs to look. */
bool named_objects_has(const struct named_objects *objects, enum named_object kind);
/* Its index from 1; 0: it has no name. */
uint32_t named_objects_find(const struct named_objects *objects, enum named_object kind, uint64_t handle);
/* NUL-terminated; index 0: NULL. */
const char *named_objects_text(const struct named_objects *objects, uint32_t index);

#endif
