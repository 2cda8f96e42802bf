#include "agent/correlate/totals/engine_stats.h"

#include "model/metrics/histogram.h"

#include <stdlib.h>
#include <string.h>

#define OTHERS LIVE_STATS_ENGINES_MAX

/* The times of a request in progress. */
struct request_clock {
    uint64_t arrived_ns, first_token_ns, last_ns; /* last_ns: end of its latest iteration */
    struct engine_figures *engine;                /* NULL: it has had no iteration */
    bool is_open, is_running, has_decoded;        /* is_running: it is in the current iteration */
};

struct engine_stats {
    const struct settings *settings;
    struct engine_requests *requests;
    struct engine_figures engines[LIVE_STATS_ENGINES_MAX + 1];
    struct request_clock clocks[ENGINE_REQUESTS_MAX];
};

enum status engine_stats_create(const struct settings *settings, struct engine_requests *requests,
                                struct engine_stats **stats)
{
    *stats = calloc(1, sizeof **stats);
    if (!*stats)
        return STATUS_NO_MEMORY;
    (*stats)->settings = settings;
    (*stats)->requests = requests;
    (*stats)->engines[OTHERS].is_others = true;
    return STATUS_OK;
}

/* Calls `visit` for each histogram, or NULL. */
static void for_histograms(struct engine_stats *stats, void (*visit)(struct histogram *))
{
    for (unsigned i = 0; i <= OTHERS; i++) {
        struct engine_figures *engine = &stats->engines[i];
        for (unsigned kind = 0; kind < ITERATION_KINDS; kind++)
            visit(engine->iterations[kind]);
        for (unsigned end = 0; end < REQUEST_ENDS; end++)
            visit(engine->requests[end]);
        visit(engine->queue);
        visit(engine->first_token);
        visit(engine->per_token);
    }
}

void engine_stats_destroy(struct engine_stats *stats)
{
    if (stats)
        for_histograms(stats, histogram_destroy);
    free(stats);
}

static struct engine_figures *engine_of(struct engine_stats *stats, const struct iteration *iteration)
{
    unsigned at = 0;
    while (at < OTHERS && stats->engines[at].is_used &&
           (stats->engines[at].rank != iteration->rank ||
            strcmp(stats->engines[at].name, iteration->engine) != 0))
        at++;
    struct engine_figures *engine = &stats->engines[at];
    if (!engine->is_used) {
        engine->is_used = true;
        engine->rank = iteration->rank;
        memcpy(engine->name, iteration->engine, sizeof engine->name);
    }
    return engine;
}

/* The engine of a request that has had no iteration: the only one, or it is among the others. */
static struct engine_figures *engine_of_none(struct engine_stats *stats)
{
    bool is_only = stats->engines[0].is_used && !stats->engines[1].is_used;
    struct engine_figures *engine = &stats->engines[is_only ? 0 : OTHERS];
    engine->is_used = true;
    return engine;
}

static struct request_clock *clock_of(struct engine_stats *stats, const struct request *request)
{
    return &stats->clocks[engine_requests_index(stats->requests, request)];
}

/* NULL: the request is unknown. */
static struct request_clock *clock_of_part(struct engine_stats *stats, const struct iteration_part *part)
{
    const struct request *request = engine_requests_find(stats->requests, part->request);
    return request ? clock_of(stats, request) : NULL;
}

static uint64_t between(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

void engine_stats_admit(struct engine_stats *stats, const struct request *request, uint64_t arrived_ns)
{
    if (stats)
        *clock_of(stats, request) = (struct request_clock){.arrived_ns = arrived_ns, .is_open = true};
}

void engine_stats_end(struct engine_stats *stats, const struct request *request,
                      const struct engine_request_end *end, uint64_t time_ns,
                      const struct measured_span *span)
{
    struct request_clock *clock = stats ? clock_of(stats, request) : NULL;
    if (!clock || !clock->is_open)
        return;
    struct engine_figures *engine = clock->engine ? clock->engine : engine_of_none(stats);
    /* An engine may report the end with a later iteration. */
    bool is_late = end->reason == REQUEST_FINISHED && !clock->is_running && clock->last_ns;
    uint64_t end_ns = is_late ? clock->last_ns : time_ns;
    bool has_first = clock->first_token_ns && (clock->has_decoded || !clock->is_running);
    uint64_t first_ns = has_first ? clock->first_token_ns : end_ns;
    clock->is_open = false;
    engine->active -= clock->engine != NULL;
    if (!clock->arrived_ns || !end_ns)
        return;
    measure(stats->settings, METRIC_REQUEST_DURATION, &engine->requests[end->reason],
            between(clock->arrived_ns, end_ns), end_ns, span);
    if (end->reason == REQUEST_FINISHED && end->tokens && clock->engine)
        measure(stats->settings, METRIC_REQUEST_FIRST_TOKEN, &engine->first_token,
                between(clock->arrived_ns, first_ns), end_ns, span);
    if (end->reason == REQUEST_FINISHED && end->tokens > 1 && has_first)
        measure(stats->settings, METRIC_REQUEST_PER_TOKEN, &engine->per_token,
                between(first_ns, end_ns) / (end->tokens - 1), end_ns, span);
}

static void begin_part(struct engine_stats *stats, struct engine_figures *engine,
                       const struct iteration_part *part, uint64_t begin_ns)
{
    static const struct measured_span none;
    enum request_phase phase = part->phase == REQUEST_PREFILL ? REQUEST_PREFILL : REQUEST_DECODE;
    struct request_clock *clock = clock_of_part(stats, part);
    engine->tokens[phase] += part->tokens;
    engine->preemptions += part->is_resumed;
    if (!clock)
        return;
    if (!clock->engine) {
        clock->engine = engine;
        engine->active++;
        if (clock->arrived_ns && begin_ns)
            measure(stats->settings, METRIC_REQUEST_QUEUE, &engine->queue,
                    between(clock->arrived_ns, begin_ns), begin_ns, &none);
    }
    clock->is_running = true;
    clock->has_decoded |= phase == REQUEST_DECODE;
}

void engine_stats_begin_iteration(struct engine_stats *stats, const struct engine_event *event,
                                  uint64_t begin_ns)
{
    struct engine_figures *engine = stats ? engine_of(stats, &event->iteration) : NULL;
    for (uint32_t i = 0; engine && i < event->iteration.part_count; i++)
        begin_part(stats, engine, &event->parts[i], begin_ns);
}

void engine_stats_end_iteration(struct engine_stats *stats, const struct engine_event *event,
                                uint64_t begin_ns, uint64_t end_ns, bool is_sampled)
{
    const struct iteration *iteration = &event->iteration;
    struct measured_span span = {{0}, {0}};
    if (!stats)
        return;
    if (is_sampled && stats->settings->output_count) {
        struct step_identity identity = iteration_identify(iteration->seed, iteration->number);
        memcpy(span.trace_id, identity.trace_id, sizeof span.trace_id);
        iteration_rank_span(iteration->seed, iteration->number, iteration->rank, span.span_id);
    }
    if (begin_ns && end_ns)
        measure(stats->settings, METRIC_ITERATION_DURATION,
                &engine_of(stats, iteration)->iterations[iteration->kind], between(begin_ns, end_ns), end_ns,
                &span);
    for (uint32_t i = 0; i < iteration->part_count; i++) {
        const struct iteration_part *part = &event->parts[i];
        struct request_clock *clock = clock_of_part(stats, part);
        if (!clock)
            continue;
        clock->is_running = false;
        clock->last_ns = end_ns;
        /* The last part of the prompt brings the first token. */
        if (!clock->first_token_ns || (part->phase == REQUEST_PREFILL && !clock->has_decoded))
            clock->first_token_ns = end_ns;
    }
}

void engine_stats_add_gpu(struct engine_stats *stats, const struct iteration *iteration, uint64_t gpu_ns)
{
    if (stats)
        engine_of(stats, iteration)->gpu_ns[iteration->kind] += gpu_ns;
}

const struct engine_figures *engine_stats_read(const struct engine_stats *stats)
{
    return stats ? stats->engines : NULL;
}

void engine_stats_begin_interval(struct engine_stats *stats, bool is_delta)
{
    if (stats)
        for_histograms(stats, is_delta ? histogram_reset : histogram_forget_exemplars);
}
