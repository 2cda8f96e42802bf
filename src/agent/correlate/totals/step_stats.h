/* Measures the steps of a training job (model/metrics/live_stats.h): the duration of each step from its
 * boundaries, sampled or not, and the parts of the GPU's time in sampled ones. A step that an evaluation or a
 * checkpoint divides has one duration, which leaves both out.
 *
 * On the GPU a step starts when the program has started it and the GPU has finished the work of earlier
 * steps. It ends with its last work or call. `cuspan stat` computes the same (src/analysis/ranks). */
#pragma once

#include "base/status.h"
#include "agent/correlate/totals/totals.h"
#include "agent/correlate/trace/steps.h"
#include "model/metrics/live_stats.h"
#include "model/settings/settings.h"

#define STEP_STATS_OPEN_MAX                                                                                  \
    256 /* steps that wait for their GPU records; more are counted as steps_unmeasured */
#define STEP_STATS_INTERVALS                                                                                 \
    131072 /* intervals of GPU work in all open steps, 24 bytes each, up to 3 for a kernel */
#define STEP_STATS_CALLS 32768 /* calls in all open steps, 16 bytes each; beyond, no host times */

struct step_stats;

struct step_stats_options {
    const struct step_rules *rules;  /* not owned */
    const struct settings *settings; /* not owned */
};

enum status step_stats_create(const struct step_stats_options *options, struct step_stats **stats) MUST_CHECK;
/* `stats` may be NULL, here and in all functions below without a handle: nothing is measured. */
void step_stats_destroy(struct step_stats *stats);

/* Starts a step (STEP_NONE: time outside steps) and ends the one before. Steps must come in the order of
 * their times. */
void step_stats_begin(struct step_stats *stats, const struct step *step);

/* Returns a handle for the GPU work of a sampled step; 0: too many are open. */
uint32_t step_stats_open(struct step_stats *stats, const struct step *step);
/* Adds a call or GPU work to an open step, in any order. */
void step_stats_add_call(struct step_stats *stats, uint32_t handle, const struct call_info *info,
                         const struct call_record *call);
void step_stats_add_work(struct step_stats *stats, uint32_t handle, const struct gpu_work *work);
struct step_end {
    uint64_t end_ns;   /* end of its last call or work */
    uint64_t ready_ns; /* when the GPU had finished the work of earlier steps; 0: unknown */
    bool is_complete;  /* false: some work is missing, so that the step does not count */
    bool is_cut;       /* ended by exit, for example, and not by a boundary */
    bool is_selection; /* some of its calls and work have no span */
};

/* Closes a step all of whose work has been added. Fills `parts` except the idle time, which is computed when
 * the earlier steps are closed, too. False: the parts are too small, because the step had too many separate
 * intervals. */
bool step_stats_close(struct step_stats *stats, uint32_t handle, const struct step_end *end,
                      struct measured_step *parts);

/* Returns the times so far, not owned, valid until the next call; NULL if `stats` is NULL. */
struct step_times *step_stats_read(struct step_stats *stats);
/* Starts an interval of metrics, as program_stats_begin_interval(). */
void step_stats_begin_interval(struct step_stats *stats, bool is_delta);
void step_stats_snapshot(const struct step_stats *stats, struct live_stats_view *view);
