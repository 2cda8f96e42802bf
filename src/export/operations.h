/* How long exports took, for the metric otel.sdk.exporter.operation.duration: of each output, by how they
 * ended. An export is one batch with all its tries and the pauses between them, from the begin of the first
 * request on; writing into a spool is none, sending what lies there is. */
#ifndef CUSPAN_EXPORT_OPERATIONS_H
#define CUSPAN_EXPORT_OPERATIONS_H

#include "base/limits.h"
#include "model/metrics/histogram.h"
#include "model/metrics/views.h"

#define OPERATIONS_MAX        32 /* ends that are told apart, of all outputs; then the others together */
#define OPERATIONS_NO_OUTPUT  OUTPUT_NUMBERS
#define OPERATION_ERROR_BYTES 32

struct delivery;

/* One way to end. */
struct operation {
    unsigned output; /* its number; OPERATIONS_NO_OUTPUT: these are the others */
    int http_status; /* of the last answer; 0: there was none, or the output isn't OTLP/HTTP */
    char error[OPERATION_ERROR_BYTES]; /* of the last try, as the attribute error.type has it; "": none */
    struct histogram *histogram;
};

/* Any thread may note; one at a time looks. */
struct operations;

/* `streams`: of that metric; must stay. */
enum status operations_create(const struct metric_streams *streams, enum exemplar_filter exemplars,
                              struct operations **operations) MUST_CHECK;
/* NULL is fine, here and in operations_note. */
void operations_destroy(struct operations *operations);

/* A delivery is over, at `now_ns` (clock_monotonic_ns). Without a request in it there is nothing to note. */
void operations_note(struct operations *operations, unsigned output, const struct delivery *delivery,
                     uint64_t now_ns);

/* What there is, the caller's until it is unlocked, while whoever notes waits: so it is for reading only, and
 * not for long. */
const struct operation *operations_lock(struct operations *operations, uint32_t *count);
/* With `is_delta` the histograms begin anew; without, their exemplars alone do. */
void operations_unlock(struct operations *operations, bool is_delta);

#endif
