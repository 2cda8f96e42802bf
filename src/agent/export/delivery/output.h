/* The interface of an output: where an exporter's thread delivers its batches. An output is a collector
 * (otlp/sender.h), a collector behind a spool (spool/spool.h), or a file or standard output (file_output.h).
 */
#pragma once

#include "agent/export/delivery/delivery.h"
#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

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
