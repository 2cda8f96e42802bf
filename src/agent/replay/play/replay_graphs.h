/* Which records the executions of a CUDA graph have, with the fault LATE_GRAPHS, as in CUPTI 13.5: its own if
 * graph records were enabled when the graph was instantiated, otherwise those of its nodes. After graph
 * records are enabled, the executions of older graphs have none. */
#pragma once

#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

enum replay_graph_records {
    REPLAY_GRAPH_AS_RECORDED, /* no graph, an unknown one, or without the fault */
    REPLAY_GRAPH_WHOLE,
    REPLAY_GRAPH_NODES,
    REPLAY_GRAPH_NOTHING
};

/* An executable graph was created; `is_on`: graph records are enabled. Any thread. */
void replay_graphs_created(uint64_t exec, bool is_on);
/* The records of the execution that this call launches. */
enum replay_graph_records replay_graphs_launched(const struct call_record *call, bool is_on);
/* Whether this record is delivered. */
bool replay_graphs_has(enum replay_graph_records records, const struct activity_record *record);
