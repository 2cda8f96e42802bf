#include "agent/export/otlp/otlp_response.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/text/protobuf_reader.h"

#include <string.h>

/* Limits the server's delay, and keeps the sum of seconds and nanoseconds within 64 bits. */
#define RETRY_DELAY_SECONDS_MAX 86400

static void copy_message(struct otlp_response *response, const struct protobuf_field *text)
{
    size_t bytes = text->length < sizeof response->message ? text->length : sizeof response->message - 1;
    memcpy(response->message, text->bytes, bytes);
    response->message[bytes] = '\0';
}

static struct protobuf_reader read_all(const uint8_t *bytes, size_t count)
{
    struct protobuf_reader reader = protobuf_reader_of(bytes, count);
    reader.is_cut = count >= RESPONSE_BYTES_KEPT;
    return reader;
}

bool otlp_response_read_export(const uint8_t *bytes, size_t count, struct otlp_response *response)
{
    struct protobuf_reader reader = read_all(bytes, count);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field)) {
        if (!protobuf_is(&field, 1, PROTOBUF_BYTES))
            continue;
        struct protobuf_reader partial = protobuf_message(&field);
        struct protobuf_field part;
        while (protobuf_next(&partial, &part)) {
            if (protobuf_is(&part, 1, PROTOBUF_VARINT) && (int64_t)part.value > 0)
                response->rejected_spans = part.value;
            else if (protobuf_is(&part, 2, PROTOBUF_BYTES))
                copy_message(response, &part);
        }
        reader.is_bad |= partial.is_bad;
    }
    return !reader.is_bad;
}

/* google.protobuf.Duration */
static bool read_duration(struct protobuf_reader duration, uint64_t *duration_ns)
{
    int64_t seconds = 0;
    int64_t nanos = 0;
    struct protobuf_field field;
    while (protobuf_next(&duration, &field)) {
        if (protobuf_is(&field, 1, PROTOBUF_VARINT))
            seconds = (int64_t)field.value;
        else if (protobuf_is(&field, 2, PROTOBUF_VARINT))
            nanos = (int64_t)field.value;
    }
    if (seconds < 0 || nanos < 0 || nanos >= (int64_t)NS_PER_SECOND)
        seconds = nanos = 0;
    if (seconds > RETRY_DELAY_SECONDS_MAX)
        seconds = RETRY_DELAY_SECONDS_MAX;
    *duration_ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)nanos;
    return !duration.is_bad;
}

/* A google.protobuf.Any; only RetryInfo is used. */
static bool read_detail(struct protobuf_reader any, struct otlp_response *response)
{
    static const char retry_info[] = "type.googleapis.com/google.rpc.RetryInfo";
    bool is_retry_info = false;
    struct protobuf_reader value = protobuf_reader_of(NULL, 0);
    struct protobuf_field field;
    while (protobuf_next(&any, &field)) {
        if (protobuf_is(&field, 1, PROTOBUF_BYTES))
            is_retry_info =
                field.length == sizeof retry_info - 1 && memcmp(field.bytes, retry_info, field.length) == 0;
        else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
            value = protobuf_message(&field);
    }
    if (any.is_bad || !is_retry_info)
        return !any.is_bad;
    response->has_retry_delay = true;
    while (protobuf_next(&value, &field))
        if (protobuf_is(&field, 1, PROTOBUF_BYTES) &&
            !read_duration(protobuf_message(&field), &response->retry_delay_ns))
            return false;
    return !value.is_bad;
}

bool otlp_response_read_status(const uint8_t *bytes, size_t count, struct otlp_response *response)
{
    struct protobuf_reader reader = read_all(bytes, count);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field)) {
        if (protobuf_is(&field, 1, PROTOBUF_VARINT))
            response->code = (int32_t)field.value;
        else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
            copy_message(response, &field);
        else if (protobuf_is(&field, 3, PROTOBUF_BYTES) && !read_detail(protobuf_message(&field), response))
            return false;
    }
    return !reader.is_bad;
}
