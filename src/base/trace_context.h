/* W3C Trace Context: traceparent and tracestate of a process or a request. */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_FLAG_SAMPLED 0x01
#define TRACE_FLAG_RANDOM  0x02
#define TRACEPARENT_BYTES  55 /* of version 00, without the NUL */

struct trace_context {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags;                     /* only known flags; others are sent as 0 */
    char trace_state[TRACE_STATE_MAX]; /* NUL-terminated; empty: none */
};

/* False, with `context` zeroed, if the traceparent is invalid, whatever the tracestate. An invalid tracestate
 * alone is ignored. Either may be NULL. Blanks around both are ignored, as in HTTP headers. */
bool trace_context_parse(const char *traceparent, const char *tracestate, struct trace_context *context);

/* One "key=value" of a tracestate, without the blanks around it. */
struct trace_state_member {
    const char *text;
    size_t length, key_length; /* the value begins after the key and '=' */
};

/* The next nonempty member from *at; false at the end. It is not validated: without '=', the key is the whole
 * member. */
bool trace_state_next(const char **at, struct trace_state_member *member);

/* Writes "00-TRACE-SPAN-FLAGS" and a NUL. */
void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_BYTES + 1]);

/* `count` bytes as lower-case hex, with a NUL. */
void hex_format(const uint8_t *bytes, unsigned count, char *text);
/* The value of a hex digit of either case, or -1. */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
