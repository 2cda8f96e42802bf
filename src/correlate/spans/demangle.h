/* From the mangled name of a kernel to the full one, and from that to the short one. */
#ifndef CUSPAN_CORRELATE_DEMANGLE_H
#define CUSPAN_CORRELATE_DEMANGLE_H

#include <stddef.h>

/* Writes the demangled name, cut at `size` - 1 bytes, and returns its length; 0: it is none that could be
 * demangled, and `to` holds nothing. Allocates nothing, and ends where `to` does: a mangled name of 232 bytes
 * can stand for 25 million, and each two of its bytes more for twice as many. */
size_t demangle_name(const char *mangled, char *to, size_t size);

/* Writes the short form of a demangled name and returns its length; `to` has room for strlen(full) + 1. */
size_t demangle_shorten(const char *full, char *to);

#endif
