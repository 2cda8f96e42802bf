/* Histograms of durations (model/figures.h): explicit buckets, or base-2 exponential ones whose scale goes
 * down by itself so that at most HISTOGRAM_BUCKETS_MAX hold all that came. */
#ifndef CUSPAN_MODEL_HISTOGRAM_H
#define CUSPAN_MODEL_HISTOGRAM_H

#include "base/status.h"
#include "model/figures.h"

/* Empty; owned by the caller, who frees it. */
enum status histogram_create(enum histogram_form form, struct histogram **histogram) MUST_CHECK;

/* Returns the place of the exemplar of its bucket. */
struct exemplar *histogram_add(struct histogram *histogram, uint64_t duration_ns);

/* That measurement is it, without a span. One that has a span stays. */
void histogram_exemplify(struct exemplar *exemplar, uint64_t value_ns, uint64_t time_ns);

/* As it was created, exemplars included. */
void histogram_reset(struct histogram *histogram);
/* Those alone. */
void histogram_forget_exemplars(struct histogram *histogram);

#endif
