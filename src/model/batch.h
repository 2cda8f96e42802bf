/* A batch: a complete request body on its way from encode to export. Its bytes, chunk after chunk, are sent
 * unchanged (before compression). Its holder owns the chunks; batch_release frees batch and chunks. The
 * header is in the first chunk's data, before `begin`, so that chunk is released last. */
#pragma once

#include "base/buffers/chunk.h"

enum batch_format {
    BATCH_PROTOBUF, /* an ExportTraceServiceRequest, which is on the wire the same as TracesData */
    BATCH_JSON      /* the same in OTLP JSON: one line, without a newline */
};

struct batch {
    struct batch *next; /* for queues */
    struct chunk_pool *pool;
    struct chunk *chunks; /* in order */
    uint64_t bytes;       /* sum of the chunks' bytes */
    uint32_t spans;
    uint8_t format; /* enum batch_format */
};

static inline void batch_release(struct batch *batch)
{
    if (batch)
        chunk_give_back(batch->pool, batch->chunks);
}
