/* Histograms of durations (model/figures.h): explicit buckets, or base-2 exponential ones whose scale goes
 * down by itself so that the shape's number of them holds all that came. */
#ifndef CUSPAN_MODEL_METRICS_HISTOGRAM_H
#define CUSPAN_MODEL_METRICS_HISTOGRAM_H

#include "base/status.h"
#include "model/metrics/live_stats.h"

/* What there is where no view says otherwise. */
extern const struct histogram_shape histogram_default_explicit, histogram_default_exponential;

/* Makes the bounds of an explicit shape. INVALID: there are too many, they don't rise, or one is no number.
 */
enum status histogram_set_bounds(struct histogram_shape *shape, const double *bounds,
                                 size_t count) MUST_CHECK;

/* Empty ones, one for each shape, linked in that order; owned by the caller. The shapes must stay. With none
 * the result is NULL. */
enum status histogram_create(const struct histogram_shape *const *shapes, unsigned count,
                             struct histogram **histogram) MUST_CHECK;
/* With those behind it; NULL is fine. */
void histogram_destroy(struct histogram *histogram);

/* To this one alone. Returns the place of the exemplar of its bucket. */
struct exemplar *histogram_add(struct histogram *histogram, uint64_t duration_ns);
/* That measurement is it, without a span. One that has a span stays. */
void histogram_exemplify(struct exemplar *exemplar, uint64_t value_ns, uint64_t time_ns);
/* Adds what another of the same shape has; of exemplars the later ones stay, those with a span first. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* As they were created, exemplars included: this one and those behind it. */
void histogram_reset(struct histogram *histogram);
/* Those alone. */
void histogram_forget_exemplars(struct histogram *histogram);

#endif
