#include "base/text/sanitize.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The length of the valid UTF-8 sequence at `at` that shows as something, or 0. */
static size_t visible_sequence(const uint8_t *at, size_t left)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    if (bytes == 0 || bytes > left)
        return 0;
    if (bytes == 1)
        return at[0] >= 0x20 && at[0] != 0x7f;
    uint32_t code = at[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    bool control = code < 0xa0;
    /* Line separators, and marks that reverse the direction of what follows. */
    bool layout = code == 0x2028 || code == 0x2029 || (code >= 0x202a && code <= 0x202e) ||
                  (code >= 0x2066 && code <= 0x2069);
    return code < smallest[bytes] || code > 0x10ffff || surrogate || control || layout ? 0 : bytes;
}

char *sanitize_line(char *to, size_t size, const char *from, size_t bytes)
{
    const uint8_t *at = (const uint8_t *)from;
    const uint8_t *end = at + bytes;
    size_t used = 0;
    while (at < end && used + 1 < size) {
        if (memchr(" \t\r\n\v\f", *at, 6)) {
            if (used > 0 && to[used - 1] != ' ')
                to[used++] = ' ';
            at++;
            continue;
        }
        size_t length = visible_sequence(at, (size_t)(end - at));
        if (length == 0) {
            to[used++] = '?';
            at++;
        } else if (used + length < size) {
            memcpy(to + used, at, length);
            used += length;
            at += length;
        } else {
            break;
        }
    }
    while (used > 0 && to[used - 1] == ' ')
        used--;
    to[used] = '\0';
    return to;
}

char *sanitize_url(char *to, size_t size, const char *url)
{
    const char *end = url + strcspn(url, "?#");
    const char *scheme_end = strstr(url, "://");
    const char *host = scheme_end && scheme_end < end ? scheme_end + 3 : url;
    size_t scheme_bytes = (size_t)(host - url);
    /* The last '@' counts, even after a '/', to hide a password that should have been percent-encoded. */
    const char *at = memrchr(host, '@', (size_t)(end - host));
    if (at)
        host = at + 1;
    char scheme[16] = "";
    if (scheme_bytes < sizeof scheme)
        memcpy(scheme, url, scheme_bytes);
    sanitize_line(to, size, scheme, strlen(scheme));
    size_t used = strlen(to);
    sanitize_line(to + used, size - used, host, (size_t)(end - host));
    return to;
}
