/* Adds up the program's calls and GPU work, sampled or not (model/metrics/live_stats.h), for metrics or while
 * a client reads them. Memory comes from allocations.h. */
#pragma once

#include "base/status.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/totals/allocations.h"
#include "agent/correlate/totals/totals.h"
#include "model/cuda/calls.h"
#include "model/metrics/live_stats.h"
#include "model/record.h"
#include "model/span.h"
#include "model/metrics/views.h"

struct program_stats;

struct program_stats_options {
    struct allocations *allocations; /* not owned */
    bool has_metrics;                /* metrics are exported: counting is always on, with histograms */
    const struct streams *streams;   /* only with metrics: the shapes of histograms, not owned */
    enum exemplar_filter exemplars;
};

enum status program_stats_create(const struct program_stats_options *options,
                                 struct program_stats **store) MUST_CHECK;
void program_stats_destroy(struct program_stats *store);

/* Notes that a client reads until `until_ns` (clock_monotonic_ns()). If counting was off, it starts from
 * zero. */
void program_stats_lease(struct program_stats *store, uint64_t now_ns, uint64_t until_ns);
/* Call it between rounds. Returns whether counting is on: call program_stats_add_call() and
 * program_stats_add_work(). */
bool program_stats_tick(struct program_stats *store, uint64_t now_ns);

void program_stats_add_call(struct program_stats *store, const struct call_info *info,
                            const struct call_record *call);

void program_stats_add_work(struct program_stats *store, const struct gpu_work *work);
/* Sets the span of the last added work, for exemplars. */
void program_stats_exemplify(struct program_stats *store, const uint8_t trace_id[16],
                             const uint8_t span_id[8]);

/* Returns all numbers, not owned, valid until the next record. */
struct live_stats *program_stats_read(struct program_stats *store);
/* Starts an interval of metrics: exemplars belong to one interval, and with `is_delta` histograms do, too. */
void program_stats_begin_interval(struct program_stats *store, bool is_delta);
/* Copies the numbers to `view` for clients, with each device's description. */
void program_stats_snapshot(struct program_stats *store, const struct devices *devices,
                            struct live_stats_view *view);
