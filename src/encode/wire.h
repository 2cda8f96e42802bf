/* What a format writes; encoder.c does the rest for both of them. A request is a list of sections, one a
 * resource:
 *
 *   ResourceSpans { resource part: Resource, schema URL; ScopeSpans { scope part: scope, schema URL; spans }
 * }
 *
 * The schema URLs stand before what they qualify in place of behind it (any order is valid in both formats):
 * so all but the spans is one head, which is written when the spans are complete and their size is known, and
 * a closing that is always the same.
 *
 * Functions that return the end of what they wrote return NULL when it doesn't fit before `end`; what they
 * have scribbled there by then means nothing. */
#ifndef CUSPAN_ENCODE_WIRE_H
#define CUSPAN_ENCODE_WIRE_H

#include "model/metrics/metrics.h"
#include "model/resource.h"
#include "model/span.h"

#include <stddef.h>
#include <stdint.h>

struct wire_limits {
    uint32_t value_chars_max;  /* of a string that is an attribute's value */
    uint32_t string_bytes_max; /* of any string, made valid, before JSON's escapes */
    uint32_t attrs_max;        /* of a span, an event, a link */
    uint32_t events_max;
    uint32_t links_max;
};

/* Bytes made once and put into many heads. */
struct wire_part {
    uint8_t *bytes;
    size_t len;
};

/* Room in front of a section's first span besides the two parts, and behind the last. */
#define WIRE_HEAD_BYTES_MAX 32
#define WIRE_TAIL_BYTES_MAX 8

struct wire {
    /* `shared`: what put_shared() wrote of the span's shared part; NULL: it is written anew. */
    uint8_t *(*put_span)(uint8_t *to, uint8_t *end, const struct span *span, const struct wire_limits *limits,
                         const struct wire_part *shared);
    /* Name and attributes, for any span that has them and no more attributes in all than the limit. */
    uint8_t *(*put_shared)(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                           const struct wire_limits *limits);
    /* A Metric with these points; in place of spans. */
    uint8_t *(*put_metric)(uint8_t *to, uint8_t *end, const struct metric_points *points);
    /* The resource and its schema URL. Attributes that don't fit are left out and counted in the resource. */
    uint8_t *(*put_resource)(uint8_t *to, uint8_t *end, const struct resource *resource,
                             const char *schema_url, const struct wire_limits *limits);
    uint8_t *(*put_scope)(uint8_t *to, uint8_t *end, const char *name, const char *version,
                          const char *schema_url);
    /* Writes the head of a section whose first span begins at `at` and whose spans take `span_bytes`; returns
     * where it begins. In JSON every span begins with a comma, and the head overwrites that of the first. */
    uint8_t *(*put_head)(uint8_t *at, const struct wire_part *resource, const struct wire_part *scope,
                         uint64_t span_bytes, bool first);
    /* Writes what closes a section, and the request if it is the last; returns how many bytes. */
    size_t (*put_tail)(uint8_t *at, bool last);
};

/* Of metrics (ResourceMetrics, ScopeMetrics, Metric) they say what is said above of spans: in protobuf these
 * have the same numbers. */
extern const struct wire wire_protobuf, wire_protobuf_metrics;
extern const struct wire wire_json, wire_json_metrics;
uint8_t *protobuf_put_metric(uint8_t *to, uint8_t *end, const struct metric_points *points);
uint8_t *json_put_metric(uint8_t *to, uint8_t *end, const struct metric_points *points);

/* Of a text that may be missing. */
static inline size_t wire_text_len(const char *text)
{
    return text ? strlen(text) : 0;
}

static inline uint32_t wire_smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#endif
