/* Strings by number: the writer finds the number of a string, the reader the string of a number. Both give
 * out numbers in the order in which strings come, and both stop at the same bounds. */
#ifndef CUSPAN_RECORDING_RECORDING_STRINGS_H
#define CUSPAN_RECORDING_RECORDING_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strings {
    char **texts; /* NUL-terminated copies */
    uint32_t *lengths;
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* open addressing: index + 1, 0: free; twice the capacity */
    size_t bytes;
};

/* False once the bounds are reached: the string then stays without a number. */
bool strings_has_room(const struct strings *strings, size_t length);
/* Copies. False without memory. */
bool strings_add(struct strings *strings, const char *text, size_t length);
bool strings_find(const struct strings *strings, const char *text, size_t length, uint32_t *index);
/* NULL where there is no such number. */
const char *strings_get(const struct strings *strings, uint64_t index);
void strings_deinit(struct strings *strings);

#endif
