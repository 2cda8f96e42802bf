/* Handles facts, the activity records that become no span: those of devices and contexts. */
#pragma once

#include "model/record.h"

struct correlate;

void facts_note(struct correlate *correlate, const struct activity_record *record);
/* Returns the index of the resource of the record's work. Describes a device to the outputs if they do not
 * know it yet. */
uint16_t facts_resource(struct correlate *correlate, const struct activity_record *record);
/* Sends a device's description with its new NVTX name to the outputs, if they know the device. */
void facts_name_device(struct correlate *correlate, uint64_t device);
