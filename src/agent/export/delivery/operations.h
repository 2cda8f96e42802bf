/* Durations of exports by output and result, for the metric otel.sdk.exporter.operation.duration. An export
 * is one batch with all its attempts and the pauses between them, from the start of the first request.
 * Writing to a spool is not an export; sending from it is.
 *
 * One lock guards them, which the pipeline thread holds while it encodes them. */
#pragma once

#include "base/limits.h"
#include "agent/export/delivery/output.h"
#include "model/metrics/histogram.h"
#include "model/metrics/views.h"

#define OPERATIONS_MAX       32 /* distinct results of all outputs; the last one collects all others */
#define OPERATIONS_NO_OUTPUT OUTPUT_NUMBERS

/* Exports of one output with the same result. */
struct operation {
    unsigned output;                  /* output number; OPERATIONS_NO_OUTPUT: all others */
    int http_status;                  /* of the last response; 0: none, or not OTLP/HTTP */
    char error[DELIVERY_ERROR_BYTES]; /* attribute error.type of the last attempt; "": none */
    struct histogram *histogram;
};

struct operations;

/* `streams`: of the metric; must outlive the result. */
enum status operations_create(const struct metric_streams *streams, enum exemplar_filter exemplars,
                              struct operations **operations) MUST_CHECK;
/* NULL is allowed, also for operations_note. */
void operations_destroy(struct operations *operations);

/* Records a delivery that ended at `now_ns` (clock_monotonic_ns), if it made a request. Any thread. */
void operations_note(struct operations *operations, unsigned output, const struct delivery *delivery,
                     uint64_t now_ns);

/* Read access until operations_unlock; operations_note blocks meanwhile. One reader at a time. */
const struct operation *operations_lock(struct operations *operations, uint32_t *count);
/* With `is_delta`, resets the histograms; otherwise only their exemplars. */
void operations_unlock(struct operations *operations, bool is_delta);
