#include "agent/correlate/join/waiting.h"

#include <string.h>

/* An entry has the record's part before `values`, then the values whose bits are set in `present`. */
#define HEAD_BYTES offsetof(struct activity_record, values)

bool waiting_push(struct entry_queue *queue, const struct activity_record *record, uint64_t now_ns)
{
    size_t values_bytes = (size_t)__builtin_popcountll(record->present) * sizeof *record->values;
    struct activity_record *packed = entry_queue_push(queue, HEAD_BYTES + values_bytes, now_ns);
    if (!packed)
        return false;
    memcpy(packed, record, HEAD_BYTES);
    uint64_t *values = packed->values;
    for (uint64_t present = record->present; present; present &= present - 1)
        *values++ = record->values[__builtin_ctzll(present)];
    return true;
}

void waiting_unpack(const void *entry, struct activity_record *record)
{
    const struct activity_record *packed = entry;
    const uint64_t *values = packed->values;
    memcpy(record, packed, HEAD_BYTES);
    for (uint64_t present = packed->present; present; present &= present - 1)
        record->values[__builtin_ctzll(present)] = *values++;
}
