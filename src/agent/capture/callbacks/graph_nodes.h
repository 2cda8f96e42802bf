/* Records how CUDA graphs are created: the number of nodes in an executable graph and, on request, which call
 * created which nodes and from which originals; with stacks of launches, also which code.
 *
 * The host thread calls these functions. Counting nodes calls nothing of CUPTI. Node IDs come from
 * cuptiGetGraphNodeId(), which is an exception to the rule that callbacks call no CUPTI function. It applies
 * only with detail graph-nodes or full: about one call per captured node and two per instantiated node, none
 * at a launch.
 *
 * One call can instantiate thousands of nodes and would fill a ring, so nodes are written in runs of
 * consecutive IDs, at the latest when the thread's call ends.
 *
 * The pipeline thread could not get the IDs later: by then a node may be destroyed, and another node may have
 * its handle. CUPTI does not document whether cuptiGetGraphNodeId() takes a lock, so the other levels of
 * detail do not call it. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "agent/capture/threads/threads.h"

/* CUPTI's function that returns a node's ID; NULL: nodes are only counted. Set it before callbacks are
 * enabled. */
extern cuptiGetGraphNodeId_fn *graph_nodes_id_source;
/* CUPTI's function that returns the ID of an executable graph; NULL: the ID is not needed, or CUPTI has no
 * such function. */
extern cuptiGetGraphExecId_fn *graph_nodes_exec_id_source;
/* Whether the stack of the code that creates nodes is recorded, once per runtime call. Set it before
 * callbacks are enabled, too. */
extern bool graph_nodes_have_code;

static inline bool graph_nodes_concern(uint32_t cbid)
{
    return cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED ||
           cbid == CUPTI_RESOURCE_GRAPHEXEC_CREATED;
}

/* Handles a resource callback that graph_nodes_concern() accepts. */
void graph_nodes_handle(struct host_thread *thread, uint32_t cbid, const struct cupti_graph_data *data);

/* Notes that a call that instantiates a graph starts: nodes cloned from now on belong to that graph. */
static inline void graph_nodes_begin(struct host_thread *thread)
{
    thread->graphs.cloned = 0;
}

void graph_nodes_write_runs(struct host_thread *thread);

/* Writes pending runs of nodes. Called at each start and end of a call, so that the nodes precede the call in
 * the ring. */
static inline void graph_nodes_flush(struct host_thread *thread)
{
    if (__builtin_expect(thread->graphs.has_runs, 0))
        graph_nodes_write_runs(thread);
}
