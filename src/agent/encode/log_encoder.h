/* Encodes log records as requests of OTLP's signal `logs`, in protobuf or JSON, one record for each request.
 * Any thread, one at a time. */
#pragma once

#include "base/buffers/chunk.h"
#include "agent/encode/encoder.h"
#include "base/status.h"
#include "model/batch.h"
#include "model/log_record.h"
#include "model/resource.h"

#define LOG_PART_BYTES (ENCODER_RESOURCE_BYTES_MAX + 2048)

struct log_encoder {
    bool is_json;
    struct chunk_pool *pool; /* borrowed */
    size_t scope_bytes, resource_bytes;
    uint8_t scope[512], resource[LOG_PART_BYTES];
};

void log_encoder_init(struct log_encoder *encoder, bool is_json, struct chunk_pool *pool,
                      const char *scope_name, const char *scope_version);
void log_encoder_set_resource(struct log_encoder *encoder, const struct resource *resource);

/* Makes a request, which the caller owns. It counts as one span. NULL: the pool has no chunk, or the record
 * is larger than one. */
struct batch *log_encoder_make(const struct log_encoder *encoder, const struct log_record *record);
