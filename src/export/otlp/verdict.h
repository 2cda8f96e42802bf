/* What an answer means for the batch: accepted, worth another try, or refused for good. */
#ifndef CUSPAN_EXPORT_OTLP_VERDICT_H
#define CUSPAN_EXPORT_OTLP_VERDICT_H

#include "export/otlp/transport.h"

enum verdict_kind { VERDICT_ACCEPTED, VERDICT_RETRY, VERDICT_REFUSED };

struct verdict {
    enum verdict_kind kind;
    uint64_t rejected_spans; /* of an accepted request */
    bool has_delay;          /* the server says when to come back at the earliest */
    uint64_t delay_ns;
    char status[48];   /* "HTTP 503", "gRPC UNAVAILABLE" */
    const char *code;  /* gRPC's name for its status; NULL: none came */
    char message[512]; /* the server's, as it came; may be empty */
    bool unreadable;   /* accepted, with an answer that is none of OTLP's */
    const char *hint;  /* what a person can do, or NULL */
};

/* Both are for answers (TRANSPORT_ANSWERED). `encoding`: of the request's body, or NULL. `now_s`: since 1970,
 * to read a Retry-After with a date. */
void verdict_http(const struct transport *transport, const struct transport_response *answer,
                  const char *encoding, int64_t now_s, struct verdict *verdict);
void verdict_grpc(const struct transport_response *answer, const char *encoding, int64_t now_s,
                  struct verdict *verdict);

#endif
