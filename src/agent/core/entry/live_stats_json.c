#include "agent/core/entry/control_verbs.h"

#include "agent/core/lifecycle/agent.h"
#include "agent/core/metrics/agent_overhead.h"
#include "agent/core/pipeline/pipeline.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/text/json_writer.h"
#include "model/metrics/live_stats.h"

#define ANSWER_NS (1 * NS_PER_SECOND)

static void write_device(struct json_writer *json, const struct device_view *device)
{
    json_write_object(json, NULL);
    json_write_unsigned(json, "index", device->index);
    if (*device->id)
        json_write_text(json, "uuid", device->id);
    if (*device->name)
        json_write_text(json, "name", device->name);
    json_write_unsigned(json, "busy_ns", device->busy_ns);
    json_write_unsigned(json, "kernels", device->kernels);
    json_write_unsigned(json, "kernel_ns", device->kernel_ns);
    json_write_unsigned(json, "copies", device->copies);
    json_write_unsigned(json, "copy_bytes", device->copy_bytes);
    json_write_unsigned(json, "fills", device->fills);
    json_write_unsigned(json, "memory_live", device->memory_live);
    json_write_unsigned(json, "memory_peak", device->memory_peak);
    json_write_object_end(json);
}

/* `name`: NULL for the kernels without an entry of their own. */
static void write_kernel(struct json_writer *json, const char *key, const char *name, uint64_t count,
                         uint64_t total_ns)
{
    json_write_object(json, key);
    if (name)
        json_write_text(json, "name", name);
    json_write_unsigned(json, "count", count);
    json_write_unsigned(json, "total_ns", total_ns);
    json_write_object_end(json);
}

static void write_kernels(struct json_writer *json, const struct live_stats_view *view)
{
    json_write_array(json, "kernels");
    for (uint32_t i = 0; i < view->kernel_count; i++)
        write_kernel(json, NULL, view->kernels[i].name, view->kernels[i].sum.count,
                     view->kernels[i].sum.total_ns);
    json_write_array_end(json);
    write_kernel(json, "kernels_other", NULL, view->others.count, view->others.total_ns);
}

/* cuspan's own work. */
static void write_own(struct json_writer *json, uint64_t cpu_ns)
{
    struct balance balance = {.held = 0};
    balance_take(&balance, 0);
    json_write_object(json, "own");
    json_write_unsigned(json, "calls_captured", counter_get(COUNTER_calls_captured));
    json_write_unsigned(json, "activities_captured", counter_get(COUNTER_activities_captured));
    json_write_unsigned(json, "spans", counter_get(COUNTER_spans_created));
    json_write_unsigned(json, "delivered", counter_get(COUNTER_spans_delivered));
    json_write_unsigned(json, "lost", counters_lost());
    json_write_unsigned(json, "pipeline_cpu_ns", cpu_ns);
    agent_overhead_write(json, "cost", &balance);
    json_write_object_end(json);
}

static void write_calls(struct json_writer *json, const struct live_stats_view *view)
{
    json_write_object(json, "calls");
    json_write_unsigned(json, "count", view->calls);
    json_write_unsigned(json, "total_ns", view->call_ns);
    json_write_unsigned(json, "errors", view->errors);
    json_write_unsigned(json, "waiting_ns", view->waiting_ns);
    json_write_object_end(json);
}

static void write_measured(struct json_writer *json, const struct measured_step *step)
{
    json_write_object(json, NULL);
    json_write_signed(json, "number", step->number);
    json_write_unsigned(json, "compute_ns", step->parts_ns[STEP_COMPUTE]);
    json_write_unsigned(json, "exposed_communication_ns", step->parts_ns[STEP_EXPOSED_COMMUNICATION]);
    json_write_unsigned(json, "copies_ns", step->parts_ns[STEP_COPIES]);
    json_write_unsigned(json, "idle_ns", step->parts_ns[STEP_IDLE]);
    json_write_unsigned(json, "communication_ns", step->communication_ns);
    if (step->has_host)
        json_write_unsigned(json, "host_ns", step->host_ns);
    json_write_bool(json, "whole", step->is_whole);
    json_write_object_end(json);
}

/* The job's number does not fit into a double. */
static void write_steps(struct json_writer *json, const struct step_view *steps)
{
    char job[20];
    snprintf(job, sizeof job, "%016llx", (unsigned long long)steps->job);
    json_write_object(json, "steps");
    json_write_text(json, "job", job);
    if (steps->rank >= 0)
        json_write_signed(json, "rank", steps->rank);
    if (steps->world_size >= 0)
        json_write_signed(json, "world_size", steps->world_size);
    json_write_signed(json, "number", steps->number);
    if (steps->kind < STEP_NONE) {
        json_write_text(json, "kind", step_kind_name(steps->kind));
        json_write_text(json, "source", step_source_name(steps->source));
    }
    json_write_unsigned(json, "count", steps->sum.count);
    json_write_unsigned(json, "total_ns", steps->sum.total_ns);
    json_write_unsigned(json, "last_ns", steps->last_ns);
    json_write_array(json, "sampled");
    for (uint32_t i = 0; i < steps->measured_count; i++)
        write_measured(json, &steps->measured[i]);
    json_write_array_end(json);
    json_write_object_end(json);
}

void live_stats_write_json(FILE *to, const char *argument)
{
    static struct live_stats_view view; /* only the control thread calls this */
    struct json_writer json = JSON_WRITER(to);
    uint64_t cpu_ns = 0;
    struct agent_view agent;
    agent_get_view(&agent);
    if (!agent.info || pipeline_live_stats(&view, &cpu_ns, clock_monotonic_ns() + ANSWER_NS) != STATUS_OK)
        view = (struct live_stats_view){.time_ns = clock_now_ns()};
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "time_ns", view.time_ns);
    json_write_unsigned(&json, "since_ns", view.since_ns);
    json_write_bool(&json, "is_on", view.is_on);
    write_calls(&json, &view);
    json_write_unsigned(&json, "launches", view.launches);
    json_write_array(&json, "devices");
    for (uint32_t i = 0; i < view.device_count; i++)
        write_device(&json, &view.devices[i]);
    json_write_array_end(&json);
    write_kernels(&json, &view);
    if (view.has_steps)
        write_steps(&json, &view.steps);
    write_own(&json, cpu_ns);
    json_write_object_end(&json);
}
