/* Adds texts to a look. */
#pragma once

#include "agent/watch/stacks/stack_result.h"

#include <stddef.h>
#include <string.h>

/* Returns the offset of a copy of the text; 0, the empty text, if there is no room. */
static inline uint32_t stack_text_add(struct thread_stacks *into, const char *text, size_t length)
{
    uint32_t at = into->text_bytes;
    if (length == 0 || length >= STACK_TEXT_BYTES - at)
        return 0;
    memcpy(into->text + at, text, length);
    into->text[at + length] = '\0';
    into->text_bytes += (uint32_t)length + 1;
    return at;
}
