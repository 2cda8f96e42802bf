/* The headers of a collector's requests: the user's, ours, and the few that differ from one request to the
 * next. */
#ifndef CUSPAN_EXPORT_OTLP_HEADERS_H
#define CUSPAN_EXPORT_OTLP_HEADERS_H

#include "base/status.h"
#include "export/otlp/secrets.h"
#include "model/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADERS_PER_REQUEST_MAX 6

struct headers {
    size_t fixed;
    char **owned;           /* the fixed lines, "Name: value" */
    const char **lines;     /* the same, then the request's, then NULL */
    struct secrets secrets; /* the user's values and credentials, which no log line may repeat */
    char encoding[48];
    char timeout[48];
};

/* Copies the user's headers, less those that are ours to set and those that can't be sent; says so once for
 * each, by name. `user_agent_prefix` may be NULL. NO_MEMORY. */
enum status headers_init(struct headers *headers, const struct exporter_settings *settings,
                         const char *user_agent_prefix) MUST_CHECK;
void headers_deinit(struct headers *headers);

struct request_kind {
    bool grpc;
    bool json;
    const char *encoding; /* of the body; NULL: as it is */
    uint64_t timeout_ns;  /* tells a gRPC server; 0: none */
};

/* The lines for one request, until the next call. */
const char *const *headers_for(struct headers *headers, const struct request_kind *kind);

/* Whether the text repeats a secret of the requests' headers (export/secrets.h). */
bool headers_leak(const struct headers *headers, const char *text);

#endif
