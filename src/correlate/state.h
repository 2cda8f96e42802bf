/* The state of correlate: a struct for each part, then what several parts share. Only the parts include
 * it; others include correlate.h. */
#ifndef CUSPAN_CORRELATE_STATE_H
#define CUSPAN_CORRELATE_STATE_H

#include "correlate/correlate.h"
#include "correlate/activity_spans.h"
#include "correlate/spans/attributes.h"
#include "correlate/call_spans.h"
#include "correlate/collective_spans.h"
#include "correlate/range_spans.h"
#include "correlate/session_spans.h"
#include "correlate/spans/span_shared.h"
#include "correlate/spans.h"
#include "correlate/step_spans.h"
#include "correlate/totals/allocations.h"
#include "correlate/counting.h"
#include "correlate/totals/step_stats.h"
#include "correlate/trace/context_errors.h"
#include "correlate/stacks/code_profile.h"
#include "correlate/stacks/code_stacks.h"
#include "correlate/trace/devices.h"
#include "correlate/trace/named_objects.h"
#include "correlate/thread_events.h"

#define SWEEP_INTERVAL_NS (10 * NS_PER_MS)

struct correlate {
    struct correlate_options options;
    bool is_finishing; /* nothing may wait any longer */
    bool is_summary;   /* detail: summary. Calls and GPU work have no spans. */
    uint64_t now_ns, next_sweep_ns;

    struct call_spans calls;
    struct activity_spans activities;
    struct range_spans ranges;
    struct session_spans sessions;
    struct counting counting;
    struct thread_events threads;

    struct pending_table *pending;
    struct graphs *graphs;
    struct collectives *collectives; /* NULL: the program has not used NCCL */
    struct allocations *allocations;
    struct program_stats *stats;
    bool stats_are_on;             /* as of the last tick */
    struct step_stats *step_stats; /* NULL: no step so far, of several ranks or while statistics are on */
    struct attribute_plan plan;
    struct kernel_names *names;
    struct shared_table shared;
    struct named_objects objects;
    struct devices devices;
    struct context_errors context_errors;
    struct code_stacks *code;     /* NULL: no stacks of launches */
    struct code_profile *profile; /* NULL: no profiles */

    struct span span; /* scratch, of a call or its GPU work */
    struct ended_span ended;
};

#endif
