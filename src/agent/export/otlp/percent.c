#include "agent/export/otlp/percent.h"

#include "base/trace_context.h"

size_t percent_decode(char *to, size_t size, const char *from, size_t bytes)
{
    const char *end = from + bytes;
    size_t used = 0;
    while (from < end && used + 1 < size) {
        if (*from == '%' && end - from > 2 && hex_digit(from[1]) >= 0 && hex_digit(from[2]) >= 0) {
            char byte = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
            to[used++] = byte ? byte : '?';
            from += 3;
        } else {
            to[used++] = *from++;
        }
    }
    to[used] = '\0';
    return used;
}
