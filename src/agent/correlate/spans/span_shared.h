/* Keeps the parts that many spans have in common (struct span_shared), by a key of numbers: those of a kernel
 * launched again with the same grid on the same stream, or of a call that a thread repeats.
 *
 * A part is stored when its key is seen a second time, so one-time keys cost only a lookup. The table is
 * bounded and evicts the least recently used entry.
 *
 * If the program names its streams or other objects with NVTX, calls share nothing, because a name may
 * change. */
#pragma once

#include "model/span.h"

#define SHARED_KEY_WORDS  24
#define SHARED_SEEN_MAX   4096 /* keys seen once; a power of two */
#define SHARED_TEXT_BYTES 512

struct shared_part {
    uint64_t used; /* the table's count of lookups at the last use; 0: free */
    uint32_t key_count;
    uint64_t key[SHARED_KEY_WORDS];
    struct span_shared shared;
    struct span_attr attrs[SPAN_SHARED_ATTRS_MAX];
    char text[SHARED_TEXT_BYTES]; /* the name and the strings among the attributes */
};

/* All zero: empty. */
struct shared_table {
    uint64_t lookups;
    uint32_t versions;
    const uint64_t *asked; /* the last key looked up, not owned */
    uint32_t asked_count;
    uint64_t asked_hash;
    uint64_t seen[SHARED_SEEN_MAX];
    struct shared_part parts[SPAN_SHARED_MAX];
};

/* Sets the span's shared part if the table has the key. The span must not have attributes yet. False: the
 * caller adds them and then calls span_shared_offer(), until which `key` must stay valid. `count` is at most
 * SHARED_KEY_WORDS. */
bool span_shared_take(struct shared_table *table, const uint64_t *key, uint32_t count, struct span *span);

/* Offers the span's name and attributes for the key of the last span_shared_take(). If they are stored, they
 * become the span's shared part. */
void span_shared_offer(struct shared_table *table, struct span *span);
