/* CUPTI's activity kinds and fields, with CUPTI's numbers. activities_table.c is generated like
 * calls_table.c. The offsets of fields in the records of a given CUPTI are in agent/abi/layouts.h. */
#pragma once

#include "model/cuda/calls.h"

enum activity_detail {                  /* the lowest detail level that includes a field or a kind */
                       ACTIVITY_ALWAYS, /* capture itself needs it */
                       ACTIVITY_DEFAULT,
                       ACTIVITY_FULL,
                       ACTIVITY_NEVER /* padding, deprecated or meaningless fields */
};

enum activity_type {
    FIELD_UINT, /* zero-extended */
    FIELD_INT,  /* sign-extended */
    FIELD_DOUBLE,
    FIELD_BOOL,
    FIELD_POINTER, /* an address or a handle, shown in hex */
    FIELD_STRING,  /* const char * */
    FIELD_BYTES,   /* fixed array, `size` bytes */
    FIELD_ENUM,
    FIELD_DIM3_X, /* this field and the next two are x, y and z of one attribute */
    FIELD_DIM3_YZ
};

enum activity_role { /* fields with a member of their own in struct activity_record */
                     ROLE_NONE,
                     ROLE_START,
                     ROLE_END,
                     ROLE_CORRELATION,
                     ROLE_DEVICE,
                     ROLE_CONTEXT,
                     ROLE_STREAM,
                     ROLE_NAME,
                     ROLE_GRAPH,
                     ROLE_GRAPH_NODE
};

struct activity_field {
    struct attr_key key; /* "cuda.kernel.registers"; len 0: never an attribute */
    uint8_t type;        /* enum activity_type */
    uint8_t detail;      /* enum activity_detail */
    uint8_t role;        /* enum activity_role */
    uint8_t size;        /* FIELD_BYTES: bytes; others: bytes in the record, 1 to 8 */
    uint8_t names;       /* FIELD_ENUM: index into activity_enum_names */
};

struct activity_info {
    const char *name; /* "kernel", "memcpy", ...: as in the settings and in cuda.activity; NULL:
                         unknown kind */
    const struct activity_field *fields; /* indexed by CUPTI's field ID */
    uint8_t field_count;
    uint8_t detail;   /* the lowest detail level that enables the kind; FULL: on request */
    bool is_gpu_work; /* becomes a GPU span; others only describe, or are CUPTI's own host spans */
    bool is_interval; /* has a start and an end */
};

extern const struct activity_info activity_table[ACTIVITY_KINDS_MAX]; /* by CUpti_ActivityKind */
extern const struct enum_names activity_enum_names[];

/* The kinds that the code refers to. */
enum activity_kind {
    ACTIVITY_MEMCPY = 1,
    ACTIVITY_MEMSET = 2,
    ACTIVITY_KERNEL_SERIAL = 3, /* never enabled, because it serializes kernels */
    ACTIVITY_DEVICE = 8,
    ACTIVITY_CONTEXT = 9,
    ACTIVITY_KERNEL = 10,
    ACTIVITY_NAME = 11,
    ACTIVITY_MARKER_DATA = 13,
    ACTIVITY_OVERHEAD = 17,
    ACTIVITY_MEMCPY_PEER = 22,
    ACTIVITY_STREAM = 37,
    ACTIVITY_SYNCHRONIZATION = 38,
    ACTIVITY_GRAPH_TRACE = 51,
    ACTIVITY_JIT = 52,
    ACTIVITY_UNIFIED_MEMORY = 25,
    ACTIVITY_MEMORY2 = 49
};
