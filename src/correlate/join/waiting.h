/* GPU records that wait for their call: a bounded queue, oldest first. Records are copied with the fields
 * that are present; strings remain CUPTI's. */
#ifndef CUSPAN_CORRELATE_WAITING_H
#define CUSPAN_CORRELATE_WAITING_H

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

struct waiting_queue;

enum status waiting_create(size_t bytes, struct waiting_queue **queue) MUST_CHECK;
void waiting_destroy(struct waiting_queue *queue);

/* False: the queue is full. */
bool waiting_push(struct waiting_queue *queue, const struct activity_record *record, uint64_t now_ns);

/* Visits each record, the oldest first, and removes those for which `visit` returns true. */
typedef bool waiting_visit(void *context, const struct activity_record *record, uint64_t since_ns);
void waiting_sweep(struct waiting_queue *queue, waiting_visit *visit, void *context);

uint32_t waiting_count(const struct waiting_queue *queue);
bool waiting_is_empty(const struct waiting_queue *queue);

#endif
