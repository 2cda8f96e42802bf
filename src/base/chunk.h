/* A pool of equal chunks: where encoded spans lie from the moment they are written until they are delivered.
 *
 * The pool's size is the bound on queued bytes of all outputs together; when it is empty the caller drops and
 * counts. All memory is taken at creation. Taking and giving back locks a mutex: only our own threads do it,
 * once per 64 KiB. */
#ifndef CUSPAN_BASE_CHUNK_H
#define CUSPAN_BASE_CHUNK_H

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

/* Owned by the caller; destroyed when no chunk is out. Fails with NO_MEMORY only. */
enum status chunk_pool_create(size_t chunks, struct chunk_pool **pool) MUST_CHECK;
void chunk_pool_destroy(struct chunk_pool *pool);

/* An empty chunk (begin == end == 0), or NULL when none is left. */
struct chunk *chunk_take(struct chunk_pool *pool);
/* Gives back a list of chunks linked by next; NULL is fine. */
void chunk_give_back(struct chunk_pool *pool, struct chunk *list);
size_t chunk_pool_free(struct chunk_pool *pool);
size_t chunk_pool_size(const struct chunk_pool *pool);

#endif
