#include "analysis/show/step_ranks.h"

#include "analysis/stat/tables/rank_job.h"
#include "analysis/stat/sections.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

#define OWNER_UNKNOWN (TRACE_NONE - 1) /* while owners are searched */

/* The spans "rank 3" are roots of a rank's part, and have the number of the step. */
static bool is_rank_span(const struct trace *trace, const struct trace_span *span, int64_t *number)
{
    const char *name = trace_string(trace, span->name);
    char *end;
    if (strncmp(name, "rank ", 5) != 0 || (!trace_span_attr(trace, span, SEMCONV_TRAINING_STEP_NUMBER) &&
                                           !trace_span_attr(trace, span, SEMCONV_ENGINE_ITERATION_NUMBER)))
        return false;
    *number = strtoll(name + 5, &end, 10);
    return end != name + 5 && *end == 0;
}

static uint32_t host_of(const struct trace *trace, const struct trace_span *span)
{
    const char *host = trace_resource_attr(trace, &trace->resources[span->resource], SEMCONV_HOST_NAME);
    return host ? trace_find_string(trace, host) : 0;
}

/* An evaluation divides the part of a rank into several spans. */
static void add_rank(struct step_ranks *ranks, struct int_map *places, const struct trace *trace,
                     const struct trace_span *span, int64_t number)
{
    uint32_t at = int_map_get(places, (uint64_t)number);
    if (at != MAP_NONE) {
        if (span->end_ns > ranks->items[at].end_ns)
            ranks->items[at].end_ns = span->end_ns;
        return;
    }
    uint32_t host = host_of(trace, span);
    int_map_set(places, (uint64_t)number, (uint32_t)ranks->count);
    *XADD(ranks->items, ranks->count, ranks->capacity) =
        (struct step_rank){.number = number,
                           .host = host == MAP_NONE ? 0 : host,
                           .start_ns = span->start_ns,
                           .end_ns = span->end_ns};
}

static int by_number(const void *a, const void *b)
{
    const struct step_rank *one = a, *other = b;
    return ORDER(one->number, other->number);
}

/* A parent may start later than its child, so spans are not in the order of the tree. Each span is passed
 * once, because all spans of the way up get the owner. */
static void find_owner(uint32_t *owners, const struct trace *trace, uint32_t index)
{
    uint32_t at = index, next;
    while (at != TRACE_NONE && owners[at] == OWNER_UNKNOWN)
        at = trace->spans[at].parent;
    uint32_t owner = at == TRACE_NONE ? TRACE_NONE : owners[at];
    for (at = index; at != TRACE_NONE && owners[at] == OWNER_UNKNOWN; at = next) {
        next = trace->spans[at].parent;
        owners[at] = owner;
    }
}

static void find_owners(struct step_ranks *ranks, const struct int_map *places, const struct trace *trace)
{
    ranks->owners = xcalloc(trace->span_count, sizeof *ranks->owners);
    for (uint32_t i = 0; i < trace->span_count; i++) {
        int64_t number;
        bool is_rank = is_rank_span(trace, &trace->spans[i], &number);
        ranks->owners[i] = is_rank ? int_map_get(places, (uint64_t)number) : OWNER_UNKNOWN;
    }
    for (uint32_t i = 0; i < trace->span_count; i++)
        find_owner(ranks->owners, trace, i);
}

/* In the file; trace_link() makes it a child of the call. */
static bool is_below_collective(const struct trace *trace, const struct trace_span *span)
{
    uint32_t parent = trace_find_span(trace, span->parent_id);
    return parent != TRACE_NONE && trace->spans[parent].class == CLASS_COLLECTIVE;
}

/* RANK_WORKS: none. A collective stands for its kernel. */
static enum rank_work work_of(const struct trace *trace, const struct trace_span *span)
{
    if (span->class == CLASS_COLLECTIVE)
        return RANK_COMMUNICATION;
    if (!trace_class_is_gpu(span->class) || is_below_collective(trace, span))
        return RANK_WORKS;
    return span->class == CLASS_KERNEL ? RANK_COMPUTE : RANK_COPIES;
}

static void add_work(struct step_rank *rank, const struct trace *trace, uint32_t index)
{
    const struct trace_span *span = &trace->spans[index];
    enum rank_work work = work_of(trace, span);
    if (span->end_ns > rank->end_ns)
        rank->end_ns = span->end_ns;
    if (work != RANK_WORKS)
        *XADD(rank->spans[work], rank->counts[work], rank->capacities[work]) = index;
}

/* The parts of an evaluation are added to those of the step that it divides. */
static void add_row(struct step_rank *rank, const struct ranks_step_row *row)
{
    rank->compute_ns += row->parts.compute_ns;
    rank->communication_ns += row->communication_ns;
    rank->wait_ns += row->waiting_ns;
    rank->delay_ns += row->has_delay ? row->delay_ns : 0;
    rank->is_late |= row->is_late;
}

static void compare(struct step_ranks *ranks, const struct int_map *places, const struct trace *trace)
{
    struct stat stat;
    struct rank_job job = {0};
    struct ranks_report report;
    stat_init(&stat);
    stat_learn(&stat, trace);
    for (size_t i = 0; i < trace->span_count; i++)
        rank_job_take(&job, &stat, &trace->spans[i]);
    if (job.ranks) {
        ranks_finish(job.ranks, &report);
        for (size_t i = 0; i < report.step_count; i++) {
            const struct ranks_step_row *row = &report.steps[i];
            uint32_t at = row->rank == RANKS_NONE ? MAP_NONE : int_map_get(places, row->rank_number);
            if (at != MAP_NONE)
                add_row(&ranks->items[at], row);
        }
        ranks_report_deinit(&report);
    }
    rank_job_deinit(&job);
    stat_deinit(&stat);
}

void step_ranks_find(struct step_ranks *ranks, const struct trace *trace)
{
    int64_t number;
    struct int_map places = {0}; /* of a number */
    *ranks = (struct step_ranks){0};
    for (size_t i = 0; i < trace->span_count; i++)
        if (is_rank_span(trace, &trace->spans[i], &number))
            add_rank(ranks, &places, trace, &trace->spans[i], number);
    if (!ranks->count)
        return;
    qsort(ranks->items, ranks->count, sizeof *ranks->items, by_number);
    for (uint32_t i = 0; i < ranks->count; i++)
        int_map_set(&places, (uint64_t)ranks->items[i].number, i);
    find_owners(ranks, &places, trace);
    for (uint32_t i = 0; i < trace->span_count; i++)
        if (ranks->owners[i] != TRACE_NONE)
            add_work(&ranks->items[ranks->owners[i]], trace, i);
    compare(ranks, &places, trace);
    int_map_deinit(&places);
}

void step_ranks_deinit(struct step_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        for (unsigned work = 0; work < RANK_WORKS; work++)
            free(ranks->items[i].spans[work]);
    free(ranks->items);
    free(ranks->owners);
    *ranks = (struct step_ranks){0};
}

bool step_ranks_keep(struct trace *trace, int64_t number)
{
    struct step_ranks ranks;
    step_ranks_find(&ranks, trace);
    size_t rank = 0, kept = 0;
    while (rank < ranks.count && ranks.items[rank].number != number)
        rank++;
    bool is_there = rank < ranks.count;
    for (size_t i = 0; is_there && i < trace->span_count; i++)
        if (ranks.owners[i] == rank)
            trace->spans[kept++] = trace->spans[i];
    step_ranks_deinit(&ranks);
    if (!is_there)
        return false;
    trace->span_count = kept;
    trace_finish(trace);
    return true;
}
