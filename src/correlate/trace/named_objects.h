/* The names that a program gives to its streams, contexts, devices, events and threads (NVTX), for
 * attributes. A bounded table; the index of an entry stays its own for the life of the process. */
#ifndef CUSPAN_CORRELATE_OBJECTS_H
#define CUSPAN_CORRELATE_OBJECTS_H

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

#define OBJECT_NAME_BYTES 64
#define OBJECTS_MAX       1023

struct objects;

enum status objects_create(struct objects **objects) MUST_CHECK;
void objects_destroy(struct objects *objects);

/* The object bears this name from now on; beyond OBJECTS_MAX objects no further one is named. */
void objects_name(struct objects *objects, enum named_object kind, uint64_t handle, const char *name,
                  uint32_t bytes);
/* The object is gone; its handle may be used again. A text that was had before stays until the object has
 * another name. */
void objects_forget(struct objects *objects, enum named_object kind, uint64_t handle);

/* Whether any object was ever named. */
bool objects_has_any(const struct objects *objects);
/* Whether any of this kind was ever named: else nobody needs to look. */
bool objects_has(const struct objects *objects, enum named_object kind);
/* Its index from 1; 0: it has no name. */
uint32_t objects_find(const struct objects *objects, enum named_object kind, uint64_t handle);
/* NUL-terminated; index 0: NULL. */
const char *objects_text(const struct objects *objects, uint32_t index);

#endif
