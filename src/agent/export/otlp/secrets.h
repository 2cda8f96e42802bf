/* Detects secrets in a server's messages before they are logged, because some servers echo the request.
 * Secrets are the values of the user's headers, and the credentials in the URLs of the endpoint and of
 * proxies.
 *
 * Only the first bytes of a secret are compared: messages are truncated and may not contain all of a long
 * one.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define SECRET_BYTES_MIN  5 /* shorter values ("1", "dev") occur in any text and are not secrets */
#define SECRET_HEAD_BYTES 16

struct secret {
    char head[SECRET_HEAD_BYTES + 1];
    size_t telling; /* bytes that identify it at the end of a truncated message */
};

struct secrets {
    size_t count;
    struct secret *items;
};

/* Adds a header's value, the part after the scheme ("Bearer", "Basic"), and the last word. The struct starts
 * zeroed. NO_MEMORY. */
enum status secrets_add_header(struct secrets *secrets, const char *value) MUST_CHECK;

/* Adds the password of http://user:password@host, both as encoded in the Authorization header, and the values
 * of the query. NO_MEMORY. */
enum status secrets_add_url(struct secrets *secrets, const char *url) MUST_CHECK;

void secrets_deinit(struct secrets *secrets);

/* Whether the text contains the first bytes of a secret, or ends with a part of them. */
bool secrets_leak(const struct secrets *secrets, const char *text);
