#include "agent/correlate/gpu_join.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/correlate/activity_spans.h"
#include "agent/correlate/activity_times.h"
#include "agent/correlate/collective_spans.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/facts.h"
#include "agent/correlate/join/gpu_counted.h"
#include "agent/correlate/join/graphs.h"
#include "agent/correlate/join/waiting.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/state.h"

#include <stdlib.h>
#include <string.h>

#define WAITING_BYTES     (2 * 1024 * 1024)
#define COPY_PEER_TO_PEER 10                   /* of CUpti_ActivityMemcpyKind */
#define QUEUED_NS         (10 * NS_PER_SECOND) /* GPUs run behind by less */
#define COUNTS_WAIT_NS    (5 * NS_PER_SECOND)  /* values are read within a second */

enum status gpu_join_init(struct gpu_join *join, const struct settings *settings)
{
    for (unsigned kind = 1; kind < ACTIVITY_KINDS_MAX; kind++)
        join->is_kind_filtered[kind] =
            activity_table[kind].name &&
            !filter_passes(&settings->capture.activities, activity_table[kind].name, NULL);
    enum status status = entry_queue_create(WAITING_BYTES, &join->waiting);
    return status == STATUS_OK ? gpu_counted_create(settings, &join->gpu_counted) : status;
}

void gpu_join_deinit(struct gpu_join *join)
{
    free(join->waiting);
    free(join->gpu_counted);
}

/* Not inlined, because few programs have steps. */
__attribute__((noinline)) static bool communicates(struct correlate *c, const struct activity_record *record,
                                                   const struct pending_call *call,
                                                   const struct kernel_name *name)
{
    enum collective_operation kernel = name ? (enum collective_operation)name->operation : COLLECTIVE_NONE;
    return collective_spans_communicates(c, record, call, kernel);
}

static struct gpu_work work_of(struct correlate *c, const struct activity_record *record,
                               const struct pending_call *call, bool is_time_unknown)
{
    struct gpu_work work = {.record = record,
                            .call = call,
                            .is_on_gpu = activity_table[record->kind].is_gpu_work,
                            .is_time_unknown = is_time_unknown,
                            .call_start_ns = call && !is_time_unknown ? call->start_ns : 0,
                            .bytes = attributes_value(record, c->plan.bytes[record->kind])};
    if (record->kind == ACTIVITY_MEMCPY_PEER)
        work.copy_kind = COPY_PEER_TO_PEER;
    else if (record->kind == ACTIVITY_MEMCPY)
        work.copy_kind = (uint32_t)attributes_value(record, c->plan.detail[ACTIVITY_MEMCPY]);
    if ((c->stats_are_on || c->step_stats) && record->kind == ACTIVITY_KERNEL && record->name)
        work.name = kernel_names_resolve(c->names, record->name);
    if (__builtin_expect(c->step_stats != NULL, 0))
        work.communicates = communicates(c, record, call, work.name);
    return work;
}

static void add_joined(struct correlate *c, const struct activity_record *record,
                       const struct pending_call *call)
{
    struct gpu_work work = work_of(c, record, call, false);
    activity_spans_add(c, &work);
}

/* Whether the work started while capture slept. It is then wanted only if its call is known. */
static bool is_of_sleep(const struct correlate *c, const struct activity_record *record)
{
    return c->options.slept_between && c->options.slept_between(record->start_ns, record->start_ns);
}

/* Whether the record should have a call. After a sleep, work whose call is unknown was probably launched
 * during the sleep. */
static bool has_a_call(const struct correlate *c, const struct activity_record *record)
{
    return c->options.expects_calls && (record->correlation_id || graphs_lack_launch(record)) &&
           activity_table[record->kind].is_gpu_work;
}

static void give_up(struct correlate *c, const struct activity_record *record)
{
    if (has_a_call(c, record) && activity_times_capture_slept()) {
        counter_add(COUNTER_asleep_records, 1);
        return;
    }
    if (activity_table[record->kind].is_gpu_work)
        counter_add(COUNTER_orphans, 1);
    add_joined(c, record, NULL);
}

/* CUPTI's own work on the host, such as loading a module, has the correlation ID of the calls that it makes:
 * it contains them, if it started before them. */
static bool contains_call(const struct activity_record *work, const struct pending_call *call)
{
    return work->start_ns < call->start_ns && !(call->flags & PENDING_UNSAMPLED);
}

static inline struct pending_call *answer_call(struct correlate *c, const struct activity_record *record)
{
    struct pending_call *call =
        record->correlation_id ? pending_find(c->pending, record->correlation_id, record->start_ns) : NULL;
    if (!call)
        return NULL;
    if (!activity_table[record->kind].is_gpu_work)
        return contains_call(record, call) ? NULL : call;
    if (pending_answer(c->pending, call))
        counting_answer(c, call->account);
    return call;
}

/* The launch of work in the body of a conditional node may be unknown until later records arrive (`is_late`).
 */
__attribute__((noinline)) static struct pending_call *
find_call_of_node(struct correlate *c, const struct activity_record *record, bool is_late)
{
    graphs_node_ran(c->graphs, record);
    if (!graphs_lack_launch(record))
        return answer_call(c, record);
    uint32_t launch = graphs_execution_of(c->graphs, record, is_late);
    return launch ? pending_find(c->pending, launch, record->start_ns) : NULL;
}

static inline __attribute__((always_inline)) struct pending_call *
find_call(struct correlate *c, const struct activity_record *record, bool is_late)
{
    return __builtin_expect(record->graph_node_id != 0, 0) ? find_call_of_node(c, record, is_late)
                                                           : answer_call(c, record);
}

static enum live_work work_of_call(const struct pending_call *call)
{
    return call->flags & PENDING_COLLECTIVE ? LIVE_WORK_COLLECTIVE : LIVE_WORK_KERNEL;
}

static uint32_t find_taken(const struct gpu_taken *taken, const struct activity_record *record)
{
    uint32_t n = 0;
    while (n < taken->count && n < GPU_TAKEN_MAX &&
           (taken->streams[n].context != record->context_id || taken->streams[n].stream != record->stream_id))
        n++;
    return n;
}

/* A forced flush delivers records of work that has not ended. */
static void note_unfinished(struct correlate *c, const struct activity_record *record,
                            const struct pending_call *call)
{
    struct gpu_left *left = &c->join.unfinished;
    if (!call && c->join.goes_on.reported_ns && has_a_call(c, record) && !record->end_ns)
        c->join.taken.count = GPU_TAKEN_MAX + 1; /* its call will wait for it forever */
    if (!call || !(call->flags & PENDING_KERNEL) || record->end_ns)
        return;
    if (!left->kind || call->start_ns < left->start_ns)
        *left = (struct gpu_left){work_of_call(call), call->start_ns};
    uint32_t n = find_taken(&c->join.taken, record);
    if (n == c->join.taken.count && n < GPU_TAKEN_MAX) {
        c->join.taken.streams[n].context = record->context_id;
        c->join.taken.streams[n].stream = record->stream_id;
    }
    c->join.taken.count += n == c->join.taken.count && n <= GPU_TAKEN_MAX;
    c->join.taken.flushed_ns = clock_now_ns();
}

/* A stream that goes on has ended what was taken. */
__attribute__((noinline)) static void forget_taken(struct gpu_taken *taken,
                                                   const struct activity_record *record)
{
    uint32_t n = find_taken(taken, record);
    if (n < taken->count && n < GPU_TAKEN_MAX && taken->count <= GPU_TAKEN_MAX &&
        activity_table[record->kind].is_gpu_work && record->start_ns > taken->flushed_ns)
        taken->streams[n] = taken->streams[--taken->count];
}

void gpu_join_begin_flush(struct correlate *c)
{
    if (c->join.unfinished.kind != LIVE_WORK_UNKNOWN)
        live_forget_launches();
    c->join.taken_before = c->join.taken.count > 0;
    c->join.unfinished = (struct gpu_left){LIVE_WORK_UNKNOWN, 0};
    c->join.goes_on = (struct context_error){.reported_ns = clock_now_ns()};
}

/* Whether each launch has been seen, and each record of an end. */
static bool knows_ends(const struct correlate *c)
{
    static const enum counter losses[] = {COUNTER_lost_cupti_dropped, COUNTER_lost_no_buffer,
                                          COUNTER_lost_malformed,     COUNTER_lost_after_error,
                                          COUNTER_lost_ring_full,     COUNTER_lost_no_ring,
                                          COUNTER_pending_evicted,    COUNTER_collectives_forgotten};
    const struct filter *kernels = &c->options.settings->capture.kernels;
    bool knows = c->options.expects_calls && !c->is_summary && !graphs_any(c->graphs) &&
                 !c->join.is_kind_filtered[ACTIVITY_KERNEL] && !kernels->allow.count && !kernels->deny.count;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        knows &= counter_get(losses[i]) == 0;
    return knows;
}

bool gpu_join_end_flush(struct correlate *c, struct gpu_left *left)
{
    const struct pending_call *oldest = pending_oldest(c->pending);
    *left = c->join.unfinished;
    c->join.goes_on.reported_ns = 0;
    if (!knows_ends(c)) {
        *left = (struct gpu_left){LIVE_WORK_UNKNOWN, 0};
        return false;
    }
    if (oldest && (!left->kind || oldest->start_ns < left->start_ns))
        *left = (struct gpu_left){work_of_call(oldest), oldest->start_ns};
    uint64_t now_ns = clock_now_ns(), from_ns = left->kind ? left->start_ns : now_ns;
    if (c->options.slept_between && c->options.slept_between(from_ns - QUEUED_NS, now_ns))
        *left = (struct gpu_left){LIVE_WORK_UNKNOWN, 0}; /* an older launch may be of the sleep */
    else if (c->join.taken_before && c->join.taken.count)
        *left = (struct gpu_left){LIVE_WORK_UNKNOWN, 0}; /* or its record was taken earlier */
    else if (!left->kind)
        left->kind = LIVE_WORK_NONE;
    return true;
}

static void add_without_times(struct correlate *c, const struct activity_record *record,
                              struct pending_call *call)
{
    static struct activity_record completed;
    const struct context_error *error;
    note_unfinished(c, record, call);
    if (!activity_times_complete(c, record, call, &completed, &error))
        return;
    struct gpu_work work = work_of(c, &completed, call, !error);
    work.error = error;
    c->join.is_going_on = error == &c->join.goes_on;
    work.is_on_gpu &= !c->join.is_going_on; /* its times are no duration */
    activity_spans_add(c, &work);
    c->join.is_going_on = false;
}

static bool is_filtered(struct correlate *c, const struct activity_record *record)
{
    const struct filter *kernels = &c->options.settings->capture.kernels;
    if (c->join.is_kind_filtered[record->kind])
        return true; /* CUPTI enabled the kind together with another one */
    if (record->kind != ACTIVITY_KERNEL || (!kernels->allow.count && !kernels->deny.count) || !record->name)
        return false;
    const struct kernel_name *name = kernel_names_resolve(c->names, record->name);
    return !filter_passes(kernels, name->text, name->full);
}

/* Whether the device's description is still missing. Buffers arrive in any order, so the description can be
 * in one that is not full yet. Without it the span's resource has no name and UUID. */
static bool lacks_device(struct correlate *c, const struct activity_record *record)
{
    bool lacks = c->options.expects_devices && activity_table[record->kind].is_gpu_work &&
                 record->device_id < DEVICES_MAX && !c->devices.is_known[record->device_id];
    c->join.lacks_device |= lacks;
    return lacks;
}

/* Whether the record is of CUPTI's own kernel around a kernel with hardware counters. */
static bool is_profilers(const struct correlate *c, const struct activity_record *record)
{
    return c->join.gpu_counted && record->kind == ACTIVITY_KERNEL && record->name &&
           strcmp(record->name, GPU_COUNTERS_OWN_KERNEL) == 0;
}

/* Whether the kernel's counter values are still to come: they are read in batches. */
static bool lacks_counts(const struct correlate *c, const struct activity_record *record)
{
    return c->join.gpu_counted && record->kind == ACTIVITY_KERNEL &&
           gpu_counted_awaits(c->join.gpu_counted, record->correlation_id);
}

void gpu_join_add(struct correlate *c, const struct activity_record *record)
{
    if (__builtin_expect(c->join.taken.count != 0, 0))
        forget_taken(&c->join.taken, record);
    if (record->kind == ACTIVITY_DEVICE || record->kind == ACTIVITY_CONTEXT ||
        !c->plan.has_start[record->kind]) {
        facts_note(c, record);
        return;
    }
    if (is_filtered(c, record) || is_profilers(c, record)) {
        counter_add(COUNTER_spans_filtered, 1);
        return;
    }
    if ((lacks_device(c, record) || lacks_counts(c, record)) &&
        waiting_push(c->join.waiting, record, c->now_ns))
        return;
    struct pending_call *call = find_call(c, record, false);
    if (!activity_times_are_sound(record)) {
        bool may_wait = !call && record->kind == ACTIVITY_GRAPH_TRACE && has_a_call(c, record);
        if (!may_wait || !waiting_push(c->join.waiting, record, c->now_ns))
            add_without_times(c, record, call);
        return;
    }
    if (call)
        add_joined(c, record, call);
    else if (is_of_sleep(c, record))
        counter_add(COUNTER_asleep_records, 1);
    else if (!has_a_call(c, record) || !waiting_push(c->join.waiting, record, c->now_ns))
        give_up(c, record);
    if (record->kind == ACTIVITY_OVERHEAD) /* after its span, which may have ended the previous session */
        session_overhead_add(record, attributes_value(record, c->plan.detail[ACTIVITY_OVERHEAD]));
}

/* Handles a waiting record. False: the record continues to wait. */
static bool sweep_one(void *context, const void *entry, uint64_t since_ns)
{
    static struct activity_record record;
    struct correlate *c = context;
    bool is_late =
        c->is_finishing || c->now_ns >= since_ns + c->options.settings->correlation.wait_ms * NS_PER_MS;
    bool may_await_counts = !c->is_finishing && c->now_ns < since_ns + COUNTS_WAIT_NS;
    waiting_unpack(entry, &record);
    if ((!is_late && lacks_device(c, &record)) || (may_await_counts && lacks_counts(c, &record)))
        return false;
    struct pending_call *call = find_call(c, &record, is_late);
    if (!is_late && !call && has_a_call(c, &record))
        return false;
    if (!activity_times_are_sound(&record))
        add_without_times(c, &record, call);
    else if (call)
        add_joined(c, &record, call);
    else
        give_up(c, &record);
    return true;
}

void gpu_join_sweep(struct correlate *c)
{
    entry_queue_sweep(c->join.waiting, sweep_one, c);
}
