/* Binary output that grows. */
#pragma once

#include "cli/util/xalloc.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* A zeroed one is empty. Free `data` when done. */
struct bytes {
    uint8_t *data;
    size_t len, capacity;
};

/* Room for `count` bytes at the end, which the caller fills and adds to `len`. */
static inline uint8_t *bytes_room(struct bytes *bytes, size_t count)
{
    if (bytes->capacity - bytes->len < count)
        bytes->data = xgrow(bytes->data, &bytes->capacity, bytes->len + count, 1);
    return bytes->data + bytes->len;
}

static inline void bytes_add(struct bytes *bytes, const void *data, size_t len)
{
    if (len == 0)
        return;
    memcpy(bytes_room(bytes, len), data, len);
    bytes->len += len;
}

static inline void bytes_add_byte(struct bytes *bytes, uint8_t byte)
{
    *bytes_room(bytes, 1) = byte;
    bytes->len++;
}

static inline void bytes_add_le32(struct bytes *bytes, uint32_t value)
{
    value = htole32(value);
    bytes_add(bytes, &value, sizeof value);
}

static inline void bytes_add_le64(struct bytes *bytes, uint64_t value)
{
    value = htole64(value);
    bytes_add(bytes, &value, sizeof value);
}

/* 7 bits per byte, the lowest ones first. */
static inline void bytes_add_varint(struct bytes *bytes, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        bytes_add_byte(bytes, (uint8_t)(value | 0x80));
    bytes_add_byte(bytes, (uint8_t)value);
}

/* Signed: small absolute values are short. */
static inline void bytes_add_zigzag(struct bytes *bytes, int64_t value)
{
    bytes_add_varint(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}
