#include "cli/show/step_ranks.h"

#include "cli/show/bars.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define LATE_SHARE    100              /* of the step */
#define OWNER_UNKNOWN (TRACE_NONE - 1) /* while owners are searched */

/* One collective, over its ranks. */
struct instance {
    size_t ranks;
    uint32_t last; /* the rank with the shortest part */
    uint64_t shortest_ns, longest_ns;
};

/* The spans "rank 3" are roots of a rank's part, and have the number of the step. */
static bool is_rank_span(const struct trace *trace, const struct trace_span *span, int64_t *number)
{
    const char *name = trace_string(trace, span->name);
    char *end;
    if (strncmp(name, "rank ", 5) != 0 || !trace_span_attr(trace, span, "cuda.step.number"))
        return false;
    *number = strtoll(name + 5, &end, 10);
    return end != name + 5 && *end == 0;
}

static uint32_t host_of(const struct trace *trace, const struct trace_span *span)
{
    const char *host = trace_resource_attr(trace, &trace->resources[span->resource], "host.name");
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
    ranks->items = xgrow(ranks->items, &ranks->capacity, ranks->count + 1, sizeof *ranks->items);
    uint32_t host = host_of(trace, span);
    int_map_set(places, (uint64_t)number, (uint32_t)ranks->count);
    ranks->items[ranks->count++] = (struct step_rank){.number = number,
                                                      .host = host == MAP_NONE ? 0 : host,
                                                      .start_ns = span->start_ns,
                                                      .end_ns = span->end_ns};
}

static int by_number(const void *a, const void *b)
{
    const struct step_rank *one = a, *other = b;
    return one->number < other->number ? -1 : one->number > other->number;
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
    if (work == RANK_WORKS)
        return;
    rank->spans[work] =
        xgrow(rank->spans[work], &rank->capacities[work], rank->counts[work] + 1, sizeof *rank->spans[work]);
    rank->spans[work][rank->counts[work]++] = index;
}

/* The shortest part of a send or receive is no transfer: both sides may wait. */
static bool is_p2p(const struct trace *trace, const struct trace_span *span)
{
    const char *operation = trace_span_attr(trace, span, "cuda.collective.operation");
    return operation && (strcmp(operation, "send") == 0 || strcmp(operation, "recv") == 0 ||
                         strcmp(operation, "send_recv") == 0);
}

/* The string of the collective's key, or 0: it cannot be compared. */
static uint32_t key_of(const struct trace *trace, const struct trace_span *span, uint32_t key)
{
    const struct trace_attr *attr =
        span->class == CLASS_COLLECTIVE ? trace_find_attr(trace, span, key) : NULL;
    return attr && !is_p2p(trace, span) ? trace_attr_string(trace, attr) : 0;
}

static void add_part(struct instance *instance, uint32_t rank, uint64_t duration_ns)
{
    if (instance->ranks == 0 || duration_ns < instance->shortest_ns) {
        instance->shortest_ns = duration_ns;
        instance->last = rank;
    }
    if (duration_ns > instance->longest_ns)
        instance->longest_ns = duration_ns;
    instance->ranks++;
}

static void compare(struct step_ranks *ranks, const struct trace *trace)
{
    uint32_t key = trace_find_string(trace, "cuda.collective.key");
    struct int_map numbers = {0};
    struct instance *instances = NULL;
    size_t count = 0, capacity = 0;
    uint32_t *of = xcalloc(trace->span_count, sizeof *of); /* by span: instance + 1 */
    for (uint32_t i = 0; key != MAP_NONE && i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        uint32_t string = ranks->owners[i] != TRACE_NONE ? key_of(trace, span, key) : 0;
        if (!string)
            continue;
        uint32_t at = int_map_get(&numbers, string);
        if (at == MAP_NONE) {
            at = (uint32_t)count;
            instances = xgrow(instances, &capacity, count + 1, sizeof *instances);
            instances[count++] = (struct instance){0};
            int_map_set(&numbers, string, at);
        }
        add_part(&instances[at], ranks->owners[i], span->end_ns - span->start_ns);
        of[i] = at + 1;
    }
    for (uint32_t i = 0; i < trace->span_count; i++)
        if (of[i] && instances[of[i] - 1].ranks > 1)
            ranks->items[ranks->owners[i]].wait_ns +=
                trace->spans[i].end_ns - trace->spans[i].start_ns - instances[of[i] - 1].shortest_ns;
    for (size_t i = 0; i < count; i++) {
        if (instances[i].ranks < 2)
            continue;
        ranks->collectives++;
        ranks->items[instances[i].last].last_count++;
        ranks->items[instances[i].last].caused_ns += instances[i].longest_ns - instances[i].shortest_ns;
    }
    free(of);
    free(instances);
    int_map_deinit(&numbers);
}

static void mark_last(struct step_ranks *ranks, const struct trace *trace)
{
    struct step_rank *last = NULL;
    for (size_t i = 0; i < ranks->count; i++)
        if (!last || ranks->items[i].caused_ns > last->caused_ns)
            last = &ranks->items[i];
    if (last)
        last->is_last = last->caused_ns > (trace->end_ns - trace->start_ns) / LATE_SHARE;
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
    int_map_deinit(&places);
    for (uint32_t i = 0; i < trace->span_count; i++)
        if (ranks->owners[i] != TRACE_NONE)
            add_work(&ranks->items[ranks->owners[i]], trace, i);
    for (size_t i = 0; i < ranks->count; i++) {
        struct step_rank *rank = &ranks->items[i];
        rank->compute_ns = bars_covered_ns(trace, rank->spans[RANK_COMPUTE], rank->counts[RANK_COMPUTE]);
        rank->communication_ns =
            bars_covered_ns(trace, rank->spans[RANK_COMMUNICATION], rank->counts[RANK_COMMUNICATION]);
    }
    compare(ranks, trace);
    mark_last(ranks, trace);
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
