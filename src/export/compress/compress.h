/* Compressing a request's body, chunk after chunk as it lies there. All memory is taken at creation. */
#ifndef CUSPAN_EXPORT_COMPRESS_COMPRESS_H
#define CUSPAN_EXPORT_COMPRESS_COMPRESS_H

#include "base/chunk.h"
#include "model/settings.h"

/* What a compressor takes: room for a whole body, as good as never filled, and the codec's own. libdeflate's
 * needs BATCH_BYTES_MAX more, to gather a body in. */
#define COMPRESSOR_BYTES_MAX (COMPRESSED_BYTES_MAX + 1024 * 1024)
/* Spans get seven times smaller. A body that is larger than this even so is sent as it is. */
#define COMPRESSED_BYTES_MAX (BATCH_BYTES_MAX / 3)

struct codec;
struct compressor;

/* The codec of a setting's word; NULL for none. */
const struct codec *compress_codec(enum compression compression);

/* NO_MEMORY. */
enum status compressor_create(const struct codec *codec, int level,
                              struct compressor **compressor) MUST_CHECK;
void compressor_destroy(struct compressor *compressor);

/* Compresses the chunks to one gzip member or zstd frame that lies in the compressor until the next call.
 * FULL when it would not get (much) smaller. */
enum status compress_chunks(struct compressor *compressor, const struct chunk *chunks,
                            const uint8_t **compressed, size_t *compressed_bytes) MUST_CHECK;

#endif
