/* The interface of a compression library. Each codec documents the measurements behind its level;
 * tests/bench/programs/compress_bench.py repeats them. */
#pragma once

#include "base/buffers/chunk.h"

struct codec {
    const char *library;
    const char *encoding; /* for Content-Encoding and grpc-encoding */
    int level_min, level_max, level_default;
    /* NO_MEMORY. */
    enum status (*create)(int level, void **state);
    void (*destroy)(void *state);
    /* Compresses the chunks to one member or frame of at most `size` bytes; FULL if it would be larger. */
    enum status (*compress)(void *state, const struct chunk *chunks, uint8_t *to, size_t size, size_t *made);
};

/* The agent contains one of the two gzip codecs (cmake/export.cmake). */
extern const struct codec codec_gzip_isal;
extern const struct codec codec_gzip_deflate;
extern const struct codec codec_zstd;
