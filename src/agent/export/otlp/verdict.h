/* Evaluates a response: accepted, to be retried, or refused.
 *
 * A batch is not divided after 413: it is already encoded and compressed, and the next one would be too
 * large again. The log line names max_export_batch_size. */
#pragma once

#include "agent/export/otlp/transport.h"

enum verdict_kind { VERDICT_ACCEPTED, VERDICT_RETRY, VERDICT_REFUSED };

struct verdict {
    enum verdict_kind kind;
    uint64_t rejected_spans; /* of an accepted request */
    uint64_t delay_ns;       /* the server's minimum delay; 0: none */
    char status[48];         /* "HTTP 503", "gRPC UNAVAILABLE" */
    const char *code;        /* name of the gRPC status; NULL: none */
    char message[512];       /* the server's, not sanitized; may be empty */
    bool unreadable;         /* accepted, but not an OTLP response */
    const char *hint;        /* what the user can do, or NULL */
};

/* Both require TRANSPORT_ANSWERED. `encoding`: of the request's body, or NULL. */
void verdict_http(const struct transport *transport, const struct transport_response *answer,
                  const char *encoding, struct verdict *verdict);
void verdict_grpc(const struct transport_response *answer, const char *encoding, struct verdict *verdict);
