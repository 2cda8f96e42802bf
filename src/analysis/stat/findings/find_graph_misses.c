/* Iterations of serving engines that launch their kernels one by one, although others of their kind launch
 * CUDA graphs. */
#include "analysis/stat/base/engines.h"
#include "analysis/stat/findings/finding.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>

#define EAGER_MAX (1u << 16) /* iterations that are judged */
#define SIZES     33         /* of batches: highest bits of the number of requests */

struct eager {
    uint32_t engine, size, trace;
    uint64_t number, start_ns, duration_ns, requests, kernels;
};

struct graph_misses {
    struct engine_iterations spans;
    struct engine_numbers numbers;
    struct samples graphs; /* durations of iterations with graphs, by engine * SIZES + size */
    struct eager *eager;   /* those without */
    size_t count, capacity;
    uint64_t serving_ns[ENGINES_MAX];
};

static uint32_t size_of(uint64_t requests)
{
    uint32_t size = 0;
    while (size + 1 < SIZES && requests >> (size + 1))
        size++;
    return size;
}

static void take_iteration(void *state, const struct stat *stat, const struct engine_iteration *iteration)
{
    struct graph_misses *all = state;
    uint64_t duration_ns = iteration->end_ns - iteration->start_ns;
    uint32_t engine = engine_number(&all->numbers, iteration->engine, iteration->process);
    uint32_t size = size_of(iteration->requests);
    if (engine == ENGINES_MAX || iteration->is_summary)
        return;
    all->serving_ns[engine] += duration_ns;
    if (iteration->work != ENGINE_DECODE || !iteration->has_totals)
        return;
    if (iteration->graphs)
        samples_add(&all->graphs, engine * SIZES + size, duration_ns);
    else if (iteration->kernels && all->count < EAGER_MAX)
        *XADD(all->eager, all->count, all->capacity) = (struct eager){engine,
                                                                      size,
                                                                      iteration->trace,
                                                                      iteration->number,
                                                                      iteration->start_ns,
                                                                      duration_ns,
                                                                      iteration->requests,
                                                                      iteration->kernels};
}

static void take(void *state, struct survey *survey, const struct trace_span *span)
{
    engine_iterations_take(&((struct graph_misses *)state)->spans, survey->stat, span, take_iteration, state);
}

/* Returns the durations of the engine's iterations with graphs and a similar number of requests; zeros: there
 * are too few. */
static struct spread like(const struct graph_misses *all, const struct eager *eager)
{
    const int steps[] = {0, 1, -1};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint32_t size = eager->size + (uint32_t)steps[i]; /* wraps beyond SIZES */
        struct spread spread = {0};
        if (size < SIZES)
            spread = samples_spread(&all->graphs, eager->engine * SIZES + size);
        if (spread.count >= GRAPH_MISS_GRAPHS)
            return spread;
    }
    return (struct spread){0};
}

static char *evidence_of(const struct survey *survey, const struct tally *tally, struct finding *finding,
                         const void *context)
{
    const struct graph_misses *all = context;
    const struct eager *worst = &all->eager[tally->extra];
    char id[TRACE_ID_CHARS];
    const char *name = all->numbers.items[worst->engine].engine;
    trace_write_id(&survey->stat->trace->list[worst->trace], id);
    finding->where = name ? name : "engine";
    finding->base_ns = all->serving_ns[worst->engine];
    return xasprintf("%" PRIu64 " iterations that only decode launched their kernels one by one, and took %s "
                     "longer in all than the median of those with CUDA graphs and a similar number of "
                     "requests; iteration %" PRIu64 " (trace %s) had %" PRIu64 " requests and %" PRIu64
                     " kernels, and took %s instead of %s",
                     tally->count, EVIDENCE_TIME(tally->saving_ns), worst->number, id, worst->requests,
                     worst->kernels, EVIDENCE_TIME(worst->duration_ns), EVIDENCE_TIME(tally->ns));
}

static void judge(struct graph_misses *all, struct tallies *misses)
{
    samples_sort(&all->graphs);
    for (size_t i = 0; i < all->count; i++) {
        const struct eager *eager = &all->eager[i];
        struct spread graphs = like(all, eager);
        if (!graphs.count || eager->duration_ns <= graphs.median)
            continue;
        struct trace_span first = {.start_ns = eager->start_ns};
        struct tally *tally =
            tallies_at(misses, eager->engine, all->numbers.items[eager->engine].process, &first);
        uint64_t longer_ns = eager->duration_ns - graphs.median;
        tally->saving_ns += longer_ns;
        if (!tally->count++ || longer_ns > tally->bytes) {
            tally->bytes = longer_ns; /* of the worst one */
            tally->extra = i;
            tally->ns = graphs.median;
        }
    }
}

static void finish(void *state, struct findings *findings)
{
    struct graph_misses *all = state;
    struct tallies misses = {0};
    engine_iterations_finish(&all->spans, findings ? findings->survey->stat : NULL,
                             findings ? take_iteration : NULL, all);
    if (findings)
        judge(all, &misses);
    findings_offer(findings, FINDING_GRAPH_MISS, &misses, REPEATED_MIN, evidence_of, all);
    engine_numbers_deinit(&all->numbers);
    samples_deinit(&all->graphs);
    free(all->eager);
}

const struct detector find_graph_misses = {sizeof(struct graph_misses), take, NULL, finish};
