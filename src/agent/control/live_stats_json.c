#include "agent/control/live_stats_json.h"

#include "agent/lifecycle/agent.h"
#include "agent/metrics/agent_overhead.h"
#include "agent/pipeline/pipeline.h"
#include "agent/lifecycle/report.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "model/metrics/live_stats.h"

#include <inttypes.h>

#define ANSWER_NS (1 * NS_PER_SECOND)

static void write_device(FILE *to, const struct device_view *device)
{
    fprintf(to, "{\"index\":%u", device->index);
    if (*device->id) {
        fputs(",\"uuid\":", to);
        report_string(to, device->id);
    }
    if (*device->name) {
        fputs(",\"name\":", to);
        report_string(to, device->name);
    }
    fprintf(to,
            ",\"busy_ns\":%" PRIu64 ",\"kernels\":%" PRIu64 ",\"kernel_ns\":%" PRIu64 ",\"copies\":%" PRIu64
            ",\"copy_bytes\":%" PRIu64 ",\"fills\":%" PRIu64 ",\"memory_live\":%" PRIu64
            ",\"memory_peak\":%" PRIu64 "}",
            device->busy_ns, device->kernels, device->kernel_ns, device->copies, device->copy_bytes,
            device->fills, device->memory_live, device->memory_peak);
}

static void write_kernels(FILE *to, const struct live_stats_view *view)
{
    fputs(",\"kernels\":[", to);
    for (uint32_t i = 0; i < view->kernel_count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", to);
        report_string(to, view->kernels[i].name);
        fprintf(to, ",\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}", view->kernels[i].sum.count,
                view->kernels[i].sum.total_ns);
    }
    fprintf(to, "],\"kernels_other\":{\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}", view->others.count,
            view->others.total_ns);
}

/* cuspan's own work. */
static void write_own(FILE *to, uint64_t cpu_ns)
{
    fprintf(to,
            ",\"own\":{\"calls_captured\":%" PRIu64 ",\"activities_captured\":%" PRIu64 ",\"spans\":%" PRIu64
            ",\"delivered\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"pipeline_cpu_ns\":%" PRIu64 ",\"cost\":",
            counter_get(COUNTER_calls_captured), counter_get(COUNTER_activities_captured),
            counter_get(COUNTER_spans_created), counter_get(COUNTER_spans_delivered), counters_lost(),
            cpu_ns);
    struct balance balance = {.held = 0};
    struct agent_overhead own;
    balance_take(&balance, 0);
    agent_overhead_take(&own);
    agent_overhead_write(to, &own, &balance);
    fputc('}', to);
}

void live_stats_write_json(FILE *to)
{
    static struct live_stats_view view; /* only the control thread calls this */
    uint64_t cpu_ns = 0;
    struct agent_view agent;
    agent_get_view(&agent);
    if (!agent.info || pipeline_live_stats(&view, &cpu_ns, clock_monotonic_ns() + ANSWER_NS) != STATUS_OK)
        view = (struct live_stats_view){.time_ns = clock_now_ns()};
    fprintf(to,
            "{\"time_ns\":%" PRIu64 ",\"since_ns\":%" PRIu64 ",\"is_on\":%s,\"calls\":{\"count\":%" PRIu64
            ",\"total_ns\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"waiting_ns\":%" PRIu64
            "},\"launches\":%" PRIu64 ",\"devices\":[",
            view.time_ns, view.since_ns, view.is_on ? "true" : "false", view.calls, view.call_ns, view.errors,
            view.waiting_ns, view.launches);
    for (uint32_t i = 0; i < view.device_count; i++) {
        if (i)
            fputc(',', to);
        write_device(to, &view.devices[i]);
    }
    fputc(']', to);
    write_kernels(to, &view);
    write_own(to, cpu_ns);
    fputc('}', to);
}
