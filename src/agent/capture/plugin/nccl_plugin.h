/* Implements NCCL's profiler plugin, which learns the datatype, algorithm and protocol of collectives, which
 * are not in NVTX ranges, and the ranks of communicators made by ncclCommSplit. NCCL loads the agent's
 * library as its plugin if NCCL_PROFILER_PLUGIN names it.
 *
 * NCCL calls the plugin on the thread that launches, right after the launch. Each collective becomes a mark
 * in the thread's ring; correlate adds it to the collective's span. While capture sleeps or is off, the
 * functions return at once. In a process that is not traced, NCCL is told to call nothing. */
#pragma once

#include "agent/abi/nccl_profiler_abi.h"

#define NCCL_PLUGIN_EXPORT extern __attribute__((visibility("default")))

NCCL_PLUGIN_EXPORT const struct nccl_profiler_v1 ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
NCCL_PLUGIN_EXPORT const struct nccl_profiler_v4 ncclProfiler_v4;
NCCL_PLUGIN_EXPORT const struct nccl_profiler_v5 ncclProfiler_v5, ncclProfiler_v6;
