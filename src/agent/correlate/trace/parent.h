/* A span's parent, and what a child inherits from it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct parent {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint32_t flags;          /* as in span.flags */
    const char *trace_state; /* NUL-terminated or NULL; read through tracestates_valid() */
    bool is_sampled;
    bool is_session;
    uint32_t account; /* of the innermost account that counts the child (accounts.h); 0: none */
};
