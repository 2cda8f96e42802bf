#include "agent/correlate/correlate.h"

#include "base/clock.h"
#include "agent/correlate/call_spans.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/engine_spans.h"
#include "agent/correlate/facts.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/join/collectives.h"
#include "agent/correlate/join/entry_queue.h"
#include "agent/correlate/join/gpu_counted.h"
#include "agent/correlate/join/graphs.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/stacks/code_stacks.h"
#include "agent/correlate/range_spans.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/stacks/code_profile.h"
#include "agent/correlate/state.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/totals/allocations.h"
#include "agent/correlate/totals/engine_stats.h"
#include "agent/correlate/totals/program_stats.h"
#include "agent/correlate/totals/step_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES (3 * 512 * 1024) /* without the table of kernel_names.c */
#define LEASE_NS    (10 * NS_PER_SECOND)

static enum status create_code(struct correlate *c)
{
    const struct settings *settings = c->options.settings;
    bool has_profiles = settings->profiles.enabled;
    enum status status = STATUS_OK;
    if (settings_have_stacks(settings))
        status = code_stacks_create(c->options.forget_code, has_profiles, &c->code);
    return has_profiles && status == STATUS_OK ? code_profile_create(c->code, &c->profile) : status;
}

static enum status create_parts(struct correlate *c, const struct correlate_options *options)
{
    const struct settings *settings = options->settings;
    if (allocations_create(&c->allocations) != STATUS_OK)
        return STATUS_NO_MEMORY;
    struct program_stats_options stats = {.allocations = c->allocations,
                                          .has_metrics = settings->metrics.is_on,
                                          .streams = settings->metrics.streams,
                                          .exemplars = settings->metrics.exemplar_filter};
    session_init(&c->sessions.current, settings, options->program, options->parent);
    bool is_created = pending_create(settings->correlation.pending_max, &c->pending) == STATUS_OK &&
                      graphs_create(settings_have_graph_nodes(settings),
                                    settings_have_launch_stacks(settings), &c->graphs) == STATUS_OK &&
                      program_stats_create(&stats, &c->stats) == STATUS_OK &&
                      kernel_names_create(NAMES_BYTES, &c->names) == STATUS_OK &&
                      gpu_join_init(&c->join, settings) == STATUS_OK &&
                      counting_init(&c->counting, c->is_summary, session_spans_account_at) == STATUS_OK;
    return is_created && create_code(c) == STATUS_OK ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Chooses the name of this process's span in each step: "rank 3", or the program's name. */
static void name_rank(struct correlate *c)
{
    const struct step_rules *rules = c->options.steps;
    if (rules && rules->rank >= 0)
        snprintf(c->sessions.rank, sizeof c->sessions.rank, "rank %lld", (long long)rules->rank);
    else
        snprintf(c->sessions.rank, sizeof c->sessions.rank, "%s", c->options.program);
}

enum status correlate_create(const struct correlate_options *options, struct correlate **correlate)
{
    struct correlate *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->options = *options;
    name_rank(made);
    made->is_summary = options->settings->detail == DETAIL_SUMMARY;
    made->stats_are_on = options->settings->metrics.is_on;
    attributes_init(&made->plan, options->settings->detail);
    if (create_parts(made, options) != STATUS_OK) {
        correlate_destroy(made);
        return STATUS_NO_MEMORY;
    }
    made->now_ns = clock_monotonic_ns();
    *correlate = made;
    return STATUS_OK;
}

void correlate_destroy(struct correlate *correlate)
{
    if (!correlate)
        return;
    engine_stats_destroy(correlate->engine_stats);
    engine_spans_destroy(correlate->engine);
    pending_destroy(correlate->pending);
    graphs_destroy(correlate->graphs);
    program_stats_destroy(correlate->stats);
    step_stats_destroy(correlate->step_stats);
    allocations_destroy(correlate->allocations);
    free(correlate->names);
    devices_deinit(&correlate->devices);
    gpu_join_deinit(&correlate->join);
    counting_deinit(&correlate->counting);
    free(correlate->collectives);
    code_profile_destroy(correlate->profile);
    free(correlate->code);
    free(correlate);
}

void correlate_name(struct correlate *c, const struct name_record *name)
{
    if (name->head.cbid == NAMED_CONTEXT_ID) {
        devices_note_handle(&c->devices, name->id, name->handle);
        return;
    }
    if (name->head.cbid > NAMED_CONTEXT_ID)
        return; /* from a recording of a later version */
    named_objects_name(&c->objects, (enum named_object)name->head.cbid, name->handle, name->name,
                       name->name_bytes);
    if (name->head.cbid == NAMED_DEVICE)
        facts_name_device(c, name->handle);
}

void correlate_gpu_counters(struct correlate *c, const struct gpu_counters_record *counters)
{
    if (c->join.gpu_counted)
        gpu_counted_add(c->join.gpu_counted, counters);
}

void correlate_tick(struct correlate *c, uint64_t now_ns)
{
    c->now_ns = now_ns;
    kernel_names_begin_round(c->names);
    c->stats_are_on = program_stats_tick(c->stats, now_ns);
    if (c->sessions.steps.count)
        session_spans_end_steps(c);
    if (now_ns < c->next_sweep_ns)
        return;
    c->next_sweep_ns = now_ns + SWEEP_INTERVAL_NS;
    gpu_join_sweep(c);
    counting_sweep(c);
    if (c->sessions.current.is_open)
        session_spans_end_if_due(c, clock_now_ns());
    if (c->engine)
        engine_spans_sweep(c, clock_now_ns());
}

void correlate_settle(struct correlate *c, uint64_t now_ns)
{
    c->next_sweep_ns = 0;
    correlate_tick(c, now_ns);
}

bool correlate_wants_records(struct correlate *c)
{
    bool for_device = c->join.lacks_device && !c->join.has_asked_for_device;
    c->join.has_asked_for_device |= for_device;
    return counting_wants_records(c) || for_device;
}

uint32_t correlate_waiting(const struct correlate *c)
{
    return pending_waiting(c->pending);
}

uint64_t correlate_held(const struct correlate *c)
{
    return (uint64_t)entry_queue_count(c->join.waiting) + c->ranges.open.open +
           entry_queue_count(c->counting.lingering) + session_spans_open(c);
}

void correlate_finish(struct correlate *c)
{
    c->is_finishing = true;
    gpu_join_sweep(c);
    pending_finish(c->pending);
    range_spans_finish(c);
    call_spans_finish(c);
    session_spans_end(c, "exit");
    counting_sweep(c);
    engine_spans_finish(c);
}

struct live_stats *correlate_live_stats(struct correlate *c)
{
    struct live_stats *stats = program_stats_read(c->stats);
    stats->steps = step_stats_read(c->step_stats);
    stats->engines = engine_stats_read(c->engine_stats);
    return stats;
}

void correlate_begin_interval(struct correlate *c, bool is_delta)
{
    program_stats_begin_interval(c->stats, is_delta);
    step_stats_begin_interval(c->step_stats, is_delta);
    engine_stats_begin_interval(c->engine_stats, is_delta);
}

const struct profile *correlate_end_profile(struct correlate *c)
{
    return code_profile_end(c->profile);
}

void correlate_begin_profile(struct correlate *c)
{
    code_profile_begin(c->profile);
}

const char *correlate_device_id(const struct correlate *c, uint32_t device)
{
    return c->devices.ids[device];
}

void correlate_snapshot(struct correlate *c, uint64_t now_ns, struct live_stats_view *view)
{
    program_stats_snapshot(c->stats, &c->devices, view);
    step_stats_snapshot(c->step_stats, view);
    program_stats_lease(c->stats, now_ns, now_ns + LEASE_NS);
    c->stats_are_on = true;
}

uint32_t correlate_traces(const struct correlate *c, uint8_t (*traces)[16], uint32_t max, uint32_t *total)
{
    uint32_t kept =
        c->sessions.current.number < SESSION_TRACES_KEPT ? c->sessions.current.number : SESSION_TRACES_KEPT;
    kept = kept < max ? kept : max;
    memcpy(traces, c->sessions.current.traces, kept * sizeof *traces);
    *total = c->sessions.current.number;
    return kept;
}
