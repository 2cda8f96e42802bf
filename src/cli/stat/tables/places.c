#include "cli/stat/tables/places.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static uint64_t context_key(uint32_t process, uint32_t context)
{
    return (uint64_t)process << 32 | context;
}

static uint32_t string_number(const struct places *places, const char *text)
{
    return (uint32_t)(text - places->stat->trace->strings);
}

/* Processes of two hosts can have the same ID, but not the same instance ID. Resources of other tracers may
 * lack both. */
static uint64_t process_key(const struct places *places, const struct trace_resource *resource)
{
    const char *instance = trace_resource_attr(places->stat->trace, resource, "service.instance.id");
    return instance ? string_number(places, instance) : (uint64_t)1 << 32 | resource->pid;
}

static void take_devices(struct places *places)
{
    const struct trace *trace = places->stat->trace;
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct trace_lane *lane = &trace->lanes[i];
        if (trace->resources[lane->resource].device)
            int_map_set(&places->devices, context_key(places->process_of[lane->resource], lane->context),
                        lane->resource);
    }
}

void places_init(struct places *places, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    struct int_map numbers = {0};
    *places = (struct places){.stat = stat};
    places->process_of = xcalloc(trace->resource_count + 1, sizeof *places->process_of);
    for (size_t i = 0; i < trace->resource_count; i++)
        places->process_of[i] = stat_number(&numbers, process_key(places, &trace->resources[i]));
    places->process_count = (uint32_t)numbers.count;
    int_map_deinit(&numbers);
    take_devices(places);
}

void places_deinit(struct places *places)
{
    free(places->process_of);
    int_map_deinit(&places->devices);
    *places = (struct places){0};
}

uint32_t places_device(const struct places *places, const struct trace_span *call)
{
    const char *context = stat_attr(places->stat, call, KEY_CONTEXT);
    uint32_t device = MAP_NONE;
    if (context)
        device = int_map_get(&places->devices,
                             context_key(places_process(places, call), string_number(places, context)));
    return device == MAP_NONE ? TRACE_NONE : device;
}

uint32_t places_device_named(const struct places *places, uint32_t process, const char *index)
{
    const struct trace *trace = places->stat->trace;
    for (uint32_t i = 0; i < trace->resource_count; i++) {
        uint32_t device = trace->resources[i].device;
        if (places->process_of[i] == process && device && strcmp(trace_string(trace, device), index) == 0)
            return i;
    }
    return TRACE_NONE;
}

const char *places_pid(const struct places *places, uint32_t process)
{
    const struct trace *trace = places->stat->trace;
    for (size_t i = 0; i < trace->resource_count; i++) {
        if (places->process_of[i] == process)
            return trace_string(trace, trace->resources[i].pid);
    }
    return "";
}

const char *places_device_name(const struct places *places, uint32_t device)
{
    const struct trace *trace = places->stat->trace;
    return device == TRACE_NONE ? "unknown" : trace_string(trace, trace->resources[device].device);
}

uint64_t places_lost(const struct places *places)
{
    const struct trace *trace = places->stat->trace;
    uint64_t *lost = xcalloc(places->process_count + 1, sizeof *lost), all = 0;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        uint64_t so_far = span->class == CLASS_SESSION ? stat_attr_int(places->stat, span, KEY_LOST, 0) : 0;
        uint64_t *mine = &lost[places_process(places, span)];
        *mine = so_far > *mine ? so_far : *mine;
    }
    for (uint32_t process = 0; process < places->process_count; process++)
        all += lost[process];
    free(lost);
    return all;
}

const char *places_range(const struct places *places, const struct trace_span *call)
{
    const struct trace *trace = places->stat->trace;
    for (uint32_t at = call->parent; at != TRACE_NONE; at = trace->spans[at].parent) {
        if (stat_attr(places->stat, &trace->spans[at], KEY_RANGE))
            return trace_string(trace, trace->spans[at].name);
    }
    return "";
}

const char *places_thread(const struct places *places, const struct trace_span *call)
{
    const struct trace *trace = places->stat->trace;
    if (call->thread == TRACE_NONE)
        return "";
    const struct trace_thread *thread = &trace->threads[call->thread];
    return trace_string(trace, thread->name ? thread->name : thread->id);
}

const char *places_thread_id(const struct places *places, const struct trace_span *call)
{
    const struct trace *trace = places->stat->trace;
    return call->thread == TRACE_NONE ? "" : trace_string(trace, trace->threads[call->thread].id);
}
