#include "export/otlp/otlp_response.h"

#include "base/clock.h"
#include "base/limits.h"

#include <string.h>

/* Limits the server's delay, and keeps the sum of seconds and nanoseconds within 64 bits. */
#define RETRY_DELAY_SECONDS_MAX 86400

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool is_cut; /* truncated: nested messages may extend past the end */
    bool failed;
};

struct field {
    uint32_t number;
    uint32_t wire_type;
    uint64_t value;       /* varint, fixed64, fixed32 */
    struct reader nested; /* length-delimited */
};

static uint64_t read_varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->end)
            break;
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    reader->failed = true;
    return 0;
}

static uint64_t read_fixed(struct reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += bytes;
    return value;
}

static struct reader read_nested(struct reader *reader)
{
    uint64_t bytes = read_varint(reader);
    if (reader->is_cut && bytes > (uint64_t)(reader->end - reader->at))
        bytes = (uint64_t)(reader->end - reader->at);
    if (reader->failed || bytes > (uint64_t)(reader->end - reader->at)) {
        reader->failed = true;
        return (struct reader){.at = reader->end, .end = reader->end};
    }
    struct reader nested = {.at = reader->at, .end = reader->at + bytes, .is_cut = reader->is_cut};
    reader->at += bytes;
    return nested;
}

static bool next_field(struct reader *reader, struct field *field)
{
    if (reader->failed || reader->at == reader->end)
        return false;
    uint64_t tag = read_varint(reader);
    *field = (struct field){.number = (uint32_t)(tag >> 3), .wire_type = tag & 7};
    switch (field->wire_type) {
    case 0:
        field->value = read_varint(reader);
        break;
    case 1:
        field->value = read_fixed(reader, 8);
        break;
    case 2:
        field->nested = read_nested(reader);
        break;
    case 5:
        field->value = read_fixed(reader, 4);
        break;
    default: /* OTLP has no groups */
        reader->failed = true;
    }
    if (field->number == 0)
        reader->failed = true;
    return !reader->failed;
}

static bool is(const struct field *field, uint32_t number, uint32_t wire_type)
{
    return field->number == number && field->wire_type == wire_type;
}

static void copy_message(struct otlp_response *response, const struct reader *text)
{
    size_t bytes = (size_t)(text->end - text->at);
    if (bytes > sizeof response->message - 1)
        bytes = sizeof response->message - 1;
    memcpy(response->message, text->at, bytes);
    response->message[bytes] = '\0';
}

/* `bytes` is NULL for an empty body. */
static struct reader read_all(const uint8_t *bytes, size_t count)
{
    return (struct reader){
        .at = bytes, .end = count ? bytes + count : bytes, .is_cut = count >= RESPONSE_BYTES_KEPT};
}

bool otlp_response_read_export(const uint8_t *bytes, size_t count, struct otlp_response *response)
{
    struct reader reader = read_all(bytes, count);
    struct field field;
    while (next_field(&reader, &field)) {
        if (!is(&field, 1, 2))
            continue;
        struct field part;
        while (next_field(&field.nested, &part)) {
            if (is(&part, 1, 0) && (int64_t)part.value > 0)
                response->rejected_spans = part.value;
            else if (is(&part, 2, 2))
                copy_message(response, &part.nested);
        }
        reader.failed |= field.nested.failed;
    }
    return !reader.failed;
}

/* google.protobuf.Duration */
static bool read_duration(struct reader *reader, uint64_t *duration_ns)
{
    int64_t seconds = 0;
    int64_t nanos = 0;
    struct field field;
    while (next_field(reader, &field)) {
        if (is(&field, 1, 0))
            seconds = (int64_t)field.value;
        else if (is(&field, 2, 0))
            nanos = (int64_t)field.value;
    }
    if (seconds < 0 || nanos < 0 || nanos >= (int64_t)NS_PER_SECOND)
        seconds = nanos = 0;
    if (seconds > RETRY_DELAY_SECONDS_MAX)
        seconds = RETRY_DELAY_SECONDS_MAX;
    *duration_ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)nanos;
    return !reader->failed;
}

static bool text_is(const struct reader *text, const char *expected)
{
    size_t bytes = strlen(expected);
    return (size_t)(text->end - text->at) == bytes && memcmp(text->at, expected, bytes) == 0;
}

/* A google.protobuf.Any; only RetryInfo is used. */
static bool read_detail(struct reader *any, struct otlp_response *response)
{
    bool is_retry_info = false;
    struct reader value = {0};
    struct field field;
    while (next_field(any, &field)) {
        if (is(&field, 1, 2))
            is_retry_info = text_is(&field.nested, "type.googleapis.com/google.rpc.RetryInfo");
        else if (is(&field, 2, 2))
            value = field.nested;
    }
    if (any->failed || !is_retry_info)
        return !any->failed;
    response->has_retry_delay = true;
    while (value.at && next_field(&value, &field))
        if (is(&field, 1, 2) && !read_duration(&field.nested, &response->retry_delay_ns))
            return false;
    return !value.failed;
}

bool otlp_response_read_status(const uint8_t *bytes, size_t count, struct otlp_response *response)
{
    struct reader reader = read_all(bytes, count);
    struct field field;
    while (next_field(&reader, &field)) {
        if (is(&field, 1, 0))
            response->code = (int32_t)field.value;
        else if (is(&field, 2, 2))
            copy_message(response, &field.nested);
        else if (is(&field, 3, 2) && !read_detail(&field.nested, response))
            return false;
    }
    return !reader.failed;
}
