/* Encodes spans into request bodies, in protobuf or JSON, as batches of the pool's chunks.
 *
 * There is one encoder per output, and all its functions run on one thread. Spans are encoded on arrival and
 * never copied again: an encoder has a list of chunks (a section) per resource, and sealing concatenates the
 * lists that have spans. After creation, it allocates only chunks, except when a resource is set.
 *
 * Keys of a span's attributes are copied unchanged, because they are printable ASCII by construction. Every
 * other string is made valid UTF-8. */
#pragma once

#include "base/buffers/chunk.h"
#include "model/batch.h"
#include "model/metrics/metrics.h"
#include "model/resource.h"
#include "model/span.h"

#include <stdint.h>

#define ENCODER_SCHEMA_URL METER_SCHEMA_URL

/* Limits for a resource in a request: longer strings are truncated; further attributes are dropped and
 * counted in the resource's dropped_attributes_count. */
#define ENCODER_RESOURCE_STRING_MAX 4096
#define ENCODER_RESOURCE_BYTES_MAX  (16 * 1024)

struct encoder_options {
    enum batch_format format;
    struct chunk_pool *pool; /* not owned; all outputs may share it */
    /* These must outlive the encoder. */
    const char *scope_name;
    const char *scope_version;
    const char *schema_url;
    uint32_t value_length_limit;    /* for string values, in characters; UINT32_MAX: no limit */
    uint32_t attribute_count_limit; /* per span, event and link */
    uint32_t event_count_limit;
    uint32_t link_count_limit;
    uint32_t batch_spans_max;
    uint64_t batch_bytes_max;  /* maximum size of a sealed batch */
    uint32_t chunks_left_free; /* so many of the pool's chunks are reserved for others */
    bool has_metrics;          /* metrics instead of spans: encoder_add_metrics, and no encoder_add */
};

struct encoder;

/* The caller owns the encoder. INVALID if a limit is zero or the scope's texts do not fit; NO_MEMORY. */
enum status encoder_create(const struct encoder_options *options, struct encoder **encoder) MUST_CHECK;
/* Releases spans that were not sealed. NULL is allowed. */
void encoder_destroy(struct encoder *encoder);

/* Sets or replaces resource `index`. It is encoded immediately, so the caller may free it. Spans that were
 * added before keep the old resource, and so do later ones of the same batch. A resource that was never set
 * is empty. INVALID: invalid index, or a schema URL of more than SCHEMA_URL_MAX bytes; NO_MEMORY. On failure
 * the previous resource stays. */
enum status encoder_set_resource(struct encoder *encoder, uint16_t index,
                                 const struct resource *resource) MUST_CHECK;

/* Encodes the resource in protobuf as field 1, and the schema URL as field 3 unless it is empty. Returns the
 * number of bytes; 0: no room. Attributes that do not fit are dropped and counted in it. */
size_t encoder_put_resource(const struct resource *resource, const char *schema_url, uint8_t *to,
                            size_t room);

/* Anything but OK means that the span was not added:
 * FULL       the batch has reached its bounds: seal it and add the span again
 * NO_MEMORY  no chunk is left; sealing what there is lets an exporter free some
 * INVALID    the span does not fit even into an empty batch, or the index of its resource is wrong
 * A span that is too large for a chunk is encoded with its strings truncated and without events and links. */
enum status encoder_add(struct encoder *encoder, const struct span *span) MUST_CHECK;

/* Encodes the points of one metric into as many Metrics as needed, each smaller than a chunk. FULL and
 * NO_MEMORY: the first `added` points were encoded. INVALID: the next one fits into no chunk. */
enum status encoder_add_metrics(struct encoder *encoder, const struct metric_points *points,
                                uint32_t *added) MUST_CHECK;

/* Or data points. */
uint32_t encoder_span_count(const struct encoder *encoder);

/* The spans or points added since the last call, as a batch that the caller owns; NULL if there are none.
 * Never fails. */
struct batch *encoder_seal(struct encoder *encoder);
