/* Findings about unnecessary waits for the GPU. */
#include "cli/util/xalloc.h"
#include "analysis/stat/findings/finding.h"

#include <stdlib.h>
#include <string.h>

/* A thread's work since its last wait. The next work that it submits shows whether the wait was needed. */
struct worker {
    bool has_wait; /* `wait` waited for work without results for the host */
    struct trace_span wait;
    uint32_t origin;  /* origin of the wait */
    uint64_t given;   /* pieces of work submitted since the previous wait */
    bool has_results; /* one of these copies to the host */
};

struct waits {
    struct paged workers; /* by thread */
    /* uint64_t by the device's resource: idle time counts for one thread only. */
    struct paged counted_until_ns;
    struct tallies nothing; /* by call */
    struct tallies between;
};

/* Counts a wait. It is needless if no work was pending at its start; work is pending from the start of its
 * call. */
static void count_wait(struct waits *waits, const struct survey *survey, struct worker *worker,
                       const struct trace_span *call)
{
    const struct process_survey *process = survey_process(survey, call);
    bool is_pending = process->pending_until_ns > call->start_ns;
    bool is_short = stat_duration(call) <= NEEDLESS_WAIT_NS;
    uint32_t origin = survey_origin(survey, call);
    if (!is_pending && is_short && process->has_work && call->start_ns >= process->start_ns)
        tallies_count(&waits->nothing, survey, call->name, call, origin)->saving_ns += stat_duration(call);
    worker->has_wait = is_pending && worker->given && !worker->has_results;
    worker->wait = *call;
    worker->origin = origin;
    worker->given = 0;
    worker->has_results = false;
}

/* Counts a wait between launches: its saving is the GPU's idle time from the wait to the next work, if the
 * host submitted that immediately. */
static void count_work(struct waits *waits, struct survey *survey, struct worker *worker,
                       const struct trace_span *call, const struct trace_span *work)
{
    const struct trace_span *wait = &worker->wait;
    const char *kind = stat_attr(survey->stat, work, KEY_COPY_KIND);
    bool is_between = worker->has_wait && call->start_ns <= wait->end_ns + SYNC_TO_NEXT_NS;
    worker->given++;
    worker->has_results |= work->class == CLASS_COPY && (!kind || strstr(kind, "ToHost"));
    worker->has_wait = false;
    if (!is_between)
        return;
    struct tally *tally = tallies_count(&waits->between, survey, wait->name, wait, worker->origin);
    uint64_t *counted = paged_at(&waits->counted_until_ns, work->resource, sizeof *counted);
    tally->ns += stat_duration(wait);
    struct idle_time idle = {wait->start_ns > *counted ? wait->start_ns : *counted, work->start_ns,
                             work->resource, false};
    survey_ask(survey, &idle, &waits->between, tallies_number(&waits->between, tally));
    *counted = work->start_ns > *counted ? work->start_ns : *counted;
}

static void take(void *state, struct survey *survey, const struct trace_span *call)
{
    struct waits *waits = state;
    if (call->class != CLASS_CALL || call->thread == TRACE_NONE || call->error)
        return;
    struct stat_call what = stat_call_of(survey->stat, call);
    const struct trace_span *work =
        what.submits && !what.waits ? survey_work(survey, call, CLASS_COUNT) : NULL;
    struct worker *worker = paged_at(&waits->workers, call->thread, sizeof *worker);
    if (what.waits)
        count_wait(waits, survey, worker, call);
    else if (work)
        count_work(waits, survey, worker, call, work);
}

static char *nothing_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                              const void *context)
{
    return xasprintf("%llu calls (first on thread %s) waited although no work of the process "
                     "was pending; they took %s",
                     (unsigned long long)tally->count,
                     places_thread(survey->stat->places, tally->first.thread),
                     EVIDENCE_TIME(tally->saving_ns));
}

static char *between_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                              const void *context)
{
    /* With managed memory, the host may have read results without a copy. */
    if (survey_process_at(survey, tally->process)->has_managed)
        return NULL;
    return xasprintf(
        "%llu times a thread (first %s) waited, %s in total, for work that copies nothing to the host, "
        "and submitted more within %s; from the start of the wait to that work the GPU was idle for %s",
        (unsigned long long)tally->count, places_thread(survey->stat->places, tally->first.thread),
        EVIDENCE_TIME(tally->ns), EVIDENCE_TIME(SYNC_TO_NEXT_NS), EVIDENCE_TIME(tally->saving_ns));
}

static void finish(void *state, struct findings *findings)
{
    struct waits *waits = state;
    findings_offer(findings, FINDING_SYNC_NOTHING, &waits->nothing, REPEATED_MIN, nothing_evidence, NULL);
    findings_offer(findings, FINDING_SYNC_BETWEEN, &waits->between, REPEATED_MIN, between_evidence, NULL);
    paged_deinit(&waits->workers);
    paged_deinit(&waits->counted_until_ns);
}

const struct detector find_needless_waits = {sizeof(struct waits), take, NULL, finish};
