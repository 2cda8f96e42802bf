#include "agent/export/otlp/grpc.h"

#include "base/clock.h"
#include "base/trace_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void grpc_prefix(uint8_t prefix[GRPC_PREFIX_BYTES], bool compressed, uint32_t bytes)
{
    prefix[0] = compressed;
    for (int i = 0; i < 4; i++)
        prefix[1 + i] = (uint8_t)(bytes >> (24 - 8 * i));
}

bool grpc_unframe(const uint8_t *body, size_t body_bytes, const uint8_t **message, size_t *bytes)
{
    /* We accept no encoding, so a compressed message is an error of the server. */
    if (body_bytes < GRPC_PREFIX_BYTES || body[0] != 0)
        return false;
    uint32_t length = (uint32_t)body[1] << 24 | (uint32_t)body[2] << 16 | (uint32_t)body[3] << 8 | body[4];
    if (length > body_bytes - GRPC_PREFIX_BYTES)
        return false;
    *message = body + GRPC_PREFIX_BYTES;
    *bytes = length;
    return true;
}

char *grpc_url(const char *endpoint, bool insecure, const char *path)
{
    const char *scheme = insecure ? "http" : "https";
    const char *separator = strstr(endpoint, "://");
    const char *authority = separator ? separator + 3 : endpoint;
    if (separator)
        scheme = strncasecmp(endpoint, "http://", 7) == 0 ? "http" : "https";
    size_t bytes = strcspn(authority, "/?#");
    char *url;
    if (asprintf(&url, "%s://%.*s%s", scheme, (int)bytes, authority, path) < 0)
        return NULL;
    return url;
}

void grpc_timeout(char *to, size_t size, uint64_t timeout_ns)
{
    uint64_t ms = (timeout_ns + NS_PER_MS - 1) / NS_PER_MS;
    if (ms <= 99999999)
        snprintf(to, size, "%" PRIu64 "m", ms);
    else
        snprintf(to, size, "%" PRIu64 "S", ms / 1000 > 99999999 ? 99999999 : ms / 1000);
}

const char *grpc_code_name(long code)
{
    static const char *const names[] = {
        "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED",
    };
    if (code >= 0 && code < (long)(sizeof names / sizeof *names))
        return names[code];
    /* Initial-exec, like all of the library: otherwise access needs __tls_get_addr. */
    static _Thread_local char unknown[32] __attribute__((tls_model("initial-exec")));
    snprintf(unknown, sizeof unknown, "code %ld", code);
    return unknown;
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c == '-' ? '+' : c == '_' ? '/' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool grpc_base64_decode(const char *from, uint8_t *to, size_t size, size_t *count)
{
    uint32_t bits = 0;
    unsigned held = 0;
    size_t used = 0;
    size_t digits = 0;
    for (; base64_digit(*from) >= 0; from++, digits++) {
        bits = bits << 6 | (uint32_t)base64_digit(*from);
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        if (used == size)
            return false;
        to[used++] = (uint8_t)(bits >> held);
    }
    *count = used;
    return digits % 4 != 1 && from[strspn(from, "=")] == '\0';
}

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
