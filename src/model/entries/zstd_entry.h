/* The compressor of the agent's library, for `cuspan export`: the program itself has no second copy of it. */
#pragma once

#include <stddef.h>

struct zstd_api {
    /* NULL: no memory. For one thread at a time. */
    void *(*create)(int level);
    void (*destroy)(void *state);
    /* The largest result. */
    size_t (*bound)(size_t len);
    /* A frame of the whole input, with a checksum, which all readers compare. 0: it failed. */
    size_t (*compress)(void *state, void *to, size_t capacity, const void *from, size_t len);
};
