/* Captured records, which capture passes to correlate or writes to a recording, and which a replay
 * reproduces.
 *
 * The host's thread writes a call record when the call returns; its length depends on its parameters. The
 * pipeline thread decodes one activity record at a time from CUPTI's buffer into a scratch struct. Times are
 * ns since 1970 in the clock of base/clock.h. IDs are CUPTI's. */
#pragma once

#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

/* Recordings contain the numbers: add new ones at the end. */
enum record_type {
    RECORD_SKIP,        /* padding at the end of a ring */
    RECORD_CALL,        /* struct call_record */
    RECORD_RESOURCE,    /* struct resource_record */
    RECORD_CONTEXT,     /* struct context_record */
    RECORD_RANGE_BEGIN, /* struct range_record, as the next two */
    RECORD_RANGE_END,
    RECORD_MARK,
    RECORD_NAME,        /* struct name_record */
    RECORD_CALL_ASLEEP, /* struct call_record: it creates a graph while capture is disabled. Not in recordings
                         */
    RECORD_GPU_COUNTERS,    /* struct gpu_counters_record */
    RECORD_CODE = 11,       /* struct code_record of the next call. 10 is not used */
    RECORD_KERNEL_NAME = 12 /* struct kernel_name_record. Never after capture */
};

struct record_head {
    uint32_t bytes; /* of the whole record, a multiple of 8 */
    uint8_t type;   /* enum record_type */
    uint8_t domain; /* CALL: enum call_domain */
    uint16_t cbid;  /* CALL, RESOURCE: CUPTI's callback ID */
};

/* One runtime or driver call. `values` has the parameters of `present`, in the order of call_info.params
 * (model/cuda/calls.h):
 * - integers, enums, pointers, handles: 1 word, sign- or zero-extended
 * - float and double: 1 word, the bits of a double
 * - dim3: 2 words, x | y << 32, then z
 * - string: 1 word of length, then at most CALL_STRING_BYTES bytes, padded with zeros to whole words */
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

#define CODE_RECORD_BYTES_MAX 4096 /* of a code_record; frames that do not fit are left out */
#define CODE_FRAMES_MAX       64

enum code_flags {
    CODE_IS_CUT = 1,       /* outer frames are left out */
    CODE_IS_DESCRIBED = 2, /* the frames are listed; else they were in an earlier record with this ID */
    CODE_IS_NATIVE = 4,    /* instead of frames, a struct code_addresses; never after the pipeline */
    CODE_IS_OF_NODES = 8,  /* not of the next call: graph nodes have its ID (resource_record.code) */
    CODE_HAS_CALLER = 16   /* before the frames, a struct code_caller, which frame_count excludes; never after
                              the pipeline */
};

/* The stack of the code that made a call: directly precedes the call's record, and both become visible
 * together. One of graph nodes precedes the nodes' record, and is written only if it is described. Each frame
 * is a struct code_frame and its texts, innermost first. */
struct code_record {
    struct record_head head;
    uint64_t id; /* the same for the same frames and lines, in this process */
    uint32_t frame_count;
    uint32_t flags;
    uint8_t frames[];
};

/* Followed by the path of the file (as capture.code_paths wants it), then the qualified name of the function,
 * both UTF-8 and not NUL-terminated. Not aligned. */
struct code_frame {
    uint32_t line; /* 0: unknown */
    uint16_t file_bytes;
    uint8_t name_bytes;
    uint8_t flags; /* enum code_frame_flags */
};

enum code_frame_flags {
    CODE_FRAME_IS_PROGRAMS = 1, /* the program's own code, not that of a package */
    CODE_FRAME_IS_NATIVE = 2    /* "file" is "module+0x1189", the name ends with "+0x1c"; no line */
};

/* Return addresses of native frames, innermost first. */
struct code_addresses {
    uint64_t ticket;     /* of native_frames_finish(); 0: complete */
    uint64_t generation; /* of the walk (native_frames.h) */
    uint64_t frames[];
};

/* The native caller of a stack of Python frames. */
struct code_caller {
    uint64_t address;    /* a return address */
    uint64_t generation; /* of the walk (native_frames.h) */
};

/* CUPTI's resource callbacks that spans depend on, by its numbers: head.cbid of a resource record.
 * agent/capture/callbacks/callbacks.c compares them with those of agent/abi/cupti_abi.h. */
enum resource_callback {
    RESOURCE_CONTEXT_CREATED = 1,
    RESOURCE_CONTEXT_ENDS = 2,
    RESOURCE_MODULE_LOADED = 6,
    RESOURCE_NODE_CREATED = 13,
    RESOURCE_EXEC_CREATED = 18,
    RESOURCE_NODE_CLONED = 20
};

/* Creation or destruction of an object (head.cbid), from CUPTI's resource domain. A record covers a run of
 * graph nodes with consecutive IDs (CUPTI's, as in activity_record). */
struct resource_record {
    struct record_head head;
    uint64_t time_ns;
    uint32_t context_id;
    uint32_t device_id; /* CONTEXT_*: the context's device. UINT32_MAX: unknown */
    uint32_t id;        /* STREAM_*: CUPTI's stream ID. MODULE_*: module ID */
    union {
        uint32_t bytes; /* MODULE_LOADED: size of the cubin */
        uint32_t nodes; /* GRAPHNODE_*: length of the run; GRAPHEXEC_CREATED: of the graph, 0: unknown */
    };
    uint64_t handle; /* the context, stream, module or executable graph; GRAPHNODE_*: the first node's ID */
    union {
        uint64_t original; /* GRAPHNODE_CLONED: the ID of the original of the first node; the others are
                              consecutive, too */
        uint64_t code;     /* GRAPHNODE_CREATED: the ID of the code_record; 0: unknown */
    };
};

/* The trace context of the thread's following calls and ranges. */
struct context_record {
    struct record_head head;
    uint64_t time_ns;
    uint8_t trace_id[16]; /* all zero: none */
    uint8_t span_id[8];
    uint8_t flags;
    uint8_t reserved;
    uint16_t state_bytes;
    char state[]; /* the tracestate, not NUL-terminated */
};

enum range_flags {
    RANGE_ON_THREAD = 1, /* nests on its thread and is the parent of what follows there */
};

/* Start or end of a range, or a mark. Its text is the name (an end: the status message), followed by the
 * attributes: packed struct range_attr_head, key and value each. An end on another thread may be passed on
 * before the start. */
struct range_record {
    struct record_head head;
    uint64_t time_ns;
    uint64_t id;     /* the range's span ID (its bytes in memory); MARK: 0 */
    uint32_t domain; /* 0: cuspan.h; else NVTX's */
    uint8_t flags;   /* BEGIN: enum range_flags */
    uint8_t status;  /* END: enum span_status */
    uint16_t name_bytes;
    uint16_t attr_count;
    uint16_t attrs_dropped; /* that did not fit */
    uint32_t text_bytes;
    char text[];
};

struct range_attr_head {
    uint8_t type; /* enum attr_type: INT, BOOL, DOUBLE, STRING */
    uint8_t key_bytes;
    uint16_t value_bytes; /* 8, except for strings */
};

/* An attribute; key and string are borrowed. */
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
    NAMED_CONTEXT_ID /* not a name: the handle of context `id` */
};

/* A name that the program gives to a CUDA object or a thread. */
struct name_record {
    struct record_head head; /* cbid: enum named_object */
    uint64_t time_ns;
    uint64_t handle; /* CUDA's handle; DEVICE: ordinal; THREAD: kernel's thread ID */
    uint32_t name_bytes;
    uint32_t id; /* CONTEXT_ID: CUPTI's number */
    char name[];
};

/* Hardware counters of one launch's kernel. If reading them takes time, a record without values precedes the
 * launch's call, and the one with values follows later, not through a ring. */
struct gpu_counters_record {
    struct record_head head;
    uint64_t time_ns;
    uint32_t correlation_id;
    uint32_t count;  /* 0: the values follow later */
    double range_ns; /* duration of counting, some us more than the kernel; 0: that of the kernel */
    double values[]; /* in the order of the settings; not finite: unavailable */
};

/* The name of the kernel that a call launches, where CUPTI does not keep names (CUPTI_VERSION_KEEPS_NAMES).
 * Precedes the kernel's record. */
struct kernel_name_record {
    struct record_head head;
    uint64_t address; /* of the text in the callback; another name may have it later */
    uint32_t correlation_id;
    uint32_t text_bytes; /* 0: the name that an earlier record gave to the address */
    char text[];         /* NUL-terminated */
};

static_assert(offsetof(struct resource_record, time_ns) == 8 &&
                  offsetof(struct context_record, time_ns) == 8 &&
                  offsetof(struct range_record, time_ns) == 8 && offsetof(struct name_record, time_ns) == 8 &&
                  offsetof(struct gpu_counters_record, time_ns) == 8,
              "capture converts the time of all of them in the same way");

/* A host thread. */
struct thread_info {
    uint64_t tid; /* the kernel's thread ID */
    char name[THREAD_NAME_BYTES];
    uint64_t serial; /* unique, because thread IDs are reused; 0: unknown */
    uint32_t slot;   /* below THREADS_MAX, of one thread at a time */
};

/* One activity record. `values[f]` is CUPTI's field f (KERNEL_FIELD_*; model/cuda/activities.h), valid if bit
 * f of `present` is set: integers and enums sign- or zero-extended, a `const char *` as its address, a fixed
 * array of bytes (a UUID) as the address of its bytes. Addresses are valid while the record is passed on. The
 * separate fields are those that every consumer needs; 0 if the kind does not have them. */
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
