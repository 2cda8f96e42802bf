/* A segment of the input's spans in memory, ordered by start and linked: for `show` one whole trace, for the
 * tables up to some 200,000 spans at a time (trace_read.h).
 *
 * Each string is stored once and has a 32-bit number. Except for a few attributes that place a span (thread,
 * stream, device), a trace is plain OTLP, so spans of other programs are shown too. */
#pragma once

#include "base/status.h"
#include "analysis/trace/trace_strings.h"
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
    uint32_t key;  /* string */
    uint32_t type; /* enum trace_value */
    /* TRACE_STRING, TRACE_JSON: a string. TRACE_INT: an int64_t. TRACE_DOUBLE: the bits of a double.
     * TRACE_BOOL: 0 or 1. */
    uint64_t value;
};

enum trace_class {
    CLASS_OTHER,
    CLASS_SESSION,
    CLASS_CALL,
    CLASS_COLLECTIVE, /* around its kernel, which is GPU work like others */
    CLASS_KERNEL,
    CLASS_COPY,
    CLASS_FILL,
    CLASS_GPU_OTHER, /* from CLASS_KERNEL to here: ran on a GPU */
    CLASS_COUNT
};

struct trace_span {
    uint64_t number; /* from 1, in the order of all spans of the input */
    uint64_t id;
    uint64_t parent_id; /* 0: none */
    uint64_t start_ns;  /* since 1970 */
    uint64_t end_ns;
    uint32_t name;  /* string */
    uint32_t trace; /* index in trace->list */
    uint32_t resource;
    uint32_t attr_first;
    uint32_t attr_count;
    uint32_t event_first;
    uint32_t event_count;
    uint32_t error;  /* string: error.type or the status message; 0: no error */
    uint32_t class;  /* enum trace_class */
    uint32_t thread; /* index, or TRACE_NONE */
    uint32_t lane;
    /* Set by trace_link(): indices, or TRACE_NONE. */
    uint32_t parent;
    uint32_t first_child;
    uint32_t next_sibling;
    /* Belongs to another segment. Here only as the parent or child of this segment's spans: don't count it.
     */
    bool is_margin;
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
    uint64_t start_ns, end_ns; /* of its spans; the start is larger if there are none */
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

/* There may be millions. */
struct trace_summary {
    uint64_t id_high, id_low;
    size_t spans;
};

struct trace {
    uint32_t id; /* string */
    uint64_t start_ns;
    uint64_t end_ns;
    size_t left_out;     /* spans beyond the limit */
    size_t others;       /* other traces in the input */
    size_t joins_missed; /* spans so far whose parent is too far away to be in the same segment */

    struct trace_span *spans; /* by start, then longest first */
    size_t span_count, span_capacity;
    struct trace_attr *attrs;
    size_t attr_count, attr_capacity;
    size_t resource_attrs; /* of attr_count: the resources', in front of the spans' */
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

    /* NUL-terminated; number 0 is "". It never moves, so a string's number is its distance from here. */
    const char *strings;
    struct trace_strings *pool;
    /* trace_link()'s table of spans by ID: indices, or TRACE_NONE. Kept from segment to segment. */
    uint32_t *by_id;
    size_t by_id_slots; /* a power of two */
};

void trace_init(struct trace *trace);
void trace_deinit(struct trace *trace);

/* The number of a string, the same in all segments; equal strings have equal numbers. */
uint32_t trace_intern(struct trace *trace, const char *string);
/* MAP_NONE if no such string was interned. */
uint32_t trace_find_string(const struct trace *trace, const char *string);
static inline const char *trace_string(const struct trace *trace, uint32_t number)
{
    return trace->strings + number;
}

/* Appends a zeroed span without thread and lane; the pointer is valid until the next one is appended. */
struct trace_span *trace_add_span(struct trace *trace);
/* Appends a zeroed event to the last span, whose attributes are complete; valid until the next one. */
struct trace_event *trace_add_event(struct trace *trace);
/* Their indices. */
uint32_t trace_add_resource(struct trace *trace, const struct trace_resource *resource);
uint32_t trace_add_summary(struct trace *trace, uint64_t id_high, uint64_t id_low);
/* All traces beyond a limit, together: an ID of zeros, which no trace has. */
static inline bool trace_is_rest(const struct trace *trace, uint32_t index)
{
    return (trace->list[index].id_high | trace->list[index].id_low) == 0;
}
#define TRACE_ID_CHARS 33
/* The 32 hex digits and a NUL. */
void trace_write_id(const struct trace_summary *summary, char id[TRACE_ID_CHARS]);
/* The 32 hex digits of the ID of trace->list[index], valid as long as this segment. */
const char *trace_id_text(const struct trace *trace, uint32_t index);
void trace_add_attr(struct trace *trace, uint32_t key, uint64_t value, enum trace_value type);
/* Room for `count` attributes of the last span or event, which the caller fills. */
struct trace_attr *trace_add_attrs(struct trace *trace, size_t count);

#define TRACE_NUMBER_BYTES 32 /* for any double or 64-bit integer */
/* Writes a double of which these are the bits. False: it is "NaN", "Infinity" or "-Infinity", as in OTLP
 * JSON, and no number of JSON. */
bool trace_write_double(char out[TRACE_NUMBER_BYTES], uint64_t bits);
/* The value as text; of a number, its digits. Valid as long as this segment. */
const char *trace_attr_text(const struct trace *trace, const struct trace_attr *attr);
/* The number of that text. Equal values have equal numbers in this segment, and in all if the attribute is a
 * string with few distinct values. */
uint32_t trace_attr_string(const struct trace *trace, const struct trace_attr *attr);
/* The value as a number; of text, the number that it starts with. */
uint64_t trace_attr_int(const struct trace *trace, const struct trace_attr *attr);
double trace_attr_double(const struct trace *trace, const struct trace_attr *attr);
/* NULL if the span has no such attribute; `key` is a string's number. */
const struct trace_attr *trace_find_attr(const struct trace *trace, const struct trace_span *span,
                                         uint32_t key);

/* The attribute's value as text, or NULL. */
const char *trace_span_attr(const struct trace *trace, const struct trace_span *span, const char *key);
const char *trace_resource_attr(const struct trace *trace, const struct trace_resource *resource,
                                const char *key);

/* Their indices. */
uint32_t trace_add_thread(struct trace *trace, uint32_t resource, uint32_t id);
uint32_t trace_add_lane(struct trace *trace, uint32_t resource, uint32_t context, uint32_t stream);

/* For spans that were added in any order: sorts and links them, and sets the times of the trace. */
void trace_finish(struct trace *trace);
/* Finds the parents and children of the spans, which are in order of start. */
void trace_link(struct trace *trace);
/* After trace_link(): the index of the span with this ID, or TRACE_NONE. */
uint32_t trace_find_span(const struct trace *trace, uint64_t id);

static inline bool trace_class_is_gpu(uint32_t class)
{
    return class >= CLASS_KERNEL;
}

/* The word for the class: "session", "call", "comm", "kernel", "copy", "fill", "gpu", "span". */
const char *trace_class_name(uint32_t class);

/* Takes one segment, which it may not keep. An error ends the reading. */
typedef enum status trace_segment_fn(void *context, struct trace *segment, struct error *err);
