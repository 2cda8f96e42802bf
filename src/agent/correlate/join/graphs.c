#include "agent/correlate/join/graphs.h"

#include "base/hash.h"
#include "agent/correlate/join/graph_runs.h"
#include "model/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#define EXECS          4096 /* executable graphs, in sets of WAYS */
#define WAYS           4
#define LAUNCHES       4096 /* the GPU's queue holds about 1024 launches */
#define BUCKETS        (2 * GRAPH_NODES_MAX)
#define CLONES_DEEP    8  /* longest chain of clones that is followed */
#define RUNS_MADE      64 /* runs of nodes of calls that have not returned, all threads together */
#define CHANCES        64 /* used nodes that the clock hand skips at most */
#define HASH(number)   ((uint32_t)((number)*HASH_SPREAD >> 32))
#define SET_OF(handle) (HASH(handle) % (EXECS / WAYS))

struct exec {
    uint64_t handle; /* 0: free */
    uint64_t created_ns;
    uint32_t nodes;
    uint32_t id; /* CUPTI's; 0: unknown */
};

struct launch {
    uint32_t correlation_id; /* 0: free */
    uint32_t nodes;          /* as known at the launch; 0: unknown */
    uint64_t exec;
    uint64_t start_ns;
};

struct node {
    uint64_t id; /* 0: free */
    union {
        uint64_t original;       /* a clone's original node */
        const char *trace_state; /* of the call that captured it; lives as long as the process */
    };
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint32_t next_in_bucket; /* index + 1; 0: the last */
    uint8_t flags;           /* W3C flags */
    bool is_clone;           /* its capturing call has not been looked up */
    bool has_link;           /* that call has a span */
    bool ran;                /* since the clock hand last passed */
};

struct node_table {
    uint32_t hand; /* the next slot to reuse */
    uint32_t buckets[BUCKETS];
    struct node nodes[GRAPH_NODES_MAX];
};
static_assert(sizeof(struct node_table) <= SETTINGS_GRAPH_NODES_BYTES, "the settings count on it");

/* Nodes with consecutive IDs that a thread has created in a call that has not returned. */
struct made_run {
    uint64_t tid; /* 0: free */
    uint64_t time_ns;
    uint64_t first;
    uint32_t nodes;
};

struct graphs {
    bool has_any;
    uint8_t next_way[EXECS / WAYS];
    struct exec execs[EXECS];
    struct launch launches[LAUNCHES];
    uint32_t made_count, next_made;
    struct made_run made[RUNS_MADE];
    struct node_table *table; /* NULL: nodes have no links */
    uint64_t *codes;          /* code IDs of the table's nodes, 0: unknown; NULL: not kept */
    struct graph_runs *runs;  /* NULL: nodes are not traced */
};

enum status graphs_create(bool nodes, bool code, struct graphs **graphs)
{
    struct graphs *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->table = nodes ? calloc(1, sizeof *made->table) : NULL;
    made->codes = nodes && code ? calloc(GRAPH_NODES_MAX, sizeof *made->codes) : NULL;
    bool has_runs = !nodes || graph_runs_create(&made->runs) == STATUS_OK;
    if (!has_runs || (nodes && !made->table) || (nodes && code && !made->codes)) {
        graphs_destroy(made);
        return STATUS_NO_MEMORY;
    }
    *graphs = made;
    return STATUS_OK;
}

void graphs_destroy(struct graphs *graphs)
{
    if (graphs) {
        free(graphs->table);
        free(graphs->codes);
        free(graphs->runs);
    }
    free(graphs);
}

bool graphs_link_nodes(const struct graphs *graphs)
{
    return graphs->table != NULL;
}

static struct exec *find_exec(struct graphs *graphs, uint64_t handle)
{
    struct exec *set = &graphs->execs[SET_OF(handle) * WAYS];
    for (uint32_t i = 0; handle && i < WAYS; i++)
        if (set[i].handle == handle)
            return &set[i];
    return NULL;
}

static void note_exec(struct graphs *graphs, const struct resource_record *resource)
{
    uint32_t set = SET_OF(resource->handle);
    struct exec *exec = find_exec(graphs, resource->handle);
    if (!exec)
        exec = &graphs->execs[set * WAYS + graphs->next_way[set]++ % WAYS];
    *exec = (struct exec){resource->handle, resource->time_ns, resource->nodes, resource->id};
}

void graphs_launch(struct graphs *graphs, const struct call_record *call)
{
    if (!(call->present & 1))
        return; /* the graph is the first parameter: without it the launch says nothing */
    struct exec *exec = find_exec(graphs, call->values[0]);
    graphs->launches[call->correlation_id % LAUNCHES] =
        (struct launch){call->correlation_id, exec ? exec->nodes : 0, call->values[0], call->start_ns};
    if (graphs->runs && exec && exec->id)
        graph_runs_launched(graphs->runs, exec->id, call->correlation_id, call->start_ns);
}

/* CUDA reuses the handle of a destroyed graph, and the new graph's record can arrive before or after a
 * launch of the old one. The times decide which graph was launched. */
uint32_t graphs_nodes_launched(struct graphs *graphs, uint32_t correlation_id)
{
    const struct launch *launch = &graphs->launches[correlation_id % LAUNCHES];
    if (!correlation_id || launch->correlation_id != correlation_id)
        return 0;
    const struct exec *exec = find_exec(graphs, launch->exec);
    return exec && exec->created_ns <= launch->start_ns ? exec->nodes : launch->nodes;
}

static uint32_t *bucket_of(struct node_table *table, uint64_t id)
{
    return &table->buckets[HASH(id) % BUCKETS];
}

static struct node *find_node(struct node_table *table, uint64_t id)
{
    for (uint32_t at = *bucket_of(table, id); at; at = table->nodes[at - 1].next_in_bucket)
        if (table->nodes[at - 1].id == id)
            return &table->nodes[at - 1];
    return NULL;
}

static void forget_node(struct node_table *table, const struct node *node)
{
    uint32_t *at = bucket_of(table, node->id);
    while (&table->nodes[*at - 1] != node)
        at = &table->nodes[*at - 1].next_in_bucket;
    *at = node->next_in_bucket;
}

/* Finds a slot by the clock algorithm: recently used nodes are skipped, up to CHANCES of them. */
static struct node *take_place(struct node_table *table)
{
    struct node *node = NULL;
    for (uint32_t passed = 0; passed <= CHANCES; passed++) {
        node = &table->nodes[table->hand];
        table->hand = (table->hand + 1) % GRAPH_NODES_MAX;
        if (!node->ran)
            break;
        node->ran = false;
    }
    if (node->id)
        forget_node(table, node);
    return node;
}

static struct node *add_node(struct node_table *table, uint64_t id)
{
    struct node *node = take_place(table);
    uint32_t *bucket = bucket_of(table, id);
    *node = (struct node){.id = id, .next_in_bucket = *bucket};
    *bucket = (uint32_t)(node - table->nodes) + 1;
    return node;
}

/* Limits a number of nodes to the table's size: more would only evict each other. */
static uint32_t nodes_kept(uint32_t nodes)
{
    return nodes < GRAPH_NODES_MAX ? nodes : GRAPH_NODES_MAX;
}

static void set_code(struct graphs *graphs, const struct node *node, uint64_t code)
{
    if (graphs->codes)
        graphs->codes[node - graphs->table->nodes] = code;
}

static struct node *find_or_add(struct graphs *graphs, uint64_t id)
{
    struct node *node = find_node(graphs->table, id);
    if (node)
        return node;
    node = add_node(graphs->table, id);
    set_code(graphs, node, 0);
    return node;
}

/* Keeps the code of nodes, whether their call has a span or not. */
static void note_code(struct graphs *graphs, const struct resource_record *resource)
{
    for (uint32_t i = 0; i < nodes_kept(resource->nodes); i++) {
        struct node *node = find_or_add(graphs, resource->handle + i);
        if (!node->is_clone)
            set_code(graphs, node, resource->code);
    }
}

static void note_created(struct graphs *graphs, uint64_t tid, const struct resource_record *resource)
{
    if (resource->code && graphs->codes)
        note_code(graphs, resource);
    struct made_run *run = &graphs->made[graphs->next_made++ % RUNS_MADE];
    graphs->made_count += run->tid == 0;
    *run = (struct made_run){tid, resource->time_ns, resource->handle, nodes_kept(resource->nodes)};
}

/* Notes cloned nodes. CUPTI reports clones of an instantiation as created, too, before or after this. They
 * remain clones. */
static void note_cloned(struct graphs *graphs, const struct resource_record *resource)
{
    for (uint32_t i = 0; i < nodes_kept(resource->nodes); i++) {
        struct node *node = find_or_add(graphs, resource->handle + i);
        node->is_clone = true;
        node->original = resource->original + i;
        set_code(graphs, node, 0);
    }
}

bool graphs_note(struct graphs *graphs, uint64_t tid, const struct resource_record *resource)
{
    switch (resource->head.cbid) {
    case RESOURCE_EXEC_CREATED:
        graphs->has_any = true;
        note_exec(graphs, resource);
        return true;
    case RESOURCE_NODE_CREATED:
        graphs->has_any = true;
        if (graphs->table)
            note_created(graphs, tid, resource);
        return true;
    case RESOURCE_NODE_CLONED:
        if (graphs->table)
            note_cloned(graphs, resource);
        return true;
    default:
        return false;
    }
}

bool graphs_any(const struct graphs *graphs)
{
    return graphs->has_any;
}

static void bind_run(struct graphs *graphs, const struct made_run *run, const struct span_link *link)
{
    for (uint32_t i = 0; i < run->nodes; i++) {
        struct node *node = find_or_add(graphs, run->first + i);
        if (node->is_clone || node->has_link)
            continue;
        node->has_link = true;
        memcpy(node->trace_id, link->trace_id, sizeof node->trace_id);
        memcpy(node->span_id, link->span_id, sizeof node->span_id);
        node->flags = (uint8_t)link->flags;
        node->trace_state = link->trace_state;
    }
}

void graphs_call(struct graphs *graphs, uint64_t tid, const struct call_record *call,
                 const struct span_link *link)
{
    for (uint32_t i = 0; graphs->made_count && i < RUNS_MADE; i++) {
        struct made_run *run = &graphs->made[i];
        if (run->tid != tid || run->time_ns > call->end_ns)
            continue;
        if (link && run->time_ns >= call->start_ns) /* older nodes were created outside any call */
            bind_run(graphs, run, link);
        run->tid = 0;
        graphs->made_count--;
    }
}

bool graphs_capture_of(struct graphs *graphs, uint64_t node_id, struct span_link *link, uint64_t *code)
{
    struct node *node = graphs->table ? find_node(graphs->table, node_id) : NULL;
    struct node *from = node;
    *code = 0;
    for (int depth = 0; from && from->is_clone && depth < CLONES_DEEP; depth++)
        from = find_node(graphs->table, from->original);
    if (!from || from->is_clone)
        return false;
    node->ran = from->ran = true;
    *code = graphs->codes ? graphs->codes[from - graphs->table->nodes] : 0;
    if (!from->has_link) /* the record of the call may still come */
        return false;
    if (node != from) { /* cached, since the original may be evicted */
        memcpy(node->trace_id, from->trace_id, sizeof node->trace_id);
        memcpy(node->span_id, from->span_id, sizeof node->span_id);
        node->flags = from->flags;
        node->trace_state = from->trace_state;
        node->has_link = true;
        node->is_clone = false;
        set_code(graphs, node, *code);
    }
    *link =
        (struct span_link){.flags = node->flags | SPAN_FLAG_REMOTE_KNOWN, .trace_state = node->trace_state};
    memcpy(link->trace_id, node->trace_id, sizeof link->trace_id);
    memcpy(link->span_id, node->span_id, sizeof link->span_id);
    return true;
}

void graphs_node_ran(struct graphs *graphs, const struct activity_record *record)
{
    if (graphs->runs && record->graph_id && record->correlation_id && record->start_ns)
        graph_runs_ran(graphs->runs, record->graph_id, record->correlation_id, record->start_ns);
}

uint32_t graphs_execution_of(const struct graphs *graphs, const struct activity_record *record, bool is_late)
{
    return graphs->runs ? graph_runs_find(graphs->runs, record->graph_id, record->start_ns, is_late) : 0;
}
