/* What many spans have alike (struct span_shared), found by the numbers that it is made of: a kernel that is
 * launched again with the same grid on the same stream, a call that a thread makes again.
 *
 * Only what has been asked for before is kept, so that what never comes again costs no more than the asking.
 * The table is bounded: what was not used for longest makes way. */
#ifndef CUSPAN_CORRELATE_SHARED_H
#define CUSPAN_CORRELATE_SHARED_H

#include "base/status.h"
#include "model/span.h"

#define SHARED_KEY_WORDS 24

struct shared_table;

enum status span_shared_create(struct shared_table **table) MUST_CHECK;
void span_shared_destroy(struct shared_table *table);

/* Takes the part with this key, if it is known, for the name and the first attributes of a span that has none
 * yet. False: the caller puts them there, and then offers them. `count` is at most SHARED_KEY_WORDS. */
bool span_shared_take(struct shared_table *table, const uint64_t *key, uint32_t count, struct span *span);

/* The name and all attributes of the span belong to the key of the last span_shared_take(); if they are worth
 * keeping, they become its shared part. */
void span_shared_offer(struct shared_table *table, struct span *span);

#endif
