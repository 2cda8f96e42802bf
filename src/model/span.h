/* A span, filled by correlate and read by encode. It is a scratch record that owns nothing: the pipeline
 * thread fills it, passes it to every output's encoder, and fills it again.
 *
 * Times are ns since 1970. IDs are bytes in wire order. Strings have a length, are not NUL-terminated unless
 * stated, and need not be valid UTF-8, which encode repairs. */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An attribute's key in the layout of protobuf's KeyValue (tag 1, length, bytes), so that encoding it is one
 * copy. */
struct attr_key {
    uint8_t tag; /* always 0x0a */
    uint8_t len;
    char name[ATTR_KEY_BYTES_MAX];
};
#define ATTR_KEY(text)                                                                                       \
    {                                                                                                        \
        0x0a, sizeof(text) - 1, text                                                                         \
    }
/* A pointer to a constant key, at the place of its use. */
#define ATTR(text)                                                                                           \
    (__extension__({                                                                                         \
        static const struct attr_key constant_key = ATTR_KEY(text);                                          \
        &constant_key;                                                                                       \
    }))

enum attr_type {
    ATTR_INT,     /* i */
    ATTR_BOOL,    /* i, 0 or 1 */
    ATTR_DOUBLE,  /* d */
    ATTR_STRING,  /* s, len */
    ATTR_POINTER, /* i; exported as a string "0x7f12ab" */
    ATTR_DIM3,    /* dim; exported as an array of three integers */
    ATTR_ARRAY    /* items, len of them: all ATTR_INT or all ATTR_STRING, without keys */
};

struct span_attr {
    const struct attr_key *key;
    uint32_t len; /* of s and items */
    uint8_t type; /* enum attr_type */
    union {
        int64_t i;
        double d;
        const char *s;
        uint32_t dim[3];
        const struct span_attr *items;
    };
};

struct span_event {
    uint64_t time_ns;
    const char *name; /* NUL-terminated */
    uint32_t attr_count;
    struct span_attr attrs[6];
};

struct span_link {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint32_t flags;
    const char *trace_state; /* NUL-terminated or NULL */
    struct span_attr attr;   /* attr.key NULL: none */
};

enum span_kind {
    SPAN_KIND_INTERNAL = 1,
    SPAN_KIND_SERVER,
    SPAN_KIND_CLIENT,
    SPAN_KIND_PRODUCER,
    SPAN_KIND_CONSUMER
};
enum span_status { SPAN_STATUS_UNSET = 0, SPAN_STATUS_OK, SPAN_STATUS_ERROR };

#define SPAN_FLAG_REMOTE_KNOWN 0x100u /* bits of OTLP's Span.flags and Link.flags, above the W3C flags */
#define SPAN_FLAG_REMOTE       0x200u

/* Which resource a span belongs to: the process, or a device of it. */
#define RESOURCE_PROCESS       0
#define RESOURCE_DEVICE(index) (1 + (index))
#define RESOURCES_MAX          (1 + DEVICES_MAX)

/* The name and first attributes that many spans share. Correlate keeps it; an encoder encodes it once and
 * then copies the bytes. */
struct span_shared {
    uint32_t slot;    /* below SPAN_SHARED_MAX, one at a time */
    uint32_t version; /* never 0; changes with the content of the slot */
    uint32_t name_len;
    uint32_t attr_count; /* at least 1 */
    const char *name;
    const struct span_attr *attrs;
};

struct span {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t parent_span_id[8]; /* all zero: a root */
    uint32_t flags;            /* W3C flags and SPAN_FLAG_* */
    uint16_t resource;         /* RESOURCE_PROCESS or RESOURCE_DEVICE(index) */
    uint8_t kind;              /* enum span_kind */
    uint8_t status;            /* enum span_status */
    uint32_t name_len;
    const char *name;
    const struct span_shared *shared; /* its name is `name`, and its attributes precede `attrs`; or NULL */
    const char *status_message;       /* NUL-terminated or NULL */
    const char *trace_state;          /* NUL-terminated or NULL */
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t attr_count;
    uint32_t attrs_dropped; /* by the source, because they did not fit; encode adds those over the
                               limit */
    uint32_t event_count;
    uint32_t events_dropped;
    uint32_t link_count;
    const struct span_event *events;
    const struct span_link *links;
    struct span_attr attrs[SPAN_ATTRS_MAX];
};

/* Resets the span. The array of attributes keeps its old content. */
static inline void span_begin(struct span *span, uint64_t start_ns, uint64_t end_ns)
{
    memset(span, 0, offsetof(struct span, attrs));
    span->kind = SPAN_KIND_INTERNAL;
    span->start_ns = start_ns;
    span->end_ns = end_ns;
}

static inline uint32_t span_shared_count(const struct span *span)
{
    return span->shared ? span->shared->attr_count : 0;
}

/* All attributes of the span, the shared ones first; `i` is below span_attr_total. */
static inline uint32_t span_attr_total(const struct span *span)
{
    return span_shared_count(span) + span->attr_count;
}

static inline const struct span_attr *span_attr_at(const struct span *span, uint32_t i)
{
    uint32_t shared = span_shared_count(span);
    return i < shared ? &span->shared->attrs[i] : &span->attrs[i - shared];
}

/* Appends an attribute, or counts it as dropped when the span is full. */
static inline struct span_attr *span_attr_add(struct span *span, const struct attr_key *key,
                                              enum attr_type type)
{
    if (span->attr_count == SPAN_ATTRS_MAX) {
        span->attrs_dropped++;
        return NULL;
    }
    struct span_attr *attr = &span->attrs[span->attr_count++];
    attr->key = key;
    attr->type = (uint8_t)type;
    return attr;
}

static inline void span_attr_int(struct span *span, const struct attr_key *key, int64_t value)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_INT);
    if (attr)
        attr->i = value;
}

static inline void span_attr_bool(struct span *span, const struct attr_key *key, bool value)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_BOOL);
    if (attr)
        attr->i = value;
}

static inline void span_attr_double(struct span *span, const struct attr_key *key, double value)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_DOUBLE);
    if (attr)
        attr->d = value;
}

static inline void span_attr_pointer(struct span *span, const struct attr_key *key, uint64_t value)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_POINTER);
    if (attr)
        attr->i = (int64_t)value;
}

static inline void span_attr_bytes(struct span *span, const struct attr_key *key, const char *value,
                                   size_t len)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_STRING);
    if (attr) {
        attr->s = value;
        attr->len = (uint32_t)len;
    }
}

static inline void span_attr_string(struct span *span, const struct attr_key *key, const char *value)
{
    span_attr_bytes(span, key, value, strlen(value));
}

/* `items` must live until the span is encoded. */
static inline void span_attr_array(struct span *span, const struct attr_key *key,
                                   const struct span_attr *items, uint32_t count)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_ARRAY);
    if (attr) {
        attr->items = items;
        attr->len = count;
    }
}

static inline void span_attr_dim3(struct span *span, const struct attr_key *key, uint32_t x, uint32_t y,
                                  uint32_t z)
{
    struct span_attr *attr = span_attr_add(span, key, ATTR_DIM3);
    if (attr) {
        attr->dim[0] = x;
        attr->dim[1] = y;
        attr->dim[2] = z;
    }
}
