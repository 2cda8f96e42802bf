/* Findings about launches that the GPU waits for: launch-bound phases and tiny kernels. */
#include "cli/util/xalloc.h"
#include "cli/stat/findings/detectors.h"

#include <stdlib.h>
#include <string.h>

/* Consecutive pieces of a device's work without a pause. */
struct window {
    const struct trace_span *first_call;
    uint64_t start_ns;
    uint64_t works, gaps, idle_ns, submit_ns, call_ns;
};

struct phases {
    struct findings *findings;
    struct tallies tallies; /* by device; ns: of the phases, bytes: pieces of work, extra: several threads */
    struct tallies hosts;   /* beside each: ns in calls that give work, extra: in other calls */
};

static uint64_t within(const struct intervals *intervals, uint64_t from_ns, uint64_t until_ns)
{
    return until_ns - from_ns - intervals_gaps(intervals, from_ns, until_ns);
}

/* Counts a gap if the GPU was idle because the host, although it did not wait, had not submitted more. */
static void count_gap(const struct survey *survey, struct window *window, const struct trace_span *work,
                      uint64_t from_ns)
{
    const struct trace_span *call = survey_call(survey, work);
    const struct process_survey *process = &survey->processes[places_process(&survey->places, work)];
    if (!call || call->end_ns <= from_ns || intervals_cover(&process->waits, from_ns))
        return;
    window->gaps++;
    window->idle_ns += work->start_ns - from_ns;
    window->submit_ns += within(&process->submits, from_ns, work->start_ns);
    window->call_ns += within(&process->calls, from_ns, work->start_ns);
}

/* Most pieces of work must follow a gap: one long gap (module loading, graph creation) is not a phase. */
static bool is_bound(const struct window *window, uint64_t length)
{
    return window->first_call && window->works >= WINDOW_WORK / 2 && 2 * window->gaps >= window->works &&
           (double)window->idle_ns >= WINDOW_IDLE_SHARE * (double)length;
}

static void end_window(struct phases *phases, struct window *window, uint32_t device, uint64_t end_ns)
{
    const struct survey *survey = phases->findings->survey;
    uint64_t length = end_ns - window->start_ns;
    if (is_bound(window, length)) {
        uint32_t process = places_process(&survey->places, window->first_call);
        struct tally *tally = tallies_at(&phases->tallies, device, process, window->first_call);
        struct tally *host = tallies_at(&phases->hosts, device, process, window->first_call);
        tally->extra |= tally->first->thread != window->first_call->thread;
        tally->ns += length;
        tally->bytes += window->works;
        tally->saving_ns += window->idle_ns;
        host->ns += window->submit_ns;
        host->extra += window->call_ns - window->submit_ns;
    }
    *window = (struct window){0};
}

static void find_phases(struct phases *phases, uint32_t device)
{
    const struct survey *survey = phases->findings->survey;
    const struct trace *trace = survey->stat->trace;
    struct window window = {0};
    uint64_t busy_until = 0;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *work = &trace->spans[i];
        if (work->resource != device || !trace_class_is_gpu(work->class))
            continue;
        bool has_gap = busy_until && work->start_ns > busy_until;
        if (window.works >= WINDOW_WORK || (has_gap && work->start_ns - busy_until > PAUSE_NS)) {
            end_window(phases, &window, device, busy_until);
            has_gap &= work->start_ns - busy_until <= PAUSE_NS;
        }
        if (!window.works)
            window.start_ns = has_gap ? busy_until : work->start_ns;
        if (has_gap)
            count_gap(survey, &window, work, busy_until);
        if (!window.first_call)
            window.first_call = survey_call(survey, work);
        window.works++;
        busy_until = work->end_ns > busy_until ? work->end_ns : busy_until;
    }
    end_window(phases, &window, device, busy_until);
}

static char *phase_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                            const void *context)
{
    const struct tallies *all = &((const struct phases *)context)->tallies;
    const struct tally *host = &((const struct phases *)context)->hosts.items[tally - all->items];
    char whole[EVIDENCE_TIME_BYTES], idle[EVIDENCE_TIME_BYTES];
    double share = 100.0 / (double)tally->saving_ns;
    finding->where = tally->extra ? "several threads" : places_thread(&survey->places, tally->first);
    finding->count = tally->bytes;
    return xasprintf("in %s with %llu pieces of work the GPU was idle for %s (%.0f %%) because "
                     "no work was submitted; the host spent %.0f %% of that in launches and "
                     "copies, %.0f %% in other CUDA calls, and the rest in its own code",
                     evidence_time(whole, tally->ns), (unsigned long long)tally->bytes,
                     evidence_time(idle, tally->saving_ns),
                     100.0 * (double)tally->saving_ns / (double)tally->ns, share * (double)host->ns,
                     share * (double)host->extra);
}

void find_launch_bound(struct findings *findings)
{
    struct phases phases = {.findings = findings};
    for (uint32_t device = 0; device < findings->survey->stat->trace->resource_count; device++) {
        if (findings->survey->devices[device].busy.count)
            find_phases(&phases, device);
    }
    findings_offer(findings, FINDING_LAUNCH_BOUND, &phases.tallies, 0, phase_evidence, &phases);
    tallies_deinit(&phases.hosts);
}

/* The GPU's idle time from the start of the call to the start of its kernel. Concurrent launches of several
 * threads share that time; it counts once. */
static void count_tiny(struct tallies *tallies, const struct survey *survey, const struct trace_span *kernel,
                       const struct trace_span *call, uint64_t *counted_until)
{
    uint32_t process = places_process(&survey->places, kernel);
    uint64_t from = call->start_ns > *counted_until ? call->start_ns : *counted_until;
    struct tally *tally = tallies_at(tallies, kernel->name, process, kernel);
    tally->count++;
    tally->ns += stat_duration(kernel);
    tally->extra += stat_duration(call);
    tally->saving_ns += intervals_gaps(&survey->devices[kernel->resource].busy, from, kernel->start_ns);
    *counted_until = kernel->start_ns > *counted_until ? kernel->start_ns : *counted_until;
}

static char *tiny_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    char kernel[EVIDENCE_TIME_BYTES], call[EVIDENCE_TIME_BYTES], idle[EVIDENCE_TIME_BYTES];
    return xasprintf(
        "%llu runs take %s each on the GPU and %s each on the host; between call and kernel the GPU was "
        "idle for %s",
        (unsigned long long)tally->count, evidence_time(kernel, tally->ns / tally->count),
        evidence_time(call, tally->extra / tally->count), evidence_time(idle, tally->saving_ns));
}

void find_tiny_launches(struct findings *findings)
{
    const struct survey *survey = findings->survey;
    const struct trace *trace = survey->stat->trace;
    struct tallies tallies = {0};
    uint64_t *counted_until = xcalloc(trace->resource_count + 1, sizeof *counted_until);
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        const struct trace_span *call = span->class == CLASS_KERNEL ? survey_call(survey, span) : NULL;
        if (call && stat_duration(span) <= TINY_KERNEL_NS && !stat_attr(survey->stat, span, KEY_GRAPH))
            count_tiny(&tallies, survey, span, call, &counted_until[span->resource]);
    }
    findings_offer(findings, FINDING_TINY_LAUNCHES, &tallies, TINY_KERNEL_RUNS, tiny_evidence, NULL);
    free(counted_until);
}
