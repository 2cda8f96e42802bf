#include "base/text/sanitize.h"

#include "base/text/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Not control characters, line separators, or marks that change the direction of the following text. */
static bool is_visible(uint32_t code)
{
    bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool is_layout = code == 0x2028 || code == 0x2029 || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
    return !is_control && !is_layout;
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
        struct utf8_step step = utf8_next(at, (size_t)(end - at));
        if (!step.valid || !is_visible(utf8_code(at, step.len))) {
            to[used++] = '?'; /* for each byte */
            at++;
        } else if (used + step.len < size) {
            memcpy(to + used, at, step.len);
            used += step.len;
            at += step.len;
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
