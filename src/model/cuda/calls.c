#include "model/cuda/calls.h"

#include "model/cuda/results.h"

#include <stddef.h>

const char *call_group_name(enum call_group group)
{
    static const char *const names[CALL_GROUP_COUNT] = {
        [CALL_GROUP_OTHER] = "other", [CALL_GROUP_LAUNCH] = "launch", [CALL_GROUP_COPY] = "copy",
        [CALL_GROUP_FILL] = "fill",   [CALL_GROUP_ALLOC] = "alloc",   [CALL_GROUP_FREE] = "free",
        [CALL_GROUP_SYNC] = "sync",   [CALL_GROUP_STREAM] = "stream", [CALL_GROUP_EVENT] = "event",
        [CALL_GROUP_GRAPH] = "graph", [CALL_GROUP_MODULE] = "module", [CALL_GROUP_PEER] = "peer",
        [CALL_GROUP_IPC] = "ipc",
    };
    return group < CALL_GROUP_COUNT ? names[group] : NULL;
}

const char *call_result_name(enum call_domain domain, int32_t result)
{
    return enum_name(domain == CALL_RUNTIME ? &results_runtime : &results_driver, result);
}
