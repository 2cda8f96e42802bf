#include "agent/metrics/agent_overhead.h"

#include "base/accounting/counters.h"
#include "base/process/cpu_time.h"
#include "capture/callbacks/callback_time.h"

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

void agent_overhead_write(struct json_writer *json, const char *key, const struct balance *balance)
{
    const uint64_t *counters = balance->counters;
    struct agent_overhead overhead;
    agent_overhead_take(&overhead);
    json_write_object(json, key);
    if (overhead.callback_calls) {
        json_write_unsigned(json, "callback_ns", overhead.callback_ns);
        json_write_unsigned(json, "callback_calls", overhead.callback_calls);
    }
    json_write_unsigned(json, "pipeline_ns", overhead.pipeline_ns);
    json_write_unsigned(json, "sender_ns", overhead.sender_ns);
    json_write_unsigned(json, "control_ns", overhead.control_ns);
    json_write_unsigned(json, "cupti_flush_ns", counters[COUNTER_cupti_flush_ns]);
    json_write_unsigned(json, "cupti_instrumentation_ns", counters[COUNTER_cupti_instrumentation_ns]);
    json_write_unsigned(json, "cupti_resource_ns", counters[COUNTER_cupti_resource_ns]);
    json_write_unsigned(json, "cupti_request_ns", counters[COUNTER_cupti_request_ns]);
    json_write_unsigned(json, "cupti_other_ns", counters[COUNTER_cupti_other_ns]);
    json_write_object_end(json);
}
