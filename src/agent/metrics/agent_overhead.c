#include "agent/metrics/agent_overhead.h"

#include "base/accounting/counters.h"
#include "base/process/cpu_time.h"
#include "capture/callbacks/callback_time.h"

#include <inttypes.h>

/* Extrapolates the mean of the timed calls to all calls. Calls not drained yet are missing. */
static void take_callbacks(struct agent_overhead *figures)
{
    struct callback_time_sum sum = callback_time_get();
    figures->callback_calls = sum.timed_calls;
    figures->callback_ns =
        sum.call_ns * (counter_get(COUNTER_calls_captured) + counter_get(COUNTER_lost_ring_full));
}

void agent_overhead_take(struct agent_overhead *figures)
{
    *figures = (struct agent_overhead){.pipeline_ns = cpu_time_ns(OWN_PIPELINE),
                                       .sender_ns = cpu_time_ns(OWN_SENDER),
                                       .control_ns = cpu_time_ns(OWN_CONTROL)};
    take_callbacks(figures);
}

void agent_overhead_write(FILE *to, const struct agent_overhead *figures, const struct balance *balance)
{
    const uint64_t *counters = balance->counters;
    fputc('{', to);
    if (figures->callback_calls)
        fprintf(to, "\"callback_ns\":%" PRIu64 ",\"callback_calls\":%" PRIu64 ",", figures->callback_ns,
                figures->callback_calls);
    fprintf(to, "\"pipeline_ns\":%" PRIu64 ",\"sender_ns\":%" PRIu64 ",\"control_ns\":%" PRIu64,
            figures->pipeline_ns, figures->sender_ns, figures->control_ns);
    fprintf(to,
            ",\"cupti_flush_ns\":%" PRIu64 ",\"cupti_instrumentation_ns\":%" PRIu64
            ",\"cupti_resource_ns\":%" PRIu64 ",\"cupti_request_ns\":%" PRIu64 ",\"cupti_other_ns\":%" PRIu64
            "}",
            counters[COUNTER_cupti_flush_ns], counters[COUNTER_cupti_instrumentation_ns],
            counters[COUNTER_cupti_resource_ns], counters[COUNTER_cupti_request_ns],
            counters[COUNTER_cupti_other_ns]);
}
