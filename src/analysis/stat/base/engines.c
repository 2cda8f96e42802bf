#include "analysis/stat/base/engines.h"

#include "analysis/stat/base/places.h"
#include "cli/util/int_map.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static const char *const work_words[ENGINE_WORKS] = {"prefill",  "decode",  "mixed",  "dummy",
                                                     "transfer", "warm_up", "unknown"};

const char *engine_work_word(enum engine_work work)
{
    return work_words[work];
}

static enum engine_work work_of(const char *kind, const struct engine_iteration *iteration)
{
    for (enum engine_work work = ENGINE_DUMMY; work < ENGINE_UNKNOWN; work++)
        if (stat_is(kind, work_words[work]))
            return work;
    if (iteration->prefill_tokens)
        return iteration->decode_tokens ? ENGINE_MIXED : ENGINE_PREFILL;
    return iteration->decode_tokens ? ENGINE_DECODE : ENGINE_UNKNOWN;
}

static void take_root(struct engine_iteration *iteration, const struct stat *stat,
                      const struct trace_span *span, bool has_parts)
{
    iteration->has_span = true;
    iteration->is_summary = stat_has(stat, span, KEY_ITERATION_SUMMARY);
    iteration->engine = engine_name_of(stat, span);
    iteration->name = span->name;
    iteration->end_ns = span->end_ns;
    iteration->number = stat_attr_int(stat, span, KEY_ITERATION_NUMBER, 0);
    iteration->requests = stat_attr_int(stat, span, KEY_ITERATION_REQUESTS, 0);
    iteration->prefill_tokens = stat_attr_int(stat, span, KEY_ITERATION_PREFILL_TOKENS, 0);
    iteration->decode_tokens = stat_attr_int(stat, span, KEY_ITERATION_DECODE_TOKENS, 0);
    iteration->work = work_of(stat_attr(stat, span, KEY_ITERATION_KIND), iteration);
    const char *parts =
        has_parts && iteration->work == ENGINE_MIXED ? stat_attr(stat, span, KEY_ITERATION_PARTS) : NULL;
    if (parts && !iteration->parts)
        iteration->parts = xstrdup(parts);
}

static void take_rank(struct engine_iteration *iteration, const struct stat *stat,
                      const struct trace_span *span)
{
    iteration->has_totals = !stat_has(stat, span, KEY_TOTAL_INCOMPLETE);
    iteration->is_partial = stat_has(stat, span, KEY_STEP_LEFT_OUT);
    iteration->gpu_ns = stat_attr_int(stat, span, KEY_TOTAL_GPU_TIME, 0);
    iteration->calls = stat_attr_int(stat, span, KEY_TOTAL_CALLS, 0);
    iteration->kernels = stat_attr_int(stat, span, KEY_TOTAL_KERNELS, 0);
    iteration->graphs = stat_attr_int(stat, span, KEY_TOTAL_GRAPHS, 0);
    iteration->device_id = stat_keep_some(stat, stat_attr(stat, span, KEY_DEVICE_ID));
}

static void pass_on(struct engine_iterations *all, const struct stat *stat, engine_iteration_fn *done,
                    void *context)
{
    for (size_t i = 0; i < all->count; i++) {
        if (done && all->open[i].has_span)
            done(context, stat, &all->open[i]);
        free(all->open[i].parts);
    }
    all->count = 0;
}

void engine_iterations_take(struct engine_iterations *all, const struct stat *stat,
                            const struct trace_span *span, engine_iteration_fn *done, void *context)
{
    if (span->class > CLASS_SESSION)
        return;
    bool is_of_iteration = stat_has(stat, span, KEY_ITERATION_NUMBER);
    if (!is_of_iteration && !stat_has(stat, span, KEY_REQUEST_END))
        return;
    if (all->count && (all->open[0].start_ns != span->start_ns || all->count == ENGINE_OPEN_MAX))
        pass_on(all, stat, done, context);
    if (!is_of_iteration)
        return;
    uint32_t process = places_process(stat->places, span);
    size_t at = 0;
    while (at < all->count && (all->open[at].process != process || all->open[at].trace != span->trace))
        at++;
    if (at == all->count)
        *XADD(all->open, all->count, all->capacity) =
            (struct engine_iteration){.process = process, .trace = span->trace, .start_ns = span->start_ns};
    if (stat_has(stat, span, KEY_ITERATION_REQUESTS))
        take_root(&all->open[at], stat, span, all->has_parts);
    else
        take_rank(&all->open[at], stat, span);
}

void engine_iterations_finish(struct engine_iterations *all, const struct stat *stat,
                              engine_iteration_fn *done, void *context)
{
    pass_on(all, stat, done, context);
    free(all->open);
}

uint32_t engine_number(struct engine_numbers *numbers, const char *engine, uint32_t process)
{
    uint64_t key = int_map_mix((uint64_t)(uintptr_t)engine) ^ process;
    if (numbers->count == ENGINES_MAX && int_map_get(&numbers->map, key) == MAP_NONE)
        return ENGINES_MAX;
    uint32_t number = int_map_number(&numbers->map, key);
    if (number == numbers->count)
        *XADD(numbers->items, numbers->count, numbers->capacity) = (struct engine_name){engine, process};
    return number;
}

void engine_fill_name(const struct engine_numbers *numbers, const struct stat *stat, uint32_t number,
                      struct stat_value *cells)
{
    if (number == ENGINES_MAX) {
        cells[0] = stat_text("(other engines)");
        return;
    }
    if (numbers->items[number].engine)
        cells[0] = stat_text(numbers->items[number].engine);
    cells[1] = stat_text(places_name(stat->places, numbers->items[number].process));
}

void engine_numbers_deinit(struct engine_numbers *numbers)
{
    int_map_deinit(&numbers->map);
    free(numbers->items);
}

const char *engine_name_of(const struct stat *stat, const struct trace_span *span)
{
    return stat_keep_some(stat, stat_attr(stat, span, KEY_ENGINE_NAME));
}

struct stat_value engine_trace_id(struct stat_table *table, const struct stat *stat, uint32_t trace)
{
    if (trace_is_rest(stat->trace, trace))
        return (struct stat_value){.is_missing = true};
    char *id = xcalloc(1, TRACE_ID_CHARS);
    trace_write_id(&stat->trace->list[trace], id);
    return stat_table_own(table, id);
}

void *engine_slowest(void *items, size_t *count, size_t bytes, uint64_t duration_ns)
{
    char *base = items;
    size_t at = *count;
    while (at > 0 && *(uint64_t *)(void *)(base + (at - 1) * bytes) < duration_ns)
        at--;
    if (at == ENGINE_SLOWEST_MAX)
        return NULL;
    *count += *count < ENGINE_SLOWEST_MAX;
    memmove(base + (at + 1) * bytes, base + at * bytes, (*count - at - 1) * bytes);
    return base + at * bytes;
}
