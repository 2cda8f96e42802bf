/* Encodes profiles as requests of OTLP's signal `profiles` (alpha), in protobuf: the messages of
 * v1development in the PyPI package opentelemetry-proto 1.45.2. Only the pipeline thread uses it. */
#pragma once

#include "base/buffers/chunk.h"
#include "base/status.h"
#include "model/batch.h"
#include "model/profile.h"
#include "model/resource.h"

struct profile_encoder;

/* NO_MEMORY. */
enum status profile_encoder_create(struct chunk_pool *pool, const char *scope_name, const char *scope_version,
                                   struct profile_encoder **encoder) MUST_CHECK;
void profile_encoder_destroy(struct profile_encoder *encoder);

void profile_encoder_set_resource(struct profile_encoder *encoder, const struct resource *resource);

/* Makes a request with a profile for each kind of work that has samples. The batch, which the caller owns,
 * counts samples as spans. NULL: the pool has too few chunks. */
struct batch *profile_encoder_make(struct profile_encoder *encoder, const struct profile *profile);
