/* Ranks of a serving engine that start its iterations later than the other ranks of their host. */
#include "analysis/stat/base/engines.h"
#include "analysis/stat/base/places.h"
#include "analysis/stat/findings/finding.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_MAX (1u << 16) /* iterations of several ranks that are known at a time */

/* An iteration, by the ranks that have started it so far. */
struct shared {
    uint64_t last_start_ns, first_end_ns;
    const char *host; /* of the first one; NULL: unknown */
};

struct late_ranks {
    struct int_map traces; /* trace → its number */
    struct shared *shared;
    size_t count, capacity;
    struct tallies tallies; /* by process. ns: duration of its iterations; bytes: their count */
};

static void take_rank(struct late_ranks *all, struct survey *survey, const struct trace_span *span)
{
    const struct places *places = survey->stat->places;
    uint32_t process = places_process(places, span), known = int_map_get(&all->traces, span->trace);
    const char *host = places->list[process].host;
    if (known == MAP_NONE) {
        if (all->count == SHARED_MAX) { /* their ranks have started long ago */
            int_map_deinit(&all->traces);
            all->count = 0;
        }
        int_map_set(&all->traces, span->trace, (uint32_t)all->count);
        *XADD(all->shared, all->count, all->capacity) = (struct shared){span->start_ns, span->end_ns, host};
    }
    struct tally *tally = tallies_at(&all->tallies, process, process, span);
    tally->ns += stat_duration(span);
    tally->bytes++;
    tally->text = engine_name_of(survey->stat, span);
    struct shared *shared = known == MAP_NONE ? NULL : &all->shared[known];
    if (!shared || strcmp(shared->host ? shared->host : "", host ? host : "") != 0)
        return;
    /* Spans come in the order of their starts. */
    struct idle_time idle = {.from_ns = shared->last_start_ns, .until_ns = span->start_ns};
    bool is_stage = span->start_ns >= shared->first_end_ns;
    shared->last_start_ns = span->start_ns;
    if (span->end_ns < shared->first_end_ns)
        shared->first_end_ns = span->end_ns;
    if (is_stage || idle.until_ns - idle.from_ns < LATE_RANK_NS)
        return;
    tally->count++;
    tally->extra += idle.until_ns - idle.from_ns;
    /* Its GPU is known from the work of an earlier iteration. */
    const char *device = tally->bytes > 1 ? stat_attr(survey->stat, span, KEY_DEVICE_ID) : NULL;
    idle.resource = device ? places_device_named(places, process, device) : TRACE_NONE;
    if (idle.resource != TRACE_NONE)
        survey_ask(survey, &idle, &all->tallies, tallies_number(&all->tallies, tally));
}

static void take(void *state, struct survey *survey, const struct trace_span *span)
{
    const struct stat *stat = survey->stat;
    /* The spans of summaries are no sessions. */
    if (span->class == CLASS_SESSION && stat_has(stat, span, KEY_ITERATION_NUMBER))
        take_rank(state, survey, span);
}

static char *evidence_of(const struct survey *survey, const struct tally *tally, struct finding *finding,
                         const void *context)
{
    finding->where = tally->text ? tally->text : "engine";
    finding->base_ns = tally->ns;
    if ((double)tally->count < LATE_RANK_SHARE * (double)tally->bytes)
        return NULL;
    return xasprintf("the rank started %" PRIu64 " of %" PRIu64 " iterations later than the other ranks of "
                     "its host, by %s on average; its GPU was idle for %s meanwhile",
                     tally->count, tally->bytes, EVIDENCE_TIME(tally->extra / tally->count),
                     EVIDENCE_TIME(tally->saving_ns));
}

static void finish(void *state, struct findings *findings)
{
    struct late_ranks *all = state;
    findings_offer(findings, FINDING_LATE_RANK, &all->tallies, REPEATED_MIN, evidence_of, all);
    int_map_deinit(&all->traces);
    free(all->shared);
}

const struct detector find_late_ranks = {sizeof(struct late_ranks), take, NULL, finish};
