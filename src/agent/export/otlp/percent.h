/* Percent-decoding for URLs and gRPC messages. */
#pragma once

#include <stddef.h>

/* Decodes `bytes` of `from`, truncated to fit, and terminates it with NUL. Keeps a '%' that is not followed
 * by two hex digits; replaces NUL by '?'. Returns the number of decoded bytes. */
size_t percent_decode(char *to, size_t size, const char *from, size_t bytes);
