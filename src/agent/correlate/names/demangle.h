/* Demangles and shortens kernel names. */
#pragma once

#include <stddef.h>

/* Writes the demangled name, cut at `size` - 1 bytes, to `to` and returns its length; 0: `mangled` is not a
 * mangled name, and `to` is undefined. Allocates nothing. The limit matters: 232 mangled bytes can stand for
 * 25 million, and every two more bytes double that. */
size_t demangle_name(const char *mangled, char *to, size_t size);

/* Writes the short form of a demangled name and returns its length. `to` needs room for strlen(full) + 1. */
size_t demangle_shorten(const char *full, char *to);
