#include "agent/correlate/join/graph_runs.h"

#include <stdlib.h>

#define GRAPHS        256
#define RUNS_OF_GRAPH 64

struct run {
    uint32_t correlation_id; /* 0: free */
    bool has_run;            /* the record of a node has arrived */
    uint64_t start_ns;       /* start of its first node; until one is known, of its call */
};

/* The latest executions of a graph, in the order of their launches. */
struct graph {
    uint32_t id, count;
    struct run runs[RUNS_OF_GRAPH];
};

struct graph_runs {
    struct graph graphs[GRAPHS]; /* by ID */
};

enum status graph_runs_create(struct graph_runs **runs)
{
    *runs = calloc(1, sizeof **runs);
    return *runs ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Returns the graph with this ID, empty if it is new. It replaces an older graph in the same slot. */
static struct graph *graph_of(struct graph_runs *runs, uint32_t id)
{
    struct graph *graph = &runs->graphs[id % GRAPHS];
    if (graph->id != id)
        *graph = (struct graph){.id = id};
    return graph;
}

static struct run *run_at(struct graph *graph, uint32_t number)
{
    return &graph->runs[number % RUNS_OF_GRAPH];
}

static uint32_t oldest(const struct graph *graph)
{
    return graph->count > RUNS_OF_GRAPH ? graph->count - RUNS_OF_GRAPH : 0;
}

/* Finds or inserts an execution. Threads' rings are drained one after the other, so launches arrive almost in
 * the order of their IDs, which wrap around. NULL: it is older than all that are kept. */
static struct run *find_or_add(struct graph *graph, uint32_t correlation_id)
{
    uint32_t number = graph->count, first = oldest(graph);
    while (number > first && (int32_t)(run_at(graph, number - 1)->correlation_id - correlation_id) > 0)
        number--;
    if (number > first && run_at(graph, number - 1)->correlation_id == correlation_id)
        return run_at(graph, number - 1);
    if (number == first && graph->count >= RUNS_OF_GRAPH)
        return NULL; /* too old */
    for (uint32_t to = graph->count++; to > number; to--)
        *run_at(graph, to) = *run_at(graph, to - 1);
    *run_at(graph, number) = (struct run){.correlation_id = correlation_id};
    return run_at(graph, number);
}

void graph_runs_launched(struct graph_runs *runs, uint32_t graph_id, uint32_t correlation_id,
                         uint64_t call_ns)
{
    struct run *run = find_or_add(graph_of(runs, graph_id), correlation_id);
    if (run && !run->has_run)
        run->start_ns = call_ns;
}

void graph_runs_ran(struct graph_runs *runs, uint32_t graph_id, uint32_t correlation_id, uint64_t start_ns)
{
    struct run *run = find_or_add(graph_of(runs, graph_id), correlation_id);
    if (!run || (run->has_run && run->start_ns <= start_ns))
        return;
    run->has_run = true;
    run->start_ns = start_ns;
}

uint32_t graph_runs_find(const struct graph_runs *runs, uint32_t graph_id, uint64_t start_ns, bool is_late)
{
    const struct graph *graph = &runs->graphs[graph_id % GRAPHS];
    const struct run *launched = NULL;
    bool is_before_next = false; /* the next execution has started later than this work */
    if (graph->id != graph_id)
        return 0;
    for (uint32_t number = graph->count; number > oldest(graph); number--) {
        const struct run *run = &graph->runs[(number - 1) % RUNS_OF_GRAPH];
        bool has_started = run->start_ns <= start_ns;
        if (run->has_run && has_started)
            return is_late || is_before_next ? run->correlation_id : 0;
        launched = !launched && has_started ? run : launched;
        is_before_next = run->has_run;
    }
    return is_late && launched ? launched->correlation_id : 0;
}
