#include "base/text/protobuf_reader.h"

#include <endian.h>
#include <string.h>

#define GROUPS_MAX 64 /* inside each other */

static uint64_t read_long_varint(struct protobuf_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    reader->is_bad = true;
    return 0;
}

/* Most tags and lengths are one byte. */
static inline uint64_t read_varint(struct protobuf_reader *reader)
{
    return reader->at < reader->end && *reader->at < 0x80 ? *reader->at++ : read_long_varint(reader);
}

static uint64_t read_fixed(struct protobuf_reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->is_bad = true;
        return 0;
    }
    memcpy(&value, reader->at, bytes);
    reader->at += bytes;
    return le64toh(value);
}

static void read_bytes(struct protobuf_reader *reader, struct protobuf_field *field)
{
    uint64_t length = read_varint(reader), left = (uint64_t)(reader->end - reader->at);
    if (reader->is_cut && length > left)
        length = left;
    reader->is_bad |= length > left;
    if (reader->is_bad)
        return;
    field->bytes = reader->at;
    field->length = (size_t)length;
    field->is_cut = reader->is_cut;
    reader->at += length;
}

static void skip_group(struct protobuf_reader *reader, uint32_t number)
{
    struct protobuf_field field;
    bool is_end = false;
    if (++reader->groups > GROUPS_MAX)
        reader->is_bad = true;
    while (!is_end && protobuf_next(reader, &field))
        is_end = protobuf_is(&field, number, PROTOBUF_GROUP_END);
    reader->is_bad |= !is_end;
    reader->groups--;
}

bool protobuf_next_of_any_size(struct protobuf_reader *reader, struct protobuf_field *field)
{
    if (reader->at == reader->end || reader->is_bad)
        return false;
    uint64_t tag = read_varint(reader);
    *field = (struct protobuf_field){
        .number = (uint32_t)(tag >> 3), .wire = tag & 7, .bytes = (const uint8_t *)""};
    if (field->wire == PROTOBUF_VARINT)
        field->value = read_varint(reader);
    else if (field->wire == PROTOBUF_FIXED64)
        field->value = read_fixed(reader, 8);
    else if (field->wire == PROTOBUF_FIXED32)
        field->value = read_fixed(reader, 4);
    else if (field->wire == PROTOBUF_BYTES)
        read_bytes(reader, field);
    else if (field->wire == PROTOBUF_GROUP)
        skip_group(reader, field->number);
    else
        reader->is_bad |= field->wire != PROTOBUF_GROUP_END || reader->groups == 0;
    reader->is_bad |= tag >> 3 == 0 || tag >> 3 > UINT32_MAX;
    return !reader->is_bad;
}
