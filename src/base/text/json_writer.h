/* Writes JSON, without whitespace, and puts the commas. It goes to a stream, whose write errors stay there
 * (ferror), or to whatever else takes bytes, such as a text (cli/util/text.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef void json_put_fn(void *to, const char *bytes, size_t len);

struct json_writer {
    json_put_fn *put;
    void *to;
    const char *space; /* of json_write_space() */
    bool needs_comma;
};

#define JSON_WRITER(stream) ((struct json_writer){.put = json_put_to_stream, .to = (stream)})

json_put_fn json_put_to_stream;

/* `key`: NULL in an array, at the top level and after json_write_key(). */
void json_write_object(struct json_writer *writer, const char *key);
void json_write_object_end(struct json_writer *writer);
void json_write_array(struct json_writer *writer, const char *key);
void json_write_array_end(struct json_writer *writer);

/* Invalid UTF-8 becomes U+FFFD. */
void json_write_text(struct json_writer *writer, const char *key, const char *text);
/* A text that may have NULs. */
void json_write_bytes(struct json_writer *writer, const char *key, const char *text, size_t len);
void json_write_unsigned(struct json_writer *writer, const char *key, uint64_t value);
void json_write_signed(struct json_writer *writer, const char *key, int64_t value);
void json_write_bool(struct json_writer *writer, const char *key, bool value);
/* Nanoseconds as milliseconds, with three decimals. */
void json_write_ms(struct json_writer *writer, const char *key, uint64_t ns);
/* A value that is JSON already. */
void json_write_raw(struct json_writer *writer, const char *key, const char *json, size_t len);

/* A key that may have NULs. The value follows, with the key NULL. */
void json_write_key(struct json_writer *writer, const char *key, size_t len);
/* Whitespace before the next value or key, behind its comma. A literal. */
void json_write_space(struct json_writer *writer, const char *space);
