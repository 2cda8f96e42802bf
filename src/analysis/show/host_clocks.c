#include "analysis/show/host_clocks.h"

#include "analysis/ranks/ranks.h"
#include "analysis/show/step_ranks.h"
#include "cli/util/int_map.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdlib.h>

/* The end of a collective on one host. */
struct end {
    uint32_t instance; /* the string of its key, then its number */
    uint32_t host;
    uint64_t time_ns;
};

struct host {
    uint32_t name; /* string */
    bool is_known;
    int64_t offset_ns; /* against the first host */
};

/* A collective, which takes part in joining hosts once one of its hosts is known. */
struct instance {
    size_t first, count; /* of its ends */
    const struct end *known;
};

struct clocks {
    struct host *hosts;
    size_t host_count, host_capacity;
    struct int_map host_numbers; /* of the name */
    struct end *ends;            /* by instance */
    size_t end_count, end_capacity;
    struct instance *instances;
    size_t *first_of_host; /* in ends_of_host; one more than there are hosts */
    size_t *ends_of_host;  /* indices of ends */
};

static uint32_t host_index(struct clocks *clocks, uint32_t name)
{
    uint32_t i = int_map_number(&clocks->host_numbers, name);
    if (i == clocks->host_count)
        *XADD(clocks->hosts, clocks->host_count, clocks->host_capacity) =
            (struct host){.name = name, .is_known = i == 0};
    return i;
}

/* Whether no rank can leave the collective before the last one has come. */
static bool needs_all(const struct trace *trace, const struct trace_span *span)
{
    const char *operation = trace_span_attr(trace, span, SEMCONV_COLLECTIVE_OPERATION);
    return operation && ranks_operations[ranks_operation_of(operation)].all_need_all;
}

static int by_instance(const void *a, const void *b)
{
    const struct end *one = a, *other = b;
    int order = ORDER(one->instance, other->instance);
    return order ? order : ORDER(one->host, other->host);
}

static void find_ends(struct clocks *clocks, const struct trace *trace, const struct step_ranks *ranks)
{
    uint32_t key = trace_find_string(trace, SEMCONV_COLLECTIVE_KEY);
    for (size_t i = 0; i < ranks->count; i++)
        host_index(clocks, ranks->items[i].host); /* in the order of the ranks */
    for (uint32_t i = 0; key != MAP_NONE && i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        const struct trace_attr *attr =
            span->class == CLASS_COLLECTIVE ? trace_find_attr(trace, span, key) : NULL;
        if (!attr || ranks->owners[i] == TRACE_NONE || !needs_all(trace, span))
            continue;
        *XADD(clocks->ends, clocks->end_count, clocks->end_capacity) =
            (struct end){.instance = trace_attr_string(trace, attr),
                         .host = host_index(clocks, ranks->items[ranks->owners[i]].host),
                         .time_ns = span->end_ns};
    }
    sort_array(clocks->ends, clocks->end_count, sizeof *clocks->ends, by_instance);
}

static int by_value(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

/* Replaces the keys of instances by numbers, and sorts the ends by host, too. */
static void index_ends(struct clocks *clocks)
{
    size_t count = 0, *next;
    clocks->instances = xcalloc(clocks->end_count, sizeof *clocks->instances);
    clocks->ends_of_host = xcalloc(clocks->end_count, sizeof *clocks->ends_of_host);
    clocks->first_of_host = xcalloc(clocks->host_count + 2, sizeof *clocks->first_of_host);
    next = clocks->first_of_host + 1; /* while ends are placed, a host's end moves on */
    for (size_t i = 0, end; i < clocks->end_count; i = end) {
        uint32_t key = clocks->ends[i].instance;
        for (end = i; end < clocks->end_count && clocks->ends[end].instance == key; end++) {
            clocks->ends[end].instance = (uint32_t)count;
            next[clocks->ends[end].host + 1]++;
        }
        clocks->instances[count++] = (struct instance){.first = i, .count = end - i};
    }
    for (size_t i = 0; i < clocks->host_count; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < clocks->end_count; i++)
        clocks->ends_of_host[next[clocks->ends[i].host]++] = i;
}

/* Of the host's collectives with a host whose clock is known; `differences` has room for all ends. */
static size_t find_differences(const struct clocks *clocks, uint32_t host, int64_t *differences)
{
    size_t count = 0;
    for (size_t i = clocks->first_of_host[host]; i < clocks->first_of_host[host + 1]; i++) {
        const struct end *own = &clocks->ends[clocks->ends_of_host[i]];
        const struct end *known = clocks->instances[own->instance].known;
        bool is_last = i + 1 == clocks->first_of_host[host + 1] ||
                       clocks->ends[clocks->ends_of_host[i + 1]].instance != own->instance;
        if (known && is_last) /* of several ranks of a host, the last one stands for it */
            differences[count++] =
                (int64_t)(own->time_ns - known->time_ns) + clocks->hosts[known->host].offset_ns;
    }
    return count;
}

/* Appends to `queue` the hosts that share a collective with this one, which is known. */
static size_t find_neighbors(struct clocks *clocks, uint32_t host, bool *is_queued, uint32_t *queue,
                             size_t count)
{
    for (size_t i = clocks->first_of_host[host]; i < clocks->first_of_host[host + 1]; i++) {
        const struct end *own = &clocks->ends[clocks->ends_of_host[i]];
        struct instance *instance = &clocks->instances[own->instance];
        if (instance->known)
            continue;
        instance->known = own;
        for (size_t e = instance->first; e < instance->first + instance->count; e++) {
            uint32_t other = clocks->ends[e].host;
            if (!is_queued[other])
                queue[count++] = other;
            is_queued[other] = true;
        }
    }
    return count;
}

/* Through known hosts, until no further one can be joined. Each collective is passed once for each of its
 * ends. */
static void find_offsets(struct clocks *clocks)
{
    int64_t *differences = xcalloc(clocks->end_count, sizeof *differences);
    uint32_t *queue = xcalloc(clocks->host_count, sizeof *queue);
    bool *is_queued = xcalloc(clocks->host_count, sizeof *is_queued);
    size_t count = 1; /* the first host is known */
    is_queued[0] = true;
    index_ends(clocks);
    for (size_t at = 0; at < count; at++) {
        struct host *host = &clocks->hosts[queue[at]];
        size_t found = at ? find_differences(clocks, queue[at], differences) : 0;
        if (found) {
            qsort(differences, found, sizeof *differences, by_value);
            host->offset_ns = differences[found / 2];
            host->is_known = true;
        }
        count = find_neighbors(clocks, queue[at], is_queued, queue, count);
    }
    free(differences);
    free(queue);
    free(is_queued);
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
    int_map_deinit(&clocks.host_numbers);
    void *arrays[] = {clocks.hosts, clocks.ends, clocks.instances, clocks.first_of_host, clocks.ends_of_host};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    step_ranks_deinit(&ranks);
    return result;
}
