/* A sink for captured records that are no longer made into spans: it counts them as lost and reads nothing
 * else. */
#pragma once

#include "agent/capture/capture.h"

/* An invariant of the agent is broken: counts calls, marks and activity records as lost_broken. */
extern const struct capture_sink discard_sink;

/* For the end of the process: passes records to `sink`, but counts calls and activity records that come after
 * `deadline_ns` of clock_monotonic_ns() as lost_unmade. One at a time. */
struct capture_sink discard_sink_after(const struct capture_sink *sink, uint64_t deadline_ns);
