#include "correlate/join/lingering.h"

#include <stdlib.h>
#include <string.h>

struct lingering {
    size_t bytes_max, bytes_used;
    uint32_t count;
    uint8_t *memory; /* heads, each with its body behind it */
};

enum status lingering_create(size_t bytes, struct lingering **lingering)
{
    struct lingering *made = calloc(1, sizeof *made);
    if (made)
        made->memory = malloc(bytes);
    if (!made || !made->memory) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    made->bytes_max = bytes;
    *lingering = made;
    return STATUS_OK;
}

void lingering_destroy(struct lingering *lingering)
{
    if (!lingering)
        return;
    free(lingering->memory);
    free(lingering);
}

static size_t whole_bytes(const struct lingering_head *head)
{
    return sizeof *head + (((size_t)head->bytes + 7) & ~(size_t)7);
}

void *lingering_push(struct lingering *lingering, const struct lingering_head *head)
{
    if (whole_bytes(head) > lingering->bytes_max - lingering->bytes_used)
        return NULL;
    uint8_t *to = lingering->memory + lingering->bytes_used;
    memcpy(to, head, sizeof *head);
    lingering->bytes_used += whole_bytes(head);
    lingering->count++;
    return to + sizeof *head;
}

void lingering_sweep(struct lingering *lingering, lingering_visit *visit, void *context)
{
    size_t kept = 0;
    for (size_t at = 0, bytes; at < lingering->bytes_used; at += bytes) {
        uint8_t *from = lingering->memory + at;
        const struct lingering_head *head = (const struct lingering_head *)(const void *)from;
        bytes = whole_bytes(head);
        if (visit(context, head, from + sizeof *head)) {
            lingering->count--;
            continue;
        }
        if (kept != at)
            memmove(lingering->memory + kept, from, bytes);
        kept += bytes;
    }
    lingering->bytes_used = kept;
}

uint32_t lingering_count(const struct lingering *lingering)
{
    return lingering->count;
}

bool lingering_is_empty(const struct lingering *lingering)
{
    return lingering->bytes_used == 0;
}
