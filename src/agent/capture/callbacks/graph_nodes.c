#include "agent/capture/callbacks/graph_nodes.h"

#include "base/clock.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/stacks/launch_stacks.h"

cuptiGetGraphNodeId_fn *graph_nodes_id_source;
cuptiGetGraphExecId_fn *graph_nodes_exec_id_source;
bool graph_nodes_have_code;

/* Writes a record to the ring. If the ring is full, spans lack a node count or links, but no span is lost. */
static void write_record(struct host_thread *thread, const struct resource_record *record)
{
    struct resource_record *place = ring_reserve(&thread->ring, sizeof *place);
    if (!place)
        return;
    *place = *record;
    ring_commit(&thread->ring, sizeof *place);
}

static struct resource_record begin_record(uint32_t cbid)
{
    return (struct resource_record){
        .head = {sizeof(struct resource_record), RECORD_RESOURCE, CUPTI_DOMAIN_RESOURCE, (uint16_t)cbid},
        .time_ns = clock_ticks(),
        .device_id = UINT32_MAX};
}

static void write_run(struct host_thread *thread, struct resource_record *run)
{
    if (run->nodes)
        write_record(thread, run);
    run->nodes = 0;
}

void graph_nodes_write_runs(struct host_thread *thread)
{
    write_run(thread, &thread->graphs.created_run);
    write_run(thread, &thread->graphs.cloned_run);
    thread->graphs.has_runs = false;
    thread->graphs.code_call = 0; /* IDs of calls are used again after 2^32 calls */
}

/* Adds a node to the run, or writes the run and starts another one. `origin` is a clone's original, or the ID
 * of a created node's code. */
static void add_to_run(struct host_thread *thread, struct resource_record *run, uint32_t cbid, uint64_t id,
                       uint64_t origin)
{
    uint32_t step = cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED ? run->nodes : 0;
    bool is_next = run->nodes && id == run->handle + run->nodes && origin == run->original + step;
    if (is_next) {
        run->nodes++;
        return;
    }
    write_run(thread, run);
    *run = begin_record(cbid);
    run->handle = id;
    run->original = origin;
    run->nodes = 1;
    thread->graphs.has_runs = true;
}

static uint64_t id_of(void *node)
{
    uint64_t id = 0;
    return node && graph_nodes_id_source(node, &id) == CUPTI_OK ? id : 0;
}

static uint32_t exec_id_of(void *exec)
{
    uint32_t id = 0;
    return graph_nodes_exec_id_source && graph_nodes_exec_id_source(exec, &id) == CUPTI_OK ? id : 0;
}

/* Writes the stack's description to the ring. False: no room. */
static bool describe(struct host_thread *thread, const struct launch_stack *stack)
{
    struct code_record *record = ring_reserve(&thread->ring, stack->bytes_max);
    if (!record) {
        thread_count_note_lost(thread);
        return false;
    }
    uint32_t bytes = launch_stacks_write(stack, record);
    record->flags |= CODE_IS_OF_NODES;
    ring_commit(&thread->ring, bytes);
    return true;
}

static uint64_t take_code(struct host_thread *thread)
{
    struct launch_stack stack;
    if (!launch_stacks_take(thread, true, &stack))
        return 0;
    return launch_stack_is_known(&stack) || describe(thread, &stack) ? stack.id : 0;
}

/* Returns the runtime call in progress, during which the stack does not change. 0: the call is not known for
 * sure, because it is excluded, a driver call, or started before a sleep. */
static uint32_t call_in_progress(const struct host_thread *thread)
{
    uint32_t call = atomic_load_explicit(&thread->runtime_correlation, memory_order_relaxed);
    bool is_old = call == atomic_load_explicit(&thread->old_correlation, memory_order_relaxed);
    return !is_old && atomic_load_explicit(&mode_now, memory_order_relaxed) == MODE_ON ? call : 0;
}

/* Returns the ID of the code that creates a node. Walks the stack once per runtime call, or for each node if
 * the call is unknown. */
static uint64_t code_of_call(struct host_thread *thread)
{
    uint32_t call = call_in_progress(thread);
    if (!call || call != thread->graphs.code_call)
        thread->graphs.code = take_code(thread);
    thread->graphs.code_call = call;
    return thread->graphs.code;
}

static void handle_created(struct host_thread *thread, const struct cupti_graph_data *data)
{
    uint64_t id = graph_nodes_id_source ? id_of(data->node) : 0;
    if (id)
        add_to_run(thread, &thread->graphs.created_run, CUPTI_RESOURCE_GRAPHNODE_CREATED, id,
                   graph_nodes_have_code ? code_of_call(thread) : 0);
}

static void handle_cloned(struct host_thread *thread, const struct cupti_graph_data *data)
{
    thread->graphs.cloned++;
    if (!graph_nodes_id_source)
        return;
    uint64_t id = id_of(data->node), original = id_of(data->originalNode);
    if (id && original)
        add_to_run(thread, &thread->graphs.cloned_run, CUPTI_RESOURCE_GRAPHNODE_CLONED, id, original);
}

void graph_nodes_handle(struct host_thread *thread, uint32_t cbid, const struct cupti_graph_data *data)
{
    if (!data)
        return;
    if (cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED) {
        handle_created(thread, data);
    } else if (cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED) {
        handle_cloned(thread, data);
    } else {
        struct resource_record record = begin_record(cbid);
        record.handle = (uint64_t)(uintptr_t)data->graphExec;
        record.nodes = thread->graphs.cloned;
        record.id = exec_id_of(data->graphExec);
        thread->graphs.cloned = 0;
        graph_nodes_flush(thread);
        write_record(thread, &record);
    }
}
