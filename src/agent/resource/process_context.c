#include "agent/resource/process_context.h"

#include "base/files.h"
#include "base/process/self_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_BYTES_MAX (64 * 1024)
#define TRIES_MAX         3 /* retries while the publisher writes */
#define TEXT_BYTES_MAX    4096
#define ATTRS_KEPT_FREE   40 /* reserved for attributes that the agent detects */

/* Decoding of the protobuf messages. */

struct field {
    uint32_t number, type; /* wire types: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes */
    uint64_t number_value;
    const uint8_t *bytes;
    size_t length;
};

struct message {
    const uint8_t *at, *end;
    bool is_broken;
};

static uint64_t take_varint(struct message *message)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (message->at == message->end)
            break;
        uint8_t byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    message->is_broken = true;
    return 0;
}

static const uint8_t *take_bytes(struct message *message, uint64_t length)
{
    const uint8_t *bytes = message->at;
    if (length > (uint64_t)(message->end - message->at)) {
        message->is_broken = true;
        return NULL;
    }
    message->at += length;
    return bytes;
}

static bool next_field(struct message *message, struct field *field)
{
    if (message->is_broken || message->at == message->end)
        return false;
    uint64_t tag = take_varint(message);
    *field = (struct field){.number = (uint32_t)(tag >> 3), .type = tag & 7};
    if (field->type == 0)
        field->number_value = take_varint(message);
    else if (field->type == 2)
        field->length = take_varint(message);
    else if (field->type == 1 || field->type == 5)
        field->length = field->type == 1 ? 8 : 4;
    else
        message->is_broken = true;
    if (field->type != 0)
        field->bytes = take_bytes(message, field->length);
    if (field->type == 1 && field->bytes)
        memcpy(&field->number_value, field->bytes, 8);
    return !message->is_broken && tag >> 3 > 0 && tag >> 3 <= UINT32_MAX;
}

static struct message message_in(const struct field *field)
{
    const uint8_t *end = field->bytes ? field->bytes + field->length : NULL;
    return (struct message){field->bytes, end, field->type != 2};
}

static enum status end_of(const struct message *message)
{
    return message->is_broken || message->at != message->end ? STATUS_INVALID : STATUS_OK;
}

/* Copies and terminates the text, truncated to the size. */
static void copy_text(const struct field *field, char text[TEXT_BYTES_MAX])
{
    size_t length = field->length < TEXT_BYTES_MAX ? field->length : TEXT_BYTES_MAX - 1;
    if (length > 0)
        memcpy(text, field->bytes, length);
    text[length] = 0;
}

/* Only strings, booleans and numbers of AnyValue; lists and maps are omitted. */
static enum status set_value(struct resource *resource, const char *key, struct message value)
{
    char text[TEXT_BYTES_MAX];
    struct field field;
    double real;
    if (!next_field(&value, &field))
        return end_of(&value);
    switch (field.number << 3 | field.type) {
    case 1 << 3 | 2:
        copy_text(&field, text);
        return resource_set_string(resource, key, text);
    case 2 << 3 | 0:
        return resource_set_bool(resource, key, field.number_value != 0);
    case 3 << 3 | 0:
        return resource_set_int(resource, key, (int64_t)field.number_value);
    case 4 << 3 | 1:
        memcpy(&real, &field.number_value, sizeof real);
        return resource_set_double(resource, key, real);
    default:
        return STATUS_OK;
    }
}

static enum status add_attribute(struct resource *resource, struct message pair)
{
    char key[TEXT_BYTES_MAX] = "";
    struct message value = {NULL, NULL, false};
    struct field field;
    while (next_field(&pair, &field)) {
        if (field.number == 1 && field.type == 2)
            copy_text(&field, key);
        else if (field.number == 2)
            value = message_in(&field);
    }
    bool is_wanted = *key && strncmp(key, "telemetry.", strlen("telemetry.")) != 0 &&
                     !resource_find(resource, key) &&
                     resource->attr_count < RESOURCE_ATTRS_MAX - ATTRS_KEPT_FREE;
    if (end_of(&pair) != STATUS_OK || !is_wanted)
        return end_of(&pair);
    return set_value(resource, key, value);
}

static enum status add_attributes(struct resource *resource, struct message from)
{
    struct field field;
    while (next_field(&from, &field)) {
        enum status status = field.number == 1 ? add_attribute(resource, message_in(&field)) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return end_of(&from);
}

enum status process_context_decode(const uint8_t *payload, size_t bytes, struct resource *resource)
{
    struct message context = {payload, payload + bytes, false};
    struct field field;
    while (next_field(&context, &field)) {
        enum status status = field.number == 1 ? add_attributes(resource, message_in(&field)) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return end_of(&context);
}

/* Finding the mapping. */

static bool is_named(const char *line)
{
    static const char *const names[] = {" [anon_shmem:" PROCESS_CONTEXT_NAME "]",
                                        " [anon:" PROCESS_CONTEXT_NAME "]", " /memfd:" PROCESS_CONTEXT_NAME};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(line, names[i]))
            return true;
    return false;
}

static bool read_header(uint64_t address, struct process_context_header *header)
{
    return self_memory_read(address, header, sizeof *header) &&
           memcmp(header->signature, PROCESS_CONTEXT_NAME, sizeof header->signature) == 0 &&
           header->version == PROCESS_CONTEXT_VERSION;
}

static bool is_same(const struct process_context_header *a, const struct process_context_header *b)
{
    return a->published_ns == b->published_ns && a->payload == b->payload &&
           a->payload_bytes == b->payload_bytes;
}

/* The payload that the header refers to, or NULL while it is being changed. The caller frees it. */
static uint8_t *read_payload(uint64_t address, struct process_context_header *before)
{
    struct process_context_header after;
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        if (!read_header(address, before) || before->payload_bytes > PAYLOAD_BYTES_MAX ||
            !before->payload_bytes)
            return NULL;
        uint8_t *payload = before->published_ns ? malloc(before->payload_bytes) : NULL;
        if (payload && self_memory_read(before->payload, payload, before->payload_bytes) &&
            read_header(address, &after) && is_same(before, &after))
            return payload;
        free(payload);
    }
    return NULL;
}

/* About 1 us per mapping of the process (10,000 took 8 to 15 ms). A mapping with the name but no header is
 * incomplete, or not a context. */
void process_context_find(struct process_context *context, void (*meanwhile)(void))
{
    char line[TEXT_BYTES_MAX];
    struct process_context_header header;
    unsigned lines = 0;
    FILE *maps = context->address ? NULL : files_open_stream("/proc/self/maps");
    while (maps && !context->address && fgets(line, sizeof line, maps)) {
        if (meanwhile && ++lines % PROCESS_CONTEXT_LINES == 0)
            meanwhile();
        if (!is_named(line))
            continue;
        uint64_t address = strtoull(line, NULL, 16);
        if (address != context->own_address && read_header(address, &header))
            context->address = address;
    }
    if (maps)
        fclose(maps);
}

bool process_context_read(struct process_context *context, struct resource *resource)
{
    static const char threads[] = "threadlocal.schema_version";
    struct process_context_header header;
    if (!context->address || !read_header(context->address, &header)) {
        context->address = context->published_ns = 0;
        return false;
    }
    if (header.published_ns == context->published_ns)
        return false;
    uint8_t *payload = read_payload(context->address, &header);
    if (!payload)
        return false;
    context->published_ns = header.published_ns;
    context->names_threads = memmem(payload, header.payload_bytes, threads, strlen(threads)) != NULL;
    bool is_read = process_context_decode(payload, header.payload_bytes, resource) == STATUS_OK;
    free(payload);
    if (!is_read)
        resource_deinit(resource);
    return is_read;
}
