/* Decodes names, paths and lines from the bytes of CPython's objects, which may be copies. Reads no others.
 */
#pragma once

#include "agent/frames/python_layouts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The characters of a string object. */
struct python_string {
    const char *data;
    size_t chars;
    unsigned kind; /* bytes of a character; ASCII and Latin-1 both have 1 */
};

/* Sets the kind by the object's PYTHON_STRING_STATE, and where its characters start. False: it is no string
 * that can be read. */
bool python_text_kind(const struct python_layout *layout, uint32_t state, struct python_string *string,
                      size_t *start);

/* Ends the string at its terminator or after `max` characters. */
void python_text_end(struct python_string *string, size_t max);

/* Copy a string as valid UTF-8 of at most `max` bytes, without a NUL, and return its length. A string that is
 * too long loses its end, a path its start: it then begins with "...". */
size_t python_text_copy(const struct python_string *string, char *to, size_t max);
size_t python_text_copy_path(const struct python_string *string, char *to, size_t max);

/* Returns the line of an instruction by the code object's table of lines; 0: it has none. The position is
 * relative to the code object from 3.11 on, else the frame's. */
uint32_t python_text_line(const struct python_layout *layout, const uint8_t *table, size_t bytes,
                          uint32_t position, uint32_t first_line);
