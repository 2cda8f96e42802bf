#include "agent/correlate/facts.h"

#include "base/accounting/counters.h"
#include "agent/correlate/state.h"
#include "agent/correlate/totals/allocations.h"

/* Sends the device's description to the outputs, with its NVTX name if it has one. */
static void tell_of_device(struct correlate *c, uint32_t device)
{
    const char *label = named_objects_text_of(&c->objects, NAMED_DEVICE, device);
    const struct resource *resource = devices_label(&c->devices, device, label);
    if (resource)
        c->options.sink.on_device(c->options.sink.context, (uint16_t)RESOURCE_DEVICE(device), resource);
}

void facts_name_device(struct correlate *c, uint64_t device)
{
    if (device < DEVICES_MAX && c->devices.is_known[device])
        tell_of_device(c, (uint32_t)device);
}

static void learn_device(struct correlate *c, const struct activity_record *record)
{
    struct resource resource = {0};
    uint32_t device = record->device_id;
    enum status status = record->kind == ACTIVITY_DEVICE ? devices_describe(record, &device, &resource)
                                                         : devices_describe_unknown(device, &resource);
    if (status == STATUS_OK && device < DEVICES_MAX) {
        c->devices.is_known[device] = true;
        devices_note(&c->devices, device, &resource);
        tell_of_device(c, device);
    }
    resource_deinit(&resource);
}

uint16_t facts_resource(struct correlate *c, const struct activity_record *record)
{
    if (record->device_id >= DEVICES_MAX || !activity_table[record->kind].is_gpu_work)
        return RESOURCE_PROCESS;
    if (!c->devices.is_known[record->device_id])
        learn_device(c, record);
    return (uint16_t)RESOURCE_DEVICE(record->device_id);
}

void facts_note(struct correlate *c, const struct activity_record *record)
{
    if (record->kind == ACTIVITY_DEVICE)
        learn_device(c, record);
    else if (record->kind == ACTIVITY_CONTEXT) {
        devices_note_context(&c->devices, record);
        allocations_learn(c->allocations, record->context_id, record->device_id);
    }
    counter_add_alone(COUNTER_facts, 1);
}
