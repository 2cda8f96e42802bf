#include "agent/encode/encoder.h"

#include "base/accounting/invariant.h"
#include "base/accounting/counters.h"
#include "agent/encode/wire.h"

#include <stdlib.h>
#include <string.h>

/* When a span doesn't fit into an empty chunk, its strings are cut here and its events and links are dropped.
 */
#define SQUEEZED_STRING_BYTES 256
#define SCOPE_BYTES_MAX       1024
/* Limit for the kept encoding of a span's shared part. */
#define SHARED_BYTES_MAX 760

/* The spans of one resource. Room before the first span holds the section's head, which is written when the
 * section is complete, and before that the batch's header, in case this section is the first of its batch. */
struct section {
    struct chunk *first; /* NULL: no spans yet */
    struct chunk *last;
    uint64_t span_bytes;
    struct wire_part resource;
    struct wire_part resource_next; /* replaces `resource` once the section is empty */
};

/* The encoded bytes of a shared part; parts that are too long are not kept. */
struct shared_bytes {
    uint32_t version; /* of the shared part; 0: none */
    uint32_t len;     /* 0: too long */
    uint8_t bytes[SHARED_BYTES_MAX];
};

struct encoder {
    const struct wire *wire;
    struct encoder_options options;
    struct wire_limits limits;
    struct wire_limits squeezed;
    struct wire_part scope;
    struct wire_part no_resource; /* of sections whose resource was never set */
    uint32_t spans;
    uint64_t bytes;         /* limit, including heads */
    uint16_t section_count; /* 1 + the index of the last section that has spans */
    struct section sections[RESOURCES_MAX];
    struct shared_bytes shared[SPAN_SHARED_MAX]; /* by their slots */
};

static_assert(sizeof(struct batch) + WIRE_HEAD_BYTES_MAX + ENCODER_RESOURCE_BYTES_MAX + SCOPE_BYTES_MAX +
                      WIRE_TAIL_BYTES_MAX <=
                  CHUNK_BYTES / 2,
              "half of a section's first chunk is left for spans");
static_assert(offsetof(struct chunk, data) % _Alignof(struct batch) == 0,
              "a batch's header stands in a chunk's data");

static void part_free(struct wire_part *part)
{
    free(part->bytes);
    *part = (struct wire_part){0};
}

/* Makes `room`, whose bytes up to `end` are used, the part's bytes. `end` NULL: they did not fit. */
static enum status part_adopt(struct wire_part *part, uint8_t *room, const uint8_t *end)
{
    if (!end) {
        free(room);
        return STATUS_INVALID;
    }
    size_t len = (size_t)(end - room);
    uint8_t *shrunk = realloc(room, len);
    part_free(part);
    *part = (struct wire_part){shrunk ? shrunk : room, len};
    return STATUS_OK;
}

static const struct wire_limits resource_limits = {.string_bytes_max = ENCODER_RESOURCE_STRING_MAX,
                                                   .value_chars_max = UINT32_MAX};

static enum status make_resource(const struct encoder *encoder, const struct resource *resource,
                                 struct wire_part *part)
{
    const char *schema_url = resource->schema_url ? resource->schema_url : encoder->options.schema_url;
    uint8_t *room = malloc(ENCODER_RESOURCE_BYTES_MAX);
    if (!room)
        return STATUS_NO_MEMORY;
    return part_adopt(part, room,
                      wire_put_resource(encoder->wire, room, room + ENCODER_RESOURCE_BYTES_MAX, resource,
                                        schema_url, &resource_limits));
}

static enum status make_scope(struct encoder *encoder, const struct encoder_options *options)
{
    uint8_t *room = malloc(SCOPE_BYTES_MAX);
    if (!room)
        return STATUS_NO_MEMORY;
    return part_adopt(&encoder->scope, room,
                      wire_put_scope(encoder->wire, room, room + SCOPE_BYTES_MAX, options->scope_name,
                                     options->scope_version, options->schema_url));
}

static void set_limits(struct encoder *encoder, const struct encoder_options *options)
{
    encoder->limits = (struct wire_limits){
        .value_chars_max = options->value_length_limit,
        .string_bytes_max = SPAN_STRING_MAX,
        .attrs_max = options->attribute_count_limit,
        .events_max = options->event_count_limit,
        .links_max = options->link_count_limit,
    };
    encoder->squeezed = encoder->limits;
    encoder->squeezed.string_bytes_max = SQUEEZED_STRING_BYTES;
    encoder->squeezed.events_max = 0;
    encoder->squeezed.links_max = 0;
}

enum status encoder_create(const struct encoder_options *options, struct encoder **encoder)
{
    static const struct resource nothing;
    if (!options->batch_spans_max || !options->batch_bytes_max)
        return STATUS_INVALID;
    struct encoder *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    if (options->format == BATCH_JSON)
        made->wire = options->has_metrics ? &wire_json_metrics : &wire_json;
    else
        made->wire = &wire_protobuf;
    made->options = *options;
    set_limits(made, options);
    enum status status = make_scope(made, options);
    if (status == STATUS_OK)
        status = make_resource(made, &nothing, &made->no_resource);
    if (status != STATUS_OK) {
        encoder_destroy(made);
        return status;
    }
    *encoder = made;
    return STATUS_OK;
}

void encoder_destroy(struct encoder *encoder)
{
    if (!encoder)
        return;
    for (size_t i = 0; i < RESOURCES_MAX; i++) {
        struct section *section = &encoder->sections[i];
        chunk_give_back(encoder->options.pool, section->first);
        part_free(&section->resource);
        part_free(&section->resource_next);
    }
    part_free(&encoder->scope);
    part_free(&encoder->no_resource);
    free(encoder);
}

/* The room before a section's head was sized for the resource that the section started with. */
static void adopt_resource(struct section *section)
{
    if (!section->resource_next.bytes || section->first)
        return;
    part_free(&section->resource);
    section->resource = section->resource_next;
    section->resource_next = (struct wire_part){0};
}

enum status encoder_set_resource(struct encoder *encoder, uint16_t index, const struct resource *resource)
{
    if (index >= RESOURCES_MAX)
        return STATUS_INVALID;
    enum status status = make_resource(encoder, resource, &encoder->sections[index].resource_next);
    adopt_resource(&encoder->sections[index]);
    return status;
}

size_t encoder_put_resource(const struct resource *resource, const char *schema_url, uint8_t *to, size_t room)
{
    uint8_t *end = wire_put_resource(&wire_protobuf, to, to + room, resource, schema_url, &resource_limits);
    return end ? (size_t)(end - to) : 0;
}

static const struct wire_part *resource_of(const struct encoder *encoder, const struct section *section)
{
    return section->resource.bytes ? &section->resource : &encoder->no_resource;
}

/* Room before the first span of a section: the batch's header and the head. */
static size_t head_room(const struct encoder *encoder, const struct section *section)
{
    return sizeof(struct batch) + WIRE_HEAD_BYTES_MAX + resource_of(encoder, section)->len +
           encoder->scope.len;
}

static void write_shared(const struct encoder *encoder, const struct span_shared *shared,
                         struct shared_bytes *to)
{
    uint8_t *end =
        encoder->wire->put_shared(to->bytes, to->bytes + SHARED_BYTES_MAX, shared, &encoder->limits);
    to->version = shared->version;
    to->len = end ? (uint32_t)(end - to->bytes) : 0;
}

/* The kept encoding of the span's shared part, in `part`; NULL: none, or the limits rule it out. */
static inline const struct wire_part *find_shared(struct encoder *encoder, const struct span *span,
                                                  const struct wire_limits *limits, struct wire_part *part)
{
    if (!span->shared || limits != &encoder->limits || span_attr_total(span) > limits->attrs_max)
        return NULL;
    struct shared_bytes *shared = &encoder->shared[span->shared->slot];
    if (__builtin_expect(shared->version != span->shared->version, 0))
        write_shared(encoder, span->shared, shared);
    *part = (struct wire_part){shared->bytes, shared->len};
    return shared->len ? part : NULL;
}

/* Encodes after the chunk's last byte; returns the number of bytes, or 0 if there is no room. */
static inline size_t write_span(struct encoder *encoder, struct chunk *chunk, const struct span *span,
                                const struct wire_limits *limits)
{
    struct wire_part part;
    uint8_t *at = chunk->data + chunk->end;
    uint8_t *limit = chunk->data + CHUNK_BYTES - WIRE_TAIL_BYTES_MAX;
    uint8_t *end =
        encoder->wire->put_span(at, limit, span, limits, find_shared(encoder, span, limits, &part));
    return end && INVARIANT(end <= limit) ? (size_t)(end - at) : 0;
}

static inline void commit_span(struct encoder *encoder, struct section *section, size_t bytes)
{
    section->last->end += (uint32_t)bytes;
    section->span_bytes += bytes;
    encoder->bytes += bytes;
    encoder->spans++;
}

/* A chunk for the section's first or next spans, not appended yet, and the bytes that it adds to the request
 * besides spans. NULL: none is free. */
static struct chunk *take_chunk(struct encoder *encoder, const struct section *section, size_t *head)
{
    struct chunk *chunk = chunk_take(encoder->options.pool);
    size_t room = section->first ? 0 : head_room(encoder, section);
    *head = section->first ? 0 : room - sizeof(struct batch) + WIRE_TAIL_BYTES_MAX;
    if (chunk)
        chunk->begin = chunk->end = (uint32_t)room;
    return chunk;
}

static void append_chunk(struct encoder *encoder, struct section *section, struct chunk *chunk, size_t head)
{
    if (section->first)
        section->last->next = chunk;
    else
        section->first = chunk;
    section->last = chunk;
    encoder->bytes += head;
    uint16_t index = (uint16_t)(section - encoder->sections);
    if (encoder->section_count <= index)
        encoder->section_count = (uint16_t)(index + 1);
}

/* The span needs another chunk: the section's first, or the next one. */
static enum status add_in_new_chunk(struct encoder *encoder, struct section *section, const struct span *span)
{
    bool has_room = !encoder->options.chunks_left_free ||
                    chunk_pool_free(encoder->options.pool) > encoder->options.chunks_left_free;
    size_t head;
    struct chunk *chunk = has_room ? take_chunk(encoder, section, &head) : NULL;
    if (!chunk)
        return STATUS_NO_MEMORY;
    size_t bytes = write_span(encoder, chunk, span, &encoder->limits);
    if (!bytes)
        bytes = write_span(encoder, chunk, span, &encoder->squeezed);
    if (!bytes || encoder->bytes + head + bytes > encoder->options.batch_bytes_max) {
        chunk_give_back(encoder->options.pool, chunk);
        return bytes && encoder->spans ? STATUS_FULL : STATUS_INVALID;
    }
    append_chunk(encoder, section, chunk, head);
    commit_span(encoder, section, bytes);
    return STATUS_OK;
}

enum status encoder_add(struct encoder *encoder, const struct span *span)
{
    if (__builtin_expect(span->resource >= RESOURCES_MAX, 0))
        return STATUS_INVALID;
    if (encoder->spans == encoder->options.batch_spans_max)
        return STATUS_FULL;
    struct section *section = &encoder->sections[span->resource];
    size_t bytes = section->last ? write_span(encoder, section->last, span, &encoder->limits) : 0;
    if (__builtin_expect(!bytes, 0))
        return add_in_new_chunk(encoder, section, span);
    if (encoder->bytes + bytes > encoder->options.batch_bytes_max)
        return STATUS_FULL;
    commit_span(encoder, section, bytes);
    return STATUS_OK;
}

static size_t write_metric(const struct encoder *encoder, struct chunk *chunk,
                           const struct metric_points *points)
{
    uint8_t *at = chunk->data + chunk->end, *limit = chunk->data + CHUNK_BYTES - WIRE_TAIL_BYTES_MAX;
    uint8_t *end = wire_put_metric(encoder->wire, at, limit, points);
    return end && INVARIANT(end <= limit) ? (size_t)(end - at) : 0;
}

/* FULL if half as many points may fit. */
static enum status add_metric(struct encoder *encoder, const struct metric_points *points)
{
    struct section *section = &encoder->sections[RESOURCE_PROCESS];
    struct chunk *fresh = NULL;
    size_t head = 0;
    if (encoder->spans + points->count > encoder->options.batch_spans_max)
        return STATUS_FULL;
    size_t bytes = section->last ? write_metric(encoder, section->last, points) : 0;
    if (!bytes) {
        fresh = take_chunk(encoder, section, &head);
        if (!fresh)
            return STATUS_NO_MEMORY;
        bytes = write_metric(encoder, fresh, points);
    }
    if (!bytes || encoder->bytes + head + bytes > encoder->options.batch_bytes_max) {
        chunk_give_back(encoder->options.pool, fresh);
        return bytes ? STATUS_FULL : STATUS_INVALID;
    }
    if (fresh)
        append_chunk(encoder, section, fresh, head);
    commit_span(encoder, section, bytes);
    encoder->spans += points->count - 1;
    return STATUS_OK;
}

enum status encoder_add_metrics(struct encoder *encoder, const struct metric_points *points, uint32_t *added)
{
    struct metric_points part = *points;
    *added = 0;
    while (*added < points->count) {
        part.points = points->points + *added;
        if (part.count > points->count - *added)
            part.count = points->count - *added;
        enum status status = add_metric(encoder, &part);
        if (status == STATUS_OK)
            *added += part.count;
        else if (status != STATUS_INVALID || part.count == 1)
            return status;
        else
            part.count = (part.count + 1) / 2; /* too many for a chunk */
    }
    return STATUS_OK;
}

uint32_t encoder_span_count(const struct encoder *encoder)
{
    return encoder->spans;
}

/* Writes the head, and the closing into the last chunk. */
static void close_section(const struct encoder *encoder, struct section *section, bool first, bool last)
{
    struct chunk *chunk = section->first;
    uint8_t *at = chunk->data + chunk->begin;
    uint8_t *head = encoder->wire->put_head(encoder->wire, at, resource_of(encoder, section), &encoder->scope,
                                            section->span_bytes, first);
    chunk->begin = (uint32_t)(head - chunk->data);
    section->last->end += (uint32_t)encoder->wire->put_tail(section->last->data + section->last->end, last);
}

static void reset_section(struct section *section)
{
    section->first = section->last = NULL;
    section->span_bytes = 0;
    adopt_resource(section);
}

/* Completes the sections and concatenates their chunks; NULL if none has spans. */
static struct chunk *join_sections(struct encoder *encoder)
{
    struct section *end = &encoder->sections[encoder->section_count];
    struct chunk *chunks = NULL, *tail = NULL;
    for (struct section *section = encoder->sections; section < end; section++) {
        if (!section->first)
            continue;
        close_section(encoder, section, tail == NULL, section + 1 == end);
        if (tail)
            tail->next = section->first;
        else
            chunks = section->first;
        tail = section->last;
        reset_section(section);
    }
    encoder->section_count = 0;
    return chunks;
}

static uint64_t chunks_bytes(const struct chunk *chunk)
{
    uint64_t bytes = 0;
    do
        bytes += chunk->end - chunk->begin;
    while ((chunk = chunk->next));
    return bytes;
}

/* The header is in the first chunk, before the bytes that are sent. */
static struct batch *make_batch(const struct encoder *encoder, struct chunk *chunks)
{
    struct batch *batch = (struct batch *)(void *)chunks->data;
    *batch = (struct batch){
        .pool = encoder->options.pool,
        .chunks = chunks,
        .bytes = chunks_bytes(chunks),
        .spans = encoder->spans,
        .format = (uint8_t)encoder->options.format,
    };
    return batch;
}

struct batch *encoder_seal(struct encoder *encoder)
{
    struct chunk *chunks = join_sections(encoder);
    if (!chunks)
        return NULL;
    struct batch *batch = make_batch(encoder, chunks);
    counter_add(COUNTER_bytes_encoded, batch->bytes);
    encoder->spans = 0;
    encoder->bytes = 0;
    return batch;
}
