/* The result of one batch at an output. */
#pragma once

#include "base/accounting/counters.h"

#include <stdbool.h>
#include <stdint.h>

#define DELIVERY_ERROR_BYTES 32

struct delivery {
    bool accepted;       /* the request; a collector may still have rejected some of its spans */
    uint32_t delivered;  /* spans */
    uint32_t lost;       /* spans */
    enum counter reason; /* valid if lost > 0 */
    uint32_t resent;     /* requests */
    uint64_t bytes_sent;

    /* For the duration metric (agent/export/delivery/operations.h). */
    uint64_t began_ns;                /* start of the first request, clock_monotonic_ns; 0: no request */
    int http_status;                  /* of the last OTLP/HTTP response; 0: the last request got none */
    char error[DELIVERY_ERROR_BYTES]; /* why the last request failed: an HTTP status, a gRPC status name,
                                         rejected, unreachable, deadline, refused, output; "": it succeeded */
};

static inline void delivery_lose(struct delivery *delivery, uint32_t spans, enum counter reason)
{
    delivery->lost = spans;
    delivery->reason = reason;
}
