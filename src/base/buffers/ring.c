#include "base/buffers/ring.h"

#include "base/accounting/invariant.h"

#include <stddef.h>

/* The fifth byte is the type; 0 is RECORD_SKIP (model/record.h). */
static uint32_t *record_at(const struct ring *ring, uint64_t position)
{
    return (uint32_t *)(void *)(ring->data + (position & (ring->bytes - 1)));
}

void *ring_peek(struct ring *ring, uint64_t end)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    while (tail < end) {
        uint32_t *record = record_at(ring, tail);
        INVARIANT_OR_NULL(record[0] - 1u < end - tail); /* not empty, and not beyond what is published */
        if ((record[1] & 0xff) != 0)
            return record;
        tail += record[0];
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    return NULL;
}

void ring_release(struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + *record_at(ring, tail), memory_order_release);
}
