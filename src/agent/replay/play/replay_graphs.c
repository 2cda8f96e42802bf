#include "agent/replay/play/replay_graphs.h"

#include "model/cuda/activities.h"
#include "model/cuda/calls.h"

#include "agent/replay/state/faults.h"

#include <stdatomic.h>
#include <string.h>

#define EXECS_KEPT 1024
#define IS_WHOLE   1ull /* in the lowest bit of a handle, which is an address */

static _Atomic uint64_t execs[EXECS_KEPT]; /* the latest ones */
static _Atomic uint64_t exec_count;

void replay_graphs_created(uint64_t exec, bool is_on)
{
    uint64_t place = atomic_fetch_add(&exec_count, 1) % EXECS_KEPT;
    atomic_store(&execs[place], (exec & ~IS_WHOLE) | (is_on ? IS_WHOLE : 0));
}

static bool launches_graph(const struct call_record *call)
{
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    return info && info->launches_graph && call->present & 1;
}

enum replay_graph_records replay_graphs_launched(const struct call_record *call, bool is_on)
{
    if (!fault(FAULT_LATE_GRAPHS) || !launches_graph(call))
        return REPLAY_GRAPH_AS_RECORDED;
    uint64_t count = atomic_load(&exec_count), oldest = count > EXECS_KEPT ? count - EXECS_KEPT : 0;
    for (uint64_t i = count; i > oldest; i--) {
        uint64_t exec = atomic_load(&execs[(i - 1) % EXECS_KEPT]);
        if ((exec & ~IS_WHOLE) != (call->values[0] & ~IS_WHOLE))
            continue;
        if (exec & IS_WHOLE)
            return REPLAY_GRAPH_WHOLE;
        return is_on ? REPLAY_GRAPH_NOTHING : REPLAY_GRAPH_NODES;
    }
    return REPLAY_GRAPH_AS_RECORDED;
}

bool replay_graphs_has(enum replay_graph_records records, const struct activity_record *record)
{
    bool is_whole = record->kind == ACTIVITY_GRAPH_TRACE;
    return records == REPLAY_GRAPH_AS_RECORDED ||
           records == (is_whole ? REPLAY_GRAPH_WHOLE : REPLAY_GRAPH_NODES);
}
