#include "base/buffers/chunk.h"

#include "base/accounting/invariant.h"

#include <pthread.h>
#include <stdlib.h>

struct chunk_pool {
    pthread_mutex_t lock;
    struct chunk *free_list;
    size_t free_count;
    size_t size;
    struct chunk *memory;
};

enum status chunk_pool_create(size_t chunks, struct chunk_pool **pool)
{
    struct chunk_pool *made = calloc(1, sizeof *made);
    struct chunk *memory =
        calloc(chunks, sizeof *memory); /* large: zero pages that become resident when used */
    if (!made || !memory) {
        free(made);
        free(memory);
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->memory = memory;
    made->size = made->free_count = chunks;
    for (size_t i = chunks; i-- > 0;) {
        memory[i].next = made->free_list;
        made->free_list = &memory[i];
    }
    *pool = made;
    return STATUS_OK;
}

void chunk_pool_destroy(struct chunk_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_destroy(&pool->lock);
    free(pool->memory);
    free(pool);
}

struct chunk *chunk_take(struct chunk_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct chunk *chunk = pool->free_list;
    if (chunk) {
        pool->free_list = chunk->next;
        pool->free_count--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (chunk) {
        chunk->next = NULL;
        chunk->begin = chunk->end = 0;
    }
    return chunk;
}

void chunk_give_back(struct chunk_pool *pool, struct chunk *list)
{
    if (!list)
        return;
    size_t count = 1;
    struct chunk *last = list;
    for (; last->next && count <= pool->size; last = last->next)
        count++;
    pthread_mutex_lock(&pool->lock);
    /* A chunk returned twice is not added, so that nobody gets it twice. */
    if (INVARIANT(count <= pool->size - pool->free_count)) {
        last->next = pool->free_list;
        pool->free_list = list;
        pool->free_count += count;
    }
    pthread_mutex_unlock(&pool->lock);
}

size_t chunk_pool_free(struct chunk_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t count = pool->free_count;
    pthread_mutex_unlock(&pool->lock);
    return count;
}

size_t chunk_pool_size(const struct chunk_pool *pool)
{
    return pool->size;
}
