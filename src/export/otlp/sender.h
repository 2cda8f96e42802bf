/* The output for a collector, over OTLP/HTTP or OTLP/gRPC: compresses and sends batches, evaluates responses,
 * and retries. */
#ifndef CUSPAN_EXPORT_OTLP_SENDER_H
#define CUSPAN_EXPORT_OTLP_SENDER_H

#include "export/delivery_control.h"
#include "export/output.h"
#include "export/output_environment.h"
#include "model/settings.h"

#include <sys/uio.h>

/* Copies what it needs of both. NO_MEMORY only. */
enum status sender_create(const struct output_settings *settings,
                          const struct output_environment *environment, struct delivery_control *control,
                          struct output **output) MUST_CHECK;

/* A finished, already compressed body. */
struct stored_body {
    const struct iovec *parts;
    size_t part_count;
    const char *encoding; /* Content-Encoding, a literal; NULL: none */
    uint32_t spans;
    uint8_t format; /* enum batch_format */
    bool is_kept;   /* on disk: not lost if it is not delivered, so exit does not wait for it */
};

/* Like the output's deliver. With `for_ever`, ignores export_timeout and retries until the body is accepted
 * or refused, or the control stops it (reason lost_deadline). Reason lost_unreachable: this sender can never
 * send it. One thread at a time. */
void sender_deliver_stored(struct output *output, const struct stored_body *stored, bool for_ever,
                           struct delivery *delivery);

#endif
