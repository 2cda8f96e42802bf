/* The functions of a wire format; encoder.c does the rest for both formats. A request is a list of sections,
 * one per resource:
 *
 * ResourceSpans { resource part: Resource, schema URL; ScopeSpans { scope part: scope, schema URL; spans } }
 *
 * The schema URLs come before what they qualify (any order is valid in both formats). So everything except
 * the spans is one head, which is written when the spans are complete and their size is known, and a closing
 * that is always the same.
 *
 * Functions that return the end of what they wrote return NULL if it does not fit before `end`; the bytes
 * that they wrote there are then invalid.
 *
 * The messages around a Metric have the same field numbers in protobuf as those around a Span, and in JSON
 * only other names. So one encoder writes both. */
#pragma once

#include "model/metrics/metrics.h"
#include "model/resource.h"
#include "model/span.h"

#include <stddef.h>
#include <stdint.h>

struct wire_limits {
    uint32_t value_chars_max;  /* for a string that is an attribute's value */
    uint32_t string_bytes_max; /* for any string, made valid, before JSON's escapes */
    uint32_t attrs_max;        /* per span, event and link */
    uint32_t events_max;
    uint32_t links_max;
};

/* Bytes created once and copied into many heads. */
struct wire_part {
    uint8_t *bytes;
    size_t len;
};

/* Room before a section's first span besides the two parts, and after the last span. */
#define WIRE_HEAD_BYTES_MAX 32
#define WIRE_TAIL_BYTES_MAX 8

struct wire {
    /* `shared`: the output of put_shared() for the span's shared part; NULL: it is encoded again. */
    uint8_t *(*put_span)(uint8_t *to, uint8_t *end, const struct span *span, const struct wire_limits *limits,
                         const struct wire_part *shared);
    /* Name and attributes, for any span that has them and whose attributes stay within the limit. */
    uint8_t *(*put_shared)(uint8_t *to, uint8_t *end, const struct span_shared *shared,
                           const struct wire_limits *limits);
    /* Writes the head of a section whose first span starts at `at` and whose spans take `span_bytes`; returns
     * its start. In JSON every span starts with a comma, and the head overwrites the first one's. */
    uint8_t *(*put_head)(const struct wire *wire, uint8_t *at, const struct wire_part *resource,
                         const struct wire_part *scope, uint64_t span_bytes, bool first);
    /* Writes the closing of a section, and of the request if it is the last; returns the number of bytes. */
    size_t (*put_tail)(uint8_t *at, bool last);

    bool is_json;
    /* JSON: the start of a request, of the list of scopes and of the list of spans or metrics. */
    const char *open_request, *open_scopes, *open_items;
};

/* The resource and its schema URL; NULL: without it. Attributes that do not fit are dropped and counted in
 * the resource. */
uint8_t *wire_put_resource(const struct wire *wire, uint8_t *to, uint8_t *end,
                           const struct resource *resource, const char *schema_url,
                           const struct wire_limits *limits);
uint8_t *wire_put_scope(const struct wire *wire, uint8_t *to, uint8_t *end, const char *name,
                        const char *version, const char *schema_url);
/* A Metric with these points, instead of spans. */
uint8_t *wire_put_metric(const struct wire *wire, uint8_t *to, uint8_t *end,
                         const struct metric_points *points);

/* ResourceMetrics, ScopeMetrics and Metric have the structure above and, in protobuf, the same field numbers
 * as those of spans. */
extern const struct wire wire_protobuf;
extern const struct wire wire_json, wire_json_metrics;

/* For a text that may be missing. */
static inline size_t wire_text_len(const char *text)
{
    return text ? strlen(text) : 0;
}

static inline uint32_t wire_smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
