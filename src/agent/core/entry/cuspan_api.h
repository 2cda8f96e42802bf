/* The functions that others find in the agent. */
#pragma once

#include "cuspan/cuspan.h"

/* For cuspan.h. */
__attribute__((visibility("default"))) const cuspan_api *cuspan_agent_api(uint32_t version);

/* The CUDA driver calls it in the library of CUDA_INJECTION64_PATH, on the thread that initializes CUDA.
 * Always returns 1: the host must not fail because of us. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* For the package in python/: PyTorch is loaded, and its profiler may use CUPTI before the agent starts; from
 * now on the agent sees it. */
__attribute__((visibility("default"))) void cuspan_python_tools(void);
