/* The executions of graphs, for the work whose record does not say which call launched it.
 *
 * Before CUPTI 13.2, the records of the bodies of conditional nodes (while, if, switch) have a graph, but no
 * correlation ID. An execution of a graph ends before its next one starts, so such work belongs to the latest
 * execution that started before it. An execution's other nodes say when it started. In a graph without any,
 * its launch does. */
#ifndef CUSPAN_AGENT_CORRELATE_JOIN_GRAPH_RUNS_H
#define CUSPAN_AGENT_CORRELATE_JOIN_GRAPH_RUNS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct graph_runs;

enum status graph_runs_create(struct graph_runs **runs) MUST_CHECK;
void graph_runs_destroy(struct graph_runs *runs);

/* A call has launched the graph. */
void graph_runs_launched(struct graph_runs *runs, uint32_t graph_id, uint32_t correlation_id,
                         uint64_t call_ns);

/* A node of the graph ran, launched by this call. */
void graph_runs_ran(struct graph_runs *runs, uint32_t graph_id, uint32_t correlation_id, uint64_t start_ns);

/* The correlation ID of the execution that work of the graph belongs to. 0: unknown, or, unless `is_late`, a
 * record that names it may still come. */
uint32_t graph_runs_find(const struct graph_runs *runs, uint32_t graph_id, uint64_t start_ns, bool is_late);

#endif
