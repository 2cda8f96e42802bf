#include "cli/show/host_clocks.h"

#include "cli/show/step_ranks.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* The end of a collective on one host. */
struct end {
    uint32_t instance, host;
    uint64_t time_ns;
};

struct host {
    uint32_t name; /* string */
    bool is_known;
    int64_t offset_ns; /* against the first host */
};

struct clocks {
    struct host *hosts;
    size_t host_count, host_capacity;
    struct end *ends; /* by instance */
    size_t end_count, end_capacity;
};

static uint32_t host_index(struct clocks *clocks, uint32_t name)
{
    size_t i = 0;
    while (i < clocks->host_count && clocks->hosts[i].name != name)
        i++;
    if (i == clocks->host_count) {
        clocks->hosts =
            xgrow(clocks->hosts, &clocks->host_capacity, clocks->host_count + 1, sizeof *clocks->hosts);
        clocks->hosts[clocks->host_count++] = (struct host){.name = name, .is_known = i == 0};
    }
    return (uint32_t)i;
}

/* No rank can leave these before the last one has come. */
static bool needs_all(const struct trace *trace, const struct trace_span *span)
{
    static const char *const operations[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
    const char *operation = trace_span_attr(trace, span, "cuda.collective.operation");
    for (size_t i = 0; operation && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operation, operations[i]) == 0)
            return true;
    return false;
}

static int by_instance(const void *a, const void *b)
{
    const struct end *one = a, *other = b;
    if (one->instance != other->instance)
        return one->instance < other->instance ? -1 : 1;
    return one->host < other->host ? -1 : one->host > other->host;
}

static void find_ends(struct clocks *clocks, const struct trace *trace, const struct step_ranks *ranks)
{
    uint32_t key = trace_find_string(trace, "cuda.collective.key");
    for (size_t i = 0; i < ranks->count; i++)
        host_index(clocks, ranks->items[i].host); /* in the order of the ranks */
    for (uint32_t i = 0; key != MAP_NONE && i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        const struct trace_attr *attr =
            span->class == CLASS_COLLECTIVE ? trace_find_attr(trace, span, key) : NULL;
        if (!attr || ranks->owners[i] == TRACE_NONE || !needs_all(trace, span))
            continue;
        clocks->ends =
            xgrow(clocks->ends, &clocks->end_capacity, clocks->end_count + 1, sizeof *clocks->ends);
        clocks->ends[clocks->end_count++] =
            (struct end){.instance = trace_attr_string(trace, attr),
                         .host = host_index(clocks, ranks->items[ranks->owners[i]].host),
                         .time_ns = span->end_ns};
    }
    if (clocks->end_count)
        qsort(clocks->ends, clocks->end_count, sizeof *clocks->ends, by_instance);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Differences between this host and those with known clocks; `differences` has room for all ends. */
static size_t find_differences(const struct clocks *clocks, uint32_t host, int64_t *differences)
{
    size_t count = 0, end;
    for (size_t begin = 0; begin < clocks->end_count; begin = end) {
        const struct end *own = NULL, *known = NULL;
        for (end = begin;
             end < clocks->end_count && clocks->ends[end].instance == clocks->ends[begin].instance; end++) {
            const struct end *one = &clocks->ends[end];
            own = one->host == host ? one : own;
            known = !known && clocks->hosts[one->host].is_known ? one : known;
        }
        if (own && known)
            differences[count++] =
                (int64_t)(own->time_ns - known->time_ns) + clocks->hosts[known->host].offset_ns;
    }
    return count;
}

/* Through known hosts, until no further one can be joined. */
static void find_offsets(struct clocks *clocks)
{
    int64_t *differences = xcalloc(clocks->end_count, sizeof *differences);
    bool is_changed;
    do {
        is_changed = false;
        for (uint32_t i = 0; i < clocks->host_count; i++) {
            size_t count = clocks->hosts[i].is_known ? 0 : find_differences(clocks, i, differences);
            if (!count)
                continue;
            qsort(differences, count, sizeof *differences, by_value);
            clocks->hosts[i].offset_ns = differences[count / 2];
            clocks->hosts[i].is_known = is_changed = true;
        }
    } while (is_changed);
    free(differences);
}

static void shift(struct clocks *clocks, struct trace *trace, const struct step_ranks *ranks)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        if (ranks->owners[i] == TRACE_NONE)
            continue;
        int64_t offset_ns = clocks->hosts[host_index(clocks, ranks->items[ranks->owners[i]].host)].offset_ns;
        trace->spans[i].start_ns -= (uint64_t)offset_ns;
        trace->spans[i].end_ns -= (uint64_t)offset_ns;
    }
    trace_finish(trace);
}

struct host_clocks host_clocks_align(struct trace *trace)
{
    struct host_clocks result = {0};
    struct clocks clocks = {0};
    struct step_ranks ranks;
    step_ranks_find(&ranks, trace);
    if (ranks.count) {
        find_ends(&clocks, trace, &ranks);
        find_offsets(&clocks);
    }
    for (size_t i = 1; i < clocks.host_count; i++) {
        const struct host *host = &clocks.hosts[i];
        uint64_t distance = (uint64_t)(host->offset_ns < 0 ? -host->offset_ns : host->offset_ns);
        result.aligned += host->is_known;
        result.unknown += !host->is_known;
        result.largest_ns = distance > result.largest_ns ? distance : result.largest_ns;
    }
    if (result.aligned)
        shift(&clocks, trace, &ranks);
    free(clocks.hosts);
    free(clocks.ends);
    step_ranks_deinit(&ranks);
    return result;
}
