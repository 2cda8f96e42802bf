#include "correlate/join/waiting.h"

#include <stdlib.h>
#include <string.h>

/* A packed record. The values whose bits are set in `record.present` follow it. */
struct packed {
    uint64_t since_ns;
    uint32_t value_count;
    struct activity_record record; /* only the part before `values` */
};
#define PACKED_HEAD_BYTES offsetof(struct packed, record.values)

struct waiting_queue {
    size_t bytes_max, bytes_used;
    uint32_t count;
    uint8_t *memory;
};

enum status waiting_create(size_t bytes, struct waiting_queue **queue)
{
    struct waiting_queue *made = calloc(1, sizeof *made);
    if (made)
        made->memory = malloc(bytes);
    if (!made || !made->memory) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    made->bytes_max = bytes;
    *queue = made;
    return STATUS_OK;
}

void waiting_destroy(struct waiting_queue *queue)
{
    if (!queue)
        return;
    free(queue->memory);
    free(queue);
}

static size_t packed_bytes(const struct packed *packed)
{
    return PACKED_HEAD_BYTES + packed->value_count * sizeof(uint64_t);
}

bool waiting_push(struct waiting_queue *queue, const struct activity_record *record, uint64_t now_ns)
{
    uint32_t count = (uint32_t)__builtin_popcountll(record->present);
    size_t bytes = PACKED_HEAD_BYTES + count * sizeof(uint64_t);
    if (queue->bytes_used + bytes > queue->bytes_max)
        return false;
    uint8_t *to = queue->memory + queue->bytes_used;
    struct packed *packed = (struct packed *)(void *)to;
    packed->since_ns = now_ns;
    packed->value_count = count;
    memcpy(&packed->record, record, offsetof(struct activity_record, values));
    uint64_t *values = packed->record.values;
    for (uint64_t present = record->present; present; present &= present - 1)
        *values++ = record->values[__builtin_ctzll(present)];
    queue->bytes_used += bytes;
    queue->count++;
    return true;
}

static void unpack(const struct packed *packed, struct activity_record *record)
{
    memcpy(record, &packed->record, offsetof(struct activity_record, values));
    const uint64_t *values = packed->record.values;
    for (uint64_t present = record->present; present; present &= present - 1)
        record->values[__builtin_ctzll(present)] = *values++;
}

void waiting_sweep(struct waiting_queue *queue, waiting_visit *visit, void *context)
{
    struct activity_record record;
    size_t kept = 0, bytes;
    for (size_t at = 0; at < queue->bytes_used; at += bytes) {
        const struct packed *packed = (const struct packed *)(const void *)(queue->memory + at);
        bytes = packed_bytes(packed);
        unpack(packed, &record);
        if (visit(context, &record, packed->since_ns)) {
            queue->count--;
            continue;
        }
        memmove(queue->memory + kept, queue->memory + at, bytes);
        kept += bytes;
    }
    queue->bytes_used = kept;
}

uint32_t waiting_count(const struct waiting_queue *queue)
{
    return queue->count;
}

bool waiting_is_empty(const struct waiting_queue *queue)
{
    return queue->bytes_used == 0;
}
