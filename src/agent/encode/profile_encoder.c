#include "agent/encode/profile_encoder.h"

#include "base/accounting/counters.h"
#include "agent/encode/encoder.h"
#include "agent/encode/protobuf.h"

#include <stdlib.h>

#define TEXT_BYTES_MAX  4096 /* longer strings are cut */
#define SCOPE_BYTES_MAX 512

/* Tags: number << 3 | type. */
enum {
    REQUEST_RESOURCE_PROFILES = 0x0a,
    REQUEST_DICTIONARY = 0x12,
    RESOURCE_PROFILES_SCOPE_PROFILES = 0x12,
    SCOPE_PROFILES_PROFILE = 0x12,
    DICTIONARY_MAPPING = 0x0a,
    DICTIONARY_LOCATION = 0x12,
    DICTIONARY_FUNCTION = 0x1a,
    DICTIONARY_LINK = 0x22,
    DICTIONARY_STRING = 0x2a,
    DICTIONARY_ATTRIBUTE = 0x32,
    DICTIONARY_STACK = 0x3a,
    PROFILE_SAMPLE_TYPE = 0x0a,
    PROFILE_SAMPLE = 0x12,
    PROFILE_TIME = 0x19,
    PROFILE_DURATION = 0x20,
    PROFILE_PERIOD_TYPE = 0x2a,
    PROFILE_PERIOD = 0x30,
    VALUE_TYPE_TYPE = 0x08,
    VALUE_TYPE_UNIT = 0x10,
    SAMPLE_STACK = 0x08,
    SAMPLE_LINK = 0x18,
    SAMPLE_VALUES = 0x22,
    MAPPING_FILE = 0x20,
    STACK_LOCATIONS = 0x0a,
    LOCATION_MAPPING = 0x08,
    LOCATION_LINE = 0x1a,
    LOCATION_ATTRIBUTES = 0x22,
    LINE_FUNCTION = 0x08,
    LINE_LINE = 0x10,
    FUNCTION_NAME = 0x08,
    FUNCTION_FILE = 0x18,
    LINK_TRACE_ID = 0x0a,
    LINK_SPAN_ID = 0x12,
    ATTRIBUTE_KEY = 0x08,
    ATTRIBUTE_VALUE = 0x12
};

/* Strings behind those of the profile, in this order. */
enum own_string { TEXT_FRAME_TYPE, TEXT_NANOSECONDS, TEXT_TYPES, TEXT_COUNT = TEXT_TYPES + PROFILE_KINDS };
static const char *const own_strings[TEXT_COUNT] = {[TEXT_FRAME_TYPE] = "profile.frame.type",
                                                    [TEXT_NANOSECONDS] = "nanoseconds",
                                                    [TEXT_TYPES + PROFILE_KERNELS] = "gpu_kernel_time",
                                                    [TEXT_TYPES + PROFILE_COPIES] = "gpu_copy_time"};

/* By enum profile_frame_type: profile.frame.type, whose index in the table of attributes is the same. */
static const char *const frame_types[] = {
    [PROFILE_FRAME_PYTHON] = "cpython", [PROFILE_FRAME_NATIVE] = "native", [PROFILE_FRAME_CUDA] = "cuda"};

/* Field numbers of resource, scope and their schema URLs are those of spans. */
struct profile_encoder {
    struct chunk_pool *pool;
    size_t resource_bytes, scope_bytes;
    uint8_t resource[ENCODER_RESOURCE_BYTES_MAX];
    uint8_t scope[SCOPE_BYTES_MAX];
};

/* Writes into chunks; `pool` NULL: only counts. */
struct writer {
    struct chunk_pool *pool;
    struct chunk *first, *last;
    uint64_t bytes;
    bool has_failed; /* no chunk was free */
};

static void take_chunk(struct writer *w)
{
    struct chunk *chunk = chunk_take(w->pool);
    w->has_failed |= !chunk;
    if (!chunk)
        return;
    if (w->last)
        w->last->next = chunk;
    else
        w->first = chunk;
    w->last = chunk;
}

static void put_bytes(struct writer *w, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    w->bytes += count;
    while (w->pool && count && !w->has_failed) {
        size_t room = CHUNK_BYTES - w->last->end;
        size_t part = count < room ? count : room;
        memcpy(w->last->data + w->last->end, from, part);
        w->last->end += (uint32_t)part;
        from += part;
        count -= part;
        if (count)
            take_chunk(w);
    }
}

static void put_varint(struct writer *w, uint64_t value)
{
    uint8_t bytes[PROTOBUF_VARINT_MAX];
    put_bytes(w, bytes, (size_t)(protobuf_put_varint(bytes, value) - bytes));
}

/* Zero is left out, as in proto3. */
static void put_number(struct writer *w, uint8_t tag, uint64_t value)
{
    if (!value)
        return;
    put_bytes(w, &tag, 1);
    put_varint(w, value);
}

static void put_field(struct writer *w, uint8_t tag, const void *bytes, size_t count)
{
    put_bytes(w, &tag, 1);
    put_varint(w, count);
    put_bytes(w, bytes, count);
}

static void put_text(struct writer *w, uint8_t tag, const char *text, size_t bytes)
{
    uint8_t valid[TEXT_BYTES_MAX];
    put_field(w, tag, valid, utf8_repair(valid, text, bytes, UTF8_NO_LIMIT, sizeof valid));
}

/* Input of the functions that write the bodies of messages. */
struct source {
    const struct profile_encoder *encoder;
    const struct profile *profile;
    enum profile_kind kind;
};

typedef void body_fn(struct writer *w, const struct source *from, uint32_t index);

static void put_message(struct writer *w, uint8_t tag, body_fn *body, const struct source *from,
                        uint32_t index)
{
    struct writer counted = {.pool = NULL};
    body(&counted, from, index);
    put_bytes(w, &tag, 1);
    put_varint(w, counted.bytes);
    if (w->pool)
        body(w, from, index);
    else
        w->bytes += counted.bytes;
}

/* An index among `own_strings`. */
static uint32_t own(const struct source *from, enum own_string string)
{
    return from->profile->string_count + string;
}

/* The dictionary. */

static void put_mapping(struct writer *w, const struct source *from, uint32_t index)
{
    put_number(w, MAPPING_FILE, from->profile->mappings[index].file);
}

static void put_function(struct writer *w, const struct source *from, uint32_t index)
{
    put_number(w, FUNCTION_NAME, from->profile->functions[index].name);
    put_number(w, FUNCTION_FILE, from->profile->functions[index].file);
}

static void put_line(struct writer *w, const struct source *from, uint32_t index)
{
    put_number(w, LINE_FUNCTION, from->profile->locations[index].function);
    put_number(w, LINE_LINE, from->profile->locations[index].line);
}

static void put_location(struct writer *w, const struct source *from, uint32_t index)
{
    const struct profile_location *location = &from->profile->locations[index];
    if (!location->function) /* entry 0 */
        return;
    put_number(w, LOCATION_MAPPING, location->mapping);
    put_message(w, LOCATION_LINE, put_line, from, index);
    uint8_t attribute = (uint8_t)location->type;
    put_field(w, LOCATION_ATTRIBUTES, &attribute, 1);
}

static void put_link(struct writer *w, const struct source *from, uint32_t index)
{
    if (!index)
        return;
    put_field(w, LINK_TRACE_ID, from->profile->links[index].trace_id, 16);
    put_field(w, LINK_SPAN_ID, from->profile->links[index].span_id, 8);
}

static void put_attribute(struct writer *w, const struct source *from, uint32_t index)
{
    uint8_t value[32];
    if (!index)
        return;
    size_t bytes = strlen(frame_types[index]);
    put_number(w, ATTRIBUTE_KEY, own(from, TEXT_FRAME_TYPE));
    value[0] = VALUE_STRING;
    value[1] = (uint8_t)bytes;
    memcpy(value + 2, frame_types[index], bytes);
    put_field(w, ATTRIBUTE_VALUE, value, bytes + 2);
}

/* The leaf comes first. */
static void put_stack_locations(struct writer *w, const struct source *from, uint32_t index)
{
    const struct profile_node *nodes = from->profile->nodes;
    for (uint32_t node = from->profile->stacks[index].node; node; node = nodes[node].caller)
        put_varint(w, nodes[node].location);
}

static void put_stack(struct writer *w, const struct source *from, uint32_t index)
{
    if (index)
        put_message(w, STACK_LOCATIONS, put_stack_locations, from, index);
}

static void put_table(struct writer *w, uint8_t tag, body_fn *body, const struct source *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put_message(w, tag, body, from, i);
}

static void put_dictionary(struct writer *w, const struct source *from, uint32_t unused)
{
    const struct profile *profile = from->profile;
    put_table(w, DICTIONARY_MAPPING, put_mapping, from, profile->mapping_count);
    put_table(w, DICTIONARY_LOCATION, put_location, from, profile->location_count);
    put_table(w, DICTIONARY_FUNCTION, put_function, from, profile->function_count);
    put_table(w, DICTIONARY_LINK, put_link, from, profile->link_count);
    for (uint32_t i = 0; i < profile->string_count; i++)
        put_text(w, DICTIONARY_STRING, profile->strings[i].text, profile->strings[i].bytes);
    for (uint32_t i = 0; i < TEXT_COUNT; i++)
        put_text(w, DICTIONARY_STRING, own_strings[i], strlen(own_strings[i]));
    put_table(w, DICTIONARY_ATTRIBUTE, put_attribute, from, sizeof frame_types / sizeof *frame_types);
    put_table(w, DICTIONARY_STACK, put_stack, from, profile->stack_count);
}

/* The profiles. */

static void put_value_type(struct writer *w, const struct source *from, uint32_t unused)
{
    put_number(w, VALUE_TYPE_TYPE, own(from, TEXT_TYPES + (enum own_string)from->kind));
    put_number(w, VALUE_TYPE_UNIT, own(from, TEXT_NANOSECONDS));
}

static void put_value(struct writer *w, const struct source *from, uint32_t index)
{
    put_varint(w, from->profile->values[index]);
}

static void put_sample(struct writer *w, const struct source *from, uint32_t index)
{
    put_number(w, SAMPLE_STACK, from->profile->samples[index].stack);
    put_number(w, SAMPLE_LINK, from->profile->samples[index].link);
    put_message(w, SAMPLE_VALUES, put_value, from, index);
}

static void put_time(struct writer *w, uint8_t tag, uint64_t ns)
{
    uint8_t bytes[9];
    protobuf_put_fixed64(bytes, tag, ns);
    put_bytes(w, bytes, sizeof bytes);
}

/* Each work is in it, so the period is 1 ns. */
static void put_profile(struct writer *w, const struct source *from, uint32_t unused)
{
    const struct profile *profile = from->profile;
    put_message(w, PROFILE_SAMPLE_TYPE, put_value_type, from, 0);
    for (uint32_t i = 1; i < profile->sample_count; i++)
        if (profile->values[i] && profile->samples[i].kind == (uint32_t)from->kind)
            put_message(w, PROFILE_SAMPLE, put_sample, from, i);
    put_time(w, PROFILE_TIME, profile->begin_ns);
    put_number(w, PROFILE_DURATION,
               profile->end_ns > profile->begin_ns ? profile->end_ns - profile->begin_ns : 0);
    put_message(w, PROFILE_PERIOD_TYPE, put_value_type, from, 0);
    put_number(w, PROFILE_PERIOD, 1);
}

static void put_scope_profiles(struct writer *w, const struct source *from, uint32_t unused)
{
    struct source of_kind = *from;
    put_bytes(w, from->encoder->scope, from->encoder->scope_bytes);
    for (of_kind.kind = 0; of_kind.kind < PROFILE_KINDS; of_kind.kind++)
        if (from->profile->samples_of[of_kind.kind])
            put_message(w, SCOPE_PROFILES_PROFILE, put_profile, &of_kind, 0);
}

static void put_resource_profiles(struct writer *w, const struct source *from, uint32_t unused)
{
    put_bytes(w, from->encoder->resource, from->encoder->resource_bytes);
    put_message(w, RESOURCE_PROFILES_SCOPE_PROFILES, put_scope_profiles, from, 0);
}

/* The encoder. */

enum status profile_encoder_create(struct chunk_pool *pool, const char *scope_name, const char *scope_version,
                                   struct profile_encoder **encoder)
{
    struct profile_encoder *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->pool = pool;
    const uint8_t *end = wire_put_scope(&wire_protobuf, made->scope, made->scope + sizeof made->scope,
                                        scope_name, scope_version, ENCODER_SCHEMA_URL);
    made->scope_bytes = end ? (size_t)(end - made->scope) : 0;
    *encoder = made;
    return STATUS_OK;
}

void profile_encoder_destroy(struct profile_encoder *encoder)
{
    free(encoder);
}

void profile_encoder_set_resource(struct profile_encoder *encoder, const struct resource *resource)
{
    const char *url = resource->schema_url ? resource->schema_url : ENCODER_SCHEMA_URL;
    encoder->resource_bytes =
        encoder_put_resource(resource, url, encoder->resource, sizeof encoder->resource);
}

struct batch *profile_encoder_make(struct profile_encoder *encoder, const struct profile *profile)
{
    struct source from = {.encoder = encoder, .profile = profile};
    struct writer w = {.pool = encoder->pool};
    take_chunk(&w);
    if (!w.first)
        return NULL;
    w.first->begin = w.first->end = sizeof(struct batch);
    put_message(&w, REQUEST_RESOURCE_PROFILES, put_resource_profiles, &from, 0);
    put_message(&w, REQUEST_DICTIONARY, put_dictionary, &from, 0);
    if (w.has_failed) {
        chunk_give_back(encoder->pool, w.first);
        return NULL;
    }
    uint32_t samples = 0;
    for (enum profile_kind kind = 0; kind < PROFILE_KINDS; kind++)
        samples += profile->samples_of[kind];
    struct batch *batch = (struct batch *)(void *)w.first->data;
    *batch = (struct batch){.pool = encoder->pool,
                            .chunks = w.first,
                            .bytes = w.bytes,
                            .spans = samples,
                            .format = BATCH_PROTOBUF};
    counter_add(COUNTER_bytes_encoded, batch->bytes);
    return batch;
}
