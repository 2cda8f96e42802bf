/* Turns the records of simulate.py on standard input into OTLP protobuf as the Collector's file exporter
 * writes it: a message for each step of a rank. For jobs that are too large for Python. */
#include "ranks_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    uint8_t *data;
    size_t count, capacity;
};

struct span_writer {
    struct bytes spans, resource, message, part, value;
    uint64_t next_id, step_id, ordinal;
    struct record step; /* that the spans belong to */
};

static void put(struct bytes *bytes, const void *data, size_t count)
{
    if (bytes->count + count > bytes->capacity) {
        bytes->capacity = 2 * (bytes->count + count) + 4096;
        bytes->data = realloc(bytes->data, bytes->capacity);
        if (!bytes->data)
            abort();
    }
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

static void put_varint(struct bytes *bytes, uint64_t value)
{
    uint8_t out[10];
    size_t count = 0;
    do {
        out[count++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    put(bytes, out, count);
}

static void put_field(struct bytes *bytes, unsigned field, const void *data, size_t count)
{
    put_varint(bytes, field << 3 | 2);
    put_varint(bytes, count);
    put(bytes, data, count);
}

static void put_fixed(struct bytes *bytes, unsigned field, uint64_t value)
{
    put_varint(bytes, field << 3 | 1);
    put(bytes, &value, sizeof value);
}

/* A KeyValue; text NULL: the number. */
static void put_attribute(struct span_writer *writer, struct bytes *to, unsigned field, const char *key,
                          const char *text, uint64_t number)
{
    writer->value.count = writer->part.count = 0;
    if (text) {
        put_field(&writer->value, 1, text, strlen(text));
    } else {
        put_varint(&writer->value, 3 << 3);
        put_varint(&writer->value, number);
    }
    put_field(&writer->part, 1, key, strlen(key));
    put_field(&writer->part, 2, writer->value.data, writer->value.count);
    put_field(to, field, writer->part.data, writer->part.count);
}

static void put_span(struct span_writer *writer, const struct record *record, struct bytes *attributes,
                     const char *name, uint64_t id, uint64_t end_ns)
{
    static struct bytes span;
    uint64_t trace[2] = {0x0123456789abcdef, record->step};
    span.count = 0;
    put_field(&span, 1, trace, sizeof trace);
    put_field(&span, 2, &id, sizeof id);
    if (record->type != RECORD_STEP)
        put_field(&span, 4, &writer->step_id, sizeof writer->step_id);
    put_field(&span, 5, name, strlen(name));
    put_varint(&span, 6 << 3);
    put_varint(&span, 1);
    put_fixed(&span, 7, record->start_ns);
    put_fixed(&span, 8, end_ns);
    put(&span, attributes->data, attributes->count);
    put_field(&writer->spans, 2, span.data, span.count);
}

static void write_message(struct span_writer *writer)
{
    static struct bytes scope;
    char host[32];
    if (!writer->spans.count)
        return;
    writer->resource.count = writer->message.count = scope.count = 0;
    snprintf(host, sizeof host, "node-%u", writer->step.rank / 8);
    put_attribute(writer, &writer->resource, 1, "host.name", host, 0);
    put_attribute(writer, &writer->resource, 1, "service.name", "trainer", 0);
    put_attribute(writer, &writer->resource, 1, "process.pid", NULL, 1000 + writer->step.rank);
    put_attribute(writer, &writer->resource, 1, "cuda.process.rank", NULL, writer->step.rank);
    put_field(&scope, 1, writer->resource.data, writer->resource.count);
    put_field(&scope, 2, writer->spans.data, writer->spans.count);
    put_field(&writer->message, 1, scope.data, scope.count);
    uint8_t length[4];
    for (int i = 0; i < 4; i++)
        length[i] = (uint8_t)(writer->message.count >> (24 - 8 * i));
    if (fwrite(length, 1, 4, stdout) != 4 ||
        fwrite(writer->message.data, 1, writer->message.count, stdout) != writer->message.count) {
        perror("records_to_otlp: standard output");
        exit(1);
    }
    writer->spans.count = 0;
}

static void put_step(struct span_writer *writer, const struct record *record, struct bytes *attributes)
{
    char name[32];
    write_message(writer);
    writer->step = *record;
    writer->step_id = ++writer->next_id;
    writer->ordinal = 0;
    snprintf(name, sizeof name, "rank %u", record->rank);
    put_attribute(writer, attributes, 9, "training.step.number", NULL, record->step);
    put_attribute(writer, attributes, 9, "training.step.kind", "train", 0);
    put_attribute(writer, attributes, 9, "training.step.source", "nvtx", 0);
    put_attribute(writer, attributes, 9, "cuda.session.end_reason", "step", 0);
    if (record->key)
        put_attribute(writer, attributes, 9, "training.step.gpu_backlog", NULL, record->key - 1);
    put_span(writer, record, attributes, name, writer->step_id, record->end_ns);
}

static void put_collective(struct span_writer *writer, const struct record *record, struct bytes *attributes)
{
    char text[32];
    put_attribute(writer, attributes, 9, "cuda.activity", "collective", 0);
    put_attribute(writer, attributes, 9, "collective.operation", "all_reduce", 0);
    put_attribute(writer, attributes, 9, "collective.source", "nvtx", 0);
    put_attribute(writer, attributes, 9, "collective.ordinal", NULL, writer->ordinal++);
    put_attribute(writer, attributes, 9, "collective.ranks", NULL, record->participants);
    put_attribute(writer, attributes, 9, "collective.bytes", NULL, record->bytes);
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)record->communicator);
    put_attribute(writer, attributes, 9, "collective.communicator", text, 0);
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)record->key);
    put_attribute(writer, attributes, 9, "collective.key", text, 0);
    put_span(writer, record, attributes, "AllReduce", ++writer->next_id, record->end_ns);
}

static void take(struct span_writer *writer, const struct record *record)
{
    static struct bytes attributes;
    attributes.count = 0;
    switch (record->type) {
    case RECORD_STEP:
        put_step(writer, record, &attributes);
        break;
    case RECORD_CALL:
        put_attribute(writer, &attributes, 9, "cuda.api", "runtime", 0);
        put_span(writer, record, &attributes, "cudaLaunchKernel", ++writer->next_id, record->start_ns + 5000);
        break;
    case RECORD_WORK:
        put_attribute(writer, &attributes, 9, "cuda.activity", "kernel", 0);
        put_attribute(writer, &attributes, 9, "cuda.stream.id", NULL, 7);
        put_span(writer, record, &attributes, "compute", ++writer->next_id, record->end_ns);
        break;
    case RECORD_COLLECTIVE:
        put_collective(writer, record, &attributes);
        break;
    default: /* ranks have no span */
        break;
    }
}

int main(void)
{
    static struct record records[4096];
    static struct span_writer writer;
    for (size_t count; (count = fread(records, sizeof *records, 4096, stdin)) > 0;)
        for (size_t i = 0; i < count; i++)
            take(&writer, &records[i]);
    write_message(&writer);
    return 0;
}
