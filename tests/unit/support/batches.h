/* Batches for tests of export: arbitrary bytes in chunks of a pool, with the header in the first, as encode
 * writes it. */
#pragma once

#include "model/batch.h"

#include <stdlib.h>
#include <string.h>

static inline struct batch *make_batch(struct chunk_pool *pool, enum batch_format format, const void *bytes,
                                       size_t count, uint32_t spans)
{
    struct chunk *first = chunk_take(pool);
    if (!first)
        abort();
    struct batch *batch = (struct batch *)(void *)first->data;
    first->begin = first->end = sizeof *batch;
    *batch = (struct batch){
        .pool = pool, .chunks = first, .bytes = count, .spans = spans, .format = (uint8_t)format};
    for (struct chunk *chunk = first; count > 0; chunk = chunk->next) {
        size_t room = CHUNK_BYTES - chunk->end;
        size_t now = count < room ? count : room;
        memcpy(chunk->data + chunk->end, bytes, now);
        chunk->end += (uint32_t)now;
        bytes = (const char *)bytes + now;
        count -= now;
        if (count > 0 && !(chunk->next = chunk_take(pool)))
            abort();
    }
    return batch;
}
