/* Keeps the tracestates of the latest attached contexts. Before each use of one, tracestates_valid() tells
 * whether it still exists. */
#pragma once

#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

#define TRACESTATES_KEPT 512

/* All zero: empty. */
struct tracestates {
    uint32_t next;
    struct {
        uint8_t trace_id[16];
        char text[TRACE_STATE_MAX];
    } kept[TRACESTATES_KEPT];
};

/* Copies `bytes` of `text` for this trace and returns the copy, NUL-terminated, until a few hundred later
 * ones replace it. NULL: `bytes` is 0 or too large. */
const char *tracestates_keep(struct tracestates *states, const uint8_t trace_id[16], const char *text,
                             size_t bytes);

/* Returns `text` if tracestates_keep() returned it and it is still this trace's, else NULL. Other pointers
 * are returned unchanged. */
const char *tracestates_valid(const struct tracestates *states, const uint8_t trace_id[16], const char *text);
