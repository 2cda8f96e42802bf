/* What no log line may repeat of what we send: values of the user's headers, credentials in the endpoint's
 * URL. Servers like to echo a request in their message.
 *
 * Of a secret its beginning is looked for, because messages are cut, by us and on their way here: of a token
 * of 900 bytes no message holds the whole. */
#ifndef CUSPAN_EXPORT_OTLP_SECRETS_H
#define CUSPAN_EXPORT_OTLP_SECRETS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Shorter ones ("1", "dev") stand in any text, and are no secrets. */
#define SECRET_BYTES_MIN 5
/* This much of a secret tells it from other text, and already gives something away. */
#define SECRET_HEAD_BYTES 16

struct secret {
    char head[SECRET_HEAD_BYTES + 1];
    size_t telling; /* so much of it at a message's end, which may be cut there, is no accident */
};

struct secrets {
    size_t count;
    struct secret *items;
};

/* On a zeroed struct. A header's value, and in it what follows the scheme ("Bearer", "Basic") and the last
 * word. NO_MEMORY. */
enum status secrets_add_header(struct secrets *secrets, const char *value) MUST_CHECK;

/* Of http://user:password@host: the password, and both as a request has them in its header. Nothing, if the
 * URL has none. NO_MEMORY. */
enum status secrets_add_url(struct secrets *secrets, const char *url) MUST_CHECK;

void secrets_deinit(struct secrets *secrets);

/* Whether the text holds a secret's beginning, or ends within it. */
bool secrets_leak(const struct secrets *secrets, const char *text);

#endif
