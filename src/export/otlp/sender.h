/* Batches to a collector, by OTLP/HTTP or OTLP/gRPC: compresses, sends, judges the answer, retries. */
#ifndef CUSPAN_EXPORT_OTLP_SENDER_H
#define CUSPAN_EXPORT_OTLP_SENDER_H

#include "export/delivery_control.h"
#include "export/exporter.h"
#include "export/output.h"

#include <sys/uio.h>

/* Copies what it needs of both. NO_MEMORY only. */
enum status sender_create(const struct output_settings *settings,
                          const struct exporter_environment *environment, struct delivery_control *control,
                          struct output **output) MUST_CHECK;

/* A body that is finished and compressed already. */
struct stored_body {
    const struct iovec *parts;
    size_t part_count;
    const char *encoding; /* HTTP's word, a literal; NULL: none */
    uint32_t spans;
    uint8_t format; /* enum batch_format */
    bool is_kept;   /* it lies on a disk and is not lost when it isn't delivered, so no exit waits for it */
};

/* As the output's deliver does it, and with `for_ever` without export_timeout: until it is delivered or
 * refused, or the control asks to stop (then the reason is lost_deadline). lost_unreachable: it can't be sent
 * by this sender at all. On one thread at a time. */
void sender_deliver_stored(struct output *output, const struct stored_body *stored, bool for_ever,
                           struct delivery *delivery);

#endif
