/* Findings about serving engines, from the spans of their iterations and requests. */
#include "analysis/stat/base/engines.h"
#include "analysis/stat/base/places.h"
#include "analysis/stat/findings/finding.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIXED_MAX  65536 /* mixed iterations that are judged */
#define RECENT_MAX 64    /* iterations that a waiting request looks back */
#define NAMED_MAX  3     /* requests that the evidence names */

struct mixed {
    uint32_t engine, trace;
    uint64_t number, start_ns, duration_ns, gpu_ns, prefill_tokens, decode_tokens;
};

struct engine {
    const char *name;
    uint32_t process;
    uint64_t serving_ns;            /* duration of all recorded iterations */
    struct spread usual, usual_gpu; /* of iterations that only decode; known at the end */
    struct mixed worst;             /* the mixed iteration with the most GPU time */
    char *worst_parts;
    /* The previous iteration, if its totals and the work's spans are complete. The GPU is looked at from
     * last_idle_ns on. */
    bool has_last;
    uint64_t last_number, last_start_ns, last_end_ns, last_idle_ns;
    /* Small iterations that only decode: the latest ones, as a ring. */
    struct recent {
        uint64_t start_ns, end_ns;
    } recent[RECENT_MAX];
    uint64_t recent_count, counted_until_ns;
    /* Requests. */
    uint64_t requests, preempted, preemptions, first_preempted_ns;
    uint64_t prefill_tokens, repeated_tokens, gpu_ns;
    double repeated_ns;
};

struct engines {
    struct survey *survey;
    struct engine_iterations spans;
    struct engine_numbers numbers;
    struct engine *list;
    size_t count, capacity;
    struct samples durations, gpu_times; /* of iterations that only decode, by engine */
    struct mixed *mixed;
    size_t mixed_count, mixed_capacity;
    struct tallies gaps;    /* by engine. ns: time of iterations and of the gaps after them */
    struct tallies waiting; /* by engine. extra: requests that waited */
};

/* Returns the engine; NULL: it is beyond the limit. */
static struct engine *engine_at(struct engines *all, const char *name, uint32_t process)
{
    uint32_t number = engine_number(&all->numbers, name, process);
    if (number == ENGINES_MAX)
        return NULL;
    if (number == all->count)
        *XADD(all->list, all->count, all->capacity) =
            (struct engine){.name = name ? name : "engine", .process = process};
    return &all->list[number];
}

static struct tally *tally_of(const struct engines *all, struct tallies *tallies, const struct engine *engine,
                              uint64_t first_ns)
{
    struct trace_span first = {.start_ns = first_ns};
    return tallies_at(tallies, (uint64_t)(engine - all->list), engine->process, &first);
}

/* Returns the engine of a tally, and makes it the place of the finding. */
static const struct engine *place_at_engine(const struct engines *all, const struct tally *tally,
                                            struct finding *finding)
{
    const struct engine *engine = &all->list[tally->extra];
    finding->where = engine->name;
    finding->base_ns = engine->serving_ns;
    return engine;
}

/* --- gaps between iterations --- */

/* Counts the GPU's idle time between two iterations, if requests were in progress then: a request that
 * decodes has had an earlier iteration. Also the idle time in the first one, if CUDA graphs did its work:
 * then the engine's own code took it, and not launches. */
static void count_gap(struct engines *all, struct engine *engine, const struct engine_iteration *iteration)
{
    bool is_next = engine->has_last && iteration->number == engine->last_number + 1;
    if (!is_next || !iteration->decode_tokens || !iteration->device_id)
        return;
    uint32_t device =
        places_device_named(all->survey->stat->places, iteration->process, iteration->device_id);
    uint64_t end_ns = engine->last_end_ns, from_ns = engine->last_idle_ns;
    uint64_t until_ns = iteration->start_ns > end_ns ? iteration->start_ns : end_ns;
    if (device == TRACE_NONE || until_ns - end_ns > ENGINE_GAP_NS)
        return;
    struct tally *tally = tally_of(all, &all->gaps, engine, from_ns);
    tally->count++;
    tally->ns += until_ns - engine->last_start_ns;
    tally->extra = (uint64_t)(engine - all->list);
    struct idle_time idle = {from_ns, until_ns, device, false};
    survey_ask(all->survey, &idle, &all->gaps, tallies_number(&all->gaps, tally));
}

static char *gap_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                          const void *context)
{
    place_at_engine(context, tally, finding);
    finding->base_ns = tally->ns;
    if ((double)tally->saving_ns < ENGINE_IDLE_SHARE * (double)tally->ns)
        return NULL;
    return xasprintf("from %" PRIu64 " iterations to the next ones, although requests were in progress, the "
                     "GPU was idle for %s in all, of %s (%.0f %%)",
                     tally->count, EVIDENCE_TIME(tally->saving_ns), EVIDENCE_TIME(tally->ns),
                     100.0 * (double)tally->saving_ns / (double)tally->ns);
}

/* --- mixed iterations --- */

static void take_mixed(struct engines *all, struct engine *engine, const struct engine_iteration *iteration)
{
    struct mixed mixed = {.engine = (uint32_t)(engine - all->list),
                          .trace = iteration->trace,
                          .number = iteration->number,
                          .start_ns = iteration->start_ns,
                          .duration_ns = iteration->end_ns - iteration->start_ns,
                          .gpu_ns = iteration->gpu_ns,
                          .prefill_tokens = iteration->prefill_tokens,
                          .decode_tokens = iteration->decode_tokens};
    if (all->mixed_count == MIXED_MAX)
        return;
    *XADD(all->mixed, all->mixed_count, all->mixed_capacity) = mixed;
    if (mixed.gpu_ns <= engine->worst.gpu_ns)
        return;
    engine->worst = mixed;
    free(engine->worst_parts);
    engine->worst_parts = iteration->parts ? xstrdup(iteration->parts) : NULL;
}

/* Adds the first requests that have prompts, of parts such as ["r17 decode 1","r21 prefill 65"]. */
static void name_requests(struct text *text, const char *parts)
{
    unsigned named = 0, more = 0;
    for (const char *at = parts; at && (at = strstr(at, " prefill ")) != NULL; at++) {
        const char *start = at;
        while (start > parts && start[-1] != '"')
            start--;
        size_t length =
            (size_t)(at - start) + strlen(" prefill ") + strspn(at + strlen(" prefill "), "0123456789");
        if (named == NAMED_MAX) {
            more++;
            continue;
        }
        text_add_format(text, "%s%.*s", named ? ", " : " (", (int)length, start);
        named++;
    }
    if (more)
        text_add_format(text, " and %u more", more);
    text_add(text, named ? ")" : "");
}

/* Judges the mixed iterations. Only additional time in which the GPU was busy can be due to the prompts. */
static void judge_mixed(struct engines *all, struct tallies *stalls)
{
    samples_sort(&all->durations);
    samples_sort(&all->gpu_times);
    for (uint32_t i = 0; i < all->count; i++) {
        all->list[i].usual = samples_spread(&all->durations, i);
        all->list[i].usual_gpu = samples_spread(&all->gpu_times, i);
    }
    for (size_t i = 0; i < all->mixed_count; i++) {
        const struct mixed *mixed = &all->mixed[i];
        const struct engine *engine = &all->list[mixed->engine];
        uint64_t usual_ns = engine->usual.median, usual_gpu_ns = engine->usual_gpu.median;
        if (engine->usual.count < REPEATED_MIN || mixed->duration_ns < STALL_FACTOR * usual_ns ||
            mixed->gpu_ns <= usual_gpu_ns)
            continue;
        uint64_t longer_ns = mixed->duration_ns - usual_ns, busier_ns = mixed->gpu_ns - usual_gpu_ns;
        if ((double)busier_ns < STALL_GPU_SHARE * (double)longer_ns)
            continue;
        struct tally *tally = tally_of(all, stalls, engine, mixed->start_ns);
        tally->count++;
        tally->ns = usual_ns;
        tally->extra = mixed->engine;
        tally->saving_ns += busier_ns < longer_ns ? busier_ns : longer_ns;
    }
}

static char *stall_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                            const void *context)
{
    const struct engine *engine = place_at_engine(context, tally, finding);
    const struct mixed *worst = &engine->worst;
    const struct trace *trace = survey->stat->trace;
    struct text text = {0};
    char id[TRACE_ID_CHARS];
    trace_write_id(&trace->list[worst->trace], id);
    text_add_format(&text,
                    "in %" PRIu64 " iterations with prompts, decodes waited %s longer than in the median "
                    "iteration without (%s); in iteration %" PRIu64 " (trace %s) %" PRIu64
                    " decode tokens waited %s for %" PRIu64 " prefill tokens",
                    tally->count, EVIDENCE_TIME(tally->saving_ns), EVIDENCE_TIME(tally->ns), worst->number,
                    id, worst->decode_tokens, EVIDENCE_TIME(worst->duration_ns), worst->prefill_tokens);
    name_requests(&text, engine->worst_parts);
    return text.data;
}

/* --- small batches --- */

/* Counts the small iterations that the request waited for from start to end. */
static void count_waiting(struct engines *all, struct engine *engine, uint64_t from_ns, uint64_t until_ns)
{
    uint64_t waited = 0, added = 0, added_ns = 0, first_ns = until_ns;
    for (uint64_t i = 0; i < engine->recent_count && i < RECENT_MAX; i++) {
        const struct recent *recent = &engine->recent[i];
        if (recent->start_ns < from_ns || recent->end_ns > until_ns)
            continue;
        waited++;
        if (recent->start_ns < engine->counted_until_ns)
            continue;
        added++;
        added_ns += recent->end_ns - recent->start_ns;
        first_ns = recent->start_ns < first_ns ? recent->start_ns : first_ns;
    }
    if (waited < SMALL_BATCH_WAITS)
        return;
    struct tally *tally = tally_of(all, &all->waiting, engine, first_ns);
    tally->count += added;
    tally->saving_ns += added_ns;
    tally->bytes++;
    tally->extra = (uint64_t)(engine - all->list);
    engine->counted_until_ns = until_ns;
}

static char *small_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                            const void *context)
{
    place_at_engine(context, tally, finding);
    return xasprintf("%" PRIu64 " iterations that only decode had at most %d requests and took %s, while "
                     "sampled requests waited in the queue: %" PRIu64 " waited for at least %d such "
                     "iterations",
                     tally->count, SMALL_BATCH, EVIDENCE_TIME(tally->saving_ns), tally->bytes,
                     SMALL_BATCH_WAITS);
}

/* --- preemptions --- */

static void take_preemptions(struct engine *engine, const struct stat *stat, const struct trace_span *span)
{
    uint64_t preemptions = stat_attr_int(stat, span, KEY_REQUEST_PREEMPTIONS, 0);
    uint64_t prompt = stat_attr_int(stat, span, KEY_REQUEST_PROMPT_TOKENS, 0);
    uint64_t cached = stat_attr_int(stat, span, KEY_REQUEST_CACHED_TOKENS, 0);
    uint64_t computed = stat_attr_int(stat, span, KEY_REQUEST_PREFILL_TOKENS, 0);
    uint64_t share_ns = stat_attr_int(stat, span, KEY_REQUEST_SHARE_PREFILL, 0);
    engine->requests++;
    engine->prefill_tokens += computed;
    engine->gpu_ns += share_ns + stat_attr_int(stat, span, KEY_REQUEST_SHARE_DECODE, 0);
    if (!preemptions)
        return;
    if (!engine->preempted++)
        engine->first_preempted_ns = span->start_ns;
    engine->preemptions += preemptions;
    uint64_t needed = prompt > cached ? prompt - cached : 0;
    if (computed <= needed)
        return;
    engine->repeated_tokens += computed - needed;
    engine->repeated_ns += (double)share_ns * (double)(computed - needed) / (double)computed;
}

static char *preemption_evidence(const struct survey *survey, const struct tally *tally,
                                 struct finding *finding, const void *context)
{
    const struct engine *engine = place_at_engine(context, tally, finding);
    struct text text = {0};
    text_add_format(&text,
                    "the engine stopped %" PRIu64 " of %" PRIu64 " sampled requests, %" PRIu64
                    " times in all, and resumed them; %" PRIu64 " of %" PRIu64
                    " prefill tokens were computed again",
                    engine->preempted, engine->requests, engine->preemptions, engine->repeated_tokens,
                    engine->prefill_tokens);
    if (engine->gpu_ns)
        text_add_format(&text, ", which took an estimated %.0f %% of the requests' GPU time",
                        100 * engine->repeated_ns / (double)engine->gpu_ns);
    return text.data;
}

static void offer_preemptions(struct engines *all, struct findings *findings)
{
    struct tallies tallies = {0};
    for (size_t i = 0; i < all->count; i++) {
        const struct engine *engine = &all->list[i];
        if ((double)engine->preempted < PREEMPTED_SHARE * (double)engine->requests)
            continue;
        struct tally *tally = tally_of(all, &tallies, engine, engine->first_preempted_ns);
        tally->count = engine->preemptions;
        tally->extra = i;
    }
    findings_offer(findings, FINDING_PREEMPTION, &tallies, REPEATED_MIN, preemption_evidence, all);
}

/* --- spans --- */

static void take_iteration(void *state, const struct stat *stat, const struct engine_iteration *iteration)
{
    struct engines *all = state;
    struct engine *engine = engine_at(all, iteration->engine, iteration->process);
    if (!engine)
        return;
    uint64_t duration_ns = iteration->end_ns - iteration->start_ns;
    uint32_t number = (uint32_t)(engine - all->list);
    if (iteration->is_summary) {
        engine->has_last = false;
        return;
    }
    count_gap(all, engine, iteration);
    engine->serving_ns += duration_ns;
    engine->has_last = iteration->has_totals && !iteration->is_partial;
    engine->last_number = iteration->number;
    engine->last_start_ns = iteration->start_ns;
    engine->last_end_ns = iteration->end_ns;
    engine->last_idle_ns =
        iteration->graphs && iteration->work == ENGINE_DECODE ? iteration->start_ns : iteration->end_ns;
    if (iteration->work == ENGINE_DECODE && iteration->requests <= SMALL_BATCH)
        engine->recent[engine->recent_count++ % RECENT_MAX] =
            (struct recent){iteration->start_ns, iteration->end_ns};
    if (iteration->work == ENGINE_MIXED && iteration->has_totals)
        take_mixed(all, engine, iteration);
    if (iteration->work != ENGINE_DECODE || !iteration->has_totals)
        return;
    samples_add(&all->durations, number, duration_ns);
    samples_add(&all->gpu_times, number, iteration->gpu_ns);
}

static void take(void *state, struct survey *survey, const struct trace_span *span)
{
    struct engines *all = state;
    const struct stat *stat = survey->stat;
    all->survey = survey;
    all->spans.has_parts = true;
    engine_iterations_take(&all->spans, stat, span, take_iteration, all);
    if (span->class > CLASS_SESSION || !stat_has(stat, span, KEY_REQUEST_END))
        return;
    struct engine *engine = engine_at(all, engine_name_of(stat, span), places_process(stat->places, span));
    uint64_t queue_ns = stat_attr_int(stat, span, KEY_REQUEST_QUEUE, 0);
    if (!engine)
        return;
    take_preemptions(engine, stat, span);
    if (queue_ns && queue_ns <= span->start_ns)
        count_waiting(all, engine, span->start_ns - queue_ns, span->start_ns);
}

static void finish(void *state, struct findings *findings)
{
    struct engines *all = state;
    struct tallies stalls = {0};
    engine_iterations_finish(&all->spans, findings ? findings->survey->stat : NULL,
                             findings ? take_iteration : NULL, all);
    if (findings)
        judge_mixed(all, &stalls);
    findings_offer(findings, FINDING_PREFILL_STALLS, &stalls, 1, stall_evidence, all);
    findings_offer(findings, FINDING_SCHEDULER_BOUND, &all->gaps, REPEATED_MIN, gap_evidence, all);
    offer_preemptions(all, findings);
    findings_offer(findings, FINDING_SMALL_BATCH, &all->waiting, REPEATED_MIN, small_evidence, all);
    for (size_t i = 0; i < all->count; i++)
        free(all->list[i].worst_parts);
    free(all->list);
    free(all->mixed);
    samples_deinit(&all->durations);
    samples_deinit(&all->gpu_times);
    engine_numbers_deinit(&all->numbers);
}

const struct detector find_engines = {sizeof(struct engines), take, NULL, finish};
