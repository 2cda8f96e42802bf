#include "capture/callbacks/graph_nodes.h"

#include "base/clock.h"

cuptiGetGraphNodeId_fn *graph_nodes_id_source;

/* If the ring is full, spans lack a node count or links, but none is lost. */
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
}

static void add_to_run(struct host_thread *thread, struct resource_record *run, uint32_t cbid, uint64_t id,
                       uint64_t original)
{
    bool is_next = run->nodes && id == run->handle + run->nodes &&
                   (cbid != CUPTI_RESOURCE_GRAPHNODE_CLONED || original == run->original + run->nodes);
    if (is_next) {
        run->nodes++;
        return;
    }
    write_run(thread, run);
    *run = begin_record(cbid);
    run->handle = id;
    run->original = original;
    run->nodes = 1;
    thread->graphs.has_runs = true;
}

static uint64_t id_of(void *node)
{
    uint64_t id = 0;
    return node && graph_nodes_id_source(node, &id) == CUPTI_OK ? id : 0;
}

static void handle_created(struct host_thread *thread, const struct cupti_graph_data *data)
{
    uint64_t id = graph_nodes_id_source ? id_of(data->node) : 0;
    if (id)
        add_to_run(thread, &thread->graphs.created_run, CUPTI_RESOURCE_GRAPHNODE_CREATED, id, 0);
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
        thread->graphs.cloned = 0;
        graph_nodes_flush(thread);
        write_record(thread, &record);
    }
}
