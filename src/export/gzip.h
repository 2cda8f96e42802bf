/* gzip, by libdeflate. It takes its input in one piece, so a batch's chunks are gathered first. */
#ifndef CUSPAN_EXPORT_GZIP_H
#define CUSPAN_EXPORT_GZIP_H

#include "base/chunk.h"

/* Of 8192 call and kernel spans, 455 bytes each, level 1 makes 38 bytes a span at 740 ns; 3: 36 at 1130; 6:
 * 33 at 1700. The CPU is the host's, so the first it is. */
#define GZIP_LEVEL_DEFAULT 1

struct gzip;

/* Level 1 (fast) to 12 (small). NO_MEMORY. */
enum status gzip_create(int level, struct gzip **gzip) MUST_CHECK;
void gzip_destroy(struct gzip *gzip);

/* Compresses the chunks, `bytes` in all, to one gzip member that lies in `gzip` until the next call. FULL
 * when it would not get smaller; NO_MEMORY. The two buffers grow to the largest batch and stay. */
enum status gzip_chunks(struct gzip *gzip, const struct chunk *chunks, size_t bytes,
                        const uint8_t **compressed, size_t *compressed_bytes) MUST_CHECK;

#endif
