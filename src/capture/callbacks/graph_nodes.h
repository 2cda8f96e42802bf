/* What CUPTI tells of CUDA graphs as they are made: how many nodes an executable graph has, and, on request,
 * which nodes came into being in which call and of which others they were made.
 *
 * Runs on the host's thread. Counting nodes takes no more than that; their IDs are CUPTI's to give
 * (cuptiGetGraphNodeId, as NVIDIA's own sample asks for them), so promise 2's "calls no CUPTI function" has
 * an exception by choice where the user asks for nodes (detail: graph-nodes or full): about one call for each
 * node that is captured and two for each that is instantiated, none at a launch.
 *
 * A graph of thousands of nodes is instantiated in one call, which would fill a ring: nodes go there in runs
 * of consecutive IDs, at the latest when the thread's call ends. */
#ifndef CUSPAN_CAPTURE_CALLBACKS_GRAPH_NODES_H
#define CUSPAN_CAPTURE_CALLBACKS_GRAPH_NODES_H

#include "abi/cupti_abi.h"
#include "capture/callbacks/threads.h"

/* Nodes are wanted, and this tells their IDs; NULL: they are only counted. Set before callbacks are on. */
extern cuptiGetGraphNodeId_fn *graph_nodes_id_source;

static inline bool graph_nodes_concern(uint32_t cbid)
{
    return cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED ||
           cbid == CUPTI_RESOURCE_GRAPHEXEC_CREATED;
}

/* One of these callbacks. */
void graph_nodes_handle(struct host_thread *thread, uint32_t cbid, const struct cupti_graph_data *data);

/* A call that instantiates a graph begins: the nodes that are cloned from here on are that graph's. */
static inline void graph_nodes_begin(struct host_thread *thread)
{
    thread->graphs.cloned = 0;
}

void graph_nodes_write_runs(struct host_thread *thread);

/* At each begin and end of a call: what came before belongs before it in the ring. */
static inline void graph_nodes_flush(struct host_thread *thread)
{
    if (__builtin_expect(thread->graphs.has_runs, 0))
        graph_nodes_write_runs(thread);
}

#endif
