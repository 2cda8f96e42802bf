/* Table of numbered strings: the writer looks up a string's number, the reader a number's string. Both number
 * strings in order of appearance and have the same limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strings {
    char **texts; /* NUL-terminated copies */
    uint32_t *lengths;
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* open addressing with index + 1, 0: free; twice the capacity */
    size_t bytes;
};

/* False once a limit is reached; the string is then stored without a number. */
bool recording_strings_has_room(const struct strings *strings, size_t length);
/* Copies the string. False: out of memory. */
bool recording_strings_add(struct strings *strings, const char *text, size_t length);
bool recording_strings_find(const struct strings *strings, const char *text, size_t length, uint32_t *index);
/* NULL: no such number. */
const char *recording_strings_get(const struct strings *strings, uint64_t index);
void recording_strings_deinit(struct strings *strings);
