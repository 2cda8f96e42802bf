#include "model/batch.h"

void batch_release(struct batch *batch)
{
    if (!batch)
        return;
    /* The header may be in the first chunk, so it is not read after the release. */
    struct chunk_pool *pool = batch->pool;
    struct chunk *chunks = batch->chunks;
    chunk_give_back(pool, chunks);
}
