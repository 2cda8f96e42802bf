#include "cli/trace/trace.h"

#include "base/hash.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

void trace_init(struct trace *trace)
{
    *trace = (struct trace){0};
    trace_intern(trace, "");
}

void trace_deinit(struct trace *trace)
{
    free(trace->spans);
    free(trace->attrs);
    free(trace->events);
    free(trace->resources);
    free(trace->threads);
    free(trace->lanes);
    free(trace->list);
    free(trace->strings);
    int_map_deinit(&trace->string_map);
    *trace = (struct trace){0};
}

static uint64_t hash_string(const char *string)
{
    return int_map_mix(hash_text(HASH_START, string));
}

/* Two strings with the same hash have adjacent keys. */
static uint32_t look_up(const struct trace *trace, const char *string, uint64_t *key)
{
    *key = hash_string(string);
    uint32_t number;
    while ((number = int_map_get(&trace->string_map, *key)) != MAP_NONE &&
           strcmp(trace->strings + number, string) != 0)
        ++*key;
    return number;
}

uint32_t trace_find_string(const struct trace *trace, const char *string)
{
    uint64_t key;
    return look_up(trace, string, &key);
}

uint32_t trace_intern(struct trace *trace, const char *string)
{
    uint64_t key;
    uint32_t number = look_up(trace, string, &key);
    if (number != MAP_NONE)
        return number;
    size_t bytes = strlen(string) + 1;
    if (trace->string_bytes + bytes >= MAP_NONE) {
        fputs("cuspan: the names and values of this trace take more than 4 GiB; use --max-spans\n", stderr);
        exit(1);
    }
    trace->strings = xgrow(trace->strings, &trace->string_capacity, trace->string_bytes + bytes, 1);
    number = (uint32_t)trace->string_bytes;
    memcpy(trace->strings + number, string, bytes);
    trace->string_bytes += bytes;
    int_map_set(&trace->string_map, key, number);
    return number;
}

struct trace_span *trace_add_span(struct trace *trace)
{
    trace->spans = xgrow(trace->spans, &trace->span_capacity, trace->span_count + 1, sizeof *trace->spans);
    struct trace_span *span = &trace->spans[trace->span_count++];
    *span = (struct trace_span){.attr_first = (uint32_t)trace->attr_count,
                                .event_first = (uint32_t)trace->event_count};
    return span;
}

struct trace_event *trace_add_event(struct trace *trace)
{
    trace->events =
        xgrow(trace->events, &trace->event_capacity, trace->event_count + 1, sizeof *trace->events);
    struct trace_event *event = &trace->events[trace->event_count++];
    *event = (struct trace_event){.attr_first = (uint32_t)trace->attr_count};
    trace->spans[trace->span_count - 1].event_count++;
    return event;
}

uint32_t trace_add_resource(struct trace *trace, const struct trace_resource *resource)
{
    trace->resources = xgrow(trace->resources, &trace->resource_capacity, trace->resource_count + 1,
                             sizeof *trace->resources);
    trace->resources[trace->resource_count] = *resource;
    return (uint32_t)trace->resource_count++;
}

uint32_t trace_add_summary(struct trace *trace, uint32_t id)
{
    trace->list = xgrow(trace->list, &trace->list_capacity, trace->list_count + 1, sizeof *trace->list);
    trace->list[trace->list_count] = (struct trace_summary){.id = id};
    return (uint32_t)trace->list_count++;
}

void trace_add_attr(struct trace *trace, uint32_t key, uint32_t value, enum trace_value type)
{
    trace->attrs = xgrow(trace->attrs, &trace->attr_capacity, trace->attr_count + 1, sizeof *trace->attrs);
    trace->attrs[trace->attr_count++] = (struct trace_attr){key, value, type};
}

static uint32_t find_attr(const struct trace *trace, uint32_t first, uint32_t count, const char *key)
{
    uint32_t number = trace_find_string(trace, key);
    for (uint32_t i = first; number != MAP_NONE && i < first + count; i++) {
        if (trace->attrs[i].key == number)
            return trace->attrs[i].value;
    }
    return MAP_NONE;
}

const char *trace_span_attr(const struct trace *trace, const struct trace_span *span, const char *key)
{
    uint32_t value = find_attr(trace, span->attr_first, span->attr_count, key);
    return value == MAP_NONE ? NULL : trace_string(trace, value);
}

const char *trace_resource_attr(const struct trace *trace, const struct trace_resource *resource,
                                const char *key)
{
    uint32_t value = find_attr(trace, resource->attr_first, resource->attr_count, key);
    return value == MAP_NONE ? NULL : trace_string(trace, value);
}

static int compare_spans(const void *a, const void *b)
{
    const struct trace_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1; /* parents come before their children */
    return x->attr_first < y->attr_first ? -1 : x->attr_first > y->attr_first;
}

/* Spans whose parents form a cycle are below no root; the first of each cycle becomes one. */
static void break_circles(struct trace *trace)
{
    /* 1: on the path up from the current span, 2: has a root. */
    uint8_t *state = xcalloc(trace->span_count, 1);
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t at = (uint32_t)i;
        while (at != TRACE_NONE && state[at] == 0) {
            state[at] = 1;
            at = trace->spans[at].parent;
        }
        bool is_circle = at != TRACE_NONE && state[at] == 1;
        for (uint32_t up = (uint32_t)i; up != TRACE_NONE && state[up] == 1; up = trace->spans[up].parent)
            state[up] = 2;
        if (is_circle)
            trace->spans[at].parent = TRACE_NONE;
    }
    free(state);
}

static void link_parents(struct trace *trace)
{
    struct int_map by_id = {0};
    for (size_t i = trace->span_count; i-- > 0;)
        int_map_set(&by_id, trace->spans[i].id, (uint32_t)i);
    for (size_t i = 0; i < trace->span_count; i++) {
        struct trace_span *span = &trace->spans[i];
        span->parent = span->parent_id ? int_map_get(&by_id, span->parent_id) : MAP_NONE;
        span->first_child = span->next_sibling = TRACE_NONE;
    }
    int_map_deinit(&by_id);
    break_circles(trace);
    /* Backwards, so that each list of children is in order of time. */
    for (size_t i = trace->span_count; i-- > 0;) {
        struct trace_span *span = &trace->spans[i];
        if (span->parent == TRACE_NONE)
            continue;
        span->next_sibling = trace->spans[span->parent].first_child;
        trace->spans[span->parent].first_child = (uint32_t)i;
    }
}

static uint32_t find_thread(struct trace *trace, uint32_t resource, uint32_t id, uint32_t name)
{
    for (size_t i = trace->thread_count; i-- > 0;) {
        struct trace_thread *thread = &trace->threads[i];
        if (thread->resource == resource && thread->id == id) {
            if (!thread->name)
                thread->name = name;
            return (uint32_t)i;
        }
    }
    trace->threads =
        xgrow(trace->threads, &trace->thread_capacity, trace->thread_count + 1, sizeof *trace->threads);
    trace->threads[trace->thread_count] = (struct trace_thread){resource, id, name};
    return (uint32_t)trace->thread_count++;
}

static uint32_t find_lane(struct trace *trace, uint32_t resource, uint32_t context, uint32_t stream)
{
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct trace_lane *lane = &trace->lanes[i];
        if (lane->resource == resource && lane->context == context && lane->stream == stream)
            return (uint32_t)i;
    }
    trace->lanes = xgrow(trace->lanes, &trace->lane_capacity, trace->lane_count + 1, sizeof *trace->lanes);
    trace->lanes[trace->lane_count] = (struct trace_lane){resource, context, stream};
    return (uint32_t)trace->lane_count++;
}

static uint32_t attr_or_empty(const struct trace *trace, const struct trace_span *span, const char *key)
{
    uint32_t value = find_attr(trace, span->attr_first, span->attr_count, key);
    return value == MAP_NONE ? 0 : value;
}

static enum trace_class class_of_activity(const char *activity)
{
    if (strstr(activity, "kernel"))
        return CLASS_KERNEL;
    if (strstr(activity, "memcpy") || strstr(activity, "copy"))
        return CLASS_COPY;
    if (strstr(activity, "memset") || strstr(activity, "fill"))
        return CLASS_FILL;
    return CLASS_GPU_OTHER;
}

static bool is_session(const struct trace *trace, const struct trace_span *span)
{
    for (uint32_t i = span->attr_first; i < span->attr_first + span->attr_count; i++) {
        if (strncmp(trace_string(trace, trace->attrs[i].key), "cuda.session", strlen("cuda.session")) == 0)
            return true;
    }
    return false;
}

static void place(struct trace *trace, struct trace_span *span)
{
    uint32_t thread_id = attr_or_empty(trace, span, "thread.id");
    uint32_t stream = attr_or_empty(trace, span, "cuda.stream.id");
    uint32_t activity = attr_or_empty(trace, span, "cuda.activity");
    bool is_on_device = trace->resources[span->resource].device != 0;
    span->thread = span->lane = TRACE_NONE;
    uint32_t work = activity ? class_of_activity(trace_string(trace, activity)) : CLASS_GPU_OTHER;
    if (is_on_device || (stream && work != CLASS_GPU_OTHER)) {
        span->class = work;
        span->lane = find_lane(trace, span->resource, attr_or_empty(trace, span, "cuda.context.id"), stream);
        return;
    }
    if (thread_id)
        span->thread =
            find_thread(trace, span->resource, thread_id, attr_or_empty(trace, span, "thread.name"));
    if (attr_or_empty(trace, span, "cuda.api"))
        span->class = CLASS_CALL;
    else
        span->class = is_session(trace, span) ? CLASS_SESSION : CLASS_OTHER;
}

void trace_finish(struct trace *trace)
{
    qsort(trace->spans, trace->span_count, sizeof *trace->spans, compare_spans);
    link_parents(trace);
    trace->start_ns = trace->span_count ? trace->spans[0].start_ns : 0;
    trace->end_ns = trace->start_ns;
    for (size_t i = 0; i < trace->span_count; i++) {
        struct trace_span *span = &trace->spans[i];
        place(trace, span);
        if (span->end_ns > trace->end_ns)
            trace->end_ns = span->end_ns;
    }
}

const char *trace_class_name(uint32_t class)
{
    static const char *const names[CLASS_COUNT] = {"span", "session", "call", "kernel",
                                                   "copy", "fill",    "gpu"};
    return class < CLASS_COUNT ? names[class] : names[0];
}
