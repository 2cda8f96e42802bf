/* Histograms of durations (model/metrics/live_stats.h): explicit buckets, or base-2 exponential buckets whose
 * scale decreases automatically until the shape's maximum number of buckets is enough. */
#pragma once

#include "base/status.h"
#include "model/metrics/live_stats.h"

/* The defaults without a view. */
extern const struct histogram_shape histogram_default_explicit, histogram_default_exponential;
/* The same for requests to model servers, explicit. */
extern const struct histogram_shape histogram_of_requests, histogram_of_first_tokens, histogram_per_token;

/* Sets the bounds of an explicit shape. INVALID: too many, not ascending, or not finite. */
enum status histogram_set_bounds(struct histogram_shape *shape, const double *bounds,
                                 size_t count) MUST_CHECK;

/* One empty histogram per shape, linked in that order; NULL without shapes. The caller owns them, and the
 * shapes must outlive them. */
enum status histogram_create(const struct histogram_shape *const *shapes, unsigned count,
                             struct histogram **histogram) MUST_CHECK;
/* Destroys the list; NULL is allowed. */
void histogram_destroy(struct histogram *histogram);

/* Adds a duration to this histogram only. Returns the exemplar of its bucket. */
struct exemplar *histogram_add(struct histogram *histogram, uint64_t duration_ns);
/* Sets the exemplar without a span, unless the present one has a span. */
void histogram_exemplify(struct exemplar *exemplar, uint64_t value_ns, uint64_t time_ns);
/* Adds another histogram of the same shape. Exemplars with a span take precedence, then later ones. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* Resets the list, including exemplars; NULL is allowed, here and below. */
void histogram_reset(struct histogram *histogram);
/* Resets only the exemplars. */
void histogram_forget_exemplars(struct histogram *histogram);
