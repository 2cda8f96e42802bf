#include "agent/correlate/trace/tracestates.h"

#include <string.h>

const char *tracestates_keep(struct tracestates *states, const uint8_t trace_id[16], const char *text,
                             size_t bytes)
{
    if (bytes == 0 || bytes >= TRACE_STATE_MAX)
        return NULL;
    uint32_t last = (states->next + TRACESTATES_KEPT - 1) % TRACESTATES_KEPT;
    char *kept = states->kept[last].text;
    if (memcmp(states->kept[last].trace_id, trace_id, 16) == 0 && strlen(kept) == bytes &&
        memcmp(kept, text, bytes) == 0)
        return kept;
    uint32_t at = states->next++ % TRACESTATES_KEPT;
    kept = states->kept[at].text;
    memcpy(states->kept[at].trace_id, trace_id, 16);
    memcpy(kept, text, bytes);
    kept[bytes] = 0;
    return kept;
}

const char *tracestates_valid(const struct tracestates *states, const uint8_t trace_id[16], const char *text)
{
    const char *begin = (const char *)states->kept, *end = (const char *)(states->kept + TRACESTATES_KEPT);
    if (text < begin || text >= end)
        return text;
    size_t at = (size_t)(text - begin) / sizeof *states->kept;
    return memcmp(states->kept[at].trace_id, trace_id, 16) == 0 ? text : NULL;
}
