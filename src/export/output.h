/* Where an exporter's thread puts its batches: a collector (sender.h), or a file or standard output (file.h).
 */
#ifndef CUSPAN_EXPORT_OUTPUT_H
#define CUSPAN_EXPORT_OUTPUT_H

#include "base/accounting/counters.h"
#include "export/operations.h"
#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

/* What became of one batch. The exporter counts it, once the thread still counts for anything. */
struct delivery {
    bool accepted;       /* the request; a collector may still have rejected spans of it */
    uint32_t delivered;  /* spans */
    uint32_t lost;       /* spans */
    enum counter reason; /* a loss; when lost > 0 */
    uint32_t resent;     /* requests */
    uint64_t bytes_sent;

    /* For the metric of how long exports take (export/operations.h). */
    uint64_t began_ns;                 /* the first request, by clock_monotonic_ns; 0: there was none */
    int http_status;                   /* of OTLP/HTTP's last answer; 0: none came to the last request */
    char error[OPERATION_ERROR_BYTES]; /* why the last request failed: an HTTP status, gRPC's name for one,
                                         rejected, unreachable, deadline, refused, output; "": it didn't */
};

struct output {
    /* On the exporter's thread, before the first batch: what takes time and may fail. May be NULL. */
    void (*open)(struct output *output);
    /* On the exporter's thread. The batch stays the caller's; all its chunks but the first may be given
     * back early. `delivery` comes in zeroed. */
    void (*deliver)(struct output *output, struct batch *batch, struct delivery *delivery);
    /* On the exporter's thread, after the last batch: what it still has to do, until the control's end. May
     * be NULL. */
    void (*finish)(struct output *output);
    /* From any thread: waits until what was delivered so far has met its fate, or until the time; false when
     * that has come. NULL: it has, when deliver returns. */
    bool (*settle)(struct output *output, uint64_t deadline_ns);
    /* From any thread, after the control was told to abort: make deliver return. May be NULL. */
    void (*wake)(struct output *output);
    void (*destroy)(struct output *output);
};

#endif
