#include "agent/core/pipeline/pipeline.h"
#include "agent/core/pipeline/pipeline_state.h"

#include "agent/core/resource/detect.h"
#include "agent/core/resource/device_links.h"
#include "agent/core/metrics/agent_overhead.h"
#include "agent/core/resource/process_resource.h"
#include "agent/core/pipeline/native_code.h"
#include "model/hang/live_state.h"
#include "agent/capture/stacks/launch_stacks.h"
#include "agent/capture/context/context.h"
#include "agent/capture/context/steps.h"
#include "agent/correlate/trace/devices.h"
#include "agent/capture/cupti/selection.h"
#include "agent/capture/sleep_control.h"
#include "model/semconv.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/engine_spans.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/call_spans.h"

#include <stdlib.h>
#include <string.h>

static void on_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    call_spans_add(context, thread, call);
}

static void on_call_asleep(void *context, const struct thread_info *thread, const struct call_record *call)
{
    call_spans_add_asleep(context, thread, call);
}

static void on_resource(void *context, const struct thread_info *thread,
                        const struct resource_record *resource)
{
    call_spans_resource(context, thread, resource);
}

static void on_activity(void *context, const struct activity_record *activity)
{
    if (activity->kind == ACTIVITY_MEMCPY_PEER)
        device_links_peer_copy();
    if (activity_table[activity->kind].is_gpu_work)
        live_note_gpu_end(activity->end_ns);
    gpu_join_add(context, activity);
}

static void on_context(void *context, const struct thread_info *thread, const struct context_record *attached)
{
    thread_events_context(context, thread, attached);
}

static void on_range(void *context, const struct thread_info *thread, const struct range_record *range)
{
    thread_events_range(context, thread, range);
}

static void on_step(void *context, struct step_boundary *boundary)
{
    if (boundary->event && boundary->event->type != ENGINE_ITERATION)
        engine_spans_note(context, boundary->event, boundary->time);
    else
        session_spans_step(context, boundary);
}

static bool on_code(void *context, const struct code_record *code)
{
    const struct code_record *named = native_code_name(code);
    if (named)
        call_spans_code(context, named);
    return named != NULL;
}

static void on_name(void *context, const struct thread_info *thread, const struct name_record *name)
{
    correlate_name(context, name);
}

static void on_gpu_counters(void *context, const struct thread_info *thread,
                            const struct gpu_counters_record *counters)
{
    correlate_gpu_counters(context, counters);
}

static void on_session(void *context, const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags)
{
    context_set_session(trace_id, span_id, flags);
    sleep_control_set_session(flags & TRACE_FLAG_SAMPLED);
}

static void on_span(void *context, const struct span *span)
{
    outputs_add(context, span);
}

static struct resource *devices[DEVICES_MAX]; /* NULL: not seen */

/* The resource of spans of a device: its own attributes and those of the process. */
static void set_device_resource(unsigned device)
{
    struct resource both = {0};
    if (resource_merge(&both, devices[device]) == STATUS_OK &&
        resource_merge(&both, process_resource()) == STATUS_OK)
        outputs_set_resource(pipeline.outputs, (uint16_t)RESOURCE_DEVICE(device), &both);
    resource_deinit(&both);
}

void pipeline_set_device_resources(void)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++)
        if (devices[i])
            set_device_resource(i);
}

static void on_profile(void *context, const struct profile *profile)
{
    outputs_send_profile(context, profile);
}

static void on_device(void *context, uint16_t index, const struct resource *device)
{
    unsigned number = index - RESOURCE_DEVICE(0);
    if (!devices[number])
        devices[number] = calloc(1, sizeof *devices[number]);
    struct resource *kept = devices[number];
    if (!kept)
        return;
    resource_deinit(kept);
    if (resource_merge(kept, device) == STATUS_OK && device_links_add(kept) == STATUS_OK)
        set_device_resource(number);
}

/* Writes the links of one device, or (NULL) of all. */
static void recorder_known_links(const char *uuid)
{
    const struct device_links *links;
    for (uint32_t i = 0; (links = device_links_known(i)) != NULL; i++)
        if (!uuid || strcmp(links->id, uuid) == 0)
            recorder_links(pipeline.recorder, links);
}

static void recorder_device(const struct activity_record *activity)
{
    struct resource device = {0};
    uint32_t number;
    if (devices_describe(activity, &number, &device) == STATUS_OK && device_links_add(&device) == STATUS_OK &&
        resource_text(&device, SEMCONV_CUDA_DEVICE_UUID))
        recorder_known_links(resource_text(&device, SEMCONV_CUDA_DEVICE_UUID));
    resource_deinit(&device);
}

static void on_recorded_activity(void *context, const struct activity_record *activity)
{
    struct capture_sink sink = recorder_sink(context);
    sink.on_activity(context, activity);
    if (activity->kind == ACTIVITY_DEVICE)
        recorder_device(activity);
    else if (activity->kind == ACTIVITY_MEMCPY_PEER)
        device_links_peer_copy();
}

struct capture_sink pipeline_recorder_sink(void)
{
    struct capture_sink sink = recorder_sink(pipeline.recorder);
    sink.on_activity = on_recorded_activity;
    return sink;
}

void pipeline_follow_links(void)
{
    if (!device_links_look())
        return;
    if (pipeline.recorder)
        recorder_known_links(NULL);
    for (unsigned i = 0; i < DEVICES_MAX; i++)
        if (devices[i] && device_links_add(devices[i]) == STATUS_OK)
            set_device_resource(i);
}

static bool outputs_room(void)
{
    return outputs_have_room(pipeline.outputs);
}

enum status pipeline_prepare_spans(const struct pipeline_options *options, struct pipeline_state *state,
                                   struct error *err)
{
    const struct settings *settings = options->settings;
    enum status status = outputs_create(settings, options->self_env_folder, &state->outputs, err);
    if (status != STATUS_OK)
        return status;
    /* A replay's own overhead says nothing about the recorded run. */
    struct correlate_options correlate = {
        .settings = settings,
        .program = options->program,
        .parent = options->parent,
        .steps = options->steps,
        .expects_calls = selection_has_all_launches(settings),
        .expects_graphs = selection_has_activity(settings, ACTIVITY_GRAPH_TRACE),
        .expects_devices = true,
        .forget_code = launch_stacks_forget,
        .release_hold = steps_release_request,
        .slept_between = sleep_control_slept_between,
        .take_overhead = clock_source ? NULL : agent_overhead_take,
        .sink = {state->outputs, on_span, on_device, on_session, on_profile}};
    status = correlate_create(&correlate, &state->correlate);
    if (status != STATUS_OK)
        return error_set(err, status, "cannot start correlation: %s", status_text(status));
    if (settings->metrics.is_on && metrics_export_create(settings, &state->metrics) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory for metrics");
    profiles_export_start(settings);
    state->sink = (struct capture_sink){.context = state->correlate,
                                        .on_call = on_call,
                                        .on_call_asleep = on_call_asleep,
                                        .on_resource = on_resource,
                                        .on_activity = on_activity,
                                        .on_context = on_context,
                                        .on_range = on_range,
                                        .on_step = on_step,
                                        .on_code = on_code,
                                        .on_name = on_name,
                                        .on_gpu_counters = on_gpu_counters};
    capture_set_downstream_room(outputs_room);
    return STATUS_OK;
}
