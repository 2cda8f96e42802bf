/* Measures the steps of a training job (model/metrics/live_stats.h): the duration of each step from its
 * boundaries, sampled or not, and how the GPU spent the sampled ones. A step that an evaluation or a
 * checkpoint divides has one duration, without them.
 *
 * On the GPU a step starts where the step before ends, if that one was measured. Otherwise it starts on the
 * host, or when the GPU has finished earlier work. It ends with its last work. */
#ifndef CUSPAN_CORRELATE_TOTALS_STEP_STATS_H
#define CUSPAN_CORRELATE_TOTALS_STEP_STATS_H

#include "base/status.h"
#include "correlate/totals/totals.h"
#include "correlate/trace/steps.h"
#include "model/metrics/live_stats.h"
#include "model/metrics/views.h"

#define STEP_STATS_OPEN_MAX                                                                                  \
    256 /* steps that wait for their GPU records; more are counted as steps_unmeasured */
#define STEP_STATS_INTERVALS 8192 /* of all open steps, 24 bytes each */

struct step_stats;

struct step_stats_options {
    const struct step_rules *rules; /* not owned */
    bool has_metrics;               /* with histograms */
    const struct streams *streams;  /* with metrics: the shapes of histograms, not owned */
    enum exemplar_filter exemplars;
};

enum status step_stats_create(const struct step_stats_options *options, struct step_stats **stats) MUST_CHECK;
/* NULL is allowed, as everywhere below: nothing is measured. */
void step_stats_destroy(struct step_stats *stats);

/* A step or another purpose begins, and what was before ends. In the order of the times. */
void step_stats_begin(struct step_stats *stats, const struct step *step);

/* Returns a handle for the GPU work of a sampled step; 0: too many are open. */
uint32_t step_stats_open(struct step_stats *stats, const struct step *step);
/* In any order. */
void step_stats_add_work(struct step_stats *stats, uint32_t handle, const struct gpu_work *work);
/* All work of the step is known. `is_complete` false: some is missing, so that the step does not count.
 * `ready_ns`: when the GPU had finished the work of earlier steps; 0: unknown. Returns the parts except the
 * idle time, which follows when the steps before are closed, too. */
struct measured_step step_stats_close(struct step_stats *stats, uint32_t handle, bool is_complete,
                                      uint64_t ready_ns);

/* Valid until the next call; NULL without `stats`. */
struct step_times *step_stats_read(struct step_stats *stats);
/* As program_stats_begin_interval(). */
void step_stats_begin_interval(struct step_stats *stats, bool is_delta);
void step_stats_snapshot(const struct step_stats *stats, struct live_stats_view *view);

#endif
