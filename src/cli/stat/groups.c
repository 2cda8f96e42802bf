#include "cli/stat/groups.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define NOT_MADE UINT32_MAX

static const char *const by_names[STAT_BY_COUNT] = {"range",  "stream",  "thread",
                                                    "device", "request", "process"};

/* Names shared by many spans, created once: strings of the trace, or NOT_MADE. */
struct names {
    struct trace *trace;
    enum stat_by by;
    uint32_t none;                      /* "(no thread)" */
    uint32_t *processes;                /* by resource */
    uint32_t *devices;                  /* by resource */
    uint32_t *lanes, *threads;          /* by their numbers */
    bool has_hosts;                     /* more than one */
    bool has_processes;                 /* more than one */
    uint32_t context_key;               /* string of "cuda.context.id" */
    struct int_map devices_of_contexts; /* a process's name and a context → the device's resource */
    struct int_map groups;              /* name → number of the group */
};

const char *stat_by_name(enum stat_by by)
{
    return by < STAT_BY_COUNT ? by_names[by] : "";
}

static uint32_t intern_and_free(struct trace *trace, char *text)
{
    uint32_t string = trace_intern(trace, text);
    free(text);
    return string;
}

static const char *resource_text(const struct trace *trace, uint32_t resource, const char *key)
{
    const char *text = trace_resource_attr(trace, &trace->resources[resource], key);
    return text ? text : "";
}

/* "4242 server", with the host if the file has several. */
static uint32_t process_of(struct names *names, uint32_t resource)
{
    struct trace *trace = names->trace;
    uint32_t *name = &names->processes[resource];
    if (*name != NOT_MADE)
        return *name;
    const struct trace_resource *of = &trace->resources[resource];
    const char *host = names->has_hosts ? resource_text(trace, resource, "host.name") : "";
    char *text = xasprintf("%s%s%s%s%s", trace_string(trace, of->pid), of->pid && of->service ? " " : "",
                           trace_string(trace, of->service), *host ? " on " : "", host);
    *name = *text ? trace_intern(trace, text) : names->none;
    free(text);
    return *name;
}

/* Device numbers are per process and host. */
static uint32_t device_of(struct names *names, uint32_t resource)
{
    struct trace *trace = names->trace;
    uint32_t *name = &names->devices[resource];
    const struct trace_resource *of = &trace->resources[resource];
    if (*name == NOT_MADE && !of->device)
        *name = names->none;
    if (*name != NOT_MADE)
        return *name;
    const char *uuid = resource_text(trace, resource, "hw.id"), *device = trace_string(trace, of->device);
    *name = intern_and_free(trace, xasprintf("%s %s%s%s", device, trace_string(trace, of->device_name),
                                             *uuid && strcmp(uuid, device) != 0 ? " " : "",
                                             strcmp(uuid, device) != 0 ? uuid : ""));
    return *name;
}

/* "GPU 0, context 1, stream 7". */
static uint32_t lane_of(struct names *names, uint32_t lane)
{
    struct trace *trace = names->trace;
    uint32_t *name = &names->lanes[lane];
    if (*name != NOT_MADE)
        return *name;
    const struct trace_lane *of = &trace->lanes[lane];
    uint32_t process = names->has_processes ? process_of(names, of->resource) : 0;
    *name =
        intern_and_free(trace, xasprintf("GPU %s, context %s, stream %s%s%s",
                                         trace_string(trace, trace->resources[of->resource].device),
                                         trace_string(trace, of->context), trace_string(trace, of->stream),
                                         process ? " of " : "", process ? trace_string(trace, process) : ""));
    return *name;
}

/* "4243 worker". */
static uint32_t thread_of(struct names *names, uint32_t thread)
{
    struct trace *trace = names->trace;
    uint32_t *name = &names->threads[thread];
    if (*name != NOT_MADE)
        return *name;
    const struct trace_thread *of = &trace->threads[thread];
    uint32_t process = names->has_processes ? process_of(names, of->resource) : 0;
    *name = intern_and_free(trace, xasprintf("%s%s%s%s%s", trace_string(trace, of->id), of->name ? " " : "",
                                             trace_string(trace, of->name), process ? " of " : "",
                                             process ? trace_string(trace, process) : ""));
    return *name;
}

static uint64_t context_key(struct names *names, uint32_t resource, uint32_t context)
{
    return (uint64_t)process_of(names, resource) << 32 | context;
}

/* Calls have a context but no device. GPU work of the same process maps the context to a device. */
static void learn_contexts(struct names *names)
{
    const struct trace *trace = names->trace;
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct trace_lane *lane = &trace->lanes[i];
        if (lane->context && trace->resources[lane->resource].device)
            int_map_set(&names->devices_of_contexts, context_key(names, lane->resource, lane->context),
                        lane->resource);
    }
}

static uint32_t context_of(const struct names *names, const struct trace_span *span)
{
    const struct trace_attr *attrs = names->trace->attrs + span->attr_first;
    for (uint32_t i = 0; i < span->attr_count; i++) {
        if (attrs[i].key == names->context_key)
            return attrs[i].value;
    }
    return 0;
}

/* The span itself or its first child that ran on a GPU. */
static const struct trace_span *work_of(const struct trace *trace, const struct trace_span *span)
{
    if (trace_class_is_gpu(span->class))
        return span;
    uint32_t child = span->class == CLASS_CALL ? span->first_child : TRACE_NONE;
    while (child != TRACE_NONE && !trace_class_is_gpu(trace->spans[child].class))
        child = trace->spans[child].next_sibling;
    return child == TRACE_NONE ? NULL : &trace->spans[child];
}

static uint32_t by_device(struct names *names, const struct trace_span *span)
{
    const struct trace_span *work = work_of(names->trace, span);
    if (work)
        return device_of(names, work->resource);
    uint32_t context = context_of(names, span);
    uint32_t resource =
        context ? int_map_get(&names->devices_of_contexts, context_key(names, span->resource, context))
                : MAP_NONE;
    return resource == MAP_NONE ? names->none : device_of(names, resource);
}

static uint32_t by_stream(struct names *names, const struct trace_span *span)
{
    const struct trace_span *work = work_of(names->trace, span);
    return work && work->lane != TRACE_NONE ? lane_of(names, work->lane) : names->none;
}

static const struct trace_span *parent_of(const struct trace *trace, const struct trace_span *span)
{
    return span->parent == TRACE_NONE ? NULL : &trace->spans[span->parent];
}

static uint32_t by_thread(struct names *names, const struct trace_span *span)
{
    const struct trace_span *at = span;
    while (at && trace_class_is_gpu(at->class))
        at = parent_of(names->trace, at);
    return at && at->thread != TRACE_NONE ? thread_of(names, at->thread) : names->none;
}

static uint32_t by_range(struct names *names, const struct trace_span *span)
{
    const struct trace_span *at = span;
    while (at && at->class != CLASS_OTHER && at->class != CLASS_SESSION)
        at = parent_of(names->trace, at);
    return at && at->class == CLASS_OTHER ? at->name : names->none;
}

static uint32_t by_request(struct names *names, const struct trace_span *span)
{
    for (const struct trace_span *at = span; at; at = parent_of(names->trace, at)) {
        if (at->class == CLASS_SESSION)
            return names->none;
    }
    return names->trace->list[span->trace].id;
}

static uint32_t name_of(struct names *names, const struct trace_span *span)
{
    switch (names->by) {
    case STAT_BY_RANGE:
        return by_range(names, span);
    case STAT_BY_STREAM:
        return by_stream(names, span);
    case STAT_BY_THREAD:
        return by_thread(names, span);
    case STAT_BY_DEVICE:
        return by_device(names, span);
    case STAT_BY_REQUEST:
        return by_request(names, span);
    case STAT_BY_PROCESS:
        return process_of(names, span->resource);
    case STAT_BY_COUNT:
        break;
    }
    return names->none;
}

static uint32_t *not_made(size_t count)
{
    uint32_t *names = xcalloc(count + 1, sizeof *names);
    memset(names, 0xff, (count + 1) * sizeof *names);
    return names;
}

/* Whether the resources have more than one value of the attribute. */
static bool has_several(const struct trace *trace, const char *key)
{
    const char *first = NULL;
    for (uint32_t i = 0; i < trace->resource_count; i++) {
        const char *value = resource_text(trace, i, key);
        if (!first)
            first = value;
        else if (strcmp(first, value) != 0)
            return true;
    }
    return false;
}

static void names_init(struct names *names, struct trace *trace, enum stat_by by)
{
    char *none = xasprintf("(no %s)", stat_by_name(by));
    *names = (struct names){
        .trace = trace,
        .by = by,
        .none = intern_and_free(trace, none),
        .processes = not_made(trace->resource_count),
        .devices = not_made(trace->resource_count),
        .lanes = not_made(trace->lane_count),
        .threads = not_made(trace->thread_count),
        .has_hosts = has_several(trace, "host.id"),
        .context_key = trace_find_string(trace, "cuda.context.id"),
    };
    names->has_processes = names->has_hosts || has_several(trace, "process.pid");
    learn_contexts(names);
}

static void names_deinit(struct names *names)
{
    free(names->processes);
    free(names->devices);
    free(names->lanes);
    free(names->threads);
    int_map_deinit(&names->devices_of_contexts);
    int_map_deinit(&names->groups);
}

static uint32_t take(struct stat_groups *groups, struct names *names, const struct trace_span *span)
{
    uint32_t name = name_of(names, span), number = int_map_get(&names->groups, name);
    if (number == MAP_NONE) {
        number = (uint32_t)groups->count;
        groups->list = xgrow(groups->list, &groups->capacity, groups->count + 1, sizeof *groups->list);
        groups->list[groups->count++] = (struct stat_group){.name = name};
        int_map_set(&names->groups, name, number);
    }
    struct stat_group *group = &groups->list[number];
    group->spans++;
    group->counted += span->class == CLASS_CALL || trace_class_is_gpu(span->class);
    if (span->class == CLASS_CALL)
        group->call_ns += span->end_ns - span->start_ns;
    else if (trace_class_is_gpu(span->class))
        group->gpu_ns += span->end_ns - span->start_ns;
    return number;
}

void stat_groups_init(struct stat_groups *groups, struct trace *trace, enum stat_by by)
{
    struct names names;
    *groups = (struct stat_groups){.of = xcalloc(trace->span_count + 1, sizeof *groups->of)};
    names_init(&names, trace, by);
    for (size_t i = 0; i < trace->span_count; i++)
        groups->of[i] = take(groups, &names, &trace->spans[i]);
    names_deinit(&names);
}

void stat_groups_deinit(struct stat_groups *groups)
{
    free(groups->of);
    free(groups->list);
    *groups = (struct stat_groups){0};
}
