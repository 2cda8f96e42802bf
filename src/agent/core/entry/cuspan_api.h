/* The functions that cuspan.h finds in the agent. */
#pragma once

#include "cuspan/cuspan.h"

__attribute__((visibility("default"))) const cuspan_api *cuspan_agent_api(uint32_t version);
