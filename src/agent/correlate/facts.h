/* Records that describe something and become no span: devices and contexts. */
#ifndef CUSPAN_AGENT_CORRELATE_FACTS_H
#define CUSPAN_AGENT_CORRELATE_FACTS_H

#include "model/record.h"

struct correlate;

void facts_note(struct correlate *correlate, const struct activity_record *record);
/* The resource of the record's work. Tells the outputs of a device that is not known yet. */
uint16_t facts_resource(struct correlate *correlate, const struct activity_record *record);
/* The device has a new NVTX name: tells the outputs, if they know the device. */
void facts_name_device(struct correlate *correlate, uint64_t device);

#endif
