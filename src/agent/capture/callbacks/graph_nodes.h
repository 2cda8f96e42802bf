/* Records how CUDA graphs are created: the number of nodes in an executable graph and, on
 * request, which call created which nodes and from which originals; with stacks of launches, also which code.
 *
 * Runs on the host thread. Counting needs nothing else. Node IDs come from cuptiGetGraphNodeId(), which is an
 * exception to the rule that callbacks call no CUPTI function. It applies only with detail graph-nodes or
 * full: about one call per captured node and two per instantiated node, none at a launch.
 *
 * One call can instantiate thousands of nodes and would fill a ring, so nodes are written in runs of
 * consecutive IDs, at the latest when the thread's call ends.
 *
 * The pipeline thread could not ask later: by then the node may be gone, and its handle may be that of
 * another node. CUPTI does not document whether cuptiGetGraphNodeId() takes a lock, so the other levels of
 * detail do not call it. */
#ifndef CUSPAN_AGENT_CAPTURE_CALLBACKS_GRAPH_NODES_H
#define CUSPAN_AGENT_CAPTURE_CALLBACKS_GRAPH_NODES_H

#include "agent/abi/cupti_abi.h"
#include "agent/capture/threads/threads.h"

/* Returns a node's ID; NULL: nodes are only counted. Set before callbacks are enabled. */
extern cuptiGetGraphNodeId_fn *graph_nodes_id_source;
/* Returns the ID of an executable graph; NULL: it is not needed, or CUPTI has none. */
extern cuptiGetGraphExecId_fn *graph_nodes_exec_id_source;
/* Whether the code that creates nodes is taken, once per runtime call. Set at the same time. */
extern bool graph_nodes_have_code;

static inline bool graph_nodes_concern(uint32_t cbid)
{
    return cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED ||
           cbid == CUPTI_RESOURCE_GRAPHEXEC_CREATED;
}

/* Handles these callbacks. */
void graph_nodes_handle(struct host_thread *thread, uint32_t cbid, const struct cupti_graph_data *data);

/* A call that instantiates a graph starts: nodes cloned from now on belong to that graph. */
static inline void graph_nodes_begin(struct host_thread *thread)
{
    thread->graphs.cloned = 0;
}

void graph_nodes_write_runs(struct host_thread *thread);

/* At each start and end of a call, so that the nodes precede it in the ring. */
static inline void graph_nodes_flush(struct host_thread *thread)
{
    if (__builtin_expect(thread->graphs.has_runs, 0))
        graph_nodes_write_runs(thread);
}

#endif
