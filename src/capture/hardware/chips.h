/* The GPUs of this machine as those that have hardware counters, for a person who asks what can be counted.
 * Takes the driver and makes a context on each GPU: nothing for a process that does other work. */
#ifndef CUSPAN_CAPTURE_HARDWARE_CHIPS_H
#define CUSPAN_CAPTURE_HARDWARE_CHIPS_H

#include "base/status.h"
#include "capture/cupti/cupti.h"
#include "model/doctor_entry.h"

/* NOT_FOUND: no driver, or no such GPU; UNAVAILABLE: counters can't be had, and why; others as of
 * profiler_open. */
enum status chips_list(const struct cupti *cupti, const struct doctor_counters *ask,
                       struct error *err) MUST_CHECK;

#endif
