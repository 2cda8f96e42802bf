/* Shared by the replay of ranges (replay_profiler.c) and samples (replay_pm_sampling.c). */
#pragma once

#include "agent/abi/profiler_abi.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/state/replay_state.h"
#include "agent/replay/state/host_watch.h"

#include <stdbool.h>

/* At the start of each function. */
#define RETURN_IF_BAD(params)                                                                                \
    host_watch_cupti(__func__);                                                                              \
    if (!(params) || (params)->structSize == 0)                                                              \
        return CUPTI_INVALID_PARAMETER;                                                                      \
    if (fault(FAULT_NOT_INITIALIZED) || !replay.is_loaded || atomic_load(&replay.is_gone))                   \
        return CUPTI_NOT_INITIALIZED;                                                                        \
    if (fault_call(__func__))                                                                                \
    return CUPTI_UNKNOWN

/* Whether the synthetic chip can sample this metric. */
bool replay_samples_have(const char *metric);

/* All metrics, at most GPU_COUNTERS_MAX; returns how many. */
size_t replay_samples_list(const char **metrics);

/* cuptiProfilerHostEvaluateToGpuValues for an image of samples. */
uint32_t replay_samples_evaluate(struct profiler_evaluate *params);
