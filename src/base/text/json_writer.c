#include "base/text/json_writer.h"

#include "base/text/utf8.h"

#include <string.h>

void json_put_to_stream(void *stream, const char *bytes, size_t len)
{
    fwrite(bytes, 1, len, stream);
}

static void put(struct json_writer *writer, const char *text)
{
    writer->put(writer->to, text, strlen(text));
}

static void put_string(struct json_writer *writer, const char *text, size_t len)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + len, *plain = at;
    put(writer, "\"");
    while (at < end) {
        struct utf8_step step = {1, true};
        if (*at >= 0x80)
            step = utf8_next(at, (size_t)(end - at));
        const uint8_t *next = at + step.len;
        if (!step.valid || *at < 0x20 || *at == 0x7f || *at == '"' || *at == '\\') {
            writer->put(writer->to, (const char *)plain, (size_t)(at - plain));
            char escape[8] = "\xef\xbf\xbd";
            if (step.valid)
                snprintf(escape, sizeof escape, *at == '"' || *at == '\\' ? "\\%c" : "\\u%04x", *at);
            put(writer, escape);
            plain = next;
        }
        at = next;
    }
    writer->put(writer->to, (const char *)plain, (size_t)(end - plain));
    put(writer, "\"");
}

static void begin(struct json_writer *writer, const char *key)
{
    if (writer->needs_comma)
        put(writer, ",");
    if (writer->space)
        put(writer, writer->space);
    writer->space = NULL;
    writer->needs_comma = true;
    if (!key)
        return;
    put_string(writer, key, strlen(key));
    put(writer, ":");
}

static void open_scope(struct json_writer *writer, const char *key, const char *bracket)
{
    begin(writer, key);
    put(writer, bracket);
    writer->needs_comma = false;
}

static void close_scope(struct json_writer *writer, const char *bracket)
{
    put(writer, bracket);
    writer->needs_comma = true;
}

void json_write_object(struct json_writer *writer, const char *key)
{
    open_scope(writer, key, "{");
}

void json_write_object_end(struct json_writer *writer)
{
    close_scope(writer, "}");
}

void json_write_array(struct json_writer *writer, const char *key)
{
    open_scope(writer, key, "[");
}

void json_write_array_end(struct json_writer *writer)
{
    close_scope(writer, "]");
}

void json_write_text(struct json_writer *writer, const char *key, const char *text)
{
    json_write_bytes(writer, key, text, strlen(text));
}

void json_write_bytes(struct json_writer *writer, const char *key, const char *text, size_t len)
{
    begin(writer, key);
    put_string(writer, text, len);
}

/* Grids and blocks of kernels are lists of integers: without printf. */
static void write_number(struct json_writer *writer, const char *key, bool is_negative, uint64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    if (is_negative)
        *--at = '-';
    json_write_raw(writer, key, at, (size_t)(digits + sizeof digits - at));
}

void json_write_unsigned(struct json_writer *writer, const char *key, uint64_t value)
{
    write_number(writer, key, false, value);
}

void json_write_signed(struct json_writer *writer, const char *key, int64_t value)
{
    write_number(writer, key, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_write_bool(struct json_writer *writer, const char *key, bool value)
{
    const char *word = value ? "true" : "false";
    json_write_raw(writer, key, word, strlen(word));
}

void json_write_ms(struct json_writer *writer, const char *key, uint64_t ns)
{
    char number[40];
    int len = snprintf(number, sizeof number, "%.3f", (double)ns / 1e6);
    json_write_raw(writer, key, number, (size_t)len);
}

void json_write_raw(struct json_writer *writer, const char *key, const char *json, size_t len)
{
    begin(writer, key);
    writer->put(writer->to, json, len);
}

void json_write_key(struct json_writer *writer, const char *key, size_t len)
{
    begin(writer, NULL);
    put_string(writer, key, len);
    put(writer, ":");
    writer->needs_comma = false;
}

void json_write_space(struct json_writer *writer, const char *space)
{
    writer->space = space;
}
