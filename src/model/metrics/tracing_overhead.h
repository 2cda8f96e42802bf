/* cuspan's own overhead, without that of CUPTI (the counters cupti_..._ns). */
#pragma once

#include <stdint.h>

/* Totals of the process. */
struct agent_overhead {
    uint64_t callback_ns;    /* in callbacks on the host's threads, estimated from timed calls */
    uint64_t callback_calls; /* number of timed calls; 0: callback_ns is unknown */
    /* CPU time of cuspan's threads. */
    uint64_t pipeline_ns, sender_ns, control_ns;
};
