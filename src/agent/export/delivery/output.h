/* The interface of an output: where an exporter's thread delivers its batches. An output is a collector
 * (otlp/sender.h), a collector behind a spool (spool/spool.h), or a file or standard output (file_output.h).
 */
#pragma once

#include "base/accounting/counters.h"
#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

#define DELIVERY_ERROR_BYTES 32

/* The result of one batch at an output. */
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

#define EXPORT_MODULE_NAME "libcuspan-export.so"

struct operations;

/* The creator's input to an output, besides the settings. */
struct output_environment {
    const char *module_path;       /* of EXPORT_MODULE_NAME, in the folder of libcuspan.so; copied */
    const char *user_agent_prefix; /* precedes our own User-Agent, or NULL; copied */
    uint32_t retry_initial_ms;     /* 0: the default. For tests */
    uint32_t stop_grace_ms;        /* time to stop after the deadline; 0: the default. For tests */
    unsigned output;               /* output number, below OUTPUT_NUMBERS, for counter_output_get */
    struct operations *operations; /* records durations of exports; outlives the exporter; NULL: none */
};
