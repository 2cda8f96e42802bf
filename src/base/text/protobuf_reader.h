/* Reads protobuf's wire format. Nothing is copied: fields point into the message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* also texts and messages */
    PROTOBUF_GROUP = 3, /* of the time before proto3: skipped */
    PROTOBUF_GROUP_END = 4,
    PROTOBUF_FIXED32 = 5
};

struct protobuf_reader {
    const uint8_t *at, *end;
    bool is_cut; /* only the beginning is there: fields of BYTES may be longer than what is left */
    bool is_bad; /* this is no message, or a truncated one */
    unsigned groups;
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_wire wire;
    bool is_cut;
    uint64_t value;       /* VARINT, FIXED64 and FIXED32 */
    const uint8_t *bytes; /* BYTES: never NULL */
    size_t length;
};

static inline struct protobuf_reader protobuf_reader_of(const void *bytes, size_t length)
{
    const uint8_t *at = bytes ? (const uint8_t *)bytes : (const uint8_t *)"";
    return (struct protobuf_reader){.at = at, .end = at + length};
}

/* The message in a field; a bad one if the field has another type. */
static inline struct protobuf_reader protobuf_message(const struct protobuf_field *field)
{
    struct protobuf_reader reader = protobuf_reader_of(field->bytes, field->length);
    reader.is_cut = field->is_cut;
    reader.is_bad = field->wire != PROTOBUF_BYTES;
    return reader;
}

bool protobuf_next_of_any_size(struct protobuf_reader *reader, struct protobuf_field *field);

/* False at the end, or if the message is bad. */
static inline bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field)
{
    const uint8_t *at = reader->at;
    /* Most fields are texts or messages of fewer than 128 bytes. */
    if (reader->is_bad || reader->end - at < 2 || (at[0] & 0x87) != PROTOBUF_BYTES || at[0] < 8 ||
        at[1] > 0x7f || at[1] > reader->end - at - 2)
        return protobuf_next_of_any_size(reader, field);
    *field = (struct protobuf_field){.number = at[0] >> 3,
                                     .wire = PROTOBUF_BYTES,
                                     .is_cut = reader->is_cut,
                                     .bytes = at + 2,
                                     .length = at[1]};
    reader->at = at + 2 + at[1];
    return true;
}

static inline bool protobuf_is(const struct protobuf_field *field, uint32_t number, enum protobuf_wire wire)
{
    return field->number == number && field->wire == wire;
}
