/* The functions that cuspan.h finds in the agent. */
#ifndef CUSPAN_AGENT_CORE_ENTRY_CUSPAN_API_H
#define CUSPAN_AGENT_CORE_ENTRY_CUSPAN_API_H

#include "cuspan/cuspan.h"

__attribute__((visibility("default"))) const cuspan_api *cuspan_agent_api(uint32_t version);

#endif
