/* A pool of equal chunks that hold encoded spans from encoding to delivery.
 *
 * The size of the pool limits the queued bytes of all outputs together; when it is empty the caller drops
 * spans and counts them. All memory is allocated at creation. A mutex protects the pool: only cuspan's own
 * threads use it, once per 64 KiB. */
#pragma once

#include "base/limits.h"
#include "base/status.h"

#include <stdint.h>

struct chunk {
    struct chunk *next;
    uint32_t begin; /* the bytes in use are data[begin .. end) */
    uint32_t end;
    uint8_t data[CHUNK_BYTES];
};

struct chunk_pool;

/* The caller owns the pool, and destroys it when it has all its chunks back. Fails only with NO_MEMORY. */
enum status chunk_pool_create(size_t chunks, struct chunk_pool **pool) MUST_CHECK;
void chunk_pool_destroy(struct chunk_pool *pool);

/* An empty chunk (begin == end == 0), or NULL if none is free. */
struct chunk *chunk_take(struct chunk_pool *pool);
/* Returns a list of chunks, linked by next, to the pool; it may be NULL. */
void chunk_give_back(struct chunk_pool *pool, struct chunk *list);
size_t chunk_pool_free(struct chunk_pool *pool);
size_t chunk_pool_size(const struct chunk_pool *pool);
