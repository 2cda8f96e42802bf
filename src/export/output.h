/* The interface of an output: where an exporter's thread delivers its batches. An output is a collector
 * (otlp/sender.h), a collector behind a spool (spool/spool.h), or a file or standard output (file_output.h).
 */
#ifndef CUSPAN_EXPORT_OUTPUT_H
#define CUSPAN_EXPORT_OUTPUT_H

#include "base/accounting/counters.h"
#include "export/operations.h"
#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

/* The result of one batch. */
struct delivery {
    bool accepted;       /* the request; a collector may still have rejected some of its spans */
    uint32_t delivered;  /* spans */
    uint32_t lost;       /* spans */
    enum counter reason; /* valid if lost > 0 */
    uint32_t resent;     /* requests */
    uint64_t bytes_sent;

    /* For the duration metric (export/operations.h). */
    uint64_t began_ns;                 /* start of the first request, clock_monotonic_ns; 0: no request */
    int http_status;                   /* of the last OTLP/HTTP response; 0: the last request got none */
    char error[OPERATION_ERROR_BYTES]; /* why the last request failed: an HTTP status, a gRPC status name,
                                         rejected, unreachable, deadline, refused, output; "": it succeeded */
};

static inline void delivery_lose(struct delivery *delivery, uint32_t spans, enum counter reason)
{
    delivery->lost = spans;
    delivery->reason = reason;
}

struct output {
    /* On the exporter's thread, before the first batch. May take time. May be NULL. */
    void (*open)(struct output *output);
    /* On the exporter's thread. The caller keeps the batch; the output may return all chunks but the first
     * to their pool early. `delivery` is zeroed. */
    void (*deliver)(struct output *output, struct batch *batch, struct delivery *delivery);
    /* On the exporter's thread, after the last batch: remaining work, until the control's deadline. May be
     * NULL. */
    void (*finish)(struct output *output);
    /* Any thread. Waits until everything passed to deliver is delivered or lost; false on timeout. NULL: it
     * is when deliver returns. */
    bool (*settle)(struct output *output, uint64_t deadline_ns);
    /* Any thread, after delivery_control_abort: makes deliver return. May be NULL. */
    void (*wake)(struct output *output);
    void (*destroy)(struct output *output);
};

#endif
