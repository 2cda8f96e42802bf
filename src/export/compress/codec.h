/* What each way to compress provides. The level that is used and the figures that decided it stand with each;
 * tests/bench/programs/compress_bench.py measures them. */
#ifndef CUSPAN_EXPORT_COMPRESS_CODEC_H
#define CUSPAN_EXPORT_COMPRESS_CODEC_H

#include "base/chunk.h"

struct codec {
    const char *library;
    const char *encoding; /* HTTP's and gRPC's word */
    int level_min, level_max, level_default;
    /* NO_MEMORY. */
    enum status (*create)(int level, void **state);
    void (*destroy)(void *state);
    /* The chunks as one member or frame of at most `size` bytes. FULL when it gets larger. */
    enum status (*compress)(void *state, const struct chunk *chunks, uint8_t *to, size_t size, size_t *made);
};

/* Of the first two, the agent has the one that CMake found. */
extern const struct codec codec_gzip_isal;
extern const struct codec codec_gzip_deflate;
extern const struct codec codec_zstd;

#endif
