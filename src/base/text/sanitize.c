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
    return sanitize_secrets(to);
}

/* Whether the authority of a URL ends before `end` as one does: without a port, or with one. */
static bool is_host(const char *host, const char *end)
{
    const char *colon = memrchr(host, ':', (size_t)(end - host));
    return !colon || colon + 1 + strspn(colon + 1, "0123456789") >= end || (*host == '[' && end[-1] == ']');
}

const char *sanitize_find_user(const char *url, size_t bytes, size_t *length)
{
    const char *end = url + bytes, *scheme_end = memmem(url, bytes, "://", 3);
    const char *user = scheme_end ? scheme_end + 3 : url, *path = user, *query;
    while (path < end && !strchr("/?#", *path))
        path++;
    for (query = path; query < end && !strchr("?#", *query);)
        query++;
    const char *at = memrchr(user, '@', (size_t)(query - user));
    if (!at && !is_host(user, path))
        at = memrchr(user, '@', (size_t)(end - user));
    *length = at ? (size_t)(at - user) : 0;
    return at ? user : NULL;
}

/* Replaces the bytes by up to three asterisks, and returns the end of these. */
static char *mask(char *text, size_t bytes)
{
    size_t kept = bytes < 3 ? bytes : 3;
    memset(text, '*', kept);
    memmove(text + kept, text + bytes, strlen(text + bytes) + 1);
    return text + kept;
}

/* Finds text after the host's colon that is not a port: a password whose '@' is missing, perhaps because the
 * text was cut. Our own messages have http://HOST:PORT. */
static char *find_rest_of_password(char *host, const char *end, size_t *bytes)
{
    size_t authority = strcspn(host, "/?#");
    const char *host_end = host + authority < end ? host + authority : end;
    char *colon = memrchr(host, ':', (size_t)(host_end - host));
    if (is_host(host, host_end) || strncmp(colon, ":PORT", 5) == 0)
        return NULL;
    /* A port may be followed by punctuation, as in "http://collector:4318, which" or in CUSPAN_SET. */
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits > 0 && digits <= 5 && colon[1 + digits] && strchr(",;)]", colon[1 + digits]))
        return NULL;
    *bytes = (size_t)(host_end - colon - 1);
    return colon + 1;
}

/* Masks what a word hides, which is a URL if it has "://" or NAME:PASSWORD@. Returns its end. */
static char *mask_word(char *word, const char *ends)
{
    size_t length, bytes = strcspn(word, ends);
    char *scheme_end = memmem(word, bytes, "://", 3);
    char *user = (char *)(uintptr_t)sanitize_find_user(word, bytes, &length);
    if (!user && scheme_end)
        user = find_rest_of_password(scheme_end + 3, word + bytes, &length);
    if (user && length > 0 && (scheme_end || memchr(user, ':', length)))
        word = mask(user, length);
    bytes = strcspn(word, ends);
    char *query = scheme_end ? memchr(word, '?', bytes) : NULL;
    size_t query_bytes = query ? (size_t)(word + bytes - query - 1) : 0;
    return query_bytes ? mask(query + 1, query_bytes) : word + bytes;
}

char *sanitize_secrets(char *text)
{
    static const char ends[] = " \t\r\n'\"`<>";
    for (char *word = text + strspn(text, ends); *word; word += strspn(word, ends)) {
        /* Quoted text may have spaces. */
        char quote[2] = {word > text && strchr("'\"", word[-1]) ? word[-1] : '\0'};
        word = mask_word(word, *quote && strchr(word, *quote) ? quote : ends);
    }
    return text;
}

char *sanitize_in_place(char *text)
{
    uint8_t *at = (uint8_t *)text, *end = at + strlen(text);
    while (at < end) {
        struct utf8_step step = utf8_next(at, (size_t)(end - at));
        bool is_shown = step.valid && is_visible(utf8_code(at, step.len));
        size_t bytes = is_shown ? step.len : 1;
        if (!is_shown)
            *at = '?';
        at += bytes;
    }
    return sanitize_secrets(text);
}

char *sanitize_url(char *to, size_t size, const char *url)
{
    size_t user_bytes, scheme_bytes;
    const char *user = sanitize_find_user(url, strlen(url), &user_bytes);
    const char *scheme_end = strstr(url, "://");
    const char *host = user ? user + user_bytes + 1 : scheme_end ? scheme_end + 3 : url;
    scheme_bytes = user ? (size_t)(user - url) : (size_t)(host - url);
    char scheme[16] = "";
    if (scheme_bytes < sizeof scheme)
        memcpy(scheme, url, scheme_bytes);
    sanitize_line(to, size, scheme, strlen(scheme));
    size_t used = strlen(to);
    sanitize_line(to + used, size - used, host, strcspn(host, "?#"));
    return to;
}
