#include "analysis/stat/base/places.h"

#include "base/hash.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

static uint64_t context_key(uint32_t process, uint32_t context)
{
    return (uint64_t)process << 32 | context;
}

/* Returns the key of a resource's process. Processes of two hosts can have the same process ID, but not the
 * same instance ID. Resources of other tracers may lack both. */
static uint64_t process_key(const struct trace *trace, const struct trace_resource *resource)
{
    const char *instance = trace_resource_attr(trace, resource, SEMCONV_SERVICE_INSTANCE_ID);
    if (instance)
        return hash_text(HASH_START, instance);
    const char *host = trace_resource_attr(trace, resource, SEMCONV_HOST_NAME);
    return hash_text(hash_text(HASH_START, trace_string(trace, resource->pid)), host ? host : "");
}

static void learn_devices(struct places *places, const struct trace *trace)
{
    for (; places->lane_count < trace->lane_count; places->lane_count++) {
        const struct trace_lane *lane = &trace->lanes[places->lane_count];
        const char *text = trace_string(trace, lane->context);
        uint32_t context = *text ? (uint32_t)strtoul(text, NULL, 10) + 1 : 0; /* 0: none */
        if (trace->resources[lane->resource].device)
            int_map_set(&places->devices, context_key(places->process_of[lane->resource], context),
                        lane->resource);
    }
}

static void learn_text(const struct stat *stat, const char **known, const struct trace_resource *resource,
                       const char *key)
{
    const char *text = *known ? NULL : trace_resource_attr(stat->trace, resource, key);
    if (text && *text)
        *known = stat_keep(stat, text);
}

static void learn_process(struct places *places, const struct stat *stat,
                          const struct trace_resource *resource, uint32_t process)
{
    if (process == places->list_count)
        *XADD(places->list, places->list_count, places->list_capacity) = (struct process_facts){0};
    struct process_facts *place = &places->list[process];
    learn_text(stat, &place->rank, resource, SEMCONV_CUDA_PROCESS_RANK);
    learn_text(stat, &place->host, resource, SEMCONV_HOST_NAME);
    learn_text(stat, &place->service, resource, SEMCONV_SERVICE_NAME);
    learn_text(stat, &place->pid, resource, SEMCONV_PROCESS_PID);
}

void places_learn(struct places *places, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    places->stat = stat;
    places->process_of = xgrow(places->process_of, &places->resource_capacity, trace->resource_count + 1,
                               sizeof *places->process_of);
    for (; places->resource_count < trace->resource_count; places->resource_count++) {
        const struct trace_resource *resource = &trace->resources[places->resource_count];
        uint32_t process = int_map_number(&places->processes, process_key(trace, resource));
        places->process_of[places->resource_count] = process;
        learn_process(places, stat, resource, process);
    }
    places->process_count = (uint32_t)places->processes.count;
    learn_devices(places, trace);
}

void places_deinit(struct places *places)
{
    free(places->process_of);
    free(places->list);
    int_map_deinit(&places->processes);
    int_map_deinit(&places->devices);
    int_map_deinit(&places->names);
    *places = (struct places){0};
}

uint32_t places_context(const struct stat *stat, const struct trace_span *call)
{
    const struct trace_attr *context = stat_find(stat, call, KEY_CONTEXT);
    return context ? (uint32_t)trace_attr_int(stat->trace, context) + 1 : 0;
}

uint32_t places_device(const struct places *places, uint32_t process, uint32_t context)
{
    uint32_t device = context ? int_map_get(&places->devices, context_key(process, context)) : MAP_NONE;
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

/* Returns the service's name, or the program's from "unknown_service:PROGRAM", which SDKs and agents without
 * a configured name use; "": unknown. */
static const char *known_service(const char *service)
{
    size_t unknown = strlen("unknown_service");
    if (!service || strncmp(service, "unknown_service", unknown) != 0)
        return service ? service : "";
    return service[unknown] == ':' ? service + unknown + 1 : "";
}

/* Returns the name of a process, which the caller frees. `with_pid`: with its process ID, also if the rank is
 * known. */
static char *make_name(const struct process_facts *place, bool with_pid)
{
    const char *host = place->host ? place->host : "", *service = known_service(place->service);
    if (!place->rank && !place->pid)
        return xstrdup(*service ? service : host);
    struct text name = {0};
    if (place->rank)
        text_add_format(&name, "rank %s", place->rank);
    else
        text_add_format(&name, "%s %s", *service ? service : "process", place->pid);
    const char *more[] = {host, place->rank ? service : "", with_pid ? place->pid : ""};
    const char *separator = " (";
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (!*more[i])
            continue;
        text_add_format(&name, "%s%s", separator, more[i]);
        separator = ", ";
    }
    text_add(&name, *separator == ',' ? ")" : "");
    return name.data;
}

static void name_process(struct places *places, uint32_t process)
{
    struct process_facts *place = &places->list[process];
    char *name = make_name(place, false);
    uint64_t key = hash_text(HASH_START, name);
    uint32_t first = int_map_get(&places->names, key);
    if (first == MAP_NONE) {
        int_map_set(&places->names, key, process);
    } else if (place->rank && place->pid) {
        free(name);
        name = make_name(place, true);
    }
    place->name = stat_keep(places->stat, name);
    free(name);
}

const char *places_name(struct places *places, uint32_t process)
{
    for (; places->named_count <= process; places->named_count++)
        name_process(places, places->named_count);
    return places->list[process].name;
}

const char *places_device_name(const struct places *places, uint32_t device)
{
    const struct trace *trace = places->stat->trace;
    return device == TRACE_NONE ? "unknown" : trace_string(trace, trace->resources[device].device);
}

void places_take(struct places *places, const struct trace_span *session)
{
    uint64_t so_far = stat_attr_int(places->stat, session, KEY_LOST, 0);
    uint64_t *lost = &places->list[places_process(places, session)].lost;
    *lost = so_far > *lost ? so_far : *lost;
}

uint64_t places_lost(const struct places *places)
{
    uint64_t all = 0;
    for (size_t process = 0; process < places->list_count; process++)
        all += places->list[process].lost;
    return all;
}

uint32_t places_range(const struct stat *stat, const struct trace_span *call)
{
    const struct trace *trace = stat->trace;
    for (uint32_t at = call->parent; at != TRACE_NONE; at = trace->spans[at].parent) {
        if (stat_has(stat, &trace->spans[at], KEY_RANGE))
            return trace->spans[at].name;
    }
    return 0;
}

const char *places_thread(const struct places *places, uint32_t thread)
{
    const struct trace *trace = places->stat->trace;
    if (thread == TRACE_NONE)
        return "";
    const struct trace_thread *of = &trace->threads[thread];
    return trace_string(trace, of->name ? of->name : of->id);
}

const char *places_thread_id(const struct places *places, uint32_t thread)
{
    const struct trace *trace = places->stat->trace;
    return thread == TRACE_NONE ? "" : trace_string(trace, trace->threads[thread].id);
}
