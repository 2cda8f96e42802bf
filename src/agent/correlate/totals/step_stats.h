/* Measures the steps of a training job (model/metrics/live_stats.h): the duration of each step from its
 * boundaries, sampled or not, and how the GPU spent the sampled ones. A step that an evaluation or a
 * checkpoint divides has one duration, without them.
 *
 * On the GPU a step starts when the program has started it and the GPU has finished the work of earlier
 * steps. It ends with its last work or call. All of this is as `cuspan stat` has it (cli/ranks). */
#ifndef CUSPAN_AGENT_CORRELATE_TOTALS_STEP_STATS_H
#define CUSPAN_AGENT_CORRELATE_TOTALS_STEP_STATS_H

#include "base/status.h"
#include "agent/correlate/totals/totals.h"
#include "agent/correlate/trace/steps.h"
#include "model/metrics/live_stats.h"
#include "model/metrics/views.h"

#define STEP_STATS_OPEN_MAX                                                                                  \
    256 /* steps that wait for their GPU records; more are counted as steps_unmeasured */
#define STEP_STATS_INTERVALS                                                                                 \
    131072                     /* of GPU work in all open steps, 24 bytes each, up to three for a kernel */
#define STEP_STATS_CALLS 32768 /* the same, 16 bytes each; beyond, the time of a step's host is unknown */

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
/* In any order, as calls. */
void step_stats_add_call(struct step_stats *stats, uint32_t handle, const struct call_info *info,
                         const struct call_record *call);
void step_stats_add_work(struct step_stats *stats, uint32_t handle, const struct gpu_work *work);
struct step_end {
    uint64_t end_ns;   /* of its last call or work */
    uint64_t ready_ns; /* when the GPU had finished the work of earlier steps; 0: unknown */
    bool is_complete;  /* false: some work is missing, so that the step does not count */
    bool is_cut;       /* by something else than the next step */
    bool is_selection; /* some of its calls and work have no span */
};

/* All work of the step is known. Writes the parts except the idle time, which follows when the steps before
 * are closed, too. False: the parts are too small, because the step had too many separate intervals. */
bool step_stats_close(struct step_stats *stats, uint32_t handle, const struct step_end *end,
                      struct measured_step *parts);

/* Valid until the next call; NULL without `stats`. */
struct step_times *step_stats_read(struct step_stats *stats);
/* As program_stats_begin_interval(). */
void step_stats_begin_interval(struct step_stats *stats, bool is_delta);
void step_stats_snapshot(const struct step_stats *stats, struct live_stats_view *view);

#endif
