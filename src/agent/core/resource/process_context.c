#include "agent/core/resource/process_context.h"

#include "base/files.h"
#include "base/process/self_memory.h"
#include "base/text/protobuf_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_BYTES_MAX (64 * 1024)
#define TRIES_MAX         3 /* retries while the publisher writes */
#define TEXT_BYTES_MAX    4096
#define ATTRS_KEPT_FREE   40 /* reserved for attributes that the agent detects */

/* Decoding of the protobuf messages. */

static enum status end_of(const struct protobuf_reader *message)
{
    return message->is_bad ? STATUS_INVALID : STATUS_OK;
}

/* Copies and terminates the text, truncated to the size. */
static void copy_text(const struct protobuf_field *field, char text[TEXT_BYTES_MAX])
{
    size_t length = field->length < TEXT_BYTES_MAX ? field->length : TEXT_BYTES_MAX - 1;
    if (length > 0)
        memcpy(text, field->bytes, length);
    text[length] = 0;
}

/* Only strings, booleans and numbers of AnyValue; lists and maps are omitted. */
static enum status set_value(struct resource *resource, const char *key, struct protobuf_reader value)
{
    char text[TEXT_BYTES_MAX];
    struct protobuf_field field;
    double real;
    if (!protobuf_next(&value, &field))
        return end_of(&value);
    switch (field.number << 3 | field.wire) {
    case 1 << 3 | PROTOBUF_BYTES:
        copy_text(&field, text);
        return resource_set_string(resource, key, text);
    case 2 << 3 | PROTOBUF_VARINT:
        return resource_set_bool(resource, key, field.value != 0);
    case 3 << 3 | PROTOBUF_VARINT:
        return resource_set_int(resource, key, (int64_t)field.value);
    case 4 << 3 | PROTOBUF_FIXED64:
        memcpy(&real, &field.value, sizeof real);
        return resource_set_double(resource, key, real);
    default:
        return STATUS_OK;
    }
}

static enum status add_attribute(struct resource *resource, struct protobuf_reader pair)
{
    char key[TEXT_BYTES_MAX] = "";
    struct protobuf_reader value = protobuf_reader_of(NULL, 0);
    struct protobuf_field field;
    while (protobuf_next(&pair, &field)) {
        if (protobuf_is(&field, 1, PROTOBUF_BYTES))
            copy_text(&field, key);
        else if (field.number == 2)
            value = protobuf_message(&field);
    }
    bool is_wanted = *key && strncmp(key, "telemetry.", strlen("telemetry.")) != 0 &&
                     !resource_find(resource, key) &&
                     resource->attr_count < RESOURCE_ATTRS_MAX - ATTRS_KEPT_FREE;
    if (end_of(&pair) != STATUS_OK || !is_wanted)
        return end_of(&pair);
    return set_value(resource, key, value);
}

static enum status add_attributes(struct resource *resource, struct protobuf_reader from)
{
    struct protobuf_field field;
    while (protobuf_next(&from, &field)) {
        enum status status =
            field.number == 1 ? add_attribute(resource, protobuf_message(&field)) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return end_of(&from);
}

enum status process_context_decode(const uint8_t *payload, size_t bytes, struct resource *resource)
{
    struct protobuf_reader context = protobuf_reader_of(payload, bytes);
    struct protobuf_field field;
    while (protobuf_next(&context, &field)) {
        enum status status =
            field.number == 1 ? add_attributes(resource, protobuf_message(&field)) : STATUS_OK;
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
            read_header(address, &after) && after.published_ns == before->published_ns &&
            after.payload == before->payload && after.payload_bytes == before->payload_bytes)
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
