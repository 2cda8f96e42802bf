#include "agent/encode/protobuf.h"

uint8_t *protobuf_close(uint8_t *body, uint8_t *end)
{
    size_t len = (size_t)(end - body);
    if (__builtin_expect(len >= 0x80 && len < 0x4000, 1)) {
        body[-2] = (uint8_t)(len | 0x80);
        body[-1] = (uint8_t)(len >> 7);
        return end;
    }
    uint8_t *moved = body - 2 + protobuf_varint_size(len);
    memmove(moved, body, len);
    uint8_t length[PROTOBUF_VARINT_MAX];
    protobuf_put_varint(length, len);
    memcpy(body - 2, length, (size_t)(moved - (body - 2)));
    return moved + len;
}

uint8_t *protobuf_put_text_repaired(uint8_t *p, uint8_t *end, uint8_t tag, const char *text, size_t len,
                                    size_t bytes_max)
{
    size_t size = utf8_repair(NULL, text, len, UTF8_NO_LIMIT, bytes_max);
    if (!protobuf_has_room(p, end, PROTOBUF_FIELD_ROOM + size))
        return NULL;
    *p = tag;
    p = protobuf_put_varint(p + 1, size);
    return p + utf8_repair(p, text, len, UTF8_NO_LIMIT, bytes_max);
}
