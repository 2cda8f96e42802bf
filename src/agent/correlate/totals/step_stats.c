#include "agent/correlate/totals/step_stats.h"

#include "base/accounting/counters.h"
#include "agent/correlate/totals/busy.h"
#include "agent/correlate/totals/measuring.h"
#include "model/cuda/activities.h"
#include "model/metrics/histogram.h"
#include "model/cuda/step_host.h"

#include <stdlib.h>
#include <string.h>

/* Unions of a step's intervals of GPU work. The parts of its time are their differences. */
enum cover { COVER_COMPUTE, COVER_COMMUNICATION, COVER_BOTH, COVER_ALL, COVERS };

/* A call of an open step. */
struct step_call {
    uint64_t start_ns, length_ns : 55, waits : 1, step : 8; /* step: its index in `open` */
};
static_assert(STEP_STATS_OPEN_MAX <= 256 && sizeof(struct step_call) == 16, "as step_stats.h says");

/* A sampled step whose GPU records are not complete. */
struct open_step {
    bool is_used;
    bool is_closed; /* step_stats_close() was called, and is_complete is set */
    bool is_complete;
    bool is_inexact; /* some of its GPU time is not counted, because intervals ran out */
    bool has_calls;  /* all of its calls are kept */
    uint8_t kind;
    int64_t number;
    uint64_t begin_ns;      /* start on the host */
    uint64_t first_work_ns; /* start of its first GPU work; 0: none */
    struct step_end end;
    uint64_t lost;             /* records of work that were lost before it */
    struct measured_span span; /* of this process in the step's trace */
    struct busy_time covers[COVERS];
};

/* The training step so far. */
struct training {
    bool is_open;
    bool is_whole; /* its start is known */
    int64_t number;
    uint8_t source;
    uint64_t elapsed_ns; /* without evaluations and checkpoints */
    struct measured_span span;
};

struct step_stats {
    struct step_stats_options options;
    struct step_times times;
    uint64_t since_ns; /* start of the current step or other time; 0: unknown */
    struct measured_span span;
    struct training training;
    struct busy_pool *pool;
    struct open_step open[STEP_STATS_OPEN_MAX];
    struct { /* the step before the oldest open one */
        int64_t number;
        uint64_t begin_ns, end_ns; /* end_ns: of its GPU work; 0: none */
    } finished;
    uint32_t call_count;
    struct step_call calls[STEP_STATS_CALLS];  /* of all open steps, in order of arrival */
    struct step_call sorted[STEP_STATS_CALLS]; /* of one step */
};

enum status step_stats_create(const struct step_stats_options *options, struct step_stats **stats)
{
    struct step_stats *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    if (busy_pool_create(STEP_STATS_INTERVALS, STEP_STATS_INTERVALS, &made->pool) != STATUS_OK) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    const struct step_rules *rules = options->rules;
    made->options = *options;
    made->times = (struct step_times){.rank = rules->rank,
                                      .world_size = rules->world_size,
                                      .job = rules->job ? rules->job : rules->own,
                                      .kind = STEP_NONE,
                                      .source = STEP_BY_NONE};
    *stats = made;
    return STATUS_OK;
}

/* Calls `visit` for each histogram, or NULL. */
static void for_histograms(struct step_times *times, void (*visit)(struct histogram *))
{
    for (unsigned kind = 0; kind < STEP_NONE; kind++) {
        for (unsigned source = 0; source < STEP_BY_NONE; source++)
            visit(times->durations[kind][source]);
        for (unsigned part = 0; part < STEP_PARTS; part++)
            visit(times->parts[kind][part]);
        visit(times->communication[kind]);
    }
}

void step_stats_destroy(struct step_stats *stats)
{
    if (!stats)
        return;
    for_histograms(&stats->times, histogram_destroy);
    free(stats->pool);
    free(stats);
}

/* Durations of steps. */

static void add_duration(struct step_stats *stats, enum step_kind kind, uint8_t source, uint64_t duration_ns,
                         uint64_t end_ns, const struct measured_span *span)
{
    stats->times.sums[kind].count++;
    stats->times.sums[kind].total_ns += duration_ns;
    if (kind == STEP_TRAIN)
        stats->times.last_ns = duration_ns;
    measure(stats->options.settings, METRIC_STEP_DURATION, &stats->times.durations[kind][source], duration_ns,
            end_ns, span);
}

static void end_training(struct step_stats *stats, uint64_t end_ns)
{
    struct training *training = &stats->training;
    if (training->is_open && training->is_whole)
        add_duration(stats, STEP_TRAIN, training->source, training->elapsed_ns, end_ns, &training->span);
    training->is_open = false;
}

/* Ends the time since the last boundary, and adds it to its step. */
static void end_time(struct step_stats *stats, uint64_t end_ns)
{
    struct step_times *times = &stats->times;
    uint64_t elapsed_ns = stats->since_ns && end_ns > stats->since_ns ? end_ns - stats->since_ns : 0;
    if (times->kind == STEP_TRAIN)
        stats->training.elapsed_ns += elapsed_ns;
    else if (times->kind != STEP_NONE && stats->since_ns)
        add_duration(stats, (enum step_kind)times->kind, times->source, elapsed_ns, end_ns, &stats->span);
}

static struct measured_span span_of(const struct step *step)
{
    struct measured_span span = {{0}, {0}};
    if (step->is_sampled) {
        memcpy(span.trace_id, step->identity.trace_id, sizeof span.trace_id);
        memcpy(span.span_id, step->span_id, sizeof span.span_id);
    }
    return span;
}

void step_stats_begin(struct step_stats *stats, const struct step *step)
{
    if (!stats)
        return;
    struct step_times *times = &stats->times;
    struct training *training = &stats->training;
    bool continues = step->at.kind == STEP_TRAIN && training->is_open && training->number == step->at.number;
    end_time(stats, step->at.time);
    if (!continues && (step->at.kind == STEP_TRAIN || step->at.kind == STEP_NONE))
        end_training(stats, step->at.time);
    stats->since_ns = step->at.time;
    stats->span = span_of(step);
    times->number = step->at.number;
    times->kind = step->at.kind;
    times->source = step->at.source;
    if (!continues && step->at.kind == STEP_TRAIN)
        *training = (struct training){.is_open = true,
                                      .is_whole = step->at.time != 0,
                                      .number = step->at.number,
                                      .source = step->at.source,
                                      .span = stats->span};
}

/* Parts of the GPU's time. */

uint32_t step_stats_open(struct step_stats *stats, const struct step *step)
{
    for (uint32_t i = 0; stats && i < STEP_STATS_OPEN_MAX; i++) {
        if (stats->open[i].is_used)
            continue;
        stats->open[i] = (struct open_step){.is_used = true,
                                            .has_calls = true,
                                            .kind = step->at.kind,
                                            .number = step->at.number,
                                            .begin_ns = step->at.time,
                                            .lost = step->at.lost,
                                            .span = span_of(step)};
        return i + 1;
    }
    counter_add_alone(COUNTER_steps_unmeasured, 1);
    return 0;
}

void step_stats_add_call(struct step_stats *stats, uint32_t handle, const struct call_info *info,
                         const struct call_record *call)
{
    struct open_step *open = &stats->open[handle - 1];
    uint64_t length_ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
    open->has_calls &= stats->call_count < STEP_STATS_CALLS;
    if (open->has_calls)
        stats->calls[stats->call_count++] =
            (struct step_call){.start_ns = call->start_ns,
                               .length_ns = length_ns & (INT64_MAX >> 8),
                               .waits = step_host_waits(info->group, call_names + info->name),
                               .step = (uint8_t)(handle - 1)};
}

static void cover(struct step_stats *stats, struct open_step *open, enum cover cover,
                  const struct activity_record *record)
{
    open->is_inexact |= !busy_add(stats->pool, &open->covers[cover], record->start_ns, record->end_ns);
}

void step_stats_add_work(struct step_stats *stats, uint32_t handle, const struct gpu_work *work)
{
    struct open_step *open = &stats->open[handle - 1];
    uint16_t kind = work->record->kind;
    if (!open->first_work_ns || work->record->start_ns < open->first_work_ns)
        open->first_work_ns = work->record->start_ns;
    cover(stats, open, COVER_ALL, work->record);
    if (work->communicates)
        cover(stats, open, COVER_COMMUNICATION, work->record);
    else if (kind == ACTIVITY_KERNEL || kind == ACTIVITY_GRAPH_TRACE)
        cover(stats, open, COVER_COMPUTE, work->record);
    else
        return;
    cover(stats, open, COVER_BOTH, work->record);
}

static uint64_t end_of(const struct open_step *open)
{
    return open->covers[COVER_ALL].last_ns;
}

static bool follows(const struct step_stats *stats, const struct open_step *open)
{
    bool is_next = (uint64_t)open->number - (uint64_t)stats->finished.number <= 1; /* or the same */
    return stats->finished.end_ns && is_next && stats->finished.begin_ns < open->begin_ns;
}

/* Returns when the step starts on the GPU: the program has started it, and the GPU has finished earlier work.
 */
static uint64_t start_of(const struct step_stats *stats, const struct open_step *open)
{
    uint64_t start_ns = open->begin_ns > open->end.ready_ns ? open->begin_ns : open->end.ready_ns;
    if (follows(stats, open) && stats->finished.end_ns > start_ns)
        start_ns = stats->finished.end_ns;
    return start_ns < open->first_work_ns ? start_ns : open->first_work_ns;
}

static uint64_t beyond(uint64_t whole_ns, uint64_t part_ns)
{
    return whole_ns > part_ns ? whole_ns - part_ns : 0;
}

/* Returns the parts of the step's time, without the idle time. */
static struct measured_step parts_of(const struct step_stats *stats, const struct open_step *open)
{
    uint64_t covered_ns[COVERS];
    for (unsigned i = 0; i < COVERS; i++)
        covered_ns[i] = busy_ns(stats->pool, &open->covers[i]);
    return (struct measured_step){
        .number = open->number,
        .kind = open->kind,
        .communication_ns = covered_ns[COVER_COMMUNICATION],
        .parts_ns = {[STEP_COMPUTE] = covered_ns[COVER_COMPUTE],
                     [STEP_EXPOSED_COMMUNICATION] = beyond(covered_ns[COVER_BOTH], covered_ns[COVER_COMPUTE]),
                     [STEP_COPIES] = beyond(covered_ns[COVER_ALL], covered_ns[COVER_BOTH])}};
}

static void add_result(struct step_stats *stats, const struct open_step *open,
                       const struct measured_step *result)
{
    struct step_times *times = &stats->times;
    times->measured[times->measured_count++ % MEASURED_STEPS_KEPT] = *result;
    for (unsigned part = 0; part < STEP_PARTS; part++)
        measure(stats->options.settings, METRIC_STEP_PART_DURATION, &times->parts[open->kind][part],
                result->parts_ns[part], end_of(open), &open->span);
    measure(stats->options.settings, METRIC_STEP_COMMUNICATION_DURATION, &times->communication[open->kind],
            result->communication_ns, end_of(open), &open->span);
}

static int compare_calls(const void *a, const void *b)
{
    const struct step_call *one = a, *other = b;
    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

/* Takes the step's calls out of those of all steps, and sorts them by start, because they arrive one thread
 * after the other. Returns their number. */
static uint32_t take_calls(struct step_stats *stats, const struct open_step *open)
{
    uint32_t count = 0, kept = 0, at = 1;
    for (uint32_t i = 0; i < stats->call_count; i++) {
        bool is_of_step = stats->calls[i].step == open - stats->open;
        *(is_of_step ? &stats->sorted[count++] : &stats->calls[kept++]) = stats->calls[i];
    }
    stats->call_count = kept;
    while (at < count && stats->sorted[at - 1].start_ns <= stats->sorted[at].start_ns)
        at++;
    if (at < count)
        qsort(stats->sorted, count, sizeof *stats->sorted, compare_calls);
    return count;
}

/* Of the calls in `sorted`. */
static uint64_t host_ns(struct step_stats *stats, const struct open_step *open, uint32_t count)
{
    struct step_host host = {.worked_ns = 0};
    uint32_t interval = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct step_call *call = &stats->sorted[i];
        step_host_add_call(
            &host, open->begin_ns, call->start_ns, call->start_ns + call->length_ns, call->waits,
            busy_end_before(stats->pool, &open->covers[COVER_COMMUNICATION], call->start_ns, &interval));
    }
    return host.worked_ns;
}

/* Whether the step was measured from start to end, as in analysis/ranks/ranks_jobs.c. Divided steps are only
 * found later (is_divided()). */
static bool is_whole(const struct step_stats *stats, const struct open_step *open)
{
    bool is_first = open->number <= 1 && !stats->finished.begin_ns;
    return !open->end.is_cut && !is_first && (open->end.ready_ns || follows(stats, open));
}

static void measure_time(struct step_stats *stats, const struct open_step *open, uint32_t calls)
{
    struct measured_step result = parts_of(stats, open);
    uint64_t end_ns = open->end.end_ns > end_of(open) ? open->end.end_ns : end_of(open);
    result.parts_ns[STEP_IDLE] =
        beyond(beyond(end_ns, start_of(stats, open)), busy_ns(stats->pool, &open->covers[COVER_ALL]));
    result.is_whole = is_whole(stats, open);
    result.has_host = open->has_calls && open->end.ready_ns && !open->end.is_selection &&
                      !open->covers[COVER_COMMUNICATION].closed_until_ns;
    if (result.has_host)
        result.host_ns = host_ns(stats, open, calls);
    add_result(stats, open, &result);
}

static void finish(struct step_stats *stats, struct open_step *open)
{
    uint32_t calls = take_calls(stats, open);
    if (open->is_complete && end_of(open) && open->begin_ns)
        measure_time(stats, open, calls);
    else
        counter_add_alone(COUNTER_steps_unmeasured, 1);
    stats->finished.number = open->number;
    stats->finished.begin_ns = open->begin_ns;
    stats->finished.end_ns = end_of(open);
    for (unsigned i = 0; i < COVERS; i++)
        busy_clear(stats->pool, &open->covers[i]);
    open->is_used = false;
}

static struct open_step *oldest(struct step_stats *stats)
{
    struct open_step *found = NULL;
    for (uint32_t i = 0; i < STEP_STATS_OPEN_MAX; i++)
        if (stats->open[i].is_used && (!found || stats->open[i].begin_ns < found->begin_ns))
            found = &stats->open[i];
    return found;
}

/* The step is measured when the one before is closed, too, because only then its start on the GPU is known.
 */
bool step_stats_close(struct step_stats *stats, uint32_t handle, const struct step_end *end,
                      struct measured_step *parts)
{
    struct open_step *open = &stats->open[handle - 1];
    bool is_exact = !open->is_inexact;
    *parts = parts_of(stats, open);
    open->is_closed = true;
    open->is_complete = end->is_complete && is_exact && counters_lost_work() == open->lost;
    open->end = *end;
    for (open = oldest(stats); open && open->is_closed; open = oldest(stats))
        finish(stats, open);
    return is_exact;
}

/* Readers. */

struct step_times *step_stats_read(struct step_stats *stats)
{
    return stats ? &stats->times : NULL;
}

void step_stats_begin_interval(struct step_stats *stats, bool is_delta)
{
    if (stats)
        for_histograms(&stats->times, is_delta ? histogram_reset : histogram_forget_exemplars);
}

/* Whether an evaluation or a checkpoint divides the step: its other part was measured, too, or is in
 * progress. */
static bool is_divided(const struct step_stats *stats, const struct step_view *view, uint32_t at)
{
    int64_t number = view->measured[at].number;
    for (uint32_t i = 0; i < view->measured_count; i++)
        if (i != at && view->measured[i].number == number)
            return true;
    return stats->training.is_open && stats->training.number == number;
}

void step_stats_snapshot(const struct step_stats *stats, struct live_stats_view *view)
{
    view->has_steps = stats != NULL;
    if (!stats)
        return;
    const struct step_times *times = &stats->times;
    view->steps = (struct step_view){.rank = times->rank,
                                     .world_size = times->world_size,
                                     .number = times->number,
                                     .job = times->job,
                                     .kind = times->kind,
                                     .source = times->source,
                                     .sum = times->sums[STEP_TRAIN],
                                     .last_ns = times->last_ns};
    uint64_t kept = times->measured_count < MEASURED_STEPS_KEPT ? times->measured_count : MEASURED_STEPS_KEPT;
    for (uint64_t i = 1; i <= kept; i++) {
        const struct measured_step *step =
            &times->measured[(times->measured_count - i) % MEASURED_STEPS_KEPT];
        if (step->kind == STEP_TRAIN)
            view->steps.measured[view->steps.measured_count++] = *step;
    }
    for (uint32_t i = 0; i < view->steps.measured_count; i++)
        view->steps.measured[i].is_whole &= !is_divided(stats, &view->steps, i);
}
