/* Text for people: durations, counts, and foreign strings made safe for a terminal.
 *
 * Names come from programs and files that we do not control. None of them may send a control character to the
 * terminal, and double-width or combining characters must not break the columns. */
#pragma once

#include "base/text/json_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The last `bytes_max` bytes of a file, NUL-terminated; NULs in it become "?". The caller frees it. */
char *text_read_end(FILE *file, size_t bytes_max);

/* A line under construction. Free `data` when done; a zeroed one is empty. */
struct text {
    char *data; /* NUL-terminated once anything was added */
    size_t len;
    size_t capacity;
};

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t len);
void text_add_char(struct text *text, char c, size_t times);
void text_add_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *text);
void text_deinit(struct text *text);

/* Decodes one UTF-8 character from a NUL-terminated string; each invalid byte counts as U+FFFD. Advances
 * *string. */
uint32_t text_next_char(const char **string);

/* Whether the string ends so. */
bool text_ends_with(const char *string, const char *end);

/* True where the locale's characters are UTF-8. */
bool text_locale_is_utf8(void);

/* The columns that the string takes when text_add_fitted() writes it. */
size_t text_columns(const char *string, bool utf8);
/* Adds the string in at most `columns` columns; "…" ("..." without UTF-8) replaces the end of a longer one.
 * Control characters become "?", and so does non-ASCII without UTF-8. Returns the columns used. */
size_t text_add_fitted(struct text *text, const char *string, size_t columns, bool utf8);
/* The same, filled up with spaces to `columns`. */
void text_add_column(struct text *text, const char *string, size_t columns, bool to_the_right, bool utf8);
/* The same as text_add_fitted() without a limit. */
void text_add_clean(struct text *text, const char *string, bool utf8);

/* A writer that appends JSON to the text. */
#define JSON_TEXT(text) ((struct json_writer){.put = text_put_json, .to = (text)})
json_put_fn text_put_json;

#define TEXT_NUMBER_BYTES 40
/* "812 ns", "41.3 µs" ("us" without UTF-8), "1.20 ms", "128 ms", "3.25 s", "1234 s"; returns `out`. */
const char *text_duration(char out[TEXT_NUMBER_BYTES], uint64_t ns, bool utf8);
/* "4 KiB", "1.5 MiB". */
const char *text_bytes(char out[TEXT_NUMBER_BYTES], uint64_t bytes);
/* "12,345". */
const char *text_count(char out[TEXT_NUMBER_BYTES], uint64_t count);
/* "0.3 %", "42 %", "100 %"; of zero: "0 %". */
const char *text_share(char out[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole);
