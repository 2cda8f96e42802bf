#include "agent/correlate/trace/devices.h"

#include "base/log/log.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT_FIELD_NULL_STREAM_ID 4 /* CUPTI's field ID, also in 12.0 */
#define PEER_FIELD_SRC_DEVICE_ID     11
#define PEER_FIELD_DST_DEVICE_ID     13
#define UUID_BYTES                   16

/* Writes a UUID as NVIDIA's tools print it: "GPU-8-4-4-4-12" or "MIG-...". */
static void format_uuid(const uint8_t *bytes, const char *prefix, char text[DEVICE_ID_BYTES])
{
    char *to = text + sprintf(text, "%s-", prefix);
    for (unsigned i = 0; i < UUID_BYTES; i++)
        to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
}

static bool is_zero(const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static enum status set_field(struct resource *resource, const struct activity_field *field, uint64_t value)
{
    const char *text = (const char *)(uintptr_t)value;
    char uuid[DEVICE_ID_BYTES];
    bool is_mig = strcmp(field->key.name, SEMCONV_CUDA_DEVICE_MIG_UUID) == 0;
    if (value == UINT32_MAX || value == UINT64_MAX)
        return STATUS_OK; /* CUPTI's "none" for MIG and NUMA IDs */
    switch (field->type) {
    case FIELD_STRING:
        return text ? resource_set_string(resource, field->key.name, text) : STATUS_OK;
    case FIELD_BYTES:
        if (field->size != UUID_BYTES || is_zero((const uint8_t *)(uintptr_t)value, UUID_BYTES))
            return STATUS_OK; /* all zero: not a MIG device */
        format_uuid((const uint8_t *)(uintptr_t)value, is_mig ? "MIG" : "GPU", uuid);
        return resource_set_string(resource, field->key.name, uuid);
    case FIELD_BOOL:
        return resource_set_bool(resource, field->key.name, value != 0);
    case FIELD_UINT:
    case FIELD_INT:
    case FIELD_ENUM:
        return resource_set_int(resource, field->key.name, (int64_t)value);
    default:
        return STATUS_OK; /* maximum grid and block sizes: the same on all devices */
    }
}

/* An unknown ID or name is NULL. */
static enum status set_hardware(struct resource *resource, const char *id, const char *name)
{
    enum status status = STATUS_OK;
    resource_add_string(resource, SEMCONV_HW_TYPE, "gpu", &status);
    resource_add_string(resource, SEMCONV_HW_VENDOR, "NVIDIA", &status);
    resource_add_string(resource, SEMCONV_HW_ID, id, &status);
    resource_add_string(resource, SEMCONV_HW_NAME, name, &status);
    resource_add_string(resource, SEMCONV_HW_MODEL, name, &status);
    return status;
}

enum status devices_describe(const struct activity_record *record, uint32_t *device_id,
                             struct resource *resource)
{
    const struct activity_info *info = &activity_table[ACTIVITY_DEVICE];
    enum status status = STATUS_OK;
    *device_id = record->device_id;
    for (uint8_t i = 1; i < info->field_count && status == STATUS_OK; i++) {
        const struct activity_field *field = &info->fields[i];
        if (!(record->present >> i & 1) || !field->key.len)
            continue;
        if (strcmp(field->key.name, SEMCONV_CUDA_DEVICE_ID) == 0)
            *device_id = (uint32_t)record->values[i];
        status = set_field(resource, field, record->values[i]);
    }
    /* A MIG instance is hardware of its own, and part of a GPU. */
    const char *uuid = resource_text(resource, SEMCONV_CUDA_DEVICE_UUID);
    const char *instance = resource_text(resource, SEMCONV_CUDA_DEVICE_MIG_UUID);
    const char *name = resource_text(resource, SEMCONV_CUDA_DEVICE_NAME);
    if (status == STATUS_OK)
        status = set_hardware(resource, instance ? instance : uuid, name ? name : record->name);
    if (instance)
        resource_add_string(resource, SEMCONV_HW_PARENT, uuid, &status);
    return status;
}

enum status devices_describe_unknown(uint32_t device_id, struct resource *resource)
{
    enum status status = resource_set_int(resource, SEMCONV_CUDA_DEVICE_ID, device_id);
    return status == STATUS_OK ? set_hardware(resource, NULL, NULL) : status;
}

void devices_note(struct devices *devices, uint32_t device_id, const struct resource *resource)
{
    const char *id = resource_text(resource, SEMCONV_HW_ID);
    if (device_id >= DEVICES_MAX)
        return;
    if (id)
        snprintf(devices->ids[device_id], sizeof devices->ids[device_id], "%s", id);
    if (!devices->told[device_id])
        devices->told[device_id] = calloc(1, sizeof *devices->told[device_id]);
    if (!devices->told[device_id])
        return;
    resource_deinit(devices->told[device_id]);
    if (resource_merge(devices->told[device_id], resource) != STATUS_OK)
        resource_deinit(devices->told[device_id]);
}

const struct resource *devices_label(struct devices *devices, uint32_t device_id, const char *label)
{
    struct resource *resource = devices->told[device_id];
    if (resource && label && resource_set_string(resource, SEMCONV_CUDA_DEVICE_LABEL, label) != STATUS_OK)
        log_info("there is no room for the name of device %u", device_id);
    return resource;
}

void devices_deinit(struct devices *devices)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if (devices->told[i])
            resource_deinit(devices->told[i]);
        free(devices->told[i]);
        devices->told[i] = NULL;
    }
}

static const char *id_of_end(const struct devices *devices, const struct activity_record *record,
                             unsigned field)
{
    uint64_t device = record->present >> field & 1 ? record->values[field] : UINT64_MAX;
    return device < DEVICES_MAX && *devices->ids[device] ? devices->ids[device] : NULL;
}

void devices_add_ends(const struct devices *devices, const struct activity_record *record, struct span *span)
{
    if (record->kind != ACTIVITY_MEMCPY_PEER)
        return;
    const char *src = id_of_end(devices, record, PEER_FIELD_SRC_DEVICE_ID);
    const char *dst = id_of_end(devices, record, PEER_FIELD_DST_DEVICE_ID);
    if (src)
        span_attr_string(span, ATTR(SEMCONV_CUDA_MEMCPY_SRC_DEVICE_HW_ID), src);
    if (dst)
        span_attr_string(span, ATTR(SEMCONV_CUDA_MEMCPY_DST_DEVICE_HW_ID), dst);
}

/* Takes the slot with the context's low bits: IDs count up from 1, and programs have few contexts. */
static unsigned take_slot(struct devices *devices, uint32_t context_id)
{
    unsigned slot = context_id % CONTEXTS_KEPT;
    if (devices->contexts[slot].context_id != context_id) {
        memset(&devices->contexts[slot], 0, sizeof devices->contexts[slot]);
        devices->contexts[slot].context_id = context_id;
    }
    return slot;
}

void devices_note_context(struct devices *devices, const struct activity_record *record)
{
    if (!(record->present >> CONTEXT_FIELD_NULL_STREAM_ID & 1) || !record->context_id)
        return;
    unsigned slot = take_slot(devices, record->context_id);
    devices->contexts[slot].null_stream_id = (uint32_t)record->values[CONTEXT_FIELD_NULL_STREAM_ID];
}

void devices_note_handle(struct devices *devices, uint32_t context_id, uint64_t handle)
{
    if (context_id)
        devices->contexts[take_slot(devices, context_id)].handle = handle;
}

uint64_t devices_handle(const struct devices *devices, uint32_t context_id)
{
    unsigned slot = context_id % CONTEXTS_KEPT;
    return devices->contexts[slot].context_id == context_id ? devices->contexts[slot].handle : 0;
}

bool devices_is_null_stream(const struct devices *devices, uint32_t context_id, uint32_t stream_id)
{
    unsigned slot = context_id % CONTEXTS_KEPT;
    return devices->contexts[slot].context_id == context_id && context_id &&
           devices->contexts[slot].null_stream_id == stream_id;
}
