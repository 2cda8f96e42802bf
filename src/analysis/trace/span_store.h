/* Takes spans from a parser, in any order, and returns them by start: from memory if they fit, else sorted on
 * disk.
 *
 * A parser (otlp_json.c, otlp_protobuf.c) calls store_resource() once per batch, and for each span
 * store_attr() per attribute, store_event() with its attributes, and store_span(). */
#pragma once

#include "base/status.h"
#include "analysis/trace/span_sort.h"
#include "analysis/trace/trace.h"
#include "cli/util/text.h"

/* Bytes inside the parser's document. Without a NUL at the end. */
struct slice {
    const char *at;
    size_t len;
};

/* An attribute's value: `text` for TRACE_STRING and TRACE_JSON, else `bits` as in struct trace_attr. */
struct otlp_value {
    enum trace_value type;
    uint64_t bits;
    struct slice text;
};

struct otlp_span {
    uint64_t trace_high, trace_low;
    uint64_t id, parent_id;
    uint64_t start_ns, end_ns;
    struct slice name;
    bool has_failed;
    struct slice message; /* of the status */
};

/* Fields that only an export keeps: attributes of the record that have RECORD_FIELD. */
enum span_field {
    SPAN_FIELD_TRACE_HIGH,
    SPAN_FIELD_TRACE_LOW,
    SPAN_FIELD_NAME, /* text; instead of the record's, which was cut or is not kept */
    SPAN_FIELD_KIND,
    SPAN_FIELD_FLAGS,
    SPAN_FIELD_STATUS,
    SPAN_FIELD_MESSAGE,     /* of the status; text */
    SPAN_FIELD_TRACE_STATE, /* text */
    SPAN_FIELD_LINKS,       /* text: JSON */
    SPAN_FIELD_SCOPE,       /* string: JSON */
    SPAN_FIELD_DROPPED_ATTRIBUTES,
    SPAN_FIELD_DROPPED_EVENTS,
    SPAN_FIELD_DROPPED_LINKS,
    SPAN_FIELD_COUNT
};

/* Counts of what was changed, or has no place in an export. */
struct store_omissions {
    size_t replaced;  /* characters that were not valid Unicode; they became U+FFFD */
    size_t backwards; /* spans that end before they start; their duration is 0 */
    size_t unended;   /* with details: spans without an end */
    size_t cut;       /* distinct keys, names of events and values of resources that were cut at a NUL */
    size_t
        fields; /* events without a time, and counts of dropped attributes of events, scopes and resources */
};

/* Struct trace takes fields from these attributes. */
enum key_role {
    ROLE_NONE,
    ROLE_THREAD,
    ROLE_THREAD_NAME,
    ROLE_STREAM,
    ROLE_CONTEXT,
    ROLE_ACTIVITY,
    ROLE_API,
    ROLE_SESSION,
    ROLE_ERROR
};

struct store_key {
    uint32_t string;
    uint32_t len;
    uint32_t distinct; /* its values among the long-lived strings */
    uint32_t last;     /* the latest of them */
    uint32_t last_len;
    uint32_t next; /* the key that followed it last, or TRACE_NONE */
    uint8_t role;  /* enum key_role */
    bool is_wanted;
};

/* For tables, memory is bounded: further traces count as one trace (trace_is_rest()), further names as
 * STORE_OTHER_NAMES. A trace takes 32 to 40 bytes. */
#define STORE_TRACES_MAX     (1u << 23)
#define STORE_NAME_BYTES_MAX (256u << 20)
#define STORE_NAME_BYTES     256 /* of tables and maps, for each distinct name */
#define STORE_OTHER_NAMES    "(other names)"
/* Processes and devices; tables keep about 3 kB for each. */
#define STORE_RESOURCES_MAX   (1u << 17)
#define STORE_OTHER_RESOURCES "(other processes)"

#define STORE_REASON_MAX 96

struct yyjson_val;
typedef void store_logs_fn(void *context, struct yyjson_val *document);

struct store {
    store_logs_fn *take_logs; /* as in struct trace_input */
    void *logs_context;
    struct trace *trace; /* receives strings, resources and the list of traces */
    struct span_sort *sort;
    const char *const *wanted; /* as in struct trace_input */
    bool wants_fields;         /* enum span_field */
    struct store_omissions omissions;
    size_t skipped;                     /* spans that cannot be used */
    char skip_reason[STORE_REASON_MAX]; /* of the first one since the caller emptied it */
    uint32_t scope;                     /* string: JSON; 0: none */
    bool only_counts;                   /* fills only trace->list */
    uint32_t only_trace;                /* keeps only this one; TRACE_NONE: all */
    size_t traces_max, name_bytes_max;  /* 0: no limit */
    size_t name_bytes;
    size_t resources_max;
    bool has_other_names, has_rest, has_other_resources; /* a limit was reached */
    size_t spans;
    uint64_t start_ns, end_ns; /* of all spans */

    struct store_key *keys;
    size_t key_count, key_capacity;
    struct int_map key_map;  /* string → index in keys */
    uint32_t key;            /* of the attribute that arrived last; TRACE_NONE: none of this span yet */
    uint32_t first_key;      /* of the previous span */
    uint32_t *trace_slots;   /* a hash table of indices in trace->list, TRACE_NONE in empty slots */
    size_t trace_slot_count; /* a power of two, or 0 */
    uint32_t last_trace;
    struct int_map resources; /* string of all attributes → index in trace->resources */
    uint32_t resource;
    uint32_t other_resources[2]; /* MAP_NONE, or for processes and for devices beyond the limit */

    struct span_record record; /* of the span whose attributes arrive */
    struct trace_attr *attrs;
    size_t attr_count, attr_capacity;
    size_t span_attrs; /* of attr_count: the span's; the others are its events' */
    struct record_event *events;
    size_t event_count, event_capacity;
    struct text texts;
    struct int_map numbers; /* integer → string of its digits */
};

void store_init(struct store *store, struct trace *trace, struct span_sort *sort, const char *const *wanted);
void store_deinit(struct store *store);

/* The resource of the spans that follow. */
void store_resource(struct store *store, const struct slice *keys, const struct otlp_value *values,
                    size_t count);
/* False: the attribute is not wanted; don't call store_value(). */
bool store_key(struct store *store, struct slice key);
/* The value of the key that store_key() was called for. */
void store_value(struct store *store, const struct otlp_value *value);
/* With details: the scope of the spans that follow. */
void store_scope(struct store *store, struct slice json);
/* With details, after the span's attributes and before its events: a number that is not 0, or a text. */
void store_field(struct store *store, enum span_field detail, uint64_t value);
void store_field_text(struct store *store, enum span_field detail, struct slice text);
/* At the same place: its IDs, its name if the record does not have all of it, and its scope. */
void store_own_fields(struct store *store, const struct otlp_span *span);
/* Whether events are wanted at all. */
bool store_wants_events(const struct store *store);
/* The attributes that follow belong to this event. */
void store_event(struct store *store, uint64_t time_ns, struct slice name);
/* Ends the span, whose attributes and events came before. */
enum status store_span(struct store *store, const struct otlp_span *span, struct error *err) MUST_CHECK;
/* Counts a span that cannot be used. `id`: of the span, or 0. `why`: "has no start time". */
void store_skip(struct store *store, uint64_t id, const char *why);
