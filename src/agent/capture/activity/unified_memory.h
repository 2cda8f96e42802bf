/* Unified memory counters (page faults and migrations). CUPTI needs to be told which ones, after CUDA is
 * initialized. */
#pragma once

#include "agent/capture/cupti/cupti.h"

#include <stdbool.h>

/* Requests every counter of each device. False: none is available. */
bool unified_memory_configure(const struct cupti *cupti);
