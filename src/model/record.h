/* What was captured: the records that capture hands to correlate (and to a recording, and that a replay makes
 * again).
 *
 * A call record is written once, on the host's thread, when the call returns; it is as long as its parameters
 * need. An activity record is decoded from CUPTI's buffer on the pipeline thread, one at a time into a
 * scratch struct. Times are ns since 1970 in the clock of base/clock.h. IDs are CUPTI's. */
#ifndef CUSPAN_MODEL_RECORD_H
#define CUSPAN_MODEL_RECORD_H

#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

/* Recordings have the numbers: new ones go to the end. */
enum record_type {
    RECORD_SKIP,        /* padding at the end of a ring */
    RECORD_CALL,        /* struct call_record */
    RECORD_RESOURCE,    /* struct resource_record */
    RECORD_CONTEXT,     /* struct context_record */
    RECORD_RANGE_BEGIN, /* struct range_record, as the next two */
    RECORD_RANGE_END,
    RECORD_MARK,
    RECORD_NAME,         /* struct name_record */
    RECORD_CALL_ASLEEP,  /* struct call_record: it makes a graph while capture sleeps. In no recording */
    RECORD_GPU_COUNTERS, /* struct gpu_counters_record */
    RECORD_STACK         /* struct stack_record: of the call that follows it. In no recording */
};

struct record_head {
    uint32_t bytes; /* of the whole record, a multiple of 8 */
    uint8_t type;   /* enum record_type */
    uint8_t domain; /* CALL: enum call_domain */
    uint16_t cbid;  /* CALL, RESOURCE: CUPTI's callback ID */
};

/* One runtime or driver call. `values` holds the parameters that are present, in the order of
 * call_info.params (model/calls.h), each as many words as its type takes: integers, enums, pointers, handles:
 * 1 word, sign- or zero-extended; float and double: 1 word, the bits of a double dim3: 2 words, x | y << 32,
 * then z string: 1 word of length, then the bytes, padded with zeros to whole words, at most
 * CALL_STRING_BYTES */
struct call_record {
    struct record_head head;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t correlation_id;
    uint32_t context_id; /* CUPTI's contextUid; 0: none yet */
    int32_t result;      /* cudaError_t or CUresult, by head.domain */
    uint32_t present;    /* bit i: parameter i is in values */
    uint64_t values[];
};
static_assert(offsetof(struct call_record, values) == 40, "limits.h counts on it");

#define STACK_FRAMES_MAX 40 /* those inside CUDA and CUPTI included */

/* Where the thread's call was made: return addresses, innermost first, as many as `bytes` says. It lies right
 * before the record of the call, and both become visible at once. */
struct stack_record {
    struct record_head head;
    uint64_t frames[];
};

/* Something that came into being or went, told by CUPTI's resource domain, head.cbid says what. The nodes of
 * a graph come in runs of consecutive IDs (CUPTI's, as in activity_record). */
struct resource_record {
    struct record_head head;
    uint64_t time_ns;
    uint32_t context_id;
    uint32_t device_id; /* CONTEXT_*: the context's device. UINT32_MAX: unknown */
    uint32_t id;        /* STREAM_*: CUPTI's stream ID. MODULE_*: module ID */
    union {
        uint32_t bytes; /* MODULE_LOADED: size of the cubin */
        uint32_t nodes; /* GRAPHNODE_*: how many; GRAPHEXEC_CREATED: of the whole graph, 0: unknown */
    };
    uint64_t handle;   /* the context, stream, module or executable graph; GRAPHNODE_*: the first node's ID */
    uint64_t original; /* GRAPHNODE_CLONED: the ID of the node of which the first was made, the others of the
                          ones after it */
};

/* From here on the thread's calls and ranges belong to this trace context. */
struct context_record {
    struct record_head head;
    uint64_t time_ns;
    uint8_t trace_id[16]; /* all zero: to none */
    uint8_t span_id[8];
    uint8_t flags;
    uint8_t reserved;
    uint16_t state_bytes;
    char state[]; /* the tracestate, not NUL-terminated */
};

enum range_flags {
    RANGE_ON_THREAD = 1, /* nests on its thread, the parent of what follows there */
};

/* A range's begin or end, or a mark. After it its text: the name (an end: the status message), then
 * attributes, each struct range_attr_head with its key and value, all packed. An end on another thread than
 * the begin may be handed over before it. */
struct range_record {
    struct record_head head;
    uint64_t time_ns;
    uint64_t id;     /* the range's span ID, as a number (its bytes in memory are the ID); MARK: 0 */
    uint32_t domain; /* 0: cuspan.h; else NVTX's */
    uint8_t flags;   /* BEGIN: enum range_flags */
    uint8_t status;  /* END: enum span_status */
    uint16_t name_bytes;
    uint16_t attr_count;
    uint16_t attrs_dropped; /* for want of room */
    uint32_t text_bytes;
    char text[];
};

struct range_attr_head {
    uint8_t type; /* enum attr_type: INT, BOOL, DOUBLE, STRING */
    uint8_t key_bytes;
    uint16_t value_bytes; /* 8 but for strings */
};

/* An attribute as it is given; key and string are borrowed. */
struct range_attr {
    const char *key;
    uint32_t key_bytes;
    uint32_t bytes; /* of s */
    uint8_t type;   /* enum attr_type: INT, BOOL, DOUBLE, STRING */
    union {
        int64_t i;
        double d;
        const char *s;
    };
};

enum named_object {
    NAMED_STREAM,
    NAMED_CONTEXT,
    NAMED_DEVICE,
    NAMED_EVENT,
    NAMED_THREAD,
    NAMED_CONTEXT_ID /* no name: the handle of context `id`, which others know by that number alone */
};

/* A name that the program gives to one of CUDA's objects, or to a thread. */
struct name_record {
    struct record_head head; /* cbid: enum named_object */
    uint64_t time_ns;
    uint64_t handle; /* CUDA's handle; DEVICE: the ordinal; THREAD: the kernel's ID */
    uint32_t name_bytes;
    uint32_t id; /* CONTEXT_ID: CUPTI's number */
    char name[];
};

/* What the hardware counted of one launch's kernel. Where it takes a while to read it, a record without
 * values lies before the launch's call, and the one that has them comes later, past the rings. */
struct gpu_counters_record {
    struct record_head head;
    uint64_t time_ns;
    uint32_t correlation_id;
    uint32_t count;  /* 0: the values will come */
    double range_ns; /* how long was counted, some us more than the kernel ran; 0: as long as it ran */
    double values[]; /* by the metrics of the settings; not finite: none could be had */
};

static_assert(offsetof(struct resource_record, time_ns) == 8 &&
                  offsetof(struct context_record, time_ns) == 8 &&
                  offsetof(struct range_record, time_ns) == 8 && offsetof(struct name_record, time_ns) == 8 &&
                  offsetof(struct gpu_counters_record, time_ns) == 8,
              "capture converts the time of all of them alike");

/* A host thread as capture knows it. */
struct thread_info {
    uint64_t tid; /* the kernel's thread ID */
    char name[THREAD_NAME_BYTES];
    uint64_t serial; /* of this life of the thread: IDs are used again; 0: unknown */
    uint32_t slot;   /* below THREADS_MAX, one thread's at a time */
};

/* One activity record. `values[f]` is field f, counted as CUPTI's field IDs count (KERNEL_FIELD_*;
 * model/activities.h), valid where bit f of `present` is set: integers and enums sign- or zero-extended, a
 * `const char *` as its address, a fixed array of bytes (a UUID) as the address of its bytes. Addresses are
 * valid while the record is handed over. The fields that every consumer needs stand apart; 0 where the kind
 * has no such field. */
struct activity_record {
    uint64_t start_ns;
    uint64_t end_ns;
    const char *name;       /* kernels: the mangled name, NUL-terminated; NULL: none */
    uint64_t graph_node_id; /* 0: not from a graph */
    uint32_t graph_id;
    uint32_t correlation_id; /* 0: unknown */
    uint32_t device_id;      /* UINT32_MAX: unknown */
    uint32_t context_id;
    uint32_t stream_id;
    uint16_t kind; /* CUpti_ActivityKind */
    uint64_t present;
    uint64_t values[ACTIVITY_FIELDS_MAX];
};

#endif
