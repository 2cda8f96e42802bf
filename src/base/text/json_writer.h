/* Writes JSON to a stream, without whitespace, and puts the commas. Write errors stay in the stream (ferror).
 */
#ifndef CUSPAN_BASE_TEXT_JSON_WRITER_H
#define CUSPAN_BASE_TEXT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
    FILE *file;
    bool needs_comma;
};

#define JSON_WRITER(stream) ((struct json_writer){.file = (stream)})

/* `key`: NULL in an array and at the top level. It needs no escapes. */
void json_write_object(struct json_writer *writer, const char *key);
void json_write_object_end(struct json_writer *writer);
void json_write_array(struct json_writer *writer, const char *key);
void json_write_array_end(struct json_writer *writer);

/* Bytes from 0x80 on are written as they are. */
void json_write_text(struct json_writer *writer, const char *key, const char *text);
void json_write_unsigned(struct json_writer *writer, const char *key, uint64_t value);
void json_write_signed(struct json_writer *writer, const char *key, int64_t value);
void json_write_bool(struct json_writer *writer, const char *key, bool value);
/* Nanoseconds as milliseconds, with three decimals. */
void json_write_ms(struct json_writer *writer, const char *key, uint64_t ns);

#endif
