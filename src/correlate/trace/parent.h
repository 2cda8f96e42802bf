/* What a span is the child of. */
#ifndef CUSPAN_CORRELATE_PARENT_H
#define CUSPAN_CORRELATE_PARENT_H

#include <stdbool.h>
#include <stdint.h>

struct parent {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint32_t flags;          /* as in span.flags */
    const char *trace_state; /* NUL-terminated or NULL; read through tracestates_valid() */
    bool is_sampled;
    bool is_session;
    uint32_t account; /* handle (accounts.h) of the innermost for which work below it counts; 0: for nobody */
};

#endif
