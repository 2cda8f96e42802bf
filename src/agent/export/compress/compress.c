#include "agent/export/compress/compress.h"

#include <stdlib.h>

struct compressor {
    const struct codec *codec;
    void *state;
    uint8_t *to; /* COMPRESSED_BYTES_MAX; pages are allocated on first write */
};

const struct codec *compress_codec(enum compression compression)
{
    switch (compression) {
    case COMPRESSION_GZIP:
#ifdef CUSPAN_ISAL
        return &codec_gzip_isal;
#else
        return &codec_gzip_deflate;
#endif
    case COMPRESSION_ZSTD:
        return &codec_zstd;
    case COMPRESSION_NONE:
        break;
    }
    return NULL;
}

enum status compressor_create(const struct codec *codec, int level, struct compressor **compressor)
{
    struct compressor *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->codec = codec;
    made->to = malloc(COMPRESSED_BYTES_MAX);
    if (!made->to || codec->create(level, &made->state) != STATUS_OK) {
        compressor_destroy(made);
        return STATUS_NO_MEMORY;
    }
    *compressor = made;
    return STATUS_OK;
}

void compressor_destroy(struct compressor *compressor)
{
    if (!compressor)
        return;
    if (compressor->state)
        compressor->codec->destroy(compressor->state);
    free(compressor->to);
    free(compressor);
}

enum status compress_chunks(struct compressor *compressor, const struct chunk *chunks,
                            const uint8_t **compressed, size_t *compressed_bytes)
{
    size_t bytes = 0;
    for (const struct chunk *chunk = chunks; chunk; chunk = chunk->next)
        bytes += chunk->end - chunk->begin;
    if (bytes == 0)
        return STATUS_FULL;
    size_t size = bytes - 1 < COMPRESSED_BYTES_MAX ? bytes - 1 : COMPRESSED_BYTES_MAX;
    *compressed = compressor->to;
    return compressor->codec->compress(compressor->state, chunks, compressor->to, size, compressed_bytes);
}
