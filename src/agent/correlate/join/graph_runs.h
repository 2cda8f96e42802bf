/* Finds the launch of graph work whose record does not say which call launched it, by the executions of its
 * graph.
 *
 * Before CUPTI 13.2, the records of the bodies of conditional nodes (while, if, switch) have a graph, but no
 * correlation ID. An execution of a graph ends before its next one starts, so such work belongs to the latest
 * execution that started before it. The records of an execution's other nodes show when it started. If it has
 * no other nodes, it started with its launch. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct graph_runs;

/* The caller owns them: free(). */
enum status graph_runs_create(struct graph_runs **runs) MUST_CHECK;

/* Notes that a call has launched the graph. */
void graph_runs_launched(struct graph_runs *runs, uint32_t graph_id, uint32_t correlation_id,
                         uint64_t call_ns);

/* Notes that a node of the graph ran, launched by this call. */
void graph_runs_ran(struct graph_runs *runs, uint32_t graph_id, uint32_t correlation_id, uint64_t start_ns);

/* Returns the correlation ID of the execution that work of the graph belongs to. 0: unknown; or, unless
 * `is_late`, a record that shows it may still arrive. */
uint32_t graph_runs_find(const struct graph_runs *runs, uint32_t graph_id, uint64_t start_ns, bool is_late);
