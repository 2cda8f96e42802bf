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

enum record_type {
    RECORD_SKIP,    /* padding at the end of a ring */
    RECORD_CALL,    /* struct call_record */
    RECORD_RESOURCE /* struct resource_record */
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

/* Something that came into being or went, told by CUPTI's resource domain, head.cbid says what. */
struct resource_record {
    struct record_head head;
    uint64_t time_ns;
    uint32_t context_id;
    uint32_t device_id; /* CONTEXT_*: the context's device. UINT32_MAX: unknown */
    uint32_t id;        /* STREAM_*: CUPTI's stream ID. MODULE_*: module ID */
    uint32_t bytes;     /* MODULE_LOADED: size of the cubin */
    uint64_t handle;    /* the context, stream or module */
};

/* A host thread as capture knows it. */
struct thread_info {
    uint64_t tid; /* the kernel's thread ID */
    char name[THREAD_NAME_BYTES];
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
