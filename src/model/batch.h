/* A batch: one finished request body on its way from encode to export. Its bytes, chunk after chunk, are
 * exactly what goes out (before compression). Whoever holds it owns its chunks; batch_release gives both
 * back. The header lies in the first chunk's data, in front of `begin`, so that chunk goes last. */
#ifndef CUSPAN_MODEL_BATCH_H
#define CUSPAN_MODEL_BATCH_H

#include "base/chunk.h"

enum batch_format {
    BATCH_PROTOBUF, /* an ExportTraceServiceRequest, which is on the wire the same as TracesData */
    BATCH_JSON      /* the same in OTLP JSON: one line, no newline at its end */
};

struct batch {
    struct batch *next; /* for whoever queues it */
    struct chunk_pool *pool;
    struct chunk *chunks; /* in order */
    uint64_t bytes;       /* sum of the chunks' bytes */
    uint32_t spans;
    uint8_t format; /* enum batch_format */
};

void batch_release(struct batch *batch);

#endif
