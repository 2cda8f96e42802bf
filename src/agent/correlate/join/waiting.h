/* GPU records that wait for their call, device or counter values. Records are copied with the fields that are
 * present; strings remain CUPTI's. */
#ifndef CUSPAN_AGENT_CORRELATE_JOIN_WAITING_H
#define CUSPAN_AGENT_CORRELATE_JOIN_WAITING_H

#include "agent/correlate/join/entry_queue.h"
#include "model/record.h"

/* False: the queue is full. */
bool waiting_push(struct entry_queue *queue, const struct activity_record *record, uint64_t now_ns);

/* Fills `record` from an entry. Values that it does not have stay. */
void waiting_unpack(const void *entry, struct activity_record *record);

#endif
