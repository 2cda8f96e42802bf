/* Compresses whole buffers, for commands. */
#ifndef CUSPAN_AGENT_EXPORT_COMPRESS_ZSTD_FRAME_H
#define CUSPAN_AGENT_EXPORT_COMPRESS_ZSTD_FRAME_H

#include "model/entries/zstd_entry.h"

extern const struct zstd_api zstd_frame_api;

#endif
