/* Stores GPU records that wait for their call, device or counter values. An entry has the fields that are
 * present in its record. Strings are not copied: CUPTI owns them. */
#pragma once

#include "agent/correlate/join/entry_queue.h"
#include "model/record.h"

/* Copies the record into the queue. False: the queue is full. */
bool waiting_push(struct entry_queue *queue, const struct activity_record *record, uint64_t now_ns);

/* Fills `record` from an entry. Values that the entry does not have remain unchanged in `record`. */
void waiting_unpack(const void *entry, struct activity_record *record);
