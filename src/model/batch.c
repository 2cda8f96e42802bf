#include "model/batch.h"

void batch_release(struct batch *batch)
{
    if (!batch)
        return;
    /* The header may lie in the first of the chunks: nothing of it is read once they are back in the pool. */
    struct chunk_pool *pool = batch->pool;
    struct chunk *chunks = batch->chunks;
    chunk_give_back(pool, chunks);
}
