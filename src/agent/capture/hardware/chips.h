/* Lists this machine's GPUs and their hardware counters, for the command line. Loads the driver and creates a
 * context on each GPU, so it is not for a process with other work. */
#pragma once

#include "base/status.h"
#include "agent/capture/cupti/cupti.h"
#include "model/entries/doctor_entry.h"

/* Lists the GPUs and counters that `ask` selects. NOT_FOUND: no driver, or no such GPU. UNAVAILABLE: counters
 * are not available, with the reason. Other errors are those of profiler_open(). */
enum status chips_list(const struct cupti *cupti, const struct doctor_counters *ask,
                       struct error *err) MUST_CHECK;
