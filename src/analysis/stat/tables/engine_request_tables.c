/* Tables of the requests of serving engines: sums of each engine, and the slowest ones. Without spans of such
 * requests there are no tables. */
#include "analysis/stat/base/engines.h"
#include "analysis/stat/base/places.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

#define REQUEST_COLUMNS(X)                                                                                   \
    X(REQ_ENGINE, "engine", "engine", STAT_TEXT)                                                             \
    X(REQ_PROCESS, "process", "process", STAT_TEXT)                                                          \
    X(REQ_COUNT, "count", "requests", STAT_COUNT)                                                            \
    X(REQ_FINISHED, "finished", "finished", STAT_COUNT)                                                      \
    X(REQ_ABORTED, "aborted", "aborted", STAT_COUNT)                                                         \
    X(REQ_FAILED, "failed", "failed", STAT_COUNT)                                                            \
    X(REQ_UNFINISHED, "unfinished", "unfinished", STAT_COUNT)                                                \
    X(REQ_QUEUE_MEDIAN_NS, "queue_median_ns", "queue", STAT_NS)                                              \
    X(REQ_QUEUE_P99_NS, "queue_p99_ns", "queue p99", STAT_NS)                                                \
    X(REQ_FIRST_MEDIAN_NS, "first_token_median_ns", "first token", STAT_NS)                                  \
    X(REQ_FIRST_P99_NS, "first_token_p99_ns", "first token p99", STAT_NS)                                    \
    X(REQ_TOKEN_MEDIAN_NS, "per_token_median_ns", "per token", STAT_NS)                                      \
    X(REQ_TOKEN_P99_NS, "per_token_p99_ns", "per token p99", STAT_NS)                                        \
    X(REQ_TOTAL_MEDIAN_NS, "duration_median_ns", "duration", STAT_NS)                                        \
    X(REQ_TOTAL_P99_NS, "duration_p99_ns", "duration p99", STAT_NS)                                          \
    X(REQ_PROMPT_TOKENS, "prompt_tokens", "prompt tokens", STAT_COUNT)                                       \
    X(REQ_CACHED_TOKENS, "cached_tokens", "cached", STAT_COUNT)                                              \
    X(REQ_GENERATED_TOKENS, "generated_tokens", "generated", STAT_COUNT)                                     \
    X(REQ_PREEMPTIONS, "preemptions", "preemptions", STAT_COUNT)                                             \
    X(REQ_PREFILL_NS, "gpu_prefill_ns", "GPU prefill", STAT_NS)                                              \
    X(REQ_DECODE_NS, "gpu_decode_ns", "GPU decode", STAT_NS)                                                 \
    X(REQ_GPU_SHARE, "gpu_share", "GPU share", STAT_SHARE)                                                   \
    X(REQ_MEASURED_SHARE, "measured_share", "measured", STAT_SHARE)
STAT_COLUMNS_OF(request_columns, REQUEST_COLUMNS);

#define SLOW_COLUMNS(X)                                                                                      \
    X(SLOW_ID, "request", "request", STAT_TEXT)                                                              \
    X(SLOW_ENGINE, "engine", "engine", STAT_TEXT)                                                            \
    X(SLOW_PROCESS, "process", "process", STAT_TEXT)                                                         \
    X(SLOW_END, "end", "end", STAT_TEXT)                                                                     \
    X(SLOW_DURATION_NS, "duration_ns", "duration", STAT_NS)                                                  \
    X(SLOW_QUEUE_NS, "queue_ns", "queue", STAT_NS)                                                           \
    X(SLOW_FIRST_NS, "first_token_ns", "first token", STAT_NS)                                               \
    X(SLOW_TOKEN_NS, "per_token_ns", "per token", STAT_NS)                                                   \
    X(SLOW_PROMPT_TOKENS, "prompt_tokens", "prompt tokens", STAT_COUNT)                                      \
    X(SLOW_GENERATED_TOKENS, "generated_tokens", "generated", STAT_COUNT)                                    \
    X(SLOW_PREEMPTIONS, "preemptions", "preemptions", STAT_COUNT)                                            \
    X(SLOW_ITERATIONS, "iterations", "iterations", STAT_COUNT)                                               \
    X(SLOW_GPU_NS, "gpu_ns", "GPU time", STAT_NS)                                                            \
    X(SLOW_GPU_SHARE, "gpu_share", "GPU share", STAT_SHARE)                                                  \
    X(SLOW_TRACE, "trace_id", "trace", STAT_TEXT)
STAT_COLUMNS_OF(slow_columns, SLOW_COLUMNS);

enum request_end_kind { END_FINISHED, END_ABORTED, END_FAILED, END_UNFINISHED, ENDS };
static const char *const end_words[ENDS] = {"finished", "aborted", "failed", "unfinished"};

#define UNKNOWN UINT64_MAX /* a time that the span does not have */

struct request {
    uint64_t duration_ns; /* first: engine_slowest() reads it */
    uint64_t queue_ns, first_token_ns, per_token_ns;
    uint64_t prompt_tokens, generated_tokens, preemptions, iterations, measured;
    uint64_t prefill_ns, decode_ns; /* its shares of gpu_ns */
    uint64_t gpu_ns;                /* of its measured iterations, for all requests */
    enum request_end_kind end;
    uint32_t engine, trace;
    const char *id; /* kept; NULL: unknown */
};

struct engine {
    uint64_t count, ends[ENDS];
    uint64_t prompt_tokens, cached_tokens, generated_tokens, preemptions;
    uint64_t iterations, measured;
    uint64_t prefill_ns, decode_ns, gpu_ns;
};

struct requests {
    struct engine_numbers numbers;
    struct engine *engines;
    size_t count, capacity;
    struct samples queue, first_token, per_token, duration; /* by engine */
    struct request slowest[ENGINE_SLOWEST_MAX];
    size_t slow_count;
};

static struct request read_request(const struct stat *stat, const struct trace_span *span)
{
    const char *word = stat_attr(stat, span, KEY_REQUEST_END);
    uint64_t prefill_ns = stat_attr_int(stat, span, KEY_REQUEST_PREFILL, UNKNOWN);
    struct request request = {
        .queue_ns = stat_attr_int(stat, span, KEY_REQUEST_QUEUE, UNKNOWN),
        .first_token_ns = UNKNOWN,
        .per_token_ns = stat_attr_int(stat, span, KEY_REQUEST_PER_TOKEN, UNKNOWN),
        .prompt_tokens = stat_attr_int(stat, span, KEY_REQUEST_PROMPT_TOKENS, 0),
        .generated_tokens = stat_attr_int(stat, span, KEY_REQUEST_GENERATED_TOKENS, 0),
        .preemptions = stat_attr_int(stat, span, KEY_REQUEST_PREEMPTIONS, 0),
        .iterations = stat_attr_int(stat, span, KEY_REQUEST_ITERATIONS, 0),
        .measured = stat_attr_int(stat, span, KEY_REQUEST_MEASURED, 0),
        .prefill_ns = stat_attr_int(stat, span, KEY_REQUEST_SHARE_PREFILL, 0),
        .decode_ns = stat_attr_int(stat, span, KEY_REQUEST_SHARE_DECODE, 0),
        .gpu_ns = stat_attr_int(stat, span, KEY_REQUEST_GPU_TIME, 0),
        .end = END_FINISHED,
        .trace = span->trace,
    };
    while (request.end < END_UNFINISHED && !stat_is(word, end_words[request.end]))
        request.end++;
    if (request.queue_ns != UNKNOWN && prefill_ns != UNKNOWN)
        request.first_token_ns = request.queue_ns + prefill_ns;
    request.duration_ns = stat_duration(span) + (request.queue_ns == UNKNOWN ? 0 : request.queue_ns);
    return request;
}

static void add_sample(struct samples *samples, uint32_t engine, uint64_t value)
{
    if (value != UNKNOWN)
        samples_add(samples, engine, value);
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct requests *all = state;
    if (span->class > CLASS_SESSION || !stat_has(stat, span, KEY_REQUEST_END))
        return;
    struct request request = read_request(stat, span);
    request.engine =
        engine_number(&all->numbers, engine_name_of(stat, span), places_process(stat->places, span));
    while (request.engine >= all->count)
        *XADD(all->engines, all->count, all->capacity) = (struct engine){.count = 0};
    struct engine *engine = &all->engines[request.engine];
    engine->count++;
    engine->ends[request.end]++;
    engine->prompt_tokens += request.prompt_tokens;
    engine->cached_tokens += stat_attr_int(stat, span, KEY_REQUEST_CACHED_TOKENS, 0);
    engine->generated_tokens += request.generated_tokens;
    engine->preemptions += request.preemptions;
    engine->iterations += request.iterations;
    engine->measured += request.measured;
    engine->prefill_ns += request.prefill_ns;
    engine->decode_ns += request.decode_ns;
    engine->gpu_ns += request.gpu_ns;
    add_sample(&all->queue, request.engine, request.queue_ns);
    add_sample(&all->first_token, request.engine, request.first_token_ns);
    add_sample(&all->per_token, request.engine, request.per_token_ns);
    /* Without an iteration, the span has no duration and the queue time is unknown. */
    if (request.end == END_UNFINISHED || !request.iterations)
        return;
    samples_add(&all->duration, request.engine, request.duration_ns);
    struct request *slow =
        engine_slowest(all->slowest, &all->slow_count, sizeof all->slowest[0], request.duration_ns);
    if (!slow)
        return;
    request.id = stat_keep_some(stat, stat_attr(stat, span, KEY_REQUEST_ID));
    *slow = request;
}

/* Fills two cells: median and p99. */
static void fill_times(struct stat_value *cells, const struct samples *samples, uint32_t engine)
{
    struct spread spread = samples_spread(samples, engine);
    if (!spread.count)
        return;
    cells[0] = stat_int(spread.median);
    cells[1] = stat_int(spread.p99);
}

static void add_row(struct stat_table *table, const struct requests *all, const struct stat *stat,
                    uint32_t number)
{
    const struct engine *engine = &all->engines[number];
    struct stat_value *row = stat_table_add(table);
    engine_fill_name(&all->numbers, stat, number, &row[REQ_ENGINE]);
    row[REQ_COUNT] = stat_int(engine->count);
    for (size_t end = 0; end < ENDS; end++)
        row[REQ_FINISHED + end] = stat_int(engine->ends[end]);
    fill_times(&row[REQ_QUEUE_MEDIAN_NS], &all->queue, number);
    fill_times(&row[REQ_FIRST_MEDIAN_NS], &all->first_token, number);
    fill_times(&row[REQ_TOKEN_MEDIAN_NS], &all->per_token, number);
    fill_times(&row[REQ_TOTAL_MEDIAN_NS], &all->duration, number);
    row[REQ_PROMPT_TOKENS] = stat_int(engine->prompt_tokens);
    row[REQ_CACHED_TOKENS] = stat_int(engine->cached_tokens);
    row[REQ_GENERATED_TOKENS] = stat_int(engine->generated_tokens);
    row[REQ_PREEMPTIONS] = stat_int(engine->preemptions);
    row[REQ_MEASURED_SHARE] = stat_ratio((double)engine->measured, (double)engine->iterations);
    if (!engine->measured)
        return;
    row[REQ_PREFILL_NS] = stat_int(engine->prefill_ns);
    row[REQ_DECODE_NS] = stat_int(engine->decode_ns);
    row[REQ_GPU_SHARE] = stat_ratio((double)(engine->prefill_ns + engine->decode_ns), (double)engine->gpu_ns);
}

static void fill_time(struct stat_value *cell, uint64_t time_ns)
{
    if (time_ns != UNKNOWN)
        *cell = stat_int(time_ns);
}

static void add_slowest(struct stat_report *report, const struct requests *all, const struct stat *stat)
{
    struct stat_table *table = STAT_ADD_TABLE(report, "slow_engine_requests",
                                              "Slowest requests of serving engines", NULL, slow_columns);
    for (size_t i = 0; i < all->slow_count; i++) {
        const struct request *from = &all->slowest[i];
        struct stat_value *row = stat_table_add(table);
        if (from->id)
            row[SLOW_ID] = stat_text(from->id);
        engine_fill_name(&all->numbers, stat, from->engine, &row[SLOW_ENGINE]);
        row[SLOW_END] = stat_text(end_words[from->end]);
        row[SLOW_DURATION_NS] = stat_int(from->duration_ns);
        fill_time(&row[SLOW_QUEUE_NS], from->queue_ns);
        fill_time(&row[SLOW_FIRST_NS], from->first_token_ns);
        fill_time(&row[SLOW_TOKEN_NS], from->per_token_ns);
        row[SLOW_PROMPT_TOKENS] = stat_int(from->prompt_tokens);
        row[SLOW_GENERATED_TOKENS] = stat_int(from->generated_tokens);
        row[SLOW_PREEMPTIONS] = stat_int(from->preemptions);
        row[SLOW_ITERATIONS] = stat_int(from->iterations);
        if (from->measured) {
            row[SLOW_GPU_NS] = stat_int(from->prefill_ns + from->decode_ns);
            row[SLOW_GPU_SHARE] =
                stat_ratio((double)(from->prefill_ns + from->decode_ns), (double)from->gpu_ns);
        }
        row[SLOW_TRACE] = engine_trace_id(table, stat, from->trace);
    }
}

static void add_tables(struct requests *all, const struct stat *stat, struct stat_report *report)
{
    struct stat_table *table = STAT_ADD_TABLE(
        report, "engine_requests", "Requests of serving engines",
        "Sampled requests only: medians, 99th percentiles and sums. First token: queue and "
        "prefill. Per token: decode time for each generated token but the first. Duration: from the engine's "
        "receipt of the request to its end. GPU prefill and decode: what the requests cost, their estimated "
        "parts of the GPU time of their measured iterations. GPU share: both divided by that time, which "
        "counts for each request; measured: the share of these iterations. Requests without an engine ended "
        "before their first iteration.",
        request_columns);
    struct samples *const times[] = {&all->queue, &all->first_token, &all->per_token, &all->duration};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        samples_sort(times[i]);
        stat_table_rounds(table, samples_error(times[i]));
    }
    for (uint32_t number = 0; number < all->count; number++)
        if (all->engines[number].count)
            add_row(table, all, stat, number);
    stat_table_sort(table, REQ_COUNT);
    add_slowest(report, all, stat);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct requests *all = state;
    if (report && all->count)
        add_tables(all, stat, report);
    engine_numbers_deinit(&all->numbers);
    samples_deinit(&all->queue);
    samples_deinit(&all->first_token);
    samples_deinit(&all->per_token);
    samples_deinit(&all->duration);
    free(all->engines);
}

const struct stat_section stat_engine_requests = {sizeof(struct requests), take, NULL, finish};
