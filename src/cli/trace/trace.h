/* One trace in memory, read from OTLP JSON, for the picture, the lines and the Perfetto file.
 *
 * Each string is stored once and has a 32-bit number, so that 200,000 spans with 20 attributes stay below 100
 * MB. Except for a few attributes that place a span (thread, stream, device), a trace is plain OTLP, so spans
 * of other programs are shown too. */
#ifndef CUSPAN_CLI_TRACE_TRACE_H
#define CUSPAN_CLI_TRACE_TRACE_H

#include "cli/util/int_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NONE UINT32_MAX /* no such span, thread or lane */

enum trace_value {
    TRACE_STRING,
    TRACE_INT,
    TRACE_DOUBLE,
    TRACE_BOOL,
    TRACE_JSON /* arrays and lists, as JSON text */
};

struct trace_attr {
    uint32_t key; /* strings */
    uint32_t value;
    uint32_t type; /* enum trace_value */
};

enum trace_class {
    CLASS_OTHER,
    CLASS_SESSION,
    CLASS_CALL,
    CLASS_KERNEL,
    CLASS_COPY,
    CLASS_FILL,
    CLASS_GPU_OTHER, /* from CLASS_KERNEL to here: ran on a GPU */
    CLASS_COUNT
};

struct trace_span {
    uint64_t id;
    uint64_t parent_id; /* 0: none */
    uint64_t start_ns;  /* since 1970 */
    uint64_t end_ns;
    uint32_t name;  /* string */
    uint32_t trace; /* while reading: index in trace_list */
    uint32_t resource;
    uint32_t attr_first;
    uint32_t attr_count;
    uint32_t event_first;
    uint32_t event_count;
    uint32_t error; /* string: error.type or the status message; 0: no error */
    /* Set by trace_finish(): indices, or TRACE_NONE. */
    uint32_t parent;
    uint32_t first_child;
    uint32_t next_sibling;
    uint32_t thread;
    uint32_t lane;
    uint32_t class; /* enum trace_class */
};

/* An event of a span: a mark in a range, a module that a call loaded. */
struct trace_event {
    uint64_t time_ns;
    uint32_t name; /* string */
    uint32_t attr_first;
    uint32_t attr_count;
};

struct trace_resource {
    uint32_t attr_first;
    uint32_t attr_count;
    uint32_t service; /* string */
    uint32_t pid;     /* string */
    uint32_t device;  /* string: index of the GPU; 0: the resource of a process */
    uint32_t device_name;
};

struct trace_thread {
    uint32_t resource;
    uint32_t id; /* string */
    uint32_t name;
};

/* A stream of a device, whose work runs mostly in order. */
struct trace_lane {
    uint32_t resource;
    uint32_t context; /* string, or 0 */
    uint32_t stream;
};

struct trace_summary {
    uint32_t id; /* string: 32 hex digits */
    size_t spans;
    size_t kept;
};

struct trace {
    uint32_t id; /* string */
    uint64_t start_ns;
    uint64_t end_ns;
    size_t left_out; /* spans beyond the limit */
    size_t others;   /* other traces in the input */
    bool is_cut;     /* the last line of the input was incomplete and was skipped */

    struct trace_span *spans; /* by start, after trace_finish() */
    size_t span_count, span_capacity;
    struct trace_attr *attrs;
    size_t attr_count, attr_capacity;
    struct trace_event *events;
    size_t event_count, event_capacity;
    struct trace_resource *resources;
    size_t resource_count, resource_capacity;
    struct trace_thread *threads;
    size_t thread_count, thread_capacity;
    struct trace_lane *lanes;
    size_t lane_count, lane_capacity;
    struct trace_summary *list; /* every trace in the input */
    size_t list_count, list_capacity;

    char *strings; /* NUL-terminated strings; number 0 is "" */
    size_t string_bytes, string_capacity;
    struct int_map string_map;
};

void trace_init(struct trace *trace);
void trace_deinit(struct trace *trace);

/* The number of a string; equal strings have equal numbers. */
uint32_t trace_intern(struct trace *trace, const char *string);
/* MAP_NONE if no such string was interned. */
uint32_t trace_find_string(const struct trace *trace, const char *string);
static inline const char *trace_string(const struct trace *trace, uint32_t number)
{
    return trace->strings + number;
}

/* Appends a zeroed span; the pointer is valid until the next one is appended. */
struct trace_span *trace_add_span(struct trace *trace);
/* Appends a zeroed event to the last span, whose attributes are complete; valid until the next one. */
struct trace_event *trace_add_event(struct trace *trace);
/* Their indices. */
uint32_t trace_add_resource(struct trace *trace, const struct trace_resource *resource);
uint32_t trace_add_summary(struct trace *trace, uint32_t id);
void trace_add_attr(struct trace *trace, uint32_t key, uint32_t value, enum trace_value type);

/* The attribute's value as text, or NULL. */
const char *trace_span_attr(const struct trace *trace, const struct trace_span *span, const char *key);
const char *trace_resource_attr(const struct trace *trace, const struct trace_resource *resource,
                                const char *key);

/* Sorts the spans, and finds parents, threads, lanes, classes, and the trace's start and end. */
void trace_finish(struct trace *trace);

static inline bool trace_class_is_gpu(uint32_t class)
{
    return class >= CLASS_KERNEL;
}

/* The word for the class: "session", "call", "kernel", "copy", "fill", "gpu", "span". */
const char *trace_class_name(uint32_t class);

#endif
