#include "agent/correlate/join/entry_queue.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t pushed_ns;
    size_t bytes; /* size of the body, a multiple of 8 */
    uint64_t body[];
};

struct entry_queue {
    size_t bytes_max, bytes_used;
    uint32_t count;
    _Alignas(struct entry) uint8_t memory[];
};

enum status entry_queue_create(size_t bytes, struct entry_queue **queue)
{
    *queue = malloc(sizeof **queue + bytes);
    if (!*queue)
        return STATUS_NO_MEMORY;
    **queue = (struct entry_queue){.bytes_max = bytes};
    return STATUS_OK;
}

void *entry_queue_push(struct entry_queue *queue, size_t bytes, uint64_t now_ns)
{
    bytes = (bytes + 7) & ~(size_t)7;
    if (sizeof(struct entry) + bytes > queue->bytes_max - queue->bytes_used)
        return NULL;
    struct entry *entry = (struct entry *)(void *)(queue->memory + queue->bytes_used);
    *entry = (struct entry){.pushed_ns = now_ns, .bytes = bytes};
    queue->bytes_used += sizeof *entry + bytes;
    queue->count++;
    return entry->body;
}

void entry_queue_sweep(struct entry_queue *queue, entry_queue_visit *visit, void *context)
{
    size_t kept = 0;
    for (size_t at = 0, bytes; at < queue->bytes_used; at += bytes) {
        const struct entry *entry = (const struct entry *)(const void *)(queue->memory + at);
        bytes = sizeof *entry + entry->bytes;
        if (visit(context, entry->body, entry->pushed_ns)) {
            queue->count--;
            continue;
        }
        if (kept != at)
            memmove(queue->memory + kept, entry, bytes);
        kept += bytes;
    }
    queue->bytes_used = kept;
}

uint32_t entry_queue_count(const struct entry_queue *queue)
{
    return queue->count;
}
