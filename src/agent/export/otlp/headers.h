/* The headers of requests to a collector: the user's, ours, and those of each single request. */
#pragma once

#include "base/status.h"
#include "agent/export/otlp/secrets.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADERS_PER_REQUEST_MAX 6

struct headers {
    size_t fixed;           /* number of lines that all requests share */
    char **owned;           /* these lines, "Name: value" */
    const char **lines;     /* the same, then those of the request, then NULL */
    struct secrets secrets; /* header values and credentials, never logged */
    char encoding[48];
    char timeout[48];
};

/* Copies the user's headers, which agent/config has checked. Logs and skips those that cuspan sets itself.
 * `user_agent_prefix` may be NULL. NO_MEMORY. */
enum status headers_init(struct headers *headers, const struct exporter_settings *settings,
                         const char *user_agent_prefix) MUST_CHECK;
void headers_deinit(struct headers *headers);

/* Copies a text from a server, a proxy or libcurl as one line without secrets. Returns `to`. */
char *headers_sanitize(const struct headers *headers, char *to, size_t size, const char *text);

struct request_kind {
    bool grpc;
    bool json;
    const char *encoding; /* of the body; NULL: none */
    uint64_t timeout_ns;  /* for gRPC servers; 0: none */
};

/* The lines for one request, valid until the next call. */
const char *const *headers_for(struct headers *headers, const struct request_kind *kind);
