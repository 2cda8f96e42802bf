#include "analysis/trace/trace.h"

#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

void trace_init(struct trace *trace)
{
    *trace = (struct trace){.pool = trace_strings_create()};
    trace->strings = trace->pool->bytes;
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
    trace_strings_destroy(trace->pool);
    free(trace->by_id);
    *trace = (struct trace){0};
}

uint32_t trace_find_string(const struct trace *trace, const char *string)
{
    return trace_strings_find(trace->pool, string, strlen(string));
}

uint32_t trace_intern(struct trace *trace, const char *string)
{
    return trace_strings_add(trace->pool, string, strlen(string));
}

struct trace_span *trace_add_span(struct trace *trace)
{
    struct trace_span *span = XADD(trace->spans, trace->span_count, trace->span_capacity);
    *span = (struct trace_span){.attr_first = (uint32_t)trace->attr_count,
                                .event_first = (uint32_t)trace->event_count,
                                .thread = TRACE_NONE,
                                .lane = TRACE_NONE};
    return span;
}

struct trace_event *trace_add_event(struct trace *trace)
{
    struct trace_event *event = XADD(trace->events, trace->event_count, trace->event_capacity);
    *event = (struct trace_event){.attr_first = (uint32_t)trace->attr_count};
    trace->spans[trace->span_count - 1].event_count++;
    return event;
}

uint32_t trace_add_resource(struct trace *trace, const struct trace_resource *resource)
{
    *XADD(trace->resources, trace->resource_count, trace->resource_capacity) = *resource;
    return (uint32_t)trace->resource_count - 1;
}

uint32_t trace_add_summary(struct trace *trace, uint64_t id_high, uint64_t id_low)
{
    *XADD(trace->list, trace->list_count, trace->list_capacity) = (struct trace_summary){id_high, id_low, 0};
    return (uint32_t)trace->list_count - 1;
}

void trace_write_id(const struct trace_summary *summary, char id[TRACE_ID_CHARS])
{
    snprintf(id, TRACE_ID_CHARS, "%016" PRIx64 "%016" PRIx64, summary->id_high, summary->id_low);
}

const char *trace_id_text(const struct trace *trace, uint32_t index)
{
    char id[TRACE_ID_CHARS];
    trace_write_id(&trace->list[index], id);
    return trace_string(trace, trace_strings_add_local(trace->pool, id, sizeof id - 1));
}

void trace_add_attr(struct trace *trace, uint32_t key, uint64_t value, enum trace_value type)
{
    *XADD(trace->attrs, trace->attr_count, trace->attr_capacity) = (struct trace_attr){key, type, value};
}

struct trace_attr *trace_add_attrs(struct trace *trace, size_t count)
{
    trace->attrs =
        xgrow(trace->attrs, &trace->attr_capacity, trace->attr_count + count, sizeof *trace->attrs);
    trace->attr_count += count;
    return trace->attrs + trace->attr_count - count;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool trace_write_double(char out[TRACE_NUMBER_BYTES], uint64_t bits)
{
    double value = double_of(bits);
    if (isfinite(value))
        snprintf(out, TRACE_NUMBER_BYTES, "%.17g", value);
    else
        strcpy(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    return isfinite(value);
}

uint32_t trace_attr_string(const struct trace *trace, const struct trace_attr *attr)
{
    char number[TRACE_NUMBER_BYTES];
    if (attr->type == TRACE_INT)
        snprintf(number, sizeof number, "%" PRId64, (int64_t)attr->value);
    else if (attr->type == TRACE_DOUBLE)
        trace_write_double(number, attr->value);
    else if (attr->type == TRACE_BOOL)
        strcpy(number, attr->value ? "true" : "false");
    else
        return (uint32_t)attr->value;
    return trace_strings_add_local(trace->pool, number, strlen(number));
}

const char *trace_attr_text(const struct trace *trace, const struct trace_attr *attr)
{
    return trace_string(trace, trace_attr_string(trace, attr));
}

uint64_t trace_attr_int(const struct trace *trace, const struct trace_attr *attr)
{
    if (attr->type == TRACE_INT || attr->type == TRACE_BOOL)
        return attr->value;
    if (attr->type == TRACE_DOUBLE)
        return (uint64_t)(int64_t)double_of(attr->value);
    return strtoull(trace_string(trace, (uint32_t)attr->value), NULL, 10);
}

double trace_attr_double(const struct trace *trace, const struct trace_attr *attr)
{
    if (attr->type == TRACE_INT || attr->type == TRACE_BOOL)
        return (double)(int64_t)attr->value;
    if (attr->type == TRACE_DOUBLE)
        return double_of(attr->value);
    return strtod(trace_string(trace, (uint32_t)attr->value), NULL);
}

static const struct trace_attr *find_attr(const struct trace *trace, uint32_t first, uint32_t count,
                                          uint32_t key)
{
    for (uint32_t i = first; key != MAP_NONE && i < first + count; i++) {
        if (trace->attrs[i].key == key)
            return &trace->attrs[i];
    }
    return NULL;
}

const struct trace_attr *trace_find_attr(const struct trace *trace, const struct trace_span *span,
                                         uint32_t key)
{
    return find_attr(trace, span->attr_first, span->attr_count, key);
}

const char *trace_span_attr(const struct trace *trace, const struct trace_span *span, const char *key)
{
    const struct trace_attr *attr = trace_find_attr(trace, span, trace_find_string(trace, key));
    return attr ? trace_attr_text(trace, attr) : NULL;
}

const char *trace_resource_attr(const struct trace *trace, const struct trace_resource *resource,
                                const char *key)
{
    const struct trace_attr *attr =
        find_attr(trace, resource->attr_first, resource->attr_count, trace_find_string(trace, key));
    return attr ? trace_attr_text(trace, attr) : NULL;
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

/* The work of a collective becomes a child of the call that launched both, as all other work is. */
static void link_work_of_collectives(struct trace *trace)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        struct trace_span *span = &trace->spans[i];
        if (span->parent != TRACE_NONE && trace->spans[span->parent].class == CLASS_COLLECTIVE &&
            span->class != CLASS_COLLECTIVE)
            span->parent = trace->spans[span->parent].parent;
    }
}

/* The place of the span with this ID in the table, or an empty one. */
static uint32_t *slot_of(const struct trace *trace, uint64_t id)
{
    size_t mask = trace->by_id_slots - 1;
    size_t slot = (size_t)int_map_mix(id) & mask;
    while (trace->by_id[slot] != TRACE_NONE && trace->spans[trace->by_id[slot]].id != id)
        slot = (slot + 1) & mask;
    return &trace->by_id[slot];
}

uint32_t trace_find_span(const struct trace *trace, uint64_t id)
{
    return id ? *slot_of(trace, id) : TRACE_NONE;
}

/* Of several spans with the same ID, the first one counts. The table has indices only, so that it fits into a
 * processor's cache. */
static void index_spans(struct trace *trace)
{
    size_t needed = trace->by_id_slots ? trace->by_id_slots : 64;
    while (needed < trace->span_count * 2)
        needed *= 2;
    if (needed != trace->by_id_slots) {
        free(trace->by_id);
        trace->by_id = xcalloc(needed, sizeof *trace->by_id);
        trace->by_id_slots = needed;
    }
    memset(trace->by_id, 0xff, needed * sizeof *trace->by_id);
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t *slot = slot_of(trace, trace->spans[i].id);
        if (*slot == TRACE_NONE)
            *slot = (uint32_t)i;
    }
}

void trace_link(struct trace *trace)
{
    index_spans(trace);
    for (size_t i = 0; i < trace->span_count; i++) {
        struct trace_span *span = &trace->spans[i];
        span->parent = trace_find_span(trace, span->parent_id);
        span->first_child = span->next_sibling = TRACE_NONE;
    }
    link_work_of_collectives(trace);
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

uint32_t trace_add_thread(struct trace *trace, uint32_t resource, uint32_t id)
{
    *XADD(trace->threads, trace->thread_count, trace->thread_capacity) =
        (struct trace_thread){.resource = resource, .id = id};
    return (uint32_t)trace->thread_count - 1;
}

uint32_t trace_add_lane(struct trace *trace, uint32_t resource, uint32_t context, uint32_t stream)
{
    *XADD(trace->lanes, trace->lane_count, trace->lane_capacity) =
        (struct trace_lane){resource, context, stream};
    return (uint32_t)trace->lane_count - 1;
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

void trace_finish(struct trace *trace)
{
    qsort(trace->spans, trace->span_count, sizeof *trace->spans, compare_spans);
    trace_link(trace);
    trace->start_ns = trace->span_count ? trace->spans[0].start_ns : 0;
    trace->end_ns = trace->start_ns;
    for (size_t i = 0; i < trace->span_count; i++) {
        if (trace->spans[i].end_ns > trace->end_ns)
            trace->end_ns = trace->spans[i].end_ns;
    }
}

const char *trace_class_name(uint32_t class)
{
    static const char *const names[CLASS_COUNT] = {"span",   "session", "call", "comm",
                                                   "kernel", "copy",    "fill", "gpu"};
    return class < CLASS_COUNT ? names[class] : names[0];
}
