/* Findings about launches that the GPU waits for: launch-bound phases and tiny kernels. */
#include "cli/util/xalloc.h"
#include "analysis/stat/findings/finding.h"

#include <stdlib.h>
#include <string.h>

/* Consecutive pieces of a device's work without a pause. */
struct window {
    bool has_call;
    struct trace_span first_call;
    uint64_t start_ns;
    uint64_t works, gaps, idle_ns, submit_ns, call_ns;
    uint32_t origins[WINDOW_WORK]; /* origins of the pieces of work */
};

struct phases {
    bool has_engine;        /* a serving engine has started: earlier work was its warm-up */
    struct tallies tallies; /* by device. ns: length of the phases; bytes: pieces of work; extra: several
                               threads launch */
    struct tallies hosts;   /* one each. ns: time in calls that submit work; extra: time in other calls */
    struct paged devices;   /* struct phase by resource */
};

struct phase {
    struct window window;
    uint64_t busy_until_ns; /* 0: no work yet */
};

static uint64_t within(const struct intervals *intervals, uint64_t from_ns, uint64_t until_ns)
{
    return until_ns - from_ns - intervals_gaps(intervals, from_ns, until_ns);
}

/* Counts a gap if the GPU was idle because the host, although it did not wait, had not submitted more. */
static void count_gap(const struct survey *survey, struct window *window, const struct trace_span *work,
                      uint64_t from_ns)
{
    const struct trace_span *call = stat_call_of_work(survey->stat, work);
    const struct process_survey *process = survey_process(survey, work);
    if (!call || call->end_ns <= from_ns || intervals_cover(&process->waits, from_ns))
        return;
    window->gaps++;
    window->idle_ns += work->start_ns - from_ns;
    window->submit_ns += within(&process->submits, from_ns, work->start_ns);
    window->call_ns += within(&process->calls, from_ns, work->start_ns);
}

static void end_window(struct phases *phases, const struct survey *survey, struct window *window,
                       uint32_t device, uint64_t end_ns)
{
    uint64_t length = end_ns - window->start_ns;
    /* Most pieces of work must follow a gap: one long gap (module loading, graph creation) is not a phase. */
    bool is_bound = window->has_call && window->works >= WINDOW_WORK / 2 &&
                    2 * window->gaps >= window->works &&
                    (double)window->idle_ns >= WINDOW_IDLE_SHARE * (double)length;
    if (survey_device(survey, device)->busy.count && is_bound) {
        const struct trace_span *call = &window->first_call;
        uint32_t process = places_process(survey->stat->places, call);
        struct tally *tally = tallies_at(&phases->tallies, device, process, call);
        struct tally *host = tallies_at(&phases->hosts, device, process, call);
        tally->extra |= tally->first.thread != call->thread;
        tally->ns += length;
        tally->bytes += window->works;
        tally->saving_ns += window->idle_ns;
        host->ns += window->submit_ns;
        host->extra += window->call_ns - window->submit_ns;
        for (size_t i = 0; i < window->works; i++)
            tallies_add_origin(&phases->tallies, tally, window->origins[i], 1);
    }
    *window = (struct window){0};
}

static void forget_phases(struct phases *phases)
{
    tallies_deinit(&phases->tallies);
    tallies_deinit(&phases->hosts);
    paged_deinit(&phases->devices);
}

static void take_phase(void *state, struct survey *survey, const struct trace_span *work)
{
    struct phases *all = state;
    if (!all->has_engine && work->class <= CLASS_SESSION &&
        stat_has(survey->stat, work, KEY_ITERATION_NUMBER)) {
        forget_phases(all);
        all->has_engine = true;
    }
    if (!trace_class_is_gpu(work->class))
        return;
    struct phase *phase = paged_at(&all->devices, work->resource, sizeof *phase);
    struct window *window = &phase->window;
    uint64_t busy_until = phase->busy_until_ns;
    bool has_gap = busy_until && work->start_ns > busy_until;
    if (window->works >= WINDOW_WORK || (has_gap && work->start_ns - busy_until > PAUSE_NS)) {
        end_window(state, survey, window, work->resource, busy_until);
        has_gap &= work->start_ns - busy_until <= PAUSE_NS;
    }
    if (!window->works)
        window->start_ns = has_gap ? busy_until : work->start_ns;
    if (has_gap)
        count_gap(survey, window, work, busy_until);
    const struct trace_span *call = window->has_call ? NULL : stat_call_of_work(survey->stat, work);
    if (call) {
        window->has_call = true;
        window->first_call = *call;
    }
    window->origins[window->works++] = survey_origin(survey, work);
    phase->busy_until_ns = work->end_ns > busy_until ? work->end_ns : busy_until;
}

static char *phase_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                            const void *context)
{
    const struct tallies *all = &((const struct phases *)context)->tallies;
    const struct tally *host = &((const struct phases *)context)->hosts.items[tally - all->items];
    double share = 100.0 / (double)tally->saving_ns;
    finding->where =
        tally->extra ? "several threads" : places_thread(survey->stat->places, tally->first.thread);
    finding->count = tally->bytes;
    return xasprintf("in %s with %llu pieces of work the GPU was idle for %s (%.0f %%) because "
                     "no work was submitted; the host spent %.0f %% of that in launches and "
                     "copies, %.0f %% in other CUDA calls, and the rest in its own code",
                     EVIDENCE_TIME(tally->ns), (unsigned long long)tally->bytes,
                     EVIDENCE_TIME(tally->saving_ns), 100.0 * (double)tally->saving_ns / (double)tally->ns,
                     share * (double)host->ns, share * (double)host->extra);
}

static void finish_phases(void *state, struct findings *findings)
{
    struct phases *phases = state;
    struct phase *phase;
    for (size_t i = 0; findings && (phase = paged_next(&phases->devices, &i, sizeof *phase)); i++)
        end_window(phases, findings->survey, &phase->window, (uint32_t)i, phase->busy_until_ns);
    findings_offer(findings, FINDING_LAUNCH_BOUND, &phases->tallies, 0, phase_evidence, phases);
    tallies_deinit(&phases->hosts);
    paged_deinit(&phases->devices);
}

const struct detector find_launch_bound = {sizeof(struct phases), take_phase, NULL, finish_phases};

struct tiny {
    struct tallies tallies;
    struct paged counted_until_ns; /* uint64_t by resource; 0: no work yet */
    struct int_map
        steps; /* traces of training steps; beside them, with a resource: those that have work there */
};

/* Counts a tiny launch. Its saving is the GPU's idle time from the start of the call to the start of its
 * kernel. Concurrent launches of several threads share that time, which counts once. */
static void count_tiny(struct tiny *tiny, struct survey *survey, const struct trace_span *kernel,
                       const struct trace_span *call)
{
    uint64_t *counted_until = paged_at(&tiny->counted_until_ns, kernel->resource, sizeof *counted_until);
    uint64_t from = call->start_ns > *counted_until ? call->start_ns : *counted_until;
    struct tally *tally =
        tallies_count(&tiny->tallies, survey, kernel->name, kernel, survey_origin(survey, kernel));
    tally->ns += stat_duration(kernel);
    tally->extra += stat_duration(call);
    struct idle_time idle = {from, kernel->start_ns, kernel->resource, false};
    survey_ask(survey, &idle, &tiny->tallies, tallies_number(&tiny->tallies, tally));
    *counted_until = kernel->start_ns > *counted_until ? kernel->start_ns : *counted_until;
}

/* Skips the time before the first work of the input or of a step, in which the GPU may do work that has no
 * spans. */
static void skip_unknown(struct tiny *tiny, const struct survey *survey, const struct trace_span *work)
{
    uint64_t *counted_until = paged_at(&tiny->counted_until_ns, work->resource, sizeof *counted_until);
    uint64_t key = (uint64_t)(work->resource + 1) << 32 | work->trace;
    bool is_first =
        int_map_get(&tiny->steps, work->trace) != MAP_NONE && int_map_get(&tiny->steps, key) == MAP_NONE;
    if (!stat_is_work(survey->stat, work) || (*counted_until && !is_first))
        return;
    *counted_until = work->start_ns > *counted_until ? work->start_ns : *counted_until;
    if (is_first)
        int_map_set(&tiny->steps, key, 0);
}

static void take_tiny(void *state, struct survey *survey, const struct trace_span *span)
{
    struct tiny *tiny = state;
    if (stat_has(survey->stat, span, KEY_STEP_NUMBER))
        int_map_set(&tiny->steps, span->trace, 0);
    if (trace_class_is_gpu(span->class))
        skip_unknown(tiny, survey, span);
    const struct trace_span *call =
        span->class == CLASS_KERNEL ? stat_call_of_work(survey->stat, span) : NULL;
    if (!call || stat_duration(span) > TINY_KERNEL_NS || stat_has(survey->stat, span, KEY_GRAPH))
        return;
    count_tiny(tiny, survey, span, call);
}

static char *tiny_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    return xasprintf(
        "%llu runs take %s each on the GPU and %s each on the host; between call and kernel the GPU was "
        "idle for %s",
        (unsigned long long)tally->count, EVIDENCE_TIME(tally->ns / tally->count),
        EVIDENCE_TIME(tally->extra / tally->count), EVIDENCE_TIME(tally->saving_ns));
}

static void finish_tiny(void *state, struct findings *findings)
{
    struct tiny *tiny = state;
    findings_offer(findings, FINDING_TINY_LAUNCHES, &tiny->tallies, TINY_KERNEL_RUNS, tiny_evidence, NULL);
    paged_deinit(&tiny->counted_until_ns);
    int_map_deinit(&tiny->steps);
}

const struct detector find_tiny_launches = {sizeof(struct tiny), take_tiny, NULL, finish_tiny};
