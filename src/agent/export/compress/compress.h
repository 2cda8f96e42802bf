/* Compresses the chunks of a request's body. All memory is allocated at creation.
 *
 * The compressors are in the agent and not in the export module, because they are small and are tested
 * without curl. ISA-L and zstd compress a batch's chunks one after the other, in place. If a server refuses
 * an encoding, the agent does not change it: the log line says which setting to change. */
#pragma once

#include "base/buffers/chunk.h"
#include "model/entries/root_span_entry.h"
#include "model/settings/settings.h"

/* Memory of a compressor: the output buffer, most of which is never touched, and the codec's state.
 * libdeflate needs BATCH_BYTES_MAX more for its input. */
#define COMPRESSOR_BYTES_MAX (COMPRESSED_BYTES_MAX + 1024 * 1024)
/* Spans compress to about a seventh. A body that stays larger than this is sent uncompressed. */
#define COMPRESSED_BYTES_MAX (BATCH_BYTES_MAX / 3)

/* A compression library. Each codec documents the measurements behind its level;
 * tests/bench/programs/compress_bench.py repeats them. */
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

struct compressor;

/* NULL for COMPRESSION_NONE. */
const struct codec *compress_codec(enum compression compression);

/* NO_MEMORY. */
enum status compressor_create(const struct codec *codec, int level,
                              struct compressor **compressor) MUST_CHECK;
void compressor_destroy(struct compressor *compressor);

/* Compresses the chunks to one gzip member or zstd frame, owned by the compressor and valid until the next
 * call. FULL if it would not be smaller, or exceeds COMPRESSED_BYTES_MAX. */
enum status compress_chunks(struct compressor *compressor, const struct chunk *chunks,
                            const uint8_t **compressed, size_t *compressed_bytes) MUST_CHECK;

/* Compresses whole buffers, for commands. */
extern const struct zstd_api zstd_frame_api;
