/* CUDA graphs: how many nodes an execution has, and which call captured a node, so that the node's spans can
 * link to it.
 *
 * Executable graphs are told by their handles, which launches name: what is told anew under a handle replaces
 * what was. Nodes are told by CUPTI's IDs, which are never used again: one is captured in a call, and is the
 * original of those that are cloned when the graph is instantiated (or cloned), which is what runs. Updates
 * of an executable graph leave it its nodes. Threads are drained one after the other, so a launch may come
 * before the graph's making, and a clone before its original: both are looked up when the GPU's record comes.
 *
 * All tables are bounded and forget what is oldest (of nodes: what hasn't run since); what they forgot has no
 * count or no link. */
#ifndef CUSPAN_CORRELATE_GRAPHS_H
#define CUSPAN_CORRELATE_GRAPHS_H

#include "base/status.h"
#include "model/record.h"
#include "model/span.h"

struct graphs;

/* `nodes`: they are told and are to have links. NO_MEMORY. */
enum status graphs_create(bool nodes, struct graphs **graphs) MUST_CHECK;
void graphs_destroy(struct graphs *graphs);

/* False: the record isn't about graphs. */
bool graphs_note(struct graphs *graphs, uint64_t tid, const struct resource_record *resource);

/* A call has returned on this thread: the nodes that came into being in it were captured by it. `link` leads
 * to its span (copied, without attribute), NULL: it has none. */
void graphs_call(struct graphs *graphs, uint64_t tid, const struct call_record *call,
                 const struct span_link *link);

/* A call has launched a graph. */
void graphs_launch(struct graphs *graphs, const struct call_record *call);

/* How many nodes the graph has that this call launched. 0: unknown. */
uint32_t graphs_nodes_launched(struct graphs *graphs, uint32_t correlation_id);

/* Leads to the call that captured the node. False: unknown; always, where nodes are not to have links. */
bool graphs_capture_of(struct graphs *graphs, uint64_t node_id, struct span_link *link);

/* Whether nodes are to have links. */
bool graphs_link_nodes(const struct graphs *graphs);

#endif
