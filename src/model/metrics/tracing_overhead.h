/* What cuspan itself takes, beside what CUPTI takes for it (the counters cupti_..._ns). */
#ifndef CUSPAN_MODEL_METRICS_TRACING_OVERHEAD_H
#define CUSPAN_MODEL_METRICS_TRACING_OVERHEAD_H

#include <stdint.h>

/* Of the process so far. */
struct agent_overhead {
    uint64_t callback_ns; /* in callbacks on the host's threads, estimated from the calls that were timed */
    uint64_t callback_calls; /* that were timed; 0: none, and nothing is known */
    /* Processor's time of cuspan's own threads. */
    uint64_t pipeline_ns, sender_ns, control_ns;
};

#endif
