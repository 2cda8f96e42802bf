#include "agent/core/metrics/agent_overhead.h"

#include "base/accounting/counters.h"
#include "base/process/cpu_time.h"
#include "agent/capture/callbacks/callback_time.h"

/* The time in callbacks is the mean of the timed calls times all calls. Calls not drained yet are missing. */
void agent_overhead_take(struct agent_overhead *figures)
{
    struct callback_time_sum timed = callback_time_get();
    uint64_t calls = counter_get(COUNTER_calls_captured) + counter_get(COUNTER_lost_ring_full);
    *figures = (struct agent_overhead){.callback_ns = timed.call_ns * calls,
                                       .callback_calls = timed.timed_calls,
                                       .pipeline_ns = cpu_time_ns(OWN_PIPELINE),
                                       .sender_ns = cpu_time_ns(OWN_SENDER),
                                       .control_ns = cpu_time_ns(OWN_CONTROL)};
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
