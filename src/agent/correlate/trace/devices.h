/* Keeps the devices and CUDA contexts that CUPTI describes: each device's resource, each context's NULL
 * stream. */
#pragma once

#include "model/cuda/activities.h"
#include "model/record.h"
#include "model/resource.h"
#include "model/span.h"

#include <stdbool.h>

#define CONTEXTS_KEPT 256

#define DEVICE_ID_BYTES 41 /* "GPU-" or "MIG-", the UUID, NUL */

struct devices {
    bool is_known[DEVICES_MAX];             /* the outputs have its description */
    char ids[DEVICES_MAX][DEVICE_ID_BYTES]; /* hw.id; "": unknown */
    struct resource *told[DEVICES_MAX];     /* description that the outputs have, owned; NULL: none */
    struct {
        uint32_t context_id; /* 0: free */
        uint32_t null_stream_id;
        uint64_t handle; /* the CUcontext; 0: unknown */
    } contexts[CONTEXTS_KEPT];
};

/* Frees the descriptions. */
void devices_deinit(struct devices *devices);

/* Fills `resource` from a DEVICE record. The caller frees it by resource_deinit(). */
enum status devices_describe(const struct activity_record *record, uint32_t *device_id,
                             struct resource *resource) MUST_CHECK;

/* Fills `resource` for a device of which only the number is known. The caller frees it. */
enum status devices_describe_unknown(uint32_t device_id, struct resource *resource) MUST_CHECK;

/* Keeps a copy of a device's description, and its hw.id. */
void devices_note(struct devices *devices, uint32_t device_id, const struct resource *resource);

/* Returns the device's description with `label` as its name (NULL: no name); NULL: it was not described. */
const struct resource *devices_label(struct devices *devices, uint32_t device_id, const char *label);

/* Adds the hw.id of both devices to a copy between devices. Borrows from `devices`. */
void devices_add_ends(const struct devices *devices, const struct activity_record *record, struct span *span);

/* Notes a CONTEXT record. */
void devices_note_context(struct devices *devices, const struct activity_record *record);

/* Sets and returns the CUcontext with CUPTI's context ID; 0: unknown. */
void devices_note_handle(struct devices *devices, uint32_t context_id, uint64_t handle);
uint64_t devices_handle(const struct devices *devices, uint32_t context_id);

/* Whether the stream is its context's NULL stream. */
bool devices_is_null_stream(const struct devices *devices, uint32_t context_id, uint32_t stream_id);
