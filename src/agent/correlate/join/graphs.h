/* Keeps CUDA graphs, to find the number of nodes of an execution, and the call that captured a node, to which
 * the node's spans link.
 *
 * Executable graphs are known by handle; a new record for a handle replaces the old one. Nodes are known by
 * CUPTI's IDs, which are never reused. A node is captured in a call, and cloned when the graph is
 * instantiated or cloned; the clones run. Updating an executable graph keeps its nodes. Threads are drained
 * one after the other, so a launch can arrive before its graph, and a clone before its original: both are
 * looked up when the GPU's record arrives.
 *
 * All tables are bounded and evict the oldest entries (of nodes: the least recently run). Evicted entries
 * have no count or link. */
#pragma once

#include "base/status.h"
#include "model/record.h"
#include "model/span.h"

struct graphs;

/* `nodes`: track nodes for links. `code`: also keep the IDs of the code that captured them. Fails with
 * NO_MEMORY only. */
enum status graphs_create(bool nodes, bool code, struct graphs **graphs) MUST_CHECK;
void graphs_destroy(struct graphs *graphs);

/* Notes a created or cloned node, or a created executable graph. False: the record is not about graphs. */
bool graphs_note(struct graphs *graphs, uint64_t tid, const struct resource_record *resource);

/* Whether the program has created a graph. The records of calls that captured its nodes never come. */
bool graphs_any(const struct graphs *graphs);

/* Notes a call that has returned: it captured the nodes that were created in it on this thread. `link` leads
 * to the call's span and is copied without its attribute; NULL: the call has no span. */
void graphs_call(struct graphs *graphs, uint64_t tid, const struct call_record *call,
                 const struct span_link *link);

/* Notes a call that has launched a graph. */
void graphs_launch(struct graphs *graphs, const struct call_record *call);

/* Returns the number of nodes of the graph that this call launched; 0: unknown. */
uint32_t graphs_nodes_launched(struct graphs *graphs, uint32_t correlation_id);

/* Fills `link` with the call that captured the node, and `code` with the ID of the code that made this call
 * (0: unknown). False: the call is unknown, or nodes are not tracked. */
bool graphs_capture_of(struct graphs *graphs, uint64_t node_id, struct span_link *link, uint64_t *code);

/* Notes that a node ran, if its record says which call launched it. */
void graphs_node_ran(struct graphs *graphs, const struct activity_record *record);

/* Whether this is work of a graph whose record does not say which call launched it (graph_runs.h). */
static inline bool graphs_lack_launch(const struct activity_record *record)
{
    return !record->correlation_id && record->graph_node_id && record->graph_id;
}
/* Returns the correlation ID of the launch of such work, as graph_runs_find(). */
uint32_t graphs_execution_of(const struct graphs *graphs, const struct activity_record *record, bool is_late);

/* Whether nodes are tracked for links. */
bool graphs_link_nodes(const struct graphs *graphs);
