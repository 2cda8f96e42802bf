/* Tables of the iterations of serving engines: by what they compute, and the slowest ones. Without spans of
 * iterations there are no tables. */
#include "analysis/stat/base/engines.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

#define ITERATION_COLUMNS(X)                                                                                 \
    X(ITER_ENGINE, "engine", "engine", STAT_TEXT)                                                            \
    X(ITER_PROCESS, "process", "process", STAT_TEXT)                                                         \
    X(ITER_WORK, "work", "work", STAT_TEXT)                                                                  \
    X(ITER_COUNT, "count", "iterations", STAT_COUNT)                                                         \
    X(ITER_TOTAL_NS, "total_ns", "total", STAT_NS)                                                           \
    X(ITER_MEDIAN_NS, "median_ns", "median", STAT_NS)                                                        \
    X(ITER_P99_NS, "p99_ns", "p99", STAT_NS)                                                                 \
    X(ITER_MAX_NS, "max_ns", "max", STAT_NS)                                                                 \
    X(ITER_REQUESTS, "mean_requests", "mean requests", STAT_REAL)                                            \
    X(ITER_PREFILL_TOKENS, "prefill_tokens", "prefill tokens", STAT_COUNT)                                   \
    X(ITER_DECODE_TOKENS, "decode_tokens", "decode tokens", STAT_COUNT)                                      \
    X(ITER_GPU_SHARE, "gpu_share", "GPU busy", STAT_SHARE)                                                   \
    X(ITER_GAP_NS, "median_gap_ns", "gap", STAT_NS)                                                          \
    X(ITER_GAPS, "gaps", "gaps", STAT_COUNT)                                                                 \
    X(ITER_CALLS, "calls", "calls", STAT_COUNT)                                                              \
    X(ITER_KERNELS, "kernels", "kernels", STAT_COUNT)                                                        \
    X(ITER_GRAPHS, "graphs", "graphs", STAT_COUNT)                                                           \
    X(ITER_GRAPH_SHARE, "graph_share", "with graphs", STAT_SHARE)
STAT_COLUMNS_OF(iteration_columns, ITERATION_COLUMNS);

#define SLOW_COLUMNS(X)                                                                                      \
    X(SLOW_ENGINE, "engine", "engine", STAT_TEXT)                                                            \
    X(SLOW_PROCESS, "process", "process", STAT_TEXT)                                                         \
    X(SLOW_NUMBER, "iteration", "iteration", STAT_COUNT)                                                     \
    X(SLOW_WORK, "work", "work", STAT_TEXT)                                                                  \
    X(SLOW_DURATION_NS, "duration_ns", "duration", STAT_NS)                                                  \
    X(SLOW_GPU_NS, "gpu_ns", "GPU time", STAT_NS)                                                            \
    X(SLOW_LAUNCHES, "launches", "launches", STAT_TEXT)                                                      \
    X(SLOW_REQUESTS, "requests", "requests", STAT_COUNT)                                                     \
    X(SLOW_PREFILL_TOKENS, "prefill_tokens", "prefill tokens", STAT_COUNT)                                   \
    X(SLOW_DECODE_TOKENS, "decode_tokens", "decode tokens", STAT_COUNT)                                      \
    X(SLOW_TRACE, "trace_id", "trace", STAT_TEXT)
STAT_COLUMNS_OF(slow_columns, SLOW_COLUMNS);

/* All iterations of one engine that compute the same. */
struct sums {
    uint64_t requests, prefill_tokens, decode_tokens;
    uint64_t known, known_ns; /* iterations with totals, and their durations */
    uint64_t gpu_ns, calls, kernels, graphs, with_graphs;
};

struct engine {
    struct sums works[ENGINE_WORKS];
    bool has_last;
    uint64_t last_number, last_end_ns;
    uint32_t last_group;
};

struct slow {
    uint64_t duration_ns; /* first: engine_slowest() reads it */
    uint32_t engine;
    struct engine_iteration iteration;
};

struct iterations {
    struct engine_iterations spans;
    struct engine_numbers numbers;
    struct engine *engines;
    size_t count, capacity;
    struct samples durations, gaps; /* by engine * ENGINE_WORKS + work */
    struct slow slowest[ENGINE_SLOWEST_MAX];
    size_t slow_count;
};

static void add_sums(struct sums *sums, const struct engine_iteration *iteration)
{
    sums->requests += iteration->requests;
    sums->prefill_tokens += iteration->prefill_tokens;
    sums->decode_tokens += iteration->decode_tokens;
    if (!iteration->has_totals)
        return;
    sums->known++;
    sums->known_ns += iteration->end_ns - iteration->start_ns;
    sums->gpu_ns += iteration->gpu_ns;
    sums->calls += iteration->calls;
    sums->kernels += iteration->kernels;
    sums->graphs += iteration->graphs;
    sums->with_graphs += iteration->graphs > 0;
}

static void add_iteration(void *state, const struct stat *stat, const struct engine_iteration *iteration)
{
    struct iterations *all = state;
    uint64_t duration_ns = iteration->end_ns - iteration->start_ns;
    uint32_t number = engine_number(&all->numbers, iteration->engine, iteration->process);
    uint32_t group = number * ENGINE_WORKS + iteration->work;
    while (number >= all->count)
        *XADD(all->engines, all->count, all->capacity) = (struct engine){.has_last = false};
    struct slow *slow = engine_slowest(all->slowest, &all->slow_count, sizeof all->slowest[0], duration_ns);
    if (slow)
        *slow = (struct slow){duration_ns, number, *iteration};
    if (iteration->is_summary)
        return;
    struct engine *engine = &all->engines[number];
    if (engine->has_last && iteration->number == engine->last_number + 1)
        samples_add(&all->gaps, engine->last_group,
                    iteration->start_ns > engine->last_end_ns ? iteration->start_ns - engine->last_end_ns
                                                              : 0);
    engine->has_last = number < ENGINES_MAX;
    engine->last_number = iteration->number;
    engine->last_end_ns = iteration->end_ns;
    engine->last_group = group;
    add_sums(&engine->works[iteration->work], iteration);
    samples_add(&all->durations, group, duration_ns);
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    engine_iterations_take(&((struct iterations *)state)->spans, stat, span, add_iteration, state);
}

static void add_row(struct stat_table *table, const struct iterations *all, const struct stat *stat,
                    const struct spread *spread, const struct spread *gaps)
{
    uint32_t number = spread->group / ENGINE_WORKS;
    enum engine_work work = spread->group % ENGINE_WORKS;
    const struct sums *sums = &all->engines[number].works[work];
    struct stat_value *row = stat_table_add(table);
    engine_fill_name(&all->numbers, stat, number, &row[ITER_ENGINE]);
    row[ITER_WORK] = stat_text(engine_work_word(work));
    row[ITER_COUNT] = stat_int(spread->count);
    row[ITER_TOTAL_NS] = stat_int(spread->total);
    row[ITER_MEDIAN_NS] = stat_int(spread->median);
    row[ITER_P99_NS] = stat_int(spread->p99);
    row[ITER_MAX_NS] = stat_int(spread->max);
    row[ITER_REQUESTS] = stat_ratio((double)sums->requests, (double)spread->count);
    row[ITER_PREFILL_TOKENS] = stat_int(sums->prefill_tokens);
    row[ITER_DECODE_TOKENS] = stat_int(sums->decode_tokens);
    row[ITER_GAPS] = stat_int(gaps->count);
    if (gaps->count)
        row[ITER_GAP_NS] = stat_int(gaps->median);
    if (!sums->known)
        return;
    row[ITER_GPU_SHARE] = stat_ratio((double)sums->gpu_ns, (double)sums->known_ns);
    row[ITER_CALLS] = stat_int(sums->calls);
    row[ITER_KERNELS] = stat_int(sums->kernels);
    row[ITER_GRAPHS] = stat_int(sums->graphs);
    row[ITER_GRAPH_SHARE] = stat_ratio((double)sums->with_graphs, (double)sums->known);
}

static void add_slowest(struct stat_report *report, const struct iterations *all, const struct stat *stat)
{
    struct stat_table *table =
        STAT_ADD_TABLE(report, "slow_iterations", "Slowest iterations",
                       "Also those that were sent afterwards as summaries, because they were slow. Launches: "
                       "graph if a CUDA graph ran, as a whole.",
                       slow_columns);
    for (size_t i = 0; i < all->slow_count; i++) {
        const struct engine_iteration *from = &all->slowest[i].iteration;
        struct stat_value *row = stat_table_add(table);
        engine_fill_name(&all->numbers, stat, all->slowest[i].engine, &row[SLOW_ENGINE]);
        row[SLOW_NUMBER] = stat_int(from->number);
        row[SLOW_WORK] = stat_text(engine_work_word(from->work));
        row[SLOW_DURATION_NS] = stat_int(all->slowest[i].duration_ns);
        if (from->has_totals)
            row[SLOW_GPU_NS] = stat_int(from->gpu_ns);
        if (from->has_totals && (from->graphs || from->kernels))
            row[SLOW_LAUNCHES] = stat_text(from->graphs ? "graph" : "eager");
        row[SLOW_REQUESTS] = stat_int(from->requests);
        row[SLOW_PREFILL_TOKENS] = stat_int(from->prefill_tokens);
        row[SLOW_DECODE_TOKENS] = stat_int(from->decode_tokens);
        row[SLOW_TRACE] = engine_trace_id(table, stat, from->trace);
    }
}

static void add_tables(struct iterations *all, const struct stat *stat, struct stat_report *report)
{
    struct spread spread;
    struct stat_table *table = STAT_ADD_TABLE(
        report, "iterations", "Iterations of serving engines",
        "Recorded iterations only, without summaries of slow ones. A mixed one has prompts and decodes. GPU "
        "busy, calls, kernels and graphs "
        "are those of the first rank; GPU busy is the sum of its GPUs' busy time divided by the duration. "
        "The "
        "gap is the median time to the next iteration, if that is recorded, too. Graphs that are traced by "
        "node count as kernels only.",
        iteration_columns);
    samples_sort(&all->durations);
    samples_sort(&all->gaps);
    stat_table_rounds(table, samples_error(&all->durations));
    stat_table_rounds(table, samples_error(&all->gaps));
    for (size_t at = 0; samples_next(&all->durations, &at, &spread);) {
        struct spread gaps = samples_spread(&all->gaps, spread.group);
        add_row(table, all, stat, &spread, &gaps);
    }
    stat_table_sort(table, ITER_TOTAL_NS);
    add_slowest(report, all, stat);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct iterations *all = state;
    engine_iterations_finish(&all->spans, stat, report ? add_iteration : NULL, all);
    if (report && all->count)
        add_tables(all, stat, report);
    engine_numbers_deinit(&all->numbers);
    samples_deinit(&all->durations);
    samples_deinit(&all->gaps);
    free(all->engines);
}

const struct stat_section stat_iterations = {sizeof(struct iterations), take, NULL, finish};
