/* Common parts of many spans (struct span_shared), by a key of numbers: a kernel launched again with the
 * same grid on the same stream, a call that a thread repeats.
 *
 * A part is stored when its key is seen a second time, so one-time keys cost only a lookup. The table is
 * bounded and evicts the least recently used entry. */
#ifndef CUSPAN_CORRELATE_SPANS_SPAN_SHARED_H
#define CUSPAN_CORRELATE_SPANS_SPAN_SHARED_H

#include "base/status.h"
#include "model/span.h"

#define SHARED_KEY_WORDS 24

struct shared_table;

enum status span_shared_create(struct shared_table **table) MUST_CHECK;
void span_shared_destroy(struct shared_table *table);

/* Sets the span's common part if the key is known. The span must not have attributes yet. False: the
 * caller adds them and then calls span_shared_offer(). `count` is at most SHARED_KEY_WORDS. */
bool span_shared_take(struct shared_table *table, const uint64_t *key, uint32_t count, struct span *span);

/* Offers the span's name and attributes for the key of the last span_shared_take(). If stored, they become
 * the span's common part. */
void span_shared_offer(struct shared_table *table, struct span *span);

#endif
