/* Unified memory's counters (page faults and migrations), which CUPTI gives only after being told which, and
 * only once CUDA is initialized. */
#ifndef CUSPAN_CAPTURE_ACTIVITY_UNIFIED_MEMORY_H
#define CUSPAN_CAPTURE_ACTIVITY_UNIFIED_MEMORY_H

#include "capture/cupti/cupti.h"

#include <stdbool.h>

/* Asks for every counter that each device has. False if there is none to be had. */
bool unified_memory_configure(const struct cupti *cupti);

#endif
