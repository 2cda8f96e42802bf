/* Findings about unnecessary waits for the GPU. */
#include "cli/util/xalloc.h"
#include "cli/stat/findings/detectors.h"

#include <stdlib.h>
#include <string.h>

/* A thread's work since its last wait. The next work that it submits shows whether the wait was needed. */
struct worker {
    const struct trace_span *wait; /* one that waited for work without results for the host; or NULL */
    uint64_t given;                /* pieces of work since the previous wait */
    bool has_results;              /* one of them copies to the host */
};

struct waits {
    struct findings *findings;
    struct worker *workers;  /* by thread */
    uint64_t *counted_until; /* by the device's resource: idle time counts for one thread only */
    struct tallies nothing;  /* by call */
    struct tallies between;
};

static struct tally *tally_at(struct waits *waits, struct tallies *tallies, const struct trace_span *call)
{
    return tallies_at(tallies, call->name, places_process(&waits->findings->survey->places, call), call);
}

/* Work is pending from the start of its call. The start of the wait decides. */
static void count_wait(struct waits *waits, const struct process_survey *process, struct worker *worker,
                       const struct trace_span *call)
{
    bool is_pending = intervals_cover(&process->outstanding, call->start_ns);
    bool is_short = stat_duration(call) <= NEEDLESS_WAIT_NS;
    if (!is_pending && is_short && process->outstanding.count && call->start_ns >= process->start_ns) {
        struct tally *tally = tally_at(waits, &waits->nothing, call);
        tally->count++;
        tally->saving_ns += stat_duration(call);
    }
    bool may_read = worker->has_results || process->has_managed;
    worker->wait = is_pending && worker->given && !may_read ? call : NULL;
    worker->given = 0;
    worker->has_results = false;
}

/* The GPU's idle time from the wait to the next work, if the host submitted it immediately. */
static void count_work(struct waits *waits, struct worker *worker, const struct trace_span *call,
                       const struct trace_span *work)
{
    const struct survey *survey = waits->findings->survey;
    const struct trace_span *wait = worker->wait;
    const char *kind = stat_attr(survey->stat, work, KEY_COPY_KIND);
    worker->given++;
    worker->has_results |= work->class == CLASS_COPY && (!kind || strstr(kind, "ToHost"));
    worker->wait = NULL;
    if (!wait || call->start_ns > wait->end_ns + SYNC_TO_NEXT_NS)
        return;
    struct tally *tally = tally_at(waits, &waits->between, wait);
    uint64_t *counted_until = &waits->counted_until[work->resource];
    uint64_t from = wait->start_ns > *counted_until ? wait->start_ns : *counted_until;
    tally->count++;
    tally->ns += stat_duration(wait);
    tally->saving_ns += intervals_gaps(&survey->devices[work->resource].busy, from, work->start_ns);
    *counted_until = work->start_ns > *counted_until ? work->start_ns : *counted_until;
}

static void scan(struct waits *waits)
{
    const struct survey *survey = waits->findings->survey;
    const struct trace *trace = survey->stat->trace;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *call = &trace->spans[i];
        if (call->class != CLASS_CALL || call->thread == TRACE_NONE || call->error)
            continue;
        struct worker *worker = &waits->workers[call->thread];
        if (survey_waits(survey, call)) {
            count_wait(waits, &survey->processes[places_process(&survey->places, call)], worker, call);
            continue;
        }
        const struct trace_span *work =
            survey_submits(survey, call) ? survey_work(survey, call, CLASS_COUNT) : NULL;
        if (work)
            count_work(waits, worker, call, work);
    }
}

static char *nothing_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                              const void *context)
{
    char time[EVIDENCE_TIME_BYTES];
    return xasprintf("%llu calls (first on thread %s) waited although no work of the process "
                     "was pending; they took %s",
                     (unsigned long long)tally->count, places_thread(&survey->places, tally->first),
                     evidence_time(time, tally->saving_ns));
}

static char *between_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                              const void *context)
{
    char waited[EVIDENCE_TIME_BYTES], idle[EVIDENCE_TIME_BYTES], next[EVIDENCE_TIME_BYTES];
    return xasprintf(
        "%llu times a thread (first %s) waited, %s in total, for work that copies nothing to the host, "
        "and submitted more within %s; from the start of the wait to that work the GPU was idle for %s",
        (unsigned long long)tally->count, places_thread(&survey->places, tally->first),
        evidence_time(waited, tally->ns), evidence_time(next, SYNC_TO_NEXT_NS),
        evidence_time(idle, tally->saving_ns));
}

void find_needless_waits(struct findings *findings)
{
    struct waits waits = {.findings = findings};
    const struct trace *trace = findings->survey->stat->trace;
    waits.workers = xcalloc(trace->thread_count + 1, sizeof *waits.workers);
    waits.counted_until = xcalloc(trace->resource_count + 1, sizeof *waits.counted_until);
    scan(&waits);
    findings_offer(findings, FINDING_SYNC_NOTHING, &waits.nothing, REPEATED_MIN, nothing_evidence, NULL);
    findings_offer(findings, FINDING_SYNC_BETWEEN, &waits.between, REPEATED_MIN, between_evidence, NULL);
    free(waits.workers);
    free(waits.counted_until);
}
