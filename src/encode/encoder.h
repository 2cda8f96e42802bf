/* Spans into request bodies, in protobuf or JSON, gathered into batches that lie in the pool's chunks.
 *
 * One encoder for each output; all its functions are for one thread. Spans are encoded as they come and are
 * never copied again: an encoder has a list of chunks (a section) for each resource, and sealing puts those
 * that have spans behind each other. After creation nothing is allocated but chunks, except when a resource
 * is set.
 *
 * Keys of a span's attributes are taken as they are (printable ASCII by construction); every other string is
 * made valid UTF-8. */
#ifndef CUSPAN_ENCODE_ENCODER_H
#define CUSPAN_ENCODE_ENCODER_H

#include "base/chunk.h"
#include "model/batch.h"
#include "model/metrics/metrics.h"
#include "model/resource.h"
#include "model/span.h"

#include <stdint.h>

#define ENCODER_SCHEMA_URL METER_SCHEMA_URL

/* What a resource may take in a request: strings longer than this are cut, attributes beyond it are left out
 * and counted in the resource's dropped_attributes_count. */
#define ENCODER_RESOURCE_STRING_MAX 4096
#define ENCODER_RESOURCE_BYTES_MAX  (16 * 1024)

struct encoder_options {
    enum batch_format format;
    struct chunk_pool *pool; /* not owned; may be shared by all outputs */
    /* Copied. */
    const char *scope_name;
    const char *scope_version;
    const char *schema_url;
    uint32_t value_length_limit;    /* of string values, in characters; UINT32_MAX: none */
    uint32_t attribute_count_limit; /* of a span, an event, a link */
    uint32_t event_count_limit;
    uint32_t link_count_limit;
    uint32_t batch_spans_max;
    uint64_t batch_bytes_max;  /* a sealed batch is never larger */
    uint32_t chunks_left_free; /* that many of the pool's spans don't take: others need them */
    bool has_metrics;          /* in place of spans: encoder_add_metrics, and no encoder_add */
};

struct encoder;

/* Owned by the caller. INVALID when a bound is zero or the scope's texts don't fit; NO_MEMORY. */
enum status encoder_create(const struct encoder_options *options, struct encoder **encoder) MUST_CHECK;
/* Gives back what was not sealed. NULL is fine. */
void encoder_destroy(struct encoder *encoder);

/* Sets or replaces resource `index`; it is encoded now and not referred to later. Spans that were already
 * added keep the old one, and so do others of the same batch. A resource that was never set is empty.
 * INVALID: no such index, or a schema URL of more than SCHEMA_URL_MAX bytes; NO_MEMORY. The resource before
 * stays. */
enum status encoder_set_resource(struct encoder *encoder, uint16_t index,
                                 const struct resource *resource) MUST_CHECK;

/* The resource in protobuf, as field 1 of whatever message has a Resource there. Returns its bytes; 0: there
 * is no room for any. Attributes that don't fit are left out and counted in it. */
size_t encoder_put_resource(const struct resource *resource, uint8_t *to, size_t room);

/* Anything but OK means that the span was not added:
 * FULL       the batch has reached its bounds: seal it and add the span again
 * NO_MEMORY  no chunk is left; sealing what there is lets an exporter free some
 * INVALID    not even an empty batch has room for the span, cut as it may be, or its resource's index is
 * wrong A span that is too large for a chunk goes out with its strings cut and, if need be, without events
 * and links. */
enum status encoder_add(struct encoder *encoder, const struct span *span) MUST_CHECK;

/* The points of one metric: as many Metrics as they need, each below the size of a chunk. FULL and NO_MEMORY:
 * `added` were, in their order, and the others were not; INVALID: the next one fits into no chunk. */
enum status encoder_add_metrics(struct encoder *encoder, const struct metric_points *points,
                                uint32_t *added) MUST_CHECK;

/* Or data points. */
uint32_t encoder_span_count(const struct encoder *encoder);

/* What was added since the last time, as a batch that the caller owns; NULL when there is nothing. Never
 * fails. */
struct batch *encoder_seal(struct encoder *encoder);

#endif
