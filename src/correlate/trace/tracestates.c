#include "correlate/trace/tracestates.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MAX 512

struct tracestates {
    uint32_t next;
    struct state {
        uint8_t trace_id[16];
        char text[TRACE_STATE_MAX];
    } kept[STATES_MAX];
};

enum status tracestates_create(struct tracestates **states)
{
    *states = calloc(1, sizeof **states);
    return *states ? STATUS_OK : STATUS_NO_MEMORY;
}

void tracestates_destroy(struct tracestates *states)
{
    free(states);
}

const char *tracestates_keep(struct tracestates *states, const uint8_t trace_id[16], const char *text,
                             size_t bytes)
{
    if (bytes == 0 || bytes >= TRACE_STATE_MAX)
        return NULL;
    struct state *before = &states->kept[(states->next + STATES_MAX - 1) % STATES_MAX];
    if (memcmp(before->trace_id, trace_id, 16) == 0 && strlen(before->text) == bytes &&
        memcmp(before->text, text, bytes) == 0)
        return before->text;
    struct state *state = &states->kept[states->next++ % STATES_MAX];
    memcpy(state->trace_id, trace_id, 16);
    memcpy(state->text, text, bytes);
    state->text[bytes] = 0;
    return state->text;
}

const char *tracestates_valid(const struct tracestates *states, const uint8_t trace_id[16], const char *text)
{
    const char *begin = (const char *)states->kept, *end = (const char *)(states->kept + STATES_MAX);
    if (text < begin || text >= end)
        return text;
    const struct state *state = &states->kept[(size_t)(text - begin) / sizeof *state];
    return memcmp(state->trace_id, trace_id, 16) == 0 ? text : NULL;
}
