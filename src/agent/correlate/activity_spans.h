/* Makes the spans of GPU work, and of CUPTI's own work on the host. */
#pragma once

#include "agent/correlate/join/gpu_work.h"

struct correlate;

/* Counts the work, and sends its span, unless the trace is not sampled or the step's limit leaves the span
 * out. */
void activity_spans_add(struct correlate *correlate, const struct gpu_work *work);
