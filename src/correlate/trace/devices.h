/* What CUPTI tells about devices and contexts: the resource of each device's spans, the NULL stream of each
 * context. */
#ifndef CUSPAN_CORRELATE_DEVICES_H
#define CUSPAN_CORRELATE_DEVICES_H

#include "model/cuda/activities.h"
#include "model/record.h"
#include "model/resource.h"
#include "model/span.h"

#include <stdbool.h>

#define CONTEXTS_KEPT 256

#define DEVICE_ID_BYTES 41 /* "GPU-" or "MIG-", the UUID, NUL */

struct devices {
    bool is_known[DEVICES_MAX];             /* told to the outputs */
    char ids[DEVICES_MAX][DEVICE_ID_BYTES]; /* hw.id; "": unknown */
    struct resource *told[DEVICES_MAX];     /* what the outputs were told, owned; NULL: nothing */
    struct {
        uint32_t context_id; /* 0: free */
        uint32_t null_stream_id;
        uint64_t handle; /* the CUcontext; 0: unknown */
    } contexts[CONTEXTS_KEPT];
};

/* Frees what it owns. */
void devices_deinit(struct devices *devices);

/* Fills `resource` from a DEVICE record (owned by the caller: resource_deinit), and says which device it is.
 */
enum status devices_describe(const struct activity_record *record, uint32_t *device_id,
                             struct resource *resource) MUST_CHECK;

/* The same for a device of which nothing but the number is known. */
enum status devices_describe_unknown(uint32_t device_id, struct resource *resource) MUST_CHECK;

/* Keeps hw.id of a device that was described, and all else that is said of it. */
void devices_note(struct devices *devices, uint32_t device_id, const struct resource *resource);

/* What was said of the device, with the name that the program gave it (NULL: none); NULL: nothing was. */
const struct resource *devices_label(struct devices *devices, uint32_t device_id, const char *label);

/* Says of a copy between devices what both ends are, beside their numbers; of other kinds nothing. Borrows
 * from `devices`. */
void devices_add_ends(const struct devices *devices, const struct activity_record *record, struct span *span);

/* Notes a CONTEXT record. */
void devices_note_context(struct devices *devices, const struct activity_record *record);

/* The CUcontext of a context, by CUPTI's number of it; 0: unknown. */
void devices_note_handle(struct devices *devices, uint32_t context_id, uint64_t handle);
uint64_t devices_handle(const struct devices *devices, uint32_t context_id);

/* Whether the stream is its context's NULL stream. */
bool devices_is_null_stream(const struct devices *devices, uint32_t context_id, uint32_t stream_id);

#endif
