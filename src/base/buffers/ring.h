/* A ring of variable-length records between one producer (a host's thread, in a callback) and one consumer
 * (the pipeline thread). Wait-free on both sides; the producer allocates nothing, locks nothing, calls
 * nothing.
 *
 * A record is a multiple of 8 bytes and starts with its length in bytes as a uint32_t. It is contiguous: if
 * it would cross the end of the memory, a record of type 0 (RECORD_SKIP), which the consumer never sees,
 * fills the rest. Positions are 64-bit byte counts and never wrap. */
#pragma once

#include "base/limits.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
    /* The producer's cache line. */
    _Alignas(CACHE_LINE_BYTES) _Atomic uint64_t head; /* bytes published */
    uint64_t reserved;                                /* where the reserved record ends */
    uint64_t tail_seen;                               /* the consumer's position when last read */
    uint8_t *data;
    uint32_t bytes; /* a power of two */
    /* The consumer's cache line. */
    _Alignas(CACHE_LINE_BYTES) _Atomic uint64_t tail; /* bytes consumed */
};

/* `data` is borrowed: 8-aligned, `bytes` long, a power of two of at least RING_BYTES_MIN. */
static inline void ring_init(struct ring *ring, uint8_t *data, uint32_t bytes)
{
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    ring->reserved = ring->tail_seen = 0;
    ring->data = data;
    ring->bytes = bytes;
}

/* Producer: space for a record of at most `bytes`, or NULL if the ring is full. The record is visible after
 * the commit; another reservation before it discards the first. */
static inline void *ring_reserve(struct ring *ring, uint32_t bytes)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint32_t at = (uint32_t)head & (ring->bytes - 1);
    uint32_t to_end = ring->bytes - at;
    uint32_t skip = bytes > to_end ? to_end : 0;
    if (__builtin_expect(head + skip + bytes - ring->tail_seen > ring->bytes, 0)) {
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head + skip + bytes - ring->tail_seen > ring->bytes)
            return NULL;
    }
    if (skip) {
        uint32_t *gap = (uint32_t *)(ring->data + at);
        gap[0] = skip;
        gap[1] = 0;
        at = 0;
    }
    ring->reserved = head + skip;
    return ring->data + at;
}

/* Producer: publishes the reserved record, whose first word is `bytes`, at most what was reserved. */
static inline void ring_commit(struct ring *ring, uint32_t bytes)
{
    atomic_store_explicit(&ring->head, ring->reserved + bytes, memory_order_release);
}

/* Consumer: the oldest record before `end` (an earlier ring_published()), or NULL. It may be changed in
 * place. */
void *ring_peek(struct ring *ring, uint64_t end);
/* Consumer: releases the record that ring_peek returned. */
void ring_release(struct ring *ring);

static inline uint64_t ring_published(const struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Bytes that the consumer has not released. */
static inline uint64_t ring_used(const struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire) -
           atomic_load_explicit(&ring->tail, memory_order_acquire);
}
