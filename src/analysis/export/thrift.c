#include "analysis/export/thrift.h"

#define SHORT_LIST_MAX 14
#define SHORT_STEP_MAX 15

void thrift_begin(struct thrift *thrift, struct bytes *out)
{
    *thrift = (struct thrift){.out = out};
}

/* The difference to the field before shares a byte with the type. */
void thrift_field(struct thrift *thrift, int id, enum thrift_type type)
{
    int step = id - thrift->last[thrift->depth];
    thrift->last[thrift->depth] = id;
    if (step > 0 && step <= SHORT_STEP_MAX) {
        bytes_add_byte(thrift->out, (uint8_t)((unsigned)step << 4 | type));
        return;
    }
    bytes_add_byte(thrift->out, (uint8_t)type);
    bytes_add_zigzag(thrift->out, id);
}

void thrift_add_int(struct thrift *thrift, int64_t value)
{
    bytes_add_zigzag(thrift->out, value);
}

void thrift_int(struct thrift *thrift, int id, enum thrift_type type, int64_t value)
{
    thrift_field(thrift, id, type);
    if (type == THRIFT_BYTE)
        bytes_add_byte(thrift->out, (uint8_t)value);
    else
        thrift_add_int(thrift, value);
}

void thrift_bool(struct thrift *thrift, int id, bool value)
{
    thrift_field(thrift, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

static void add_binary(struct thrift *thrift, const void *data, size_t len)
{
    bytes_add_varint(thrift->out, len);
    bytes_add(thrift->out, data, len);
}

void thrift_add_string(struct thrift *thrift, const char *text)
{
    add_binary(thrift, text, strlen(text));
}

void thrift_binary(struct thrift *thrift, int id, const void *data, size_t len)
{
    thrift_field(thrift, id, THRIFT_BINARY);
    add_binary(thrift, data, len);
}

void thrift_string(struct thrift *thrift, int id, const char *text)
{
    thrift_binary(thrift, id, text, strlen(text));
}

void thrift_list(struct thrift *thrift, int id, enum thrift_type type, size_t count)
{
    thrift_field(thrift, id, THRIFT_LIST);
    bytes_add_byte(thrift->out,
                   (uint8_t)((count <= SHORT_LIST_MAX ? count : SHORT_LIST_MAX + 1) << 4 | type));
    if (count > SHORT_LIST_MAX)
        bytes_add_varint(thrift->out, count);
}

void thrift_open_element(struct thrift *thrift)
{
    thrift->last[++thrift->depth] = 0;
}

void thrift_open(struct thrift *thrift, int id)
{
    thrift_field(thrift, id, THRIFT_STRUCT);
    thrift_open_element(thrift);
}

void thrift_close(struct thrift *thrift)
{
    bytes_add_byte(thrift->out, 0);
    if (thrift->depth > 0)
        thrift->depth--;
}
