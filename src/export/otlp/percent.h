/* Percent-encoding, as URLs and gRPC's messages have it. */
#ifndef CUSPAN_EXPORT_OTLP_PERCENT_H
#define CUSPAN_EXPORT_OTLP_PERCENT_H

#include <stddef.h>

/* Decodes `bytes` of `from`, as far as it fits, with a NUL behind it; a '%' that two hex digits don't follow
 * stays, and a NUL within becomes '?'. Returns how many bytes there are. */
size_t percent_decode(char *to, size_t size, const char *from, size_t bytes);

#endif
